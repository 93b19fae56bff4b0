"""Certificates of both sides, read again when their files changed.

gRPC asks at each handshake (its own dynamic credentials), HTTP's side hands each handshake a
context of the present files: a renewed certificate, and a renewed list of those who sign clients,
are used from the next connection on. A pair that does not fit together (one of two files is
written already) is not used: the old one stays until both fit.

TLS 1.2 at least; with `tls_client_ca`, who has no certificate signed by it does not get through the
handshake.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from verifier.config import Settings
from verifier.errors import ConfigError
from verifier.gateway.watched import Watched

__all__ = ["Tls", "tls_of"]


@dataclass(frozen=True, slots=True)
class _Files:
    """What the files hold, found to fit together."""

    cert: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None
    context: ssl.SSLContext

    def for_grpc(self) -> Any:
        return grpc.ssl_server_certificate_configuration(
            [(self.key, self.cert)], root_certificates=self.client_ca
        )


class Tls:
    """TLS of one gateway.

    Args:
        cert: The server's certificate and its chain, PEM.
        key: Its private key, PEM.
        client_ca: Certificates that sign clients, PEM; with it, clients need one.
    """

    def __init__(self, cert: Path, key: Path, client_ca: Path | None = None) -> None:
        """Read the files.

        Raises:
            ConfigError: One cannot be read, or they do not fit together.
        """
        paths = (cert, key) if client_ca is None else (cert, key, client_ca)
        self._mutual = client_ca is not None
        self._files = Watched(paths, lambda: _load(cert, key, client_ca), "tls_cert")
        self._given: _Files | None = None

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For the gRPC server's port."""
        self._given = self._files.value()
        return grpc.dynamic_ssl_server_credentials(
            self._given.for_grpc(), self._changed, require_client_authentication=self._mutual
        )

    def _changed(self) -> Any:
        """At each handshake, in a thread of gRPC's: the new files, None where none changed."""
        files = self._files.value()
        if files is self._given:
            return None
        self._given = files
        return files.for_grpc()

    def http_context(self) -> ssl.SSLContext:
        """For the HTTP side's socket."""
        context = self._files.value().context

        def choose(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            del name, context
            connection.context = self._files.value().context

        context.sni_callback = choose  # called at each handshake, with a name or without
        return context


def _load(cert: Path, key: Path, client_ca: Path | None) -> _Files:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A ticket would let a client in again by what held when it was given.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    held = [_read(name, path) for name, path in (("tls_cert", cert), ("tls_key", key))]
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as exc:
        raise ConfigError(
            f"tls_cert, tls_key: {cert} and {key} are not a certificate and its key in PEM, "
            f"without a passphrase ({exc})"
        ) from None
    ca = None
    if client_ca is not None:
        ca = _read("tls_client_ca", client_ca)
        try:
            context.load_verify_locations(cadata=ca.decode("ascii"))
        except (ssl.SSLError, ValueError) as exc:
            raise ConfigError(f"tls_client_ca: {client_ca} holds no certificate ({exc})") from None
        context.verify_mode = ssl.CERT_REQUIRED
        # TLS 1.2 resumes sessions by their number as well, which Python cannot switch off.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    return _Files(held[0], held[1], ca, context)


def _no_password() -> str:
    # Without it, OpenSSL would ask at the terminal.
    raise ValueError("the key has a passphrase")


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"{name}: cannot read {path}: {exc.strerror}") from None


def tls_of(settings: Settings) -> Tls | None:
    """What the settings ask for; None for none.

    Raises:
        ConfigError: A file cannot be read, or they do not fit together.
    """
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return Tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
