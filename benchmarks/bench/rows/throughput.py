"""Cases a second: ours through the gateway, the floors, and the peers that run case by case."""

from __future__ import annotations

from benchmarks.bench.lab import Lab, ScoreRate
from benchmarks.bench.rounds import Measure, round_robin
from benchmarks.bench.values import Check, Row, Series, number

FORK, FLOOR, EXEC = "bare warm fork", "floor", "bare exec (python3 -I)"
GO_JUDGE = "go-judge"
PLAIN, ISOLATED = "run_code", "run_code, isolated"
FLOOR_SHARE, FLOOR_OF_FORK = 0.85, 0.5
PEER_SHARES = {ISOLATED: 80.0, PLAIN: 8.0}


async def throughput(lab: Lab) -> list[Row]:
    """Two rows of one run: against the floor, and against a Sandbox Fusion."""
    seconds = lab.options.sizes.seconds

    def yardstick(way: str) -> Measure:
        async def measure() -> float:
            return await (await lab.yardsticks()).cases_per_s(way, seconds)

        return measure

    async def go_judge() -> float:
        return await (await lab.go_judge()).cases_per_s(seconds)

    def run_code(*, isolated: bool) -> Measure:
        async def measure() -> float:
            return await lab.run_code(isolated=isolated).cases_per_s(seconds)

        return measure

    contenders = {FORK: yardstick("fork"), FLOOR: yardstick("floor")}
    for backend in lab.options.backends:
        contenders[backend] = ScoreRate(lab, backend).measure
        contenders[f"{backend}, one program"] = ScoreRate(lab, backend, same=True).measure
    contenders[EXEC] = yardstick("exec")
    contenders[GO_JUDGE] = go_judge
    contenders[PLAIN] = run_code(isolated=False)
    contenders[ISOLATED] = run_code(isolated=True)
    series, refused = await round_robin(contenders, unit="cases/s", rounds=lab.options.sizes.rounds)
    return [_against_floor(lab, series, refused), _against_peers(lab, series, refused)]


def _against_floor(lab: Lab, series: dict[str, Series], refused: dict[str, str]) -> Row:
    checks, ratios = [], []
    for backend in lab.options.backends:
        if backend in refused or FLOOR not in series:
            why = refused.get(backend) or refused.get(FLOOR, "")
            checks.append(Check(backend, "", None, why))
            continue
        ratio = series[backend].over(series[FLOOR])
        ratios.append(ratio)
        checks.append(Check(backend, f"{ratio.text()} of the floor", ratio.median >= FLOOR_SHARE))
    notes = [f"{name}: not measured: {why}" for name, why in refused.items() if name == GO_JUDGE]
    if FLOOR in series:
        own = series[FLOOR].over(series[FORK])
        ratios.append(own)
        holds = "as it has to" if own.median >= FLOOR_OF_FORK else "TOO SLOW TO BE A FLOOR"
        notes.append(f"the floor is {own.text()} of the bare warm fork: {holds} (0.5)")
    return Row(
        key="cases",
        work="Python stdin cases/s through the gateway, 10 cases a response",
        target=f">= {FLOOR_SHARE} of the floor",
        checks=tuple(checks),
        series=(*series.values(), *ratios),
        notes=tuple(notes),
    )


def _against_peers(lab: Lab, series: dict[str, Series], refused: dict[str, str]) -> Row:
    checks, ratios = [], []
    for peer, share in PEER_SHARES.items():
        what = "with isolation" if peer == ISOLATED else "without"
        if peer not in series:
            checks.append(Check(what, "", None, refused[peer]))
            continue
        ours = [series[backend] for backend in lab.options.backends if backend in series]
        own = [mine.over(series[peer]) for mine in ours]
        ratios += own
        value = ", ".join(
            f"{mine.name} {number(x.median)}x" for mine, x in zip(ours, own, strict=True)
        )
        checks.append(Check(what, value, all(x.median >= share for x in own)))
    return Row(
        key="run-code",
        work="the same against a Sandbox Fusion /run_code, with isolation / without",
        target=">= 80x / >= 8x",
        checks=tuple(checks),
        series=tuple(ratios),
    )
