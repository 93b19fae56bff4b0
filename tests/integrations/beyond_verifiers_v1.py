"""Runs where `verifiers` 0.2 or later is installed: its own Task scores a trace. Prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import types

import verifiers.v1 as vf
from verifiers.v1.configs.task import RewardFunctionConfig, TaskConfig
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, Trace, TraceTask

from verifier.integrations.verifiers import task_reward

RIGHT = "```python\nprint(sum(map(int, input().split())))\n```"
TRUTH = json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]})


class Data(vf.TaskData):
    answer: str = ""


class Code(vf.Task[Data]):
    pass


async def score(name: str, response: str, answer: str) -> dict[str, object]:
    config = TaskConfig(rewards={"sandbox": RewardFunctionConfig(fn=f"plugged:{name}")})
    task = Code(Data(idx=0, prompt="Print the sum.", answer=answer), config)
    trace = Trace(
        task=TraceTask(type="Code", data=task.data),
        agent=AgentInfo(config=vf.AgentConfig()),
        nodes=[
            MessageNode(message=vf.UserMessage(content="Print the sum.")),
            MessageNode(parent=0, message=vf.AssistantMessage(content=response), sampled=True),
        ],
    )
    error = ""
    try:
        await task.score(trace)
    except vf.TaskError as raised:
        error = str(raised)
    rewards = {key: reward and reward.value for key, reward in trace.rewards.items()}
    return {"rewards": rewards, "error": error}


async def main() -> None:
    plugged = types.ModuleType("plugged")
    plugged.here = task_reward(None, accept=sys.argv[1:])
    plugged.dead = task_reward("127.0.0.1:9")
    sys.modules["plugged"] = plugged
    answers = [
        await score("here", RIGHT, TRUTH),
        await score("here", "no code", TRUTH),
        await score("here", RIGHT, "{}"),
        await score("dead", RIGHT, TRUTH),
    ]
    sys.stdout.write("ANSWER " + json.dumps(answers) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
