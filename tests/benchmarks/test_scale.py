"""The simulation of many hosts: what is known in closed form, and what must never happen."""

from __future__ import annotations

import itertools
import json
import random

import pytest

pytest.importorskip("simpy")

from benchmarks.scale import __main__ as command
from benchmarks.scale import measure
from benchmarks.scale.model import Capacity, Figure, erlang_c, fit, measured, read_figures
from benchmarks.scale.policies import POLICIES, UPLOAD_ABOVE_BYTES, Affinity, Lane, LeastLoaded
from benchmarks.scale.simulate import Cluster, simulate
from benchmarks.scale.work import Burst, Job, Suite
from verifier.client.balance import GROUP, choose

CAPACITY = Capacity(0.005, 0.004)
BURST = Burst(2000, seconds=1.0)
FAILING = {"fails_every_s": 20.0, "noticed_s": 2.0, "back_s": 6.0}


@pytest.fixture(scope="module")
def jobs():
    return BURST.jobs(CAPACITY, 4, 1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("hosts", [1, 8])
def test_each_response_is_answered_once_also_where_hosts_fail(jobs, policy, hosts):
    found = simulate(Cluster(hosts, clients=4, **FAILING), jobs, policy)
    assert found.answers == [1] * len(jobs)
    assert len(found.response_s) == len(jobs)
    assert found.failures > 0
    assert found.sent_again > 0
    assert found.lost_s > 0
    # What was used is what was needed and what was lost.
    assert found.busy_s == pytest.approx(sum(job.slot_s for job in jobs) + found.lost_s)
    assert found.busy_s <= found.makespan_s * hosts * 2


def test_a_slow_upload_that_outlives_its_host_starts_nothing_twice():
    """The link is so slow that requests arrive after their host has failed and come back."""
    cluster = Cluster(
        3, clients=2, link_bytes_per_s=1e7, fails_every_s=4.0, noticed_s=0.5, back_s=1.0
    )
    work = Burst(100, seconds=0.1, endless=0.0).jobs(CAPACITY, 2, 3)
    found = simulate(cluster, work, "two choices")
    assert found.failures > 3
    assert found.answers == [1] * 100
    assert found.busy_s == pytest.approx(sum(job.slot_s for job in work) + found.lost_s)


@pytest.mark.parametrize("policy", POLICIES)
def test_without_failures_nothing_is_lost_or_sent_again(jobs, policy):
    found = simulate(Cluster(8, clients=4), jobs, policy)
    assert found.answers == [1] * len(jobs)
    assert (found.sent_again, found.lost_s, found.failures) == (0, 0.0, 0)
    needed = sum(job.slot_s for job in jobs)
    assert found.makespan_s >= max(needed / 16, *(job.slot_s for job in jobs))


@pytest.mark.parametrize(("slots", "count"), [(1, 7), (4, 40), (4, 41)])
def test_one_host_with_a_constant_service_is_the_closed_form(slots, count):
    found = simulate(Cluster(1, slots, clients=1), [Job(0.0, 0.25)] * count, "round robin")
    assert found.makespan_s == pytest.approx(-(-count // slots) * 0.25)
    expected = [(index // slots + 1) * 0.25 for index in range(count)]
    assert found.response_s == pytest.approx(expected)


@pytest.mark.parametrize(("slots", "load"), [(1, 0.5), (1, 0.8), (2, 0.7), (8, 0.8)])
def test_poisson_arrivals_wait_as_erlang_says(slots, load):
    rng = random.Random(5)
    rate, count, now = load * slots, 30_000, 0.0
    work = []
    for _ in range(count):
        now += rng.expovariate(rate)
        work.append(Job(now, rng.expovariate(1.0)))
    cluster = Cluster(1, slots, clients=1, max_in_flight=count)
    found = simulate(cluster, work, "round robin")
    expected_s = erlang_c(slots, rate) / (slots - rate)
    assert found.waited_s / count == pytest.approx(expected_s, rel=0.08)
    # No window holds anything up: a response is its wait and its work.
    assert sum(found.response_s) == pytest.approx(found.waited_s + found.busy_s)


def test_erlang_c_of_the_text_books():
    assert erlang_c(1, 0.6) == pytest.approx(0.6)
    # M/M/2 with rho = 3/4: 2 rho^2 / (1 + rho).
    assert erlang_c(2, 1.5) == pytest.approx(2 * 0.75**2 / 1.75)


def test_affinity_sends_fewer_bytes_and_the_others_about_the_same(jobs):
    sent = {name: simulate(Cluster(16, clients=4), jobs, name).sent_bytes for name in POLICIES}
    affinity = sent.pop("suite affinity")
    assert affinity < 0.5 * min(sent.values())
    assert max(sent.values()) < 1.2 * min(sent.values())
    # Never less than each suite once.
    suites = {job.suite.number: job.suite.size_bytes for job in jobs}
    assert affinity >= sum(suites.values())


def test_small_suites_travel_with_each_request_and_big_ones_once():
    small, big = Suite(0, UPLOAD_ABOVE_BYTES), Suite(1, UPLOAD_ABOVE_BYTES + 1)
    for suite, times in ((small, 5), (big, 1)):
        found = simulate(Cluster(1, clients=1), [Job(0.0, 1.0, suite)] * 5, "two choices")
        assert found.sent_bytes == times * suite.size_bytes


def test_a_host_keeps_no_more_suites_than_it_has_room_for():
    work = [Job(float(turn), 0.1, Suite(turn % 2, 1_000_000)) for turn in range(6)]
    sent = [
        simulate(Cluster(1, clients=1, cache_bytes=room), work, "round robin").sent_bytes
        for room in (2_000_000, 1_999_999)
    ]
    assert sent == [2_000_000, 6_000_000]


def test_a_suite_is_sent_over_its_clients_link_before_its_work_runs():
    cluster = Cluster(1, slots=4, clients=1, link_bytes_per_s=1e6)
    work = [Job(0.0, 1.0, Suite(number, 500_000)) for number in (1, 2, 2)]
    assert simulate(cluster, work, "two choices").response_s == pytest.approx([1.5, 2.0, 2.0])


def test_a_window_too_small_for_the_slots_leaves_them_idle(jobs):
    """Little's law: what is in flight bounds what runs."""
    wide = simulate(Cluster(64, clients=4), jobs, "least loaded")
    narrow = simulate(Cluster(64, clients=4, max_in_flight=8), jobs, "least loaded")
    assert narrow.makespan_s > 1.3 * wide.makespan_s
    assert narrow.makespan_s >= sum(job.slot_s for job in jobs) / 32


def test_the_same_seed_gives_the_same_and_another_one_does_not():
    def outcome(seed):
        work = BURST.jobs(CAPACITY, 4, seed)
        return simulate(Cluster(8, clients=4, **FAILING), work, "two choices", seed)

    assert outcome(1) == outcome(1)
    assert outcome(1) != outcome(2)


def test_a_host_cannot_be_back_before_its_failure_is_noticed():
    with pytest.raises(ValueError, match="noticed"):
        simulate(Cluster(1, noticed_s=5.0, back_s=4.0), [Job(0.0, 1.0)], "round robin")


def test_least_loaded_takes_a_least_loaded_usable_host():
    lanes = [Lane(number) for number in range(5)]
    policy, rng = LeastLoaded(lanes, 1), random.Random(2)
    for turn in range(500):
        if turn % 100 == 50:
            lanes[turn % 3].usable = turn % 200 == 50
            policy.looked()
        usable = [lane for lane in lanes if lane.usable]
        lane = policy.choose(None)
        assert lane.usable
        assert lane.in_flight == min(other.in_flight for other in usable)
        policy.add(lane, 1)
        busy = rng.choice(lanes)
        if busy.in_flight:
            policy.add(busy, -1)


def test_affinity_spreads_by_the_clients_own_rule():
    """One suite on idle hosts: the loads of its first, second, ... host are the client's."""
    lanes, real = ([Lane(number) for number in range(6)] for _ in range(2))
    policy, suite = Affinity(lanes, 1), Suite(3, UPLOAD_ABOVE_BYTES + 1)
    for _ in range(300):
        policy.add(policy.choose(suite), 1)
        choose(real, b"a suite", random.Random(1).random).in_flight += 1
        loads, wanted = (sorted(lane.in_flight for lane in some) for some in (lanes, real))
        assert loads == wanted
    assert loads[-1] > GROUP


def test_the_figures_are_on_the_page_and_the_model_is_near_them():
    capacity, figures = measured()
    assert [figure.name for figure in figures] == [
        *("cases", "soak", "prime-code", "latency", "time-limits")
    ]
    assert capacity.response_s >= 0
    assert capacity.case_s > 0
    for figure in figures:
        assert capacity.slot_s(figure.cases, figure.cpu_s) == pytest.approx(figure.slot_s, rel=0.3)
    with pytest.raises(ValueError, match="'cases'"):
        read_figures("# an empty page\n")


def test_a_fit_finds_what_figures_were_made_of():
    made = Capacity(0.006, 0.003)
    figures = [
        Figure("", cases, cpu_s, made.slot_s(cases, cpu_s))
        for cases, cpu_s in itertools.product((1, 10), (0.0, 0.4))
    ]
    found = fit(figures)
    assert (found.response_s, found.case_s) == pytest.approx((0.006, 0.003))
    with pytest.raises(ValueError, match="two numbers of cases"):
        fit(figures[:2])
    # Cheaper by the case with many of them than one response: no constant below zero.
    assert fit([Figure("", 1, 0, 0.01), Figure("", 10, 0, 0.2)]).response_s == 0
    assert fit([Figure("", 1, 0, 0.02), Figure("", 10, 0, 0.01)]).case_s == 0


def test_the_burst_is_heavy_tailed_and_within_its_limits():
    work = Burst(20_000).jobs(Capacity(0, 0), 16, 1)
    times = sorted(job.slot_s for job in work)
    assert times[0] >= 0.05
    assert times[-1] == 10.0
    assert 0.015 < sum(time == 10.0 for time in times) / len(times) < 0.025
    assert sum(times[-1000:]) > 0.5 * sum(times)
    assert all(0 <= job.due_s <= 5 for job in work)
    clients = {}
    for job in work:
        assert clients.setdefault(job.suite.number, job.client) == job.client
    assert set(clients.values()) == set(range(16))


def test_the_command_writes_the_tables_and_again_the_same(tmp_path, capsys):
    texts = []
    for name in ("a", "b"):
        out, page = tmp_path / f"{name}.json", tmp_path / f"{name}.md"
        argv = ["--hosts", "1,4", "--responses", "400", "--json", str(out)]
        command.main([*argv, "--markdown", str(page)])
        texts.append((out.read_text(), page.read_text()))
    assert texts[0] == texts[1]
    found = json.loads(texts[0][0])
    assert [(row["hosts"], row["policy"]) for row in found["rows"] if row["failing"]] == [
        (1, "round robin"),
        *((4, policy) for policy in POLICIES),
    ]
    for row in found["rows"]:
        assert row["p50_s"] <= row["p99_s"] <= row["makespan_s"]
        assert row["makespan_s"] >= row["ideal_s"]
    assert "| 100,000,000 | 27,778 | the burst's |" in texts[0][1]
    assert "| 4 | 400 | suite affinity |" in capsys.readouterr().out


def test_measured_batches_are_held_against_the_model(tmp_path, capsys):
    rows = [{"name": "one gateway", "seconds": 20.0}, {"name": "two gateways", "seconds": 12.5}]
    given, out = tmp_path / "rows.json", tmp_path / "out.json"
    given.write_text(json.dumps({"rows": rows}))
    measure.main(["--rows", str(given), "--count", "400", "--json", str(out)])
    one, two, from_one = json.loads(out.read_text())["batches"]
    fitted_s = 400 * measured()[0].slot_s(10, 0.0)
    assert one["model_s"] == pytest.approx(fitted_s)
    assert one["error"] == pytest.approx(fitted_s / 20.0 - 1)
    # Two choices keep both busy, but for the last responses.
    assert 0.499 * fitted_s < two["model_s"] < 0.6 * fitted_s
    assert 9.99 < from_one["model_s"] < 12.0
    assert from_one["error"] < 0
    assert "| 2 | one gateway | 12.50 |" in capsys.readouterr().out


@pytest.mark.namespaces
@pytest.mark.parametrize("backend", ["namespaces"], indirect=True)
def test_both_batches_are_measured_through_real_gateways(backend, capsys):
    accept = "memory_limit,cpu_accounting,process_limit"
    measure.main(["--count", "6", "--backend", backend, "--accept", accept])
    assert len(capsys.readouterr().out.splitlines()) == 5
