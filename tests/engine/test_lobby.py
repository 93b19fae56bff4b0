"""Places for so many tasks of one client; the others wait in order."""

from __future__ import annotations

import asyncio

import pytest

from verifier.engine.lobby import Lobby


async def test_places_are_given_on_in_order_and_per_key():
    lobby, order = Lobby(1), []

    async def visit(key, name):
        await lobby.enter(key)
        order.append(name)

    await visit("a", "a1")
    await visit("b", "b1")  # another client's places are its own
    waiting = [asyncio.create_task(visit("a", f"a{i}")) for i in (2, 3)]
    while lobby.waiting < 2:
        await asyncio.sleep(0)
    for _ in waiting:
        lobby.leave("a")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == ["a1", "b1", "a2", "a3"]
    lobby.leave("a")
    lobby.leave("b")
    assert not lobby._rooms


@pytest.mark.parametrize("let_in", [False, True])
async def test_who_is_cancelled_passes_the_place_on(let_in):
    lobby = Lobby(1)
    await lobby.enter("a")
    first, second = (asyncio.create_task(lobby.enter("a")) for _ in range(2))
    while lobby.waiting < 2:
        await asyncio.sleep(0)
    if let_in:
        lobby.leave("a")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    if not let_in:
        lobby.leave("a")
    await second
    lobby.leave("a")
    assert not lobby._rooms
