from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_SCORED: _ClassVar[Outcome]
    OUTCOME_INVALID_SUITE: _ClassVar[Outcome]
    OUTCOME_INFRA_ERROR: _ClassVar[Outcome]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_ACCEPTED: _ClassVar[Status]
    STATUS_WRONG_ANSWER: _ClassVar[Status]
    STATUS_TIME_LIMIT: _ClassVar[Status]
    STATUS_MEMORY_LIMIT: _ClassVar[Status]
    STATUS_OUTPUT_LIMIT: _ClassVar[Status]
    STATUS_RUNTIME_ERROR: _ClassVar[Status]
    STATUS_COMPILE_ERROR: _ClassVar[Status]
    STATUS_NO_CODE: _ClassVar[Status]
    STATUS_SKIPPED: _ClassVar[Status]

class Trust(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUST_UNSPECIFIED: _ClassVar[Trust]
    TRUST_ISOLATED: _ClassVar[Trust]
    TRUST_IN_PROCESS: _ClassVar[Trust]
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_SCORED: Outcome
OUTCOME_INVALID_SUITE: Outcome
OUTCOME_INFRA_ERROR: Outcome
STATUS_UNSPECIFIED: Status
STATUS_ACCEPTED: Status
STATUS_WRONG_ANSWER: Status
STATUS_TIME_LIMIT: Status
STATUS_MEMORY_LIMIT: Status
STATUS_OUTPUT_LIMIT: Status
STATUS_RUNTIME_ERROR: Status
STATUS_COMPILE_ERROR: Status
STATUS_NO_CODE: Status
STATUS_SKIPPED: Status
TRUST_UNSPECIFIED: Trust
TRUST_ISOLATED: Trust
TRUST_IN_PROCESS: Trust

class Limits(_message.Message):
    __slots__ = ("cpu_time_s", "wall_time_s", "memory_bytes", "output_bytes", "processes", "file_bytes", "open_files")
    CPU_TIME_S_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    cpu_time_s: float
    wall_time_s: float
    memory_bytes: int
    output_bytes: int
    processes: int
    file_bytes: int
    open_files: int
    def __init__(self, cpu_time_s: _Optional[float] = ..., wall_time_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., output_bytes: _Optional[int] = ..., processes: _Optional[int] = ..., file_bytes: _Optional[int] = ..., open_files: _Optional[int] = ...) -> None: ...

class Comparator(_message.Message):
    __slots__ = ("name", "abs_tol", "rel_tol")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ABS_TOL_FIELD_NUMBER: _ClassVar[int]
    REL_TOL_FIELD_NUMBER: _ClassVar[int]
    name: str
    abs_tol: float
    rel_tol: float
    def __init__(self, name: _Optional[str] = ..., abs_tol: _Optional[float] = ..., rel_tol: _Optional[float] = ...) -> None: ...

class ScorePolicy(_message.Message):
    __slots__ = ("name", "n", "max_time_limit_hits", "total_cpu_time_s", "no_code_score", "compile_error_score", "empty_output_score")
    NAME_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    MAX_TIME_LIMIT_HITS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_CPU_TIME_S_FIELD_NUMBER: _ClassVar[int]
    NO_CODE_SCORE_FIELD_NUMBER: _ClassVar[int]
    COMPILE_ERROR_SCORE_FIELD_NUMBER: _ClassVar[int]
    EMPTY_OUTPUT_SCORE_FIELD_NUMBER: _ClassVar[int]
    name: str
    n: int
    max_time_limit_hits: int
    total_cpu_time_s: float
    no_code_score: float
    compile_error_score: float
    empty_output_score: float
    def __init__(self, name: _Optional[str] = ..., n: _Optional[int] = ..., max_time_limit_hits: _Optional[int] = ..., total_cpu_time_s: _Optional[float] = ..., no_code_score: _Optional[float] = ..., compile_error_score: _Optional[float] = ..., empty_output_score: _Optional[float] = ...) -> None: ...

class Helper(_message.Message):
    __slots__ = ("language", "source", "limits", "style", "files", "args", "full_points")
    class FilesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    STYLE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    FULL_POINTS_FIELD_NUMBER: _ClassVar[int]
    language: str
    source: bytes
    limits: Limits
    style: str
    files: _containers.ScalarMap[str, bytes]
    args: _containers.RepeatedScalarFieldContainer[str]
    full_points: float
    def __init__(self, language: _Optional[str] = ..., source: _Optional[bytes] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., style: _Optional[str] = ..., files: _Optional[_Mapping[str, bytes]] = ..., args: _Optional[_Iterable[str]] = ..., full_points: _Optional[float] = ...) -> None: ...

class ScoreRequest(_message.Message):
    __slots__ = ("request_id", "client_id", "priority", "response", "ground_truth", "suite_digest", "ground_truth_format", "data_source", "language", "fn_name", "extraction_policy", "limits", "comparator", "score_policy", "checker", "interactor", "excerpt_bytes", "extra_info", "no_cache", "deadline_s")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    GROUND_TRUTH_FIELD_NUMBER: _ClassVar[int]
    SUITE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    GROUND_TRUTH_FORMAT_FIELD_NUMBER: _ClassVar[int]
    DATA_SOURCE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    FN_NAME_FIELD_NUMBER: _ClassVar[int]
    EXTRACTION_POLICY_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    COMPARATOR_FIELD_NUMBER: _ClassVar[int]
    SCORE_POLICY_FIELD_NUMBER: _ClassVar[int]
    CHECKER_FIELD_NUMBER: _ClassVar[int]
    INTERACTOR_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXTRA_INFO_FIELD_NUMBER: _ClassVar[int]
    NO_CACHE_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_S_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    client_id: str
    priority: int
    response: bytes
    ground_truth: bytes
    suite_digest: str
    ground_truth_format: str
    data_source: str
    language: str
    fn_name: str
    extraction_policy: str
    limits: Limits
    comparator: Comparator
    score_policy: ScorePolicy
    checker: Helper
    interactor: Helper
    excerpt_bytes: int
    extra_info: bytes
    no_cache: bool
    deadline_s: float
    def __init__(self, request_id: _Optional[str] = ..., client_id: _Optional[str] = ..., priority: _Optional[int] = ..., response: _Optional[bytes] = ..., ground_truth: _Optional[bytes] = ..., suite_digest: _Optional[str] = ..., ground_truth_format: _Optional[str] = ..., data_source: _Optional[str] = ..., language: _Optional[str] = ..., fn_name: _Optional[str] = ..., extraction_policy: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., comparator: _Optional[_Union[Comparator, _Mapping]] = ..., score_policy: _Optional[_Union[ScorePolicy, _Mapping]] = ..., checker: _Optional[_Union[Helper, _Mapping]] = ..., interactor: _Optional[_Union[Helper, _Mapping]] = ..., excerpt_bytes: _Optional[int] = ..., extra_info: _Optional[bytes] = ..., no_cache: bool = ..., deadline_s: _Optional[float] = ...) -> None: ...

class Extraction(_message.Message):
    __slots__ = ("language", "block_index", "block_count", "reason", "reasoning_cut_chars", "source")
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    BLOCK_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASONING_CUT_CHARS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    language: str
    block_index: int
    block_count: int
    reason: str
    reasoning_cut_chars: int
    source: bytes
    def __init__(self, language: _Optional[str] = ..., block_index: _Optional[int] = ..., block_count: _Optional[int] = ..., reason: _Optional[str] = ..., reasoning_cut_chars: _Optional[int] = ..., source: _Optional[bytes] = ...) -> None: ...

class Compile(_message.Message):
    __slots__ = ("ok", "cached", "cpu_time_s", "wall_time_s", "memory_bytes", "message")
    OK_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_S_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ok: bool
    cached: bool
    cpu_time_s: float
    wall_time_s: float
    memory_bytes: int
    message: bytes
    def __init__(self, ok: bool = ..., cached: bool = ..., cpu_time_s: _Optional[float] = ..., wall_time_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., message: _Optional[bytes] = ...) -> None: ...

class CaseResult(_message.Message):
    __slots__ = ("index", "status", "cpu_time_s", "wall_time_s", "queue_s", "memory_bytes", "exit_code", "signal", "stdout", "stderr", "stdout_bytes", "stderr_bytes", "message", "points", "rerun", "name")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_S_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_S_FIELD_NUMBER: _ClassVar[int]
    QUEUE_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    STDOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDERR_BYTES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    RERUN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    index: int
    status: Status
    cpu_time_s: float
    wall_time_s: float
    queue_s: float
    memory_bytes: int
    exit_code: int
    signal: int
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    message: str
    points: float
    rerun: bool
    name: str
    def __init__(self, index: _Optional[int] = ..., status: _Optional[_Union[Status, str]] = ..., cpu_time_s: _Optional[float] = ..., wall_time_s: _Optional[float] = ..., queue_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., stdout: _Optional[bytes] = ..., stderr: _Optional[bytes] = ..., stdout_bytes: _Optional[int] = ..., stderr_bytes: _Optional[int] = ..., message: _Optional[str] = ..., points: _Optional[float] = ..., rerun: bool = ..., name: _Optional[str] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("cpu_time_s", "wall_time_s", "queue_s", "compile_s", "total_s")
    CPU_TIME_S_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_S_FIELD_NUMBER: _ClassVar[int]
    QUEUE_S_FIELD_NUMBER: _ClassVar[int]
    COMPILE_S_FIELD_NUMBER: _ClassVar[int]
    TOTAL_S_FIELD_NUMBER: _ClassVar[int]
    cpu_time_s: float
    wall_time_s: float
    queue_s: float
    compile_s: float
    total_s: float
    def __init__(self, cpu_time_s: _Optional[float] = ..., wall_time_s: _Optional[float] = ..., queue_s: _Optional[float] = ..., compile_s: _Optional[float] = ..., total_s: _Optional[float] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("request_id", "outcome", "score", "status", "passed", "total", "cases", "extraction", "compile", "timing", "scorer", "runner", "cached", "trust", "error", "error_code", "suite_digest", "versions", "retry_after_s", "stopped")
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CASES_FIELD_NUMBER: _ClassVar[int]
    EXTRACTION_FIELD_NUMBER: _ClassVar[int]
    COMPILE_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    SCORER_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    SUITE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    outcome: Outcome
    score: float
    status: Status
    passed: int
    total: int
    cases: _containers.RepeatedCompositeFieldContainer[CaseResult]
    extraction: Extraction
    compile: Compile
    timing: Timing
    scorer: str
    runner: str
    cached: bool
    trust: Trust
    error: str
    error_code: int
    suite_digest: str
    versions: _containers.ScalarMap[str, str]
    retry_after_s: float
    stopped: str
    def __init__(self, request_id: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., score: _Optional[float] = ..., status: _Optional[_Union[Status, str]] = ..., passed: _Optional[int] = ..., total: _Optional[int] = ..., cases: _Optional[_Iterable[_Union[CaseResult, _Mapping]]] = ..., extraction: _Optional[_Union[Extraction, _Mapping]] = ..., compile: _Optional[_Union[Compile, _Mapping]] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., scorer: _Optional[str] = ..., runner: _Optional[str] = ..., cached: bool = ..., trust: _Optional[_Union[Trust, str]] = ..., error: _Optional[str] = ..., error_code: _Optional[int] = ..., suite_digest: _Optional[str] = ..., versions: _Optional[_Mapping[str, str]] = ..., retry_after_s: _Optional[float] = ..., stopped: _Optional[str] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("request_id", "client_id", "priority", "source", "argv", "stdin", "limits", "excerpt_bytes")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ARGV_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    client_id: str
    priority: int
    source: Source
    argv: Argv
    stdin: bytes
    limits: Limits
    excerpt_bytes: int
    def __init__(self, request_id: _Optional[str] = ..., client_id: _Optional[str] = ..., priority: _Optional[int] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., argv: _Optional[_Union[Argv, _Mapping]] = ..., stdin: _Optional[bytes] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., excerpt_bytes: _Optional[int] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("language", "source")
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    language: str
    source: bytes
    def __init__(self, language: _Optional[str] = ..., source: _Optional[bytes] = ...) -> None: ...

class Argv(_message.Message):
    __slots__ = ("args",)
    ARGS_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, args: _Optional[_Iterable[str]] = ...) -> None: ...

class RunResponse(_message.Message):
    __slots__ = ("request_id", "status", "facts", "compile", "runner", "versions")
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    COMPILE_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    status: Status
    facts: CaseResult
    compile: Compile
    runner: str
    versions: _containers.ScalarMap[str, str]
    def __init__(self, request_id: _Optional[str] = ..., status: _Optional[_Union[Status, str]] = ..., facts: _Optional[_Union[CaseResult, _Mapping]] = ..., compile: _Optional[_Union[Compile, _Mapping]] = ..., runner: _Optional[str] = ..., versions: _Optional[_Mapping[str, str]] = ...) -> None: ...

class PutSuiteRequest(_message.Message):
    __slots__ = ("ground_truth_format", "chunk", "data_source", "fn_name")
    GROUND_TRUTH_FORMAT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    DATA_SOURCE_FIELD_NUMBER: _ClassVar[int]
    FN_NAME_FIELD_NUMBER: _ClassVar[int]
    ground_truth_format: str
    chunk: bytes
    data_source: str
    fn_name: str
    def __init__(self, ground_truth_format: _Optional[str] = ..., chunk: _Optional[bytes] = ..., data_source: _Optional[str] = ..., fn_name: _Optional[str] = ...) -> None: ...

class PutSuiteResponse(_message.Message):
    __slots__ = ("digest", "cases", "size_bytes")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CASES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    digest: str
    cases: int
    size_bytes: int
    def __init__(self, digest: _Optional[str] = ..., cases: _Optional[int] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Language(_message.Message):
    __slots__ = ("name", "aliases", "version", "available", "packages")
    class PackagesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    name: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    version: str
    available: bool
    packages: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., version: _Optional[str] = ..., available: bool = ..., packages: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Guarantee(_message.Message):
    __slots__ = ("name", "holds", "mechanism", "remedy", "accepted")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    holds: bool
    mechanism: str
    remedy: str
    accepted: bool
    def __init__(self, name: _Optional[str] = ..., holds: bool = ..., mechanism: _Optional[str] = ..., remedy: _Optional[str] = ..., accepted: bool = ...) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("version", "backend", "languages", "default_limits", "max_limits", "guarantees", "slots", "max_message_bytes", "max_cases", "max_suite_bytes", "max_queue", "comparators", "score_policies", "ground_truth_formats", "extraction_policies", "notes")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_LIMITS_FIELD_NUMBER: _ClassVar[int]
    MAX_LIMITS_FIELD_NUMBER: _ClassVar[int]
    GUARANTEES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CASES_FIELD_NUMBER: _ClassVar[int]
    MAX_SUITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUE_FIELD_NUMBER: _ClassVar[int]
    COMPARATORS_FIELD_NUMBER: _ClassVar[int]
    SCORE_POLICIES_FIELD_NUMBER: _ClassVar[int]
    GROUND_TRUTH_FORMATS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTION_POLICIES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    version: str
    backend: str
    languages: _containers.RepeatedCompositeFieldContainer[Language]
    default_limits: Limits
    max_limits: Limits
    guarantees: _containers.RepeatedCompositeFieldContainer[Guarantee]
    slots: int
    max_message_bytes: int
    max_cases: int
    max_suite_bytes: int
    max_queue: int
    comparators: _containers.RepeatedScalarFieldContainer[str]
    score_policies: _containers.RepeatedScalarFieldContainer[str]
    ground_truth_formats: _containers.RepeatedScalarFieldContainer[str]
    extraction_policies: _containers.RepeatedScalarFieldContainer[str]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[str] = ..., backend: _Optional[str] = ..., languages: _Optional[_Iterable[_Union[Language, _Mapping]]] = ..., default_limits: _Optional[_Union[Limits, _Mapping]] = ..., max_limits: _Optional[_Union[Limits, _Mapping]] = ..., guarantees: _Optional[_Iterable[_Union[Guarantee, _Mapping]]] = ..., slots: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_cases: _Optional[int] = ..., max_suite_bytes: _Optional[int] = ..., max_queue: _Optional[int] = ..., comparators: _Optional[_Iterable[str]] = ..., score_policies: _Optional[_Iterable[str]] = ..., ground_truth_formats: _Optional[_Iterable[str]] = ..., extraction_policies: _Optional[_Iterable[str]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...
