"""docs/client.md against the code."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import grpc
import pytest

from verifier.client import AsyncClient, Client, RetryPolicy, balance, channel, hedge, pool
from verifier.client.options import Options
from verifier.client.retry import RETRYABLE
from verifier.wire.status import error_from_code

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
CONSTANTS = (balance, channel, hedge, pool)


def table(heading):
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def value_of(name):
    if name.startswith("retry."):
        return getattr(RetryPolicy(), name.removeprefix("retry."))
    if hasattr(Options(), name):
        return getattr(Options(), name)
    (found,) = {getattr(module, name) for module in CONSTANTS if hasattr(module, name)}
    return found


def test_every_default_is_as_the_page_says():
    listed = {row[0].strip("`"): row[1] for row in table("Defaults")}
    assert listed == {name: str(value_of(name)) for name in listed}
    settings = {field.name for field in fields(Options)} - {"client_id", "retry"}
    settings |= {f"retry.{field.name}" for field in fields(RetryPolicy)}
    assert settings <= set(listed)


@pytest.mark.parametrize("kind", [AsyncClient, Client])
def test_the_clients_have_the_defaults_of_the_options(kind):
    parameters = inspect.signature(kind).parameters
    assert set(parameters) == {"target", *(field.name for field in fields(Options))}
    for field in fields(Options):
        assert parameters[field.name].default == getattr(Options(), field.name)


def test_every_status_does_what_the_page_says():
    rows = {row[0].strip("`"): row for row in table("What each status does")}
    left_out = {"OK", "NOT_FOUND", "ALREADY_EXISTS", "ABORTED", "DATA_LOSS"}
    assert set(rows) | left_out == {code.name for code in grpc.StatusCode}
    for name, row in rows.items():
        error = error_from_code(grpc.StatusCode[name].value[0], "why")
        assert type(error).__name__ == row[1].strip("`")
        assert ("yes" if isinstance(error, RETRYABLE) else "no") == row[2]


def test_what_the_page_names_is_there():
    for name in re.findall(r"`(benchmarks/\w+\.py|tests/\S+\.py)`", PAGE):
        assert (Path(__file__).parents[2] / name).exists()
    for name in re.findall(r"`(\w+Error)`", PAGE):
        assert hasattr(__import__("verifier"), name)
