"""Reading addresses, looking names up, and choosing among gateways: no connections."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from verifier.client import AsyncClient, Client
from verifier.client.balance import choose, rank
from verifier.client.endpoints import Address, parse_targets, resolve
from verifier.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("h:1", ("h:1",)),
        ("verifier://h:1/", ("h:1",)),
        ("h:1,h:2", ("h:1", "h:2")),
        (" h:1 , verifier://h:2/ ,h:1,", ("h:1", "h:2")),
        ("verifier://h:1,h:2", ("h:1", "h:2")),
        (["h:1", "h:2,h:3"], ("h:1", "h:2", "h:3")),
        (("h:1",), ("h:1",)),
        ("dns:///h:1,unix:/run/v.sock", ("dns:///h:1", "unix:/run/v.sock")),
    ],
)
def test_a_server_is_one_or_a_list(given, found):
    assert parse_targets(given) == found


@pytest.mark.parametrize(
    "given", ["", " , ", [], "http://h:1", "h:1,https://h:2", "verifier://", [3]]
)
def test_what_is_no_address_is_refused_by_name(given):
    with pytest.raises(ConfigError, match="server="):
        parse_targets(given)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_refuses_it_before_the_first_call(kind):
    with pytest.raises(ConfigError, match="HTTP address"):
        kind("http://h:1")


BOOK = {
    "one": ["10.0.0.1"],
    "three": ["10.0.0.3", "10.0.0.1", "10.0.0.2", "10.0.0.1"],
    "localhost": ["::1", "127.0.0.1"],
    "both": ["10.0.0.1", "fd00::1", "10.0.0.2", "fd00::2"],
    "six": ["fd00::2", "10.0.0.1", "fd00::1"],
}


async def book(host, port):
    if host not in BOOK:
        raise OSError(f"{host} is not known")
    return BOOK[host]


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        (["10.1.1.1:5", "unix:/v.sock"], [Address("10.1.1.1:5"), Address("unix:/v.sock")]),
        (["[::1]:5", "ipv4:1.2.3.4:5"], [Address("[::1]:5"), Address("ipv4:1.2.3.4:5")]),
        (
            ["dns://1.1.1.1/three:5", "xds:///a"],
            [Address("dns://1.1.1.1/three:5"), Address("xds:///a")],
        ),
        (["one:5"], [Address("one:5")]),
        # Both families of one machine: gRPC tries them, by the name.
        (["localhost:5"], [Address("localhost:5")]),
        (["dns:///three:5"], [Address(f"ipv4:10.0.0.{i}:5", "three:5") for i in (1, 2, 3)]),
        (["dns:three:5", "three:5"], [Address(f"ipv4:10.0.0.{i}:5", "three:5") for i in (1, 2, 3)]),
        (["both:5"], [Address(f"ipv4:10.0.0.{i}:5", "both:5") for i in (1, 2)]),
        (["six:5"], [Address(f"ipv6:[fd00::{i}]:5", "six:5") for i in (1, 2)]),
        (["nobody:5", "one:5"], [Address("one:5")]),
    ],
)
async def test_a_name_is_as_many_gateways_as_it_has_addresses(targets, found):
    assert list(await resolve(targets, book)) == found


async def test_a_name_that_nobody_knows_is_an_error_where_it_is_the_only_one():
    with pytest.raises(OSError, match="nobody"):
        await resolve(["nobody:5"], book)


@dataclass
class Known:
    target: str
    in_flight: int = 0


def gateways(*loads):
    return [Known(f"h:{i}", load) for i, load in enumerate(loads)]


def test_of_two_drawn_the_less_busy_one_is_taken():
    candidates = gateways(5, 3, 9)
    for first, second, chosen in ((0.0, 0.0, "h:1"), (0.99, 0.0, "h:0"), (0.4, 0.99, "h:1")):
        draws = iter([first, second])
        assert choose(candidates, None, lambda draws=draws: next(draws)).target == chosen


def test_two_choices_keep_the_load_even():
    rng, candidates = random.Random(7), gateways(0, 0, 0, 0)
    for _ in range(4000):
        choose(candidates, None, rng.random).in_flight += 1
    loads = [candidate.in_flight for candidate in candidates]
    assert max(loads) - min(loads) < 10


def test_a_suite_goes_to_one_gateway_and_only_its_own_move():
    candidates = gateways(0, 0, 0, 0)
    keys = [bytes([i, j]) for i in range(50) for j in range(20)]
    home = {key: choose(candidates, key, random.random).target for key in keys}
    shares = Counter(home.values())
    assert len(shares) == 4
    assert max(shares.values()) < 330
    without = [candidate for candidate in candidates if candidate.target != "h:2"]
    for key in keys:
        now = choose(without, key, random.random).target
        assert now == home[key] if home[key] != "h:2" else now in ("h:0", "h:1", "h:3")
    # The same in another process: nothing of it is this one's hash seed.
    assert [rank(gateways(0, 0, 0), key)[0].target for key in (b"a", b"b", b"c")] == [
        "h:1",
        "h:2",
        "h:1",
    ]


def test_a_suite_that_everybody_asks_for_spreads():
    candidates = gateways(0, 0, 0, 0)
    for _ in range(400):
        choose(candidates, b"hot", random.random).in_flight += 1
    loads = sorted(candidate.in_flight for candidate in candidates)
    assert loads[-1] <= 1.25 * 100 + 2
    assert loads[-1] > loads[0]


def test_a_group_stays_together_where_little_else_is_in_flight():
    candidates = gateways(0, 0, 0)
    chosen = set()
    for _ in range(16):
        gateway = choose(candidates, b"suite", random.random)
        gateway.in_flight += 1
        chosen.add(gateway.target)
    assert len(chosen) == 1


def test_a_key_of_any_length_and_none_in_it():
    for key in (b"", b"x" * 1000):
        assert choose(gateways(1, 1), key, random.random).target in ("h:0", "h:1")
