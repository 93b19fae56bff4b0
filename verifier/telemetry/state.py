"""How a gateway is at one moment: asked for by a scrape and by the page, never kept up to date."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GatewayState"]


@dataclass(frozen=True, slots=True)
class GatewayState:
    """Requests, bytes, slots, suites; what ends in a participle is a total since the start."""

    backend: str = ""
    ready: bool = False
    draining: bool = False
    queued: int = 0
    running: int = 0
    held_requests: int = 0
    max_requests: int = 0
    held_bytes: int = 0
    max_bytes: int = 0
    slots_total: int = 0
    slots_idle: int = 0
    slots_busy: int = 0
    slots_replaced: int = 0
    slot_faults: int = 0
    reruns: int = 0
    suites: int = 0
    suite_bytes: int = 0
    suite_hits: int = 0
    suite_misses: int = 0
    listeners: int = 0
    listeners_dropped: int = 0
    log_lines_dropped: int = 0

    @property
    def slots_replacing(self) -> int:
        """Slots that are being opened anew."""
        return max(self.slots_total - self.slots_idle - self.slots_busy, 0)
