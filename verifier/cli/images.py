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
IMAGES = ("runner", "gateway")
LABEL = "sandbox-verifier.recipe"
LABEL_FAMILIES = "sandbox-verifier.families"

images = typer.Typer(help="Container images: build, list, verify them.", no_args_is_help=True)


@images.callback()
def _images() -> None:
    """Container images: build, list, verify them."""


@images.command()
def build(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...",
            help="Families of toolchains for the image that programs run in (jvm, go, ...: "
            "docs/images.md), or `runner` for its default, or `gateway`. Default: the last two; "
            "with --tag, `runner`.",
            show_default=False,
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag",
            metavar="NAME",
            help="Name of the image, where it is one. Default: verifier-sandbox:latest, or "
            "verifier-gateway:latest.",
            show_default=False,
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
        bool,
        typer.Option("--full", help="The toolchains that training data ask for."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="All toolchains.")] = False,
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

    Without --base and --bootstrap it takes the way that works here. Python is in every image.
    """
    if base and bootstrap:
        fail(ExitCode.USAGE, "--base and --bootstrap exclude each other")
    if not (RECIPES / "build").is_file():
        fail(
            ExitCode.UNAVAILABLE,
            "this installation has no recipes for images: they are in a source checkout",
            "sandbox_images/build runner gateway    (there)",
        )
    # A name is of one image, so of the runner's where no other is asked for.
    words = list(families or (("runner",) if tag else IMAGES))
    for option, value in (("--base", base), ("--tag", tag), ("--sbom", sbom)):
        words += [option, str(value)] if value else []
    flags = {"bootstrap": bootstrap, "full": full, "all": every, "force": force}
    words += [f"--{name}" for name, on in flags.items() if on]
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
            "families": _families(row["ID"]),
        }
        for row in rows
        if row["Repository"] != "<none>"
    ]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    table = Table("image", "id", "size", "created", "families", box=None)
    for one in found:
        table.add_row(*one.values())
    console().print(table if found else "none; build them: verifier images build")


def _families(image: str) -> str:
    """The families of toolchains in an image, with commas; "" of the gateway's."""
    label = f'{{{{index .Config.Labels "{LABEL_FAMILIES}"}}}}'
    done = subprocess.run(
        ["docker", "image", "inspect", "--format", label, image],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
