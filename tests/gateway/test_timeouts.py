"""What is left of an RPC's time, where the clock is set while gRPC computes it."""

from __future__ import annotations

import pytest

from verifier.gateway.timeouts import seconds_left


class Context:
    """Says one thing after the other."""

    def __init__(self, *said):
        self.said = list(said)

    def time_remaining(self):
        return self.said.pop(0)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        pytest.param((None,), None, id="no deadline"),
        pytest.param((2.5,), 2.5, id="some"),
        pytest.param((0.0, 2.5), 2.5, id="the clock was set in between"),
        pytest.param((0.0, 0.0), 0.0, id="nothing"),
    ],
)
def test_nothing_left_is_believed_when_it_is_said_twice(said, left):
    context = Context(*said)
    assert seconds_left(context) == left
    assert not context.said
