"""A bound on how long a block may take."""

from __future__ import annotations

import asyncio
import sys

import pytest

from verifier._within import Within

pytestmark = pytest.mark.asyncio


async def test_too_long_is_a_timeout_and_the_task_goes_on():
    with pytest.raises(asyncio.TimeoutError):
        async with Within(0.001):
            await asyncio.Event().wait()
    if sys.version_info >= (3, 11):
        assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


@pytest.mark.parametrize("seconds", [60.0, None])
async def test_in_time_is_left_alone(seconds):
    async with Within(seconds):
        value = await asyncio.sleep(0, "done")
    assert value == "done"


async def test_no_time_at_all_is_a_timeout():
    with pytest.raises(asyncio.TimeoutError):
        async with Within(-1.0):
            await asyncio.Event().wait()


async def test_what_the_block_raises_goes_through():
    with pytest.raises(KeyError):
        async with Within(60.0):
            raise KeyError


async def test_who_is_cancelled_by_another_is_cancelled():
    async def work():
        async with Within(60.0):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python counts requests from 3.11 on")
async def test_cancelled_by_both_is_cancelled():
    async def work():
        async with Within(0.0):
            try:
                await asyncio.Event().wait()
            finally:
                asyncio.current_task().cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(work())
