"""Round robin over contenders: the machine's speed of the moment is in all of them alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from benchmarks.bench.values import NotMeasuredError, Series

Measure = Callable[[], Awaitable[float]]


async def round_robin(
    contenders: Mapping[str, Measure], *, unit: str, rounds: int, chained: bool = False
) -> tuple[dict[str, Series], dict[str, str]]:
    """Each contender once a round; the order turns by one from round to round.

    Args:
        contenders: Name -> one measurement.
        unit: Of what they measure.
        rounds: How many count.
        chained: One measurement builds on the one before: the order stays, and the first round
            counts. Otherwise it is thrown away: it finds things cold.

    Returns:
        The series, and why a contender has none (it raised `NotMeasuredError`).
    """
    values: dict[str, list[float]] = {name: [] for name in contenders}
    refused: dict[str, str] = {}
    names = list(contenders)
    for number in range(rounds + (not chained)):
        for step in range(len(names)):
            name = names[(step + number * (not chained)) % len(names)]
            if name in refused:
                continue
            try:
                values[name].append(await contenders[name]())
            except NotMeasuredError as reason:
                refused[name] = str(reason)
    series = {
        name: Series(name, unit, tuple(found[-rounds:]))
        for name, found in values.items()
        if name not in refused
    }
    return series, refused
