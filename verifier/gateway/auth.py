"""Who calls: the bearer token of a call, over gRPC and over HTTP.

Where a file of tokens is set, a call without a valid one is refused before anything of its message
is read. Health is open on both sides, since probes carry no secrets. A long stream is looked at
with each of its requests: a token that expired or was taken out ends what it may do at once.

    authorization: Bearer TOKEN       gRPC metadata, HTTP header
    authorization: Basic ...          HTTP alone: the token as the password, whatever the user (a
                                      browser's prompt, and clients that take http://x:TOKEN@host)
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from verifier.errors import AuthenticationError
from verifier.gateway.calls import PROBES, refusing
from verifier.gateway.interceptor import Interceptor
from verifier.gateway.quotas import Quota
from verifier.gateway.tokens import Token, TokenFile

__all__ = ["HEADER", "Auth", "Caller", "GrpcAuth", "caller"]

HEADER = "authorization"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose call this is.

    Attributes:
        token: What was shown; None where the gateway asks for none.
    """

    token: Token | None = None

    def client_id(self, named: str) -> str:
        """The token's name; else what the request names."""
        return named if self.token is None else self.token.name

    @property
    def quota(self) -> Quota | None:
        """Of this caller's own."""
        return None if self.token is None else self.token.quota


_NOBODY = Caller()
caller: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)
"""Of the RPC or HTTP request that the running task serves."""


class Auth:
    """Checks tokens; lets everybody in where there is no file of them."""

    def __init__(self, tokens: TokenFile | None = None) -> None:
        """With the tokens of a file."""
        self.tokens = tokens

    def check(self, header: str | None, *, basic: bool = False) -> Caller:
        """Whose call this is, by its header.

        Raises:
            AuthenticationError: There is no token in it, or it is not valid.
        """
        if self.tokens is None:
            return _NOBODY
        secret = _secret(header or "", basic=basic)
        if not secret:
            raise AuthenticationError("a token is needed: `authorization: Bearer TOKEN`")
        token = self.tokens.find(secret)
        if token is None:
            raise AuthenticationError("the token is not valid here, or it has expired")
        return Caller(token)

    def now(self) -> Caller:
        """The running task's caller, with its token as it is by now.

        Raises:
            AuthenticationError: It has expired, or was taken out of the file.
        """
        known = caller.get()
        if self.tokens is None:
            return known
        token = None if known.token is None else self.tokens.known(known.token.digest)
        if token is None:
            raise AuthenticationError("the token has expired, or was withdrawn")
        return Caller(token)


def _secret(header: str, *, basic: bool) -> str:
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if basic and scheme.lower() == "basic":
        try:
            pair = base64.b64decode(rest.strip(), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return ""
        return pair.partition(":")[2]
    return ""


class GrpcAuth(Interceptor):  # type: ignore[misc]
    """Refuses a call before its message is received."""

    def __init__(self, auth: Auth, refused: Callable[[str], None] = lambda _: None) -> None:
        """Ask this; `refused` is told the method of each call that is refused."""
        self._auth = auth
        self._refused = refused

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,
    ) -> Any:
        """The handler of the call, or one that refuses it."""
        if not handler_call_details.method.startswith(PROBES):
            metadata = handler_call_details.invocation_metadata or ()
            header = next((value for key, value in metadata if key == HEADER), None)
            try:
                # The interceptor runs in the task that then runs the handler.
                caller.set(self._auth.check(header if isinstance(header, str) else None))
            except AuthenticationError as exc:
                self._refused(handler_call_details.method.rpartition("/")[2])
                return refusing(exc)
        return await continuation(handler_call_details)
