"""`verifier images`: build the images of this version, and see which are there.

The recipes are the folder `sandbox_images` of a source checkout, beside the package; an installed
wheel has none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from verifier.cli.common import (
    Backend,
    ExitCode,
    JsonOption,
    RuntimeOption,
    console,
    execute,
    fail,
)
from verifier.cli.languages import try_languages

RECIPES = Path(__file__).resolve().parents[2] / "sandbox_images"
FAMILIES = {
    "runner": "what programs run in: toolchains, and nothing of ours",
    "gateway": "the gateway, for docker-compose.yml and Kubernetes",
}
LABEL = "sandbox-verifier.recipe"

images = typer.Typer(help="Container images: build them, list them.", no_args_is_help=True)


@images.callback()
def _images() -> None:
    """Container images: build them, list them."""


@images.command()
def build(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...", help="Of runner and gateway. Default: both.", show_default=False
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base", metavar="IMAGE", help="Build on this Debian-like image.", show_default=False
        ),
    ] = None,
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap", help="Build from Debian packages with mmdebstrap: no registry."
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All toolchains in the runner's image.")
    ] = False,
    sbom: Annotated[
        Path | None,
        typer.Option(
            "--sbom",
            metavar="DIR",
            file_okay=False,
            help="Write what is in each image here, as CycloneDX.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build also what is up to date.")] = False,
) -> None:
    """Build images, those that are not up to date.

    Without --base and --bootstrap it takes the way that works here.
    """
    wanted = families or list(FAMILIES)
    if unknown := [name for name in wanted if name not in FAMILIES]:
        fail(ExitCode.USAGE, f"there is no family {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    if base and bootstrap:
        fail(ExitCode.USAGE, "--base and --bootstrap exclude each other")
    if not (RECIPES / "build").is_file():
        fail(
            ExitCode.UNAVAILABLE,
            "this installation has no recipes for images: they are in a source checkout",
            "sandbox_images/build runner gateway    (there)",
        )
    words = [*wanted, *(["--base", base] if base else []), *(["--sbom", str(sbom)] if sbom else [])]
    words += [f"--{name}" for name, on in (("bootstrap", bootstrap), ("full", full)) if on]
    words += ["--force"] if force else []
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run([str(RECIPES / "build"), *words], env=env, check=False)
    raise typer.Exit(done.returncode)


@images.command()
def verify(
    image: Annotated[
        str | None,
        typer.Argument(metavar="[IMAGE]", help="Default: verifier-sandbox:latest."),
    ] = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the self-test of each language that an image has, in it; 1 where one fails."""
    execute(lambda: try_languages(None, Backend.DOCKER, None, image, runtime, as_json=as_json))


@images.command(name="list")
def list_images(as_json: JsonOption = False) -> None:
    """List the images of ours that the engine has."""
    if shutil.which("docker") is None:
        fail(
            ExitCode.UNAVAILABLE, "the docker command is not installed", "apt-get install docker.io"
        )
    done = subprocess.run(
        ["docker", "image", "ls", "--filter", f"label={LABEL}", "--format", "{{json .}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        fail(ExitCode.UNAVAILABLE, f"no Docker engine answers: {done.stderr.strip()}", "dockerd &")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = [
        {
            "image": f"{row['Repository']}:{row['Tag']}",
            "id": row["ID"],
            "size": row["Size"],
            "created": row["CreatedSince"],
        }
        for row in rows
        if row["Repository"] != "<none>"
    ]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    table = Table("image", "id", "size", "created", box=None)
    for one in found:
        table.add_row(*one.values())
    console().print(table if found else "none; build them: verifier images build")
