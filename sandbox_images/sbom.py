"""What is in an image, as a CycloneDX document: Debian packages and Python distributions.

It is read out of the image itself, so it says what is there and not what was asked for.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from pathlib import Path

INSIDE = "/usr/share/sandbox-verifier/sbom.cdx.json"
_DPKG = [
    "dpkg-query",
    "--show",
    "--showformat",
    "${Package} ${Version} ${Architecture} ${Source}\\n",
]
# Run by the image's own Python, whichever it is.
_PYTHON = """
import importlib.metadata as m, json
print(json.dumps([[d.metadata["Name"], d.version] for d in m.distributions()]))
"""


def read(image: str) -> dict[str, object]:
    """The document of an image.

    Raises:
        subprocess.CalledProcessError: A container of it could not be run.
    """
    debian = _inside(image, _DPKG)
    python = json.loads(_inside(image, ["/usr/bin/python3", "-c", _PYTHON]))
    return document(image, debian, python)


def document(image: str, debian: str, python: list[list[str]]) -> dict[str, object]:
    """The document of what dpkg ("name version architecture source" a line) and Python say."""
    components = []
    for line in sorted(debian.splitlines()):
        name, version, architecture, *source = line.split(" ")
        found = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:deb/debian/{name}@{_quote(version)}?arch={architecture}",
        }
        if source and source[0]:
            found["properties"] = [{"name": "debian:source", "value": source[0]}]  # type: ignore[assignment]
        components.append(found)
    # Debian's own Python packages are in both lists, each under the name it has there.
    for name, version in sorted({(name, version) for name, version in python}):
        components.append(
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{_quote(version)}",
            }
        )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # Equal content has an equal name.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))}",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": image}},
        "components": components,
    }


def write(found: dict[str, object], path: Path) -> None:
    """As a file that people can read and compare."""
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _quote(version: str) -> str:
    return version.replace("+", "%2B").replace(":", "%3A").replace("~", "%7E")


def _inside(image: str, command: list[str]) -> str:
    done = subprocess.run(
        [
            "docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL",
            "--entrypoint", command[0], image, *command[1:],
        ],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout
