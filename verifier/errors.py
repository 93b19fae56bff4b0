"""Every exception that this package raises, and who is at fault.

    VerifierError
    ├── RequestError          the caller: a field is wrong (names it)      -> INVALID_ARGUMENT
    │   ├── LimitError        a limit is not positive, not finite, or over the ceiling
    │   └── UnknownSuiteError the gateway does not hold the named suite -> FAILED_PRECONDITION
    ├── SuiteError            the data: the ground truth is unusable       -> outcome INVALID_SUITE
    ├── DataError             a file of rows or of results is damaged, or another one than it was
    ├── UnimplementedError    the caller asked for what is not built       -> UNIMPLEMENTED
    ├── ConfigError           the operator: a setting is wrong
    │   └── GuaranteeError    the host cannot give a guarantee that was not accepted by name
    └── InfraError            the machinery: never a score                 -> outcome INFRA_ERROR
        ├── SlotError         a slot died or answered nonsense; another may work
        ├── HelperError       a checker or an interactor failed; it says nothing of the program
        ├── BackendError      the backend cannot give slots at all (no engine, no image)
        │   └── BackendDownError   for the moment: it is being healed; come back -> UNAVAILABLE
        ├── OverloadedError   the queue is full; try again later           -> RESOURCE_EXHAUSTED
        ├── DeadlineError     the caller's deadline passed first           -> DEADLINE_EXCEEDED
        ├── AuthenticationError   no token, or not a valid one             -> UNAUTHENTICATED
        └── GatewayUnavailableError   the client could not reach a gateway

A program that misbehaves is data (`Status`), never an exception. A sandbox that misbehaves is an
`InfraError`, never a status.
"""

from __future__ import annotations


class VerifierError(Exception):
    """Base of all errors of this package."""


class RequestError(VerifierError):
    """The caller sent something unusable.

    Attributes:
        field: The field at fault, as the caller wrote it ("limits.cpu_time_s").
    """

    def __init__(self, field: str, problem: str) -> None:
        """Keep the field's name and describe the problem."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[RequestError], tuple[str, str]]:
        """Pickle by the two arguments (errors cross process borders in Ray)."""
        return (type(self), (self.field, self.problem))


class LimitError(RequestError):
    """A limit is zero, negative, not finite, or over the ceiling. Refused, never clamped."""


class UnknownSuiteError(RequestError):
    """The gateway does not hold a suite with this digest (any more): upload it, then try again."""


class SuiteError(VerifierError):
    """The ground truth cannot be used: no score for anybody.

    Attributes:
        field: The part of the ground truth at fault ("outputs", "inputs[3]").
    """

    def __init__(self, field: str, problem: str) -> None:
        """Keep the field's name and describe the problem."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[SuiteError], tuple[str, str]]:
        """Pickle by the two arguments."""
        return (type(self), (self.field, self.problem))


class DataError(VerifierError):
    """A file of rows or of results cannot be used any further; says which, where, and why."""


class UnimplementedError(VerifierError):
    """The contract names it, this version does not do it."""


class ConfigError(VerifierError):
    """A setting is wrong; the message says which and what to type."""


class GuaranteeError(ConfigError):
    """This host cannot give a guarantee, and the operator did not accept that by name.

    Attributes:
        missing: Names of the guarantees.
    """

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        """Keep the names beside the message, which carries the remedy."""
        super().__init__(message)
        self.missing = missing

    def __reduce__(self) -> tuple[type[GuaranteeError], tuple[str, tuple[str, ...]]]:
        """Pickle by the two arguments."""
        return (type(self), (str(self), self.missing))


class InfraError(VerifierError):
    """The machinery failed. Never a score.

    Attributes:
        retry_after_s: When it makes sense to come back; 0: it does not say.
    """

    retry_after_s: float = 0.0


class SlotError(InfraError):
    """One slot failed; the same work may succeed on another."""


class HelperError(InfraError):
    """A checker or an interactor failed, twice. It says nothing about the program."""


class BackendError(InfraError):
    """The backend as a whole cannot serve; the message says what to type."""


class BackendDownError(BackendError):
    """The backend cannot serve for the moment, and is being healed. Nothing was judged."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        """Keep the delay beside the message."""
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[BackendDownError], tuple[str, float]]:
        """Pickle by the two arguments."""
        return (type(self), (str(self), self.retry_after_s))


class OverloadedError(InfraError):
    """The queue is full. Nothing was run.

    Attributes:
        retry_after_s: When it makes sense to come back.
    """

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        """Keep the delay beside the message."""
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[OverloadedError], tuple[str, float]]:
        """Pickle by the two arguments."""
        return (type(self), (str(self), self.retry_after_s))


class DeadlineError(InfraError):
    """The caller's deadline passed before there was a verdict."""


class AuthenticationError(InfraError):
    """The gateway asks for a token, and there was none or not a valid one. Nothing was run.

    It says nothing of the program, and trying again does not help: the operator of the client has
    to set another token.
    """


class GatewayUnavailableError(InfraError):
    """No gateway answered within the budget of retries."""
