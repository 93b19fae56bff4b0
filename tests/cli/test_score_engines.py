"""`verifier score --engine`: what is refused, and how a cluster is joined; a Ray that is a fake."""

from __future__ import annotations

import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from tests.cli.helpers import invoke, jsonl, plain
from verifier._ray import Node, nodes_with_cores
from verifier.cli.common import ExitCode
from verifier.data.ray_engine import _reason, connect, connected, spread
from verifier.errors import ConfigError, InfraError


@pytest.fixture
def score(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", {"id": "a", "response": "r", "ground_truth": {}})
    return lambda *options: invoke("score", rows, "-o", tmp_path / "results.jsonl", *options)


@pytest.fixture
def no_cluster(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


class FakeRay:
    """A Ray that starts, or does not."""

    def __init__(self, problem=None):
        self.problem = problem
        self.given = None
        self.is_down = False

    def init(self, **given):
        self.given = given
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as Ray does
        if self.problem is not None:
            raise self.problem

    def shutdown(self):
        self.is_down = True


def test_an_engine_that_is_not_there(score):
    done = score("--engine", "rya")
    assert done.exit_code == ExitCode.USAGE
    assert "there is no 'rya'; did you mean 'ray'?" in plain(done.stderr)


@pytest.mark.parametrize("option", [("--ray-address", "auto"), ("--actors", "2")])
def test_options_of_a_cluster_need_one(score, option):
    done = score(*option)
    assert done.exit_code == ExitCode.USAGE
    assert "--ray-address and --actors are of a cluster" in plain(done.stderr)
    assert "--engine ray" in plain(done.stderr)


def test_without_ray_the_extra_is_named(score, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    done = score("--engine", "ray")
    assert done.exit_code == ExitCode.USAGE
    assert "pip install 'sandbox-verifier[ray]'" in plain(done.stderr)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("head", "must be HOST:PORT, auto or local"),
        ("atuo", "did you mean 'auto'"),
        ("head:port", "must be HOST:PORT"),
        ("ray://head:10001", "run this on one of its nodes"),
    ],
)
def test_what_cannot_be_an_address(no_cluster, address, said):
    with pytest.raises(ConfigError, match=said):
        connect(FakeRay(), address)


def test_a_cluster_that_does_not_answer(no_cluster):
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(InfraError, match=f"no Ray cluster answers at {address}.*ray start"):
            connect(FakeRay(), address)
    with pytest.raises(InfraError, match="no Ray cluster answers at auto"):
        connect(FakeRay(ConnectionError("none found")), "auto")


def test_the_cluster_is_the_one_named_or_that_of_the_environment_or_ones_own(monkeypatch):
    ray = FakeRay()
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    connect(ray, "local")
    assert ray.given["address"] == "local"
    connect(ray, None)
    assert ray.given["address"] == "auto"
    monkeypatch.delenv("RAY_ADDRESS")
    connect(ray, None)
    assert ray.given["address"] == "local"


def test_signals_and_standard_output_stay_with_the_command(no_cluster, capsys):
    before = signal.getsignal(signal.SIGTERM)
    ray = FakeRay()
    with connected(ray, None):
        sys.stdout.write("a node was lost\n")
    assert signal.getsignal(signal.SIGTERM) is before
    assert ray.is_down
    sys.stdout.write("the answer\n")
    assert capsys.readouterr() == ("the answer\n", "a node was lost\n")


def test_an_actor_has_the_cores_of_its_node_or_its_share_of_them():
    big, small = Node("big", 8.0), Node("small", 1.0)
    assert spread([big, small], None, None) == [(big, 8), (small, 1)]
    assert spread([big, small], 3, None) == [(big, 4), (small, 1), (big, 4)]
    assert spread([big, small], 4, 2) == [(big, 2), (small, 2), (big, 2), (small, 2)]
    assert spread([Node("half", 0.5)], 1, None) == [(Node("half", 0.5), 1)]


def test_nodes_without_cores_have_no_actors():
    def node(name, alive="yes", **resources):
        return {"NodeID": name, "Alive": alive == "yes", "Resources": resources}

    nodes = [node("a", CPU=2.0), node("gone", "no", CPU=2.0), node("head")]
    assert nodes_with_cores(SimpleNamespace(nodes=lambda: nodes)) == [Node("a", 2.0)]
    with pytest.raises(ConfigError, match="no node of this Ray cluster has a core"):
        nodes_with_cores(SimpleNamespace(nodes=lambda: nodes[1:]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The node is gone.\n\tclass_name: A\n\tpid: 1\n", "The node is gone."),
        (
            "It died in its creation, \x1b[36mray::A()\x1b[39m\n  File 'a.py'\nNameError: no 'b'\n",
            "It died in its creation, ray::A() NameError: no 'b'",
        ),
        ("OSError: away", "OSError: away"),
        ("", "RuntimeError"),
    ],
)
def test_the_lines_of_a_message_that_say_why(text, said):
    assert _reason(RuntimeError(text)) == said
