"""The routing table and verl's `default_compute_score`."""

from __future__ import annotations

import pytest
from scoring_doubles import ADD, TRUTH, FakeClient, FakeLocal, fault, scored

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.scoring import (
    CODE_SOURCES,
    EXTRA_KEYS,
    DefaultScorer,
    Sample,
    SandboxScorer,
    default_compute_score,
    find_scorer,
    known_sources,
    register_scorer,
    routing,
)


@pytest.fixture(autouse=True)
def own_tables(monkeypatch):
    monkeypatch.setattr(routing, "_routes", dict(routing._routes))
    monkeypatch.setattr(routing, "_scorers", {})


@pytest.fixture
def served(monkeypatch):
    """What code scorers are asked, instead of a gateway and this host."""
    made = []

    def make(server, **settings):
        made.append((server, settings))
        answers = served_answers or [scored()]
        return SandboxScorer(
            server,
            client=FakeClient(*[[a] for a in answers]) if server else None,
            local=lambda: FakeLocal(*answers),
            on_unavailable=settings["on_unavailable"],
        )

    served_answers: list = []
    monkeypatch.setattr(routing, "SandboxScorer", make)
    make.made, make.answers = made, served_answers
    return make


@pytest.mark.parametrize("source", CODE_SOURCES)
def test_code_sources_go_to_this_host_without_an_address(served, source):
    info = default_compute_score(source, ADD, TRUTH)
    assert tuple(info) == EXTRA_KEYS
    assert (info["score"], info["scorer"]) == (1.0, "prime_code")


def test_an_address_by_either_name_goes_to_the_gateway(served):
    for kwargs in ({"server": "h:1"}, {"sandbox_fusion_url": "verifier://h:1"}):
        info = default_compute_score("taco", ADD, TRUTH, {}, concurrent_semaphore=1, **kwargs)
        assert info["scorer"] == "sandbox"
        routing._scorers.clear()
    assert [server for server, _ in served.made] == ["h:1", "h:1"]
    with pytest.raises(ConfigError, match="differ"):
        default_compute_score("taco", ADD, TRUTH, server="h:1", sandbox_fusion_url="verifier://h:2")
    with pytest.raises(ConfigError, match="verifier://HOST:PORT"):
        default_compute_score("taco", ADD, TRUTH, sandbox_fusion_url="http://h:1/run_code")


def test_settings_are_kept_per_scorer_and_scorers_are_kept(served):
    for _ in range(2):
        default_compute_score("taco", ADD, TRUTH, memory_limit_mb=64, on_unavailable="raise")
    default_compute_score("apps", ADD, TRUTH)
    assert len(served.made) == 2
    settings = served.made[0][1]
    assert settings["limits"].memory_bytes == 64 * 1024 * 1024
    assert settings["on_unavailable"].value == "raise"


def test_an_argument_that_no_scorer_has_is_refused(served):
    with pytest.raises(ConfigError, match="memory_limit_gb"):
        default_compute_score("taco", ADD, TRUTH, memory_limit_gb=1)


def test_a_fault_is_raised_even_where_the_scorer_masks(served):
    served.answers.append(fault("SlotError: x"))
    with pytest.raises(InfraError):
        default_compute_score("taco", ADD, TRUTH, server="h:1", on_unavailable="mask")


def test_broken_data_is_marked(served):
    info = default_compute_score("taco", ADD, "{}")
    assert (info["score"], info["valid"], info["infra_error"]) == (0.0, 0, 0)
    assert info["outcome"] == "INVALID_SUITE"


def test_unknown_source_names_the_nearest():
    with pytest.raises(RequestError, match="'tacoo'; did you mean 'taco'"):
        default_compute_score("tacoo", ADD, TRUTH)
    with pytest.raises(RequestError, match="None"):
        default_compute_score(None, ADD, TRUTH)


def test_a_scorer_is_registered_in_one_line():
    register_scorer("my/set", lambda *_, bonus=0.0: (0.5 + bonus, [{}]))
    assert default_compute_score("my/set", "x", "y") == 0.5
    assert default_compute_score("my/set", "x", "y", bonus=0.25) == 0.75
    with pytest.raises(ConfigError, match="replace=True"):
        register_scorer("my/set", len)
    register_scorer("my/set", lambda *_: {"score": 1, "mine": 2}, replace=True)
    assert default_compute_score("my/set", "x", "y") == {"score": 1, "mine": 2}


def test_prefixes_after_exact_names_and_the_longest_first():
    register_scorer("aime", lambda *_: 1.0, prefix=True)
    register_scorer("aime_new", lambda *_: 2.0, prefix=True)
    register_scorer("aime2024", lambda *_: 3.0)
    answers = [find_scorer(s)() for s in ("aime2025", "aime_new_1", "aime2024")]
    assert answers == [1.0, 2.0, 3.0]
    assert "aime*" in known_sources()


def test_default_scorer_batches_code_and_only_code(served):
    register_scorer("qa", lambda *_: 0.25)
    scorer = DefaultScorer(server="h:1")
    code, qa = (Sample(s, ADD, TRUTH, index=i) for i, s in enumerate(("taco", "qa")))
    assert (scorer.batches(code), scorer.batches(qa)) == (True, False)
    assert [r.score for r in scorer.score_batch([code])] == [1.0]
    assert scorer("qa", "x", "y") == 0.25
    with pytest.raises(RequestError, match=r"samples\[7\]\.data_source"):
        scorer.batches(Sample("nope", "", "", index=7))
