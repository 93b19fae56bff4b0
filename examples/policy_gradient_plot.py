"""Draws the curves of policy_gradient.py: one SVG file, no dependency."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 36, 44
COLORS = {"rewards": "#1a7f37", "shuffled": "#8c959f"}
ENDS = 5  # steps over which the ends of a curve are averaged


@dataclass(frozen=True)
class Curve:
    """The mean reward of each step of one run.

    Attributes:
        name: A key of `COLORS`: what the run learned from.
        seed: Of the run.
        values: One for each step, in [0, 1].
    """

    name: str
    seed: int
    values: Sequence[float]

    @property
    def start(self) -> float:
        """Mean over the first steps."""
        return statistics.fmean(self.values[:ENDS])

    @property
    def end(self) -> float:
        """Mean over the last steps."""
        return statistics.fmean(self.values[-ENDS:])


def draw(curves: Sequence[Curve]) -> str:
    """The curves as an SVG document."""
    steps = max(max(len(curve.values) for curve in curves) - 1, 1)

    def x(step: float) -> float:
        return LEFT + step / steps * (WIDTH - LEFT - RIGHT)

    def y(reward: float) -> float:
        return HEIGHT - BOTTOM - reward * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">Mean reward of each step</text>',
    ]
    for tick in range(5):
        reward = tick / 4
        parts += [
            (
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(reward):.1f}" y2="{y(reward):.1f}" '
                'stroke="#d0d7de"/>'
            ),
            f'<text x="{LEFT - 8}" y="{y(reward) + 4:.1f}" text-anchor="end">{reward:.2f}</text>',
        ]
    for step in range(0, steps + 1, max(steps // 4, 1)):
        parts.append(
            f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{step}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text>'
    )
    for curve in curves:
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(curve.values))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLORS[curve.name]}" '
            f'stroke-width="1.5"><title>{curve.name}, seed {curve.seed}</title></polyline>'
        )
    for place, (name, color) in enumerate(COLORS.items()):
        left = WIDTH - RIGHT - 200 + 100 * place
        parts += [
            f'<rect x="{left}" y="12" width="18" height="4" fill="{color}"/>',
            f'<text x="{left + 24}" y="18">{name}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
