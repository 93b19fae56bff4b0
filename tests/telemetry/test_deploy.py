"""The dashboard, the alerts and the page about them name metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from verifier.telemetry.metrics import DECLARED
from verifier.telemetry.scorer import SCORER_METRICS

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "verifier.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
PAGE = ROOT / "docs" / "observability.md"
KINDS = {name: one.kind for name, one in DECLARED.items()}
KINDS |= {name: kind for name, (kind, _, _) in SCORER_METRICS.items()}


def expressions() -> list[str]:
    board = json.loads(DASHBOARD.read_text())
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    found += [a["expr"] for a in board["annotations"]["list"]]
    found += [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    rules = yaml.safe_load(ALERTS.read_text())
    return found + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def series(name: str) -> str:
    """The metric that a series belongs to."""
    head, _, suffix = name.rpartition("_")
    return head if suffix in ("bucket", "sum", "count") and head in KINDS else name


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_names_what_there_is_and_asks_it_for_what_it_has(expression):
    names = re.findall(r"\bverifier_\w+", expression)
    assert names or "up{" in expression
    for name in names:
        assert series(name) in KINDS, name
        # A counter is only of use by its rate; a histogram has no series of its own name.
        if KINDS[series(name)] == "counter":
            assert re.search(rf"rate\({name}\b", expression), name
        if KINDS[series(name)] == "histogram":
            assert name.endswith("_bucket"), name
    for name, labels in re.findall(r"\b(verifier_\w+)\{([^}]*)\}", expression):
        known = _labels(series(name)) | {"job", "instance"}
        assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels)) <= known, labels
    assert expression.count("(") == expression.count(")")


def test_every_grouping_is_by_labels_of_its_metric():
    for expression in expressions():
        known = set().union(*(_labels(series(n)) for n in re.findall(r"verifier_\w+", expression)))
        known |= {"job", "instance", "le"}
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert {label.strip() for label in group.split(",")} <= known, expression


def test_the_dashboard_shows_every_metric_that_is_not_of_the_process():
    shown = {series(n) for e in expressions() for n in re.findall(r"verifier_\w+", e)}
    unseen = {n for n in KINDS if n not in shown and not n.startswith("verifier_process_")}
    assert unseen <= {
        "verifier_suites",
        "verifier_page_listeners",
        "verifier_page_listeners_dropped_total",
        "verifier_log_lines_dropped_total",
        "verifier_scorer_mixed_groups_total",
    }


def test_panels_do_not_overlap():
    seen: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
        assert not seen & cells, panel["title"]
        assert all(x < 24 for x, _ in cells)
        seen |= cells


def test_the_page_has_the_table_of_the_registry():
    rows = [
        f"| `{name}` | {one.kind} | {', '.join(f'`{x}`' for x in one.labels)} | {one.help} |"
        for name, one in DECLARED.items()
    ]
    rows += [
        f"| `{name}` | {kind} | {', '.join(f'`{x}`' for x in labels)} | {text} |"
        for name, (kind, labels, text) in SCORER_METRICS.items()
    ]
    there = [line for line in PAGE.read_text().splitlines() if line.startswith("| `verifier_")]
    assert there == rows, "\n".join(rows)


def test_the_page_s_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^\]]+\]\((images/[^)]+)\)", PAGE.read_text())
    assert len(pictures) == 2
    for picture in pictures:
        data = (PAGE.parent / picture).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < 120 * 1024


def _labels(name: str) -> set[str]:
    if name in DECLARED:
        return set(DECLARED[name].labels) | ({"le"} if KINDS[name] == "histogram" else set())
    return set(SCORER_METRICS[name][1])
