"""What a client sends and what a gateway says of itself, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from verifier.sandbox.base import Guarantee
from verifier.types import Checker, Comparator, Interactor, LimitOverrides, Limits, ScorePolicy

__all__ = ["LanguageInfo", "RunCall", "ScoreCall", "ServerInfo"]


@dataclass(frozen=True, slots=True)
class ScoreCall:
    """One response to be scored. Exactly one of `ground_truth` and `suite_digest` is set.

    Attributes:
        response: The model's text. A str may hold lone surrogates.
        ground_truth: JSON text (str or bytes), or a dict or list that is sent as JSON.
        suite_digest: Of a suite that `put_suite` uploaded.
        language: Wanted language; None takes it from the response.
        limits: Replace the gateway's defaults.
        request_id: Echoed in the result.
        priority: Higher first.
        fn_name: Entry point, where the data names it elsewhere than in the ground truth.
        ground_truth_format: Empty: detected.
        deadline_s: Seconds from the moment this is sent, retries included; None takes the client's.
        comparator: Replaces the suite's; so do the next two.
        checker: Judges the outputs.
        interactor: Talks with the program.
        policy: See `ScorePolicy`; None takes the gateway's default.
        extraction_policy: Which block is the program; empty: the gateway's default.
        excerpt_bytes: stdout and stderr returned per case; None takes the gateway's default.
        data_source: The row's data source.
        extra_info: The row's extra_info as JSON.
        no_cache: Do not read or write result caches.
    """

    response: str | bytes
    ground_truth: object = None
    suite_digest: str | None = None
    language: str | None = None
    limits: LimitOverrides = LimitOverrides()
    request_id: str = ""
    priority: int = 0
    fn_name: str | None = None
    ground_truth_format: str = ""
    deadline_s: float | None = None
    comparator: Comparator | None = None
    checker: Checker | None = None
    interactor: Interactor | None = None
    policy: ScorePolicy | None = None
    extraction_policy: str = ""
    excerpt_bytes: int | None = None
    data_source: str = ""
    extra_info: bytes = b""
    no_cache: bool = False


@dataclass(frozen=True, slots=True)
class RunCall:
    """One program and one standard input, no judging. Either `source` and `language`, or `argv`."""

    source: str | bytes | None = None
    language: str | None = None
    argv: tuple[str, ...] = ()
    stdin: str | bytes = b""
    limits: LimitOverrides = LimitOverrides()
    request_id: str = ""
    priority: int = 0
    deadline_s: float | None = None
    excerpt_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LanguageInfo:
    """A language that the gateway knows; `available` says whether its toolchain is there."""

    name: str
    aliases: tuple[str, ...] = ()
    version: str = ""
    available: bool = False
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a gateway is and what its sandbox guarantees (the GetInfo RPC).

    Attributes:
        version: Of the gateway.
        backend: Of its sandbox.
        languages: Known languages.
        default_limits: What holds where a request says nothing.
        max_limits: Ceilings.
        guarantees: What holds on its host. A name that is unknown here is left out.
        accepted: Guarantees that its operator accepted as missing.
        slots: Programs at once.
        max_message_bytes: Of one message.
        max_cases: Of one suite.
        max_suite_bytes: Of one uploaded suite.
        max_queue: Requests held at once.
        comparators: Names accepted in requests; so are the next three.
        score_policies: See there.
        ground_truth_formats: See there.
        extraction_policies: See there.
        notes: What else is true of its host and should be known, each with what to type.
    """

    version: str
    backend: str
    languages: tuple[LanguageInfo, ...]
    default_limits: Limits
    max_limits: Limits
    guarantees: tuple[Guarantee, ...]
    accepted: frozenset[str]
    slots: int
    max_message_bytes: int
    max_cases: int
    max_suite_bytes: int
    max_queue: int
    comparators: tuple[str, ...] = ()
    score_policies: tuple[str, ...] = ()
    ground_truth_formats: tuple[str, ...] = ()
    extraction_policies: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
