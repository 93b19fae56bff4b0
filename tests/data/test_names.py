"""A set of ids that keeps no text: exact as far as it has room, and bounded."""

from __future__ import annotations

from verifier.data.names import Names


def test_it_tells_what_was_there():
    names = Names()
    assert not any(names.add(f"row-{n}") for n in range(5000))
    assert all(names.add(f"row-{n}") for n in range(5000))
    assert not names.add("another")
    assert len(names) == 5001


def test_it_takes_sixteen_to_thirty_two_bytes_a_name():
    names = Names()
    for n in range(100_000):
        names.add(str(n))
    assert 16 * 100_000 <= names.size_bytes <= 32 * 100_000


def test_it_is_full_at_its_bound_and_still_knows_the_old():
    names = Names(max_slots=16)
    for n in range(100):
        names.add(str(n))
    assert (names.full, len(names), names.size_bytes) == (True, 8, 16 * 8)
    assert all(names.add(str(n)) for n in range(8))
    assert not names.add("99")
