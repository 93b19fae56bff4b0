r"""A verifier of model-written code: a response and a ground truth in, a score to trust out.

    import verifier

    truth = {"inputs": ["1 2\n"], "outputs": ["3\n"]}
    with verifier.Client("127.0.0.1:50051") as client:
        result = client.score(response, truth)
    print(result.score, result.status)

Every public name is loaded when it is first used (PEP 562): importing this package loads no grpc,
docker, torch or ray. `docs/architecture.md` shows the layers behind the names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from verifier._version import __version__

if TYPE_CHECKING:
    from verifier.client import AsyncClient, Client
    from verifier.engine import Engine, make_sandbox
    from verifier.errors import (
        AuthenticationError,
        BackendDownError,
        BackendError,
        ConfigError,
        DataError,
        DeadlineError,
        GatewayUnavailableError,
        GuaranteeError,
        HelperError,
        InfraError,
        LimitError,
        OverloadedError,
        RequestError,
        SlotError,
        SuiteError,
        UnimplementedError,
        UnknownSuiteError,
        VerifierError,
    )
    from verifier.extraction import extract
    from verifier.testcases import load_suite
    from verifier.types import (
        Case,
        CaseResult,
        Checker,
        Comparator,
        CompileFacts,
        Extraction,
        Harness,
        Interactor,
        Killer,
        LimitOverrides,
        Limits,
        Outcome,
        Program,
        Result,
        RunFacts,
        RunOutcome,
        RunTask,
        ScorePolicy,
        ScoreTask,
        Status,
        Suite,
        SuiteKind,
        Timing,
        Trust,
        UnitTestResult,
        UnitTests,
        UnitTestStatus,
    )

__all__ = [
    "AsyncClient",
    "AuthenticationError",
    "BackendDownError",
    "BackendError",
    "Case",
    "CaseResult",
    "Checker",
    "Client",
    "Comparator",
    "CompileFacts",
    "ConfigError",
    "DataError",
    "DeadlineError",
    "Engine",
    "Extraction",
    "GatewayUnavailableError",
    "GuaranteeError",
    "Harness",
    "HelperError",
    "InfraError",
    "Interactor",
    "Killer",
    "LimitError",
    "LimitOverrides",
    "Limits",
    "Outcome",
    "OverloadedError",
    "Program",
    "RequestError",
    "Result",
    "RunFacts",
    "RunOutcome",
    "RunTask",
    "ScorePolicy",
    "ScoreTask",
    "SlotError",
    "Status",
    "Suite",
    "SuiteError",
    "SuiteKind",
    "Timing",
    "Trust",
    "UnimplementedError",
    "UnitTestResult",
    "UnitTestStatus",
    "UnitTests",
    "UnknownSuiteError",
    "VerifierError",
    "__version__",
    "extract",
    "load_suite",
    "make_sandbox",
]

# Where each name that is not in types or errors lives.
_HOMES = {
    "AsyncClient": "verifier.client",
    "Client": "verifier.client",
    "Engine": "verifier.engine",
    "extract": "verifier.extraction",
    "load_suite": "verifier.testcases",
    "make_sandbox": "verifier.engine",
}


def __getattr__(name: str) -> object:
    """Load a public name on its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        home = _HOMES[name]
    else:
        home = "verifier.errors" if name.endswith("Error") else "verifier.types"
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
