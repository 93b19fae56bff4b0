"""Two real gateways, each in a process of its own, one of which is killed midway."""

from __future__ import annotations

import pytest

from benchmarks.bench.gateways import Gateway
from benchmarks.two_gateways import score

ACCEPT = "memory_limit,cpu_accounting,process_limit"
COUNT = 48


@pytest.mark.namespaces
async def test_a_gateway_killed_midway_loses_nothing(namespaces):
    one = Gateway("namespaces", slots=1, accept=ACCEPT)
    other = Gateway("namespaces", slots=1, accept=ACCEPT)
    async with one, other:
        found = await score("killed", [one, other], COUNT, kill=one, max_in_flight=16)
    assert (found.answered, found.lost, found.wrong, found.twice) == (COUNT, 0, 0, 0)
    assert 1 <= found.sent_again <= 16
