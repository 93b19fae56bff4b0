"""Is an attack held for the right reason? Without the wall it is aimed at, it gets through."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from verifier.sandbox.base import GuaranteeName
from verifier.sandbox.namespaces import NamespaceSandbox
from verifier.stress.catalogue import Attack
from verifier.stress.report import Finding
from verifier.stress.runner import Arena


@dataclass(frozen=True, slots=True)
class Control:
    """What became of an attack in a slot that lacks some mechanisms.

    Attributes:
        finding: As of any attack; what the slot lacks is in it as a guarantee that is missing.
        succeeded: What the attack is after was seen.
    """

    finding: Finding
    succeeded: bool


async def control(attacks: Sequence[Attack], without: Collection[str]) -> list[Control]:
    """Run attacks in a throwaway slot of the embedded sandbox. As root.

    Raises:
        ConfigError: The environment does not allow control runs.
        BackendError: There can be no slot.
    """
    every = [name.value for name in GuaranteeName]
    sandbox = NamespaceSandbox(accept=every, _control_without=without)
    try:
        await sandbox.start()
        arena = Arena(sandbox, ask=False)
        try:
            await arena.start()
            findings = [(attack, await arena.attack(attack)) for attack in attacks]
        finally:
            await arena.close()
    finally:
        await sandbox.close()
    return [Control(finding, attack.succeeds in _seen(finding)) for attack, finding in findings]


def _seen(finding: Finding) -> str:
    return "\n".join([finding.printed, *finding.problems, *finding.left])
