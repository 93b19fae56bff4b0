"""When the absence of a toolchain is a skip."""

from __future__ import annotations

import os

import pytest

from verifier.engine import Engine
from verifier.languages import RECIPES

ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"


def require_toolchain(engine: Engine, language: str) -> None:
    """Skip, or fail where all have to be there: on the host, and in an image that is named.

    Any other image has its families.
    """
    if language in engine.info().toolchains:
        return
    reason = f"no toolchain: {RECIPES[language].remedy}"
    if ALL and (engine.sandbox.name == "namespaces" or "VERIFIER_TEST_IMAGE" in os.environ):
        pytest.fail(reason)
    pytest.skip(reason)
