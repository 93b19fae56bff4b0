"""Certificate authorities and certificates for tests, written to files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Files:
    cert: Path
    key: Path
    ca: Path


def write(ca: trustme.CA, folder: Path, *names: str) -> Files:
    """A certificate for these names, its key, and the authority's own."""
    folder.mkdir(exist_ok=True, parents=True)
    files = Files(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")
    made = ca.issue_cert(*names)
    files.cert.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    made.private_key_pem.write_to_path(files.key)
    ca.cert_pem.write_to_path(files.ca)
    return files
