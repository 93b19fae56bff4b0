"""How a client shows who it is, and knows whom it talks to: TLS and a bearer token.

Everything comes from the environment, so that a trainer's Ray workers have it without an argument
being passed through four libraries:

    VERIFIER_CA_FILE        certificates that sign gateways, PEM ("system": those of gRPC's own
                            list); set: TLS
    VERIFIER_CLIENT_CERT    this client's certificate and key, PEM, where the gateway asks for one
    VERIFIER_CLIENT_KEY
    VERIFIER_SERVER_NAME    the name in the gateway's certificate, where it is not the address'
    VERIFIER_TOKEN          the bearer token, or
    VERIFIER_TOKEN_FILE     a file that holds it, read again when it changed
    VERIFIER_INSECURE_TOKEN=1   send it without TLS beyond this machine, where others can read it

The token goes with each call as metadata, and not as gRPC call credentials: those refuse channels
without TLS, and so a unix socket's and loopback's too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from verifier._addresses import is_loopback
from verifier.errors import ConfigError

__all__ = ["Credentials", "open_channel"]

_SYSTEM = "system"
_SCHEMES = ("dns", "ipv4", "ipv6")


@dataclass(frozen=True, slots=True)
class Credentials:
    """See the module.

    Attributes:
        ca_file: Certificates that sign gateways, or "system"; "": no TLS.
        cert_file: This client's certificate; "": none.
        key_file: Its key.
        server_name: The name to look for in the gateway's certificate; "": the address' own.
        token: The bearer token; "": none.
        token_file: A file that holds it; "": none.
        insecure_token: Send the token without TLS to other machines too.
    """

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    insecure_token: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Credentials:
        """Of the environment.

        Raises:
            ConfigError: Two variables contradict each other, or one is missing.
        """
        environ = os.environ if env is None else env
        found = cls(
            ca_file=environ.get("VERIFIER_CA_FILE", ""),
            cert_file=environ.get("VERIFIER_CLIENT_CERT", ""),
            key_file=environ.get("VERIFIER_CLIENT_KEY", ""),
            server_name=environ.get("VERIFIER_SERVER_NAME", ""),
            token=environ.get("VERIFIER_TOKEN", "").strip(),
            token_file=environ.get("VERIFIER_TOKEN_FILE", ""),
            insecure_token=environ.get("VERIFIER_INSECURE_TOKEN", "").lower() in ("1", "true"),
        )
        if found.token and found.token_file:
            raise ConfigError("VERIFIER_TOKEN and VERIFIER_TOKEN_FILE are both set; unset one")
        if bool(found.cert_file) != bool(found.key_file):
            raise ConfigError("VERIFIER_CLIENT_CERT and VERIFIER_CLIENT_KEY belong together")
        for name, value in (
            ("VERIFIER_CLIENT_CERT", found.cert_file),
            ("VERIFIER_SERVER_NAME", found.server_name),
        ):
            if value and not found.ca_file:
                raise ConfigError(
                    f"{name} is set and VERIFIER_CA_FILE is not: name the certificates that sign "
                    f"the gateway's, or 'system'"
                )
        return found

    def bearer(self) -> str:
        """The token as it is now; "" for none.

        Raises:
            ConfigError: Its file cannot be read, or holds none.
        """
        if not self.token_file:
            return self.token
        try:
            found = Path(self.token_file).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else "it is not ASCII"
            raise ConfigError(
                f"VERIFIER_TOKEN_FILE: cannot read {self.token_file}: {why}"
            ) from None
        if not found:
            raise ConfigError(f"VERIFIER_TOKEN_FILE: {self.token_file} is empty")
        return found

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Of TLS.

        Raises:
            ConfigError: A file cannot be read.
        """
        return grpc.ssl_channel_credentials(
            None if self.ca_file == _SYSTEM else _read("VERIFIER_CA_FILE", self.ca_file),
            _read("VERIFIER_CLIENT_KEY", self.key_file) if self.key_file else None,
            _read("VERIFIER_CLIENT_CERT", self.cert_file) if self.cert_file else None,
        )


def open_channel(
    target: str,
    options: Sequence[tuple[str, Any]],
    credentials: Credentials | None = None,
) -> grpc.aio.Channel:
    """A channel to a gateway.

    Args:
        target: As gRPC names it: HOST:PORT, unix:PATH, dns:///HOST:PORT.
        options: Channel arguments.
        credentials: In the place of the environment's.

    Raises:
        ConfigError: The credentials cannot be used.
    """
    given = Credentials.from_env() if credentials is None else credentials
    shows_token = bool(given.token or given.token_file)
    # A unix socket has file modes instead, and the gateway serves no TLS there.
    tls = bool(given.ca_file) and not target.startswith("unix")
    if shows_token and not tls and not given.insecure_token and not _stays_here(target):
        raise ConfigError(
            f"a token would go to {target} in the clear: set VERIFIER_CA_FILE (TLS), or accept it "
            f"with VERIFIER_INSECURE_TOKEN=1"
        )
    if tls:
        name = given.server_name
        named = (("grpc.ssl_target_name_override", name),) if name else ()
        channel = grpc.aio.secure_channel(
            target, given.channel_credentials(), options=(*options, *named)
        )
    else:
        channel = grpc.aio.insecure_channel(target, options=options)
    if shows_token:
        given.bearer()  # a file that is not there is an error now, not at the first call
        return _with_token(channel, given.bearer)
    return channel


def _stays_here(target: str) -> bool:
    """Whether the target is on this machine, as far as its name says."""
    scheme, colon, rest = target.partition(":")
    if colon and scheme in _SCHEMES:
        target = rest.rpartition("/")[2]
    try:
        return all(is_loopback(address) for address in target.split(","))
    except ValueError:
        return False


def _with_token(channel: grpc.aio.Channel, bearer: Callable[[], str]) -> grpc.aio.Channel:
    """Let each call of the channel carry the token."""

    def carrying(make: Callable[..., Any]) -> Callable[..., Any]:
        def make_call(*args: Any, **options: Any) -> Any:
            inner = make(*args, **options)

            def call(*given: Any, metadata: Any = None, **others: Any) -> Any:
                shown = (("authorization", f"Bearer {bearer()}"), *(metadata or ()))
                return inner(*given, metadata=shown, **others)

            return call

        return make_call

    for kind in ("unary_unary", "unary_stream", "stream_unary", "stream_stream"):
        # An interceptor would do the same, at the price of two more tasks for each stream.
        setattr(channel, kind, carrying(getattr(channel, kind)))
    return channel


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as exc:
        raise ConfigError(f"{name}: cannot read {path}: {exc.strerror}") from None
