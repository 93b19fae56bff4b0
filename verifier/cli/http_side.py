"""Asking a gateway's HTTP side, with the client's token and certificates from the environment."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from typing import Any

from verifier.client.credentials import Credentials
from verifier.errors import GatewayUnavailableError

__all__ = ["ask", "url_of"]


def url_of(address: str, path: str) -> str:
    """The URL of a path; the address is HOST:PORT or begins with http:// or https://."""
    base = address if address.startswith(("http://", "https://")) else f"http://{address}"
    return base.rstrip("/") + path


def ask(address: str, path: str, timeout_s: float = 5.0) -> tuple[int, Any]:
    """GET: the HTTP status, and the body as JSON (None where it is none).

    Raises:
        GatewayUnavailableError: Nobody answered.
        ConfigError: The environment's token cannot be read.
    """
    url = url_of(address, path)
    request = urllib.request.Request(url)  # noqa: S310 - http or https: `url_of` says so
    token = Credentials.from_env().bearer()
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    ca_file = os.environ.get("VERIFIER_CA_FILE", "")
    context = None
    if url.startswith("https:"):
        context = ssl.create_default_context(cafile=None if ca_file in ("", "system") else ca_file)
    try:
        with urllib.request.urlopen(  # noqa: S310 - see above
            request, timeout=timeout_s, context=context
        ) as answer:
            return answer.status, _json(answer.read())
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, _json(exc.read())
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "reason", exc)
        raise GatewayUnavailableError(f"no answer from {url}: {reason}") from None


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
