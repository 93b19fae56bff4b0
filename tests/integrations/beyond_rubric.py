"""Runs where `verifiers` below 0.2 is installed: its Rubric scores rollouts. Prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys

import verifiers as vf

from verifier.integrations.verifiers import rubric_function

RIGHT = "```python\nprint(sum(map(int, input().split())))\n```"
TRUTH = json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]})


async def score(rubric: vf.Rubric, completion: object, answer: str) -> dict[str, object]:
    state = vf.State(prompt="", completion=completion, answer=answer, info={}, task="code")
    state["trajectory"] = []
    await rubric.score_rollout(state)
    error = state.get("error")
    return {
        "reward": state["reward"],
        "metrics": state["metrics"],
        "error": type(error).__name__ if error else "",
        "retried": isinstance(error, vf.InfraError),
    }


async def main() -> None:
    here = vf.Rubric(funcs=[rubric_function(None, accept=sys.argv[1:])])
    dead = vf.Rubric(funcs=[rubric_function("127.0.0.1:9")])
    answers = [
        await score(here, [{"role": "assistant", "content": RIGHT}], TRUTH),
        await score(here, "no code", TRUTH),
        await score(here, RIGHT, "{}"),
        await score(dead, RIGHT, TRUTH),
    ]
    sys.stdout.write("ANSWER " + json.dumps(answers) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
