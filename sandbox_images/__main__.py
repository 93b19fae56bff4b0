"""Command line of the image builder: decides between the two ways, and whether to build at all."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox_images import bootstrap, gateway, sbom
from sandbox_images.recipe import (
    DEFAULT_FAMILIES,
    FAMILIES,
    FULL_FAMILIES,
    HERE,
    LABEL_RECIPE,
    LABEL_SBOM,
    USER,
    ImageRecipe,
    environment,
    header_flags,
    resolve_families,
)

DEFAULT_TAG = "verifier-sandbox:latest"
IMAGES = ("runner", "gateway")

EPILOG = """\
examples:
  sandbox_images/build                         Python and C++, by the way that works here
  sandbox_images/build --full                  also Java, node, Go, Rust and more libraries
  sandbox_images/build go rust                 these (and Python), as --family go,rust
  sandbox_images/build --all --tag verifier-sandbox:all        every language
  sandbox_images/build --base debian:bookworm-slim --with java --tag verifier-sandbox:java
  sandbox_images/build --force                 again, with today's package versions
  sandbox_images/build gateway                 the gateway's image, for docker-compose.yml
  sandbox_images/build runner gateway --sbom . both, with a list of what is in them beside
"""


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line as a namespace."""
    parser = argparse.ArgumentParser(
        prog="sandbox_images/build",
        description="Build the image that programs run in (runner, the default) or the gateway's.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help=f"of {', '.join(IMAGES)} (default: runner), or toolchains for the runner's",
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--bootstrap", action="store_true", help="from Debian packages with mmdebstrap; no registry"
    )
    way.add_argument("--base", metavar="IMAGE", help="on a Debian-like image, with the Dockerfile")
    parser.add_argument(
        "--tag", help=f"name of the image (default: {DEFAULT_TAG}, {gateway.TAG} for the gateway's)"
    )
    parser.add_argument(
        "--sbom", type=Path, metavar="DIR", help="write what is in each image here, as CycloneDX"
    )
    parser.add_argument(
        "--family",
        action="append",
        metavar="NAMES",
        help=f"toolchains, of {', '.join(FAMILIES)} (default: {','.join(DEFAULT_FAMILIES)})",
    )
    parser.add_argument(
        "--with", action="append", dest="extra", metavar="NAMES", help="more toolchains: java,node"
    )
    parser.add_argument("--full", action="store_true", help=f"{', '.join(FULL_FAMILIES)}")
    parser.add_argument("--all", action="store_true", help="every toolchain (several GB)")
    parser.add_argument("--suite", help="release to bootstrap (default: this machine's)")
    parser.add_argument(
        "--sources",
        action="append",
        type=Path,
        metavar="FILE",
        help="apt sources to bootstrap from (default: the machine's)",
    )
    parser.add_argument(
        "--no-header", action="store_true", help="without the precompiled bits/stdc++.h (100 MB)"
    )
    parser.add_argument("--force", action="store_true", help="build even when the image is there")
    args = parser.parse_args(argv)
    toolchains = [name for name in args.images if name not in IMAGES]
    args.family = [*(args.family or ()), *toolchains] or None
    images = [name for name in IMAGES if name in args.images]
    args.images = images if images and not toolchains else list(dict.fromkeys(("runner", *images)))
    return args


def main(argv: list[str]) -> int:
    """Build the image unless it is there.

    Returns:
        0 when the image is there at the end, 1 when it is not, 2 for a wrong command line.
    """
    args = parse(argv)
    images, tag = args.images, args.tag
    try:
        families = resolve_families(wanted(args))
        if tag and len(images) > 1:
            raise ValueError("--tag names one image")  # noqa: TRY301 - as a wrong family is
    except ValueError as error:
        print(f"sandbox_images/build: {error}", file=sys.stderr)
        return 2
    flags = () if args.no_header or "native" not in families else cpp_flags()
    try:
        check_engine()
        for image in images:
            args.tag = tag or (DEFAULT_TAG if image == "runner" else gateway.TAG)
            runner = image == "runner"
            done = build_runner(args, families, flags) if runner else build_gateway(args)
            if args.sbom is not None:
                write_sbom(args.tag, args.sbom)
            print(done)
    except (bootstrap.BootstrapError, EngineError, subprocess.CalledProcessError) as error:
        print(f"sandbox_images/build: {error}", file=sys.stderr)
        return 1
    return 0


def build_runner(
    args: argparse.Namespace, families: tuple[str, ...], flags: tuple[str, ...]
) -> str:
    """The image that programs run in, unless it is there; what to say of it."""
    recipe = choose(args, families, flags)
    if recipe is None:
        return f"{args.tag} is up to date (--force builds it again)"
    build(recipe, args)
    keep_sbom(args.tag)
    return f"{args.tag} is ready: {', '.join(families)}"


def build_gateway(args: argparse.Namespace) -> str:
    """The gateway's image, unless it is there; what to say of it."""
    origins = [f"base:{args.base}"] if args.base else []
    if not origins:
        if not args.bootstrap:
            origins.append("base:")
        if args.bootstrap or bootstrap.available():
            origins.insert(0, f"bootstrap:{args.suite or bootstrap.suite()}")
    if not args.force and image_label(args.tag) in {gateway.digest(one) for one in origins}:
        return f"{args.tag} is up to date (--force builds it again)"
    origin = origins[0]
    print(f"building {args.tag} from {origin}", flush=True)
    with tempfile.TemporaryDirectory(prefix="verifier-gateway-") as name:
        context = Path(name)
        shutil.copy(HERE / "Dockerfile.gateway", context / "Dockerfile")
        (context / "site").mkdir()
        base = gateway_system(args, origin, context)
        version = inside_python(base)
        gateway.lay(context / "site", version)
        # The system is the base already: this lays the folder into it.
        build_context(context, args.tag, {"BASE": base}, gateway.labels(origin))
    keep_sbom(args.tag)
    return f"{args.tag} is ready: Python {version}"


def gateway_system(args: argparse.Namespace, origin: str, context: Path) -> str:
    """The system under the gateway, kept for the next time; its name."""
    digest = gateway.system_digest(origin)
    if not args.force and image_label(gateway.BASE_TAG) == digest:
        return gateway.BASE_TAG
    way, _, name = origin.partition(":")
    arguments = {"PACKAGES": " ".join(gateway.PACKAGES)}
    if way == "bootstrap":
        with tempfile.TemporaryDirectory(prefix="verifier-image-") as folder:
            Path(folder).chmod(0o755)
            tarball = Path(folder) / "root.tar"
            sources = args.sources or bootstrap.sources(name)
            bootstrap.make_root(gateway.PACKAGES, name, sources, tarball)
            docker(["import", str(tarball), gateway.BASE_TAG])
        arguments["BASE"] = gateway.BASE_TAG
    elif name:
        arguments["BASE"] = name
    labels = {LABEL_RECIPE: digest}
    network = "none" if way == "bootstrap" else ""
    build_context(context, gateway.BASE_TAG, arguments, labels, target="system", network=network)
    return gateway.BASE_TAG


def inside_python(image: str) -> str:
    """The version of an image's Python, as "3.11"."""
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", image, "/usr/bin/python3", "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def keep_sbom(tag: str) -> None:
    """Lay the list of what is in an image into it, as one layer more."""
    with tempfile.TemporaryDirectory(prefix="verifier-sbom-") as name:
        context = Path(name)
        sbom.write(sbom.read(tag), context / "sbom.json")
        (context / "sbom.json").chmod(0o644)
        (context / "Dockerfile").write_text(f"FROM {tag}\nCOPY sbom.json {sbom.INSIDE}\n")
        build_context(context, tag, {}, {LABEL_SBOM: sbom.INSIDE})


def write_sbom(tag: str, folder: Path) -> None:
    """The list of what is in an image, beside."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{tag.replace('/', '_').replace(':', '_')}.cdx.json"
    sbom.write(sbom.read(tag), path)
    print(f"{path} says what is in {tag}")


def wanted(args: argparse.Namespace) -> list[str]:
    """Names of the families that the command line asks for."""
    if args.all:
        return list(FAMILIES)
    if args.full:
        return list(FULL_FAMILIES)
    return [*(args.family or DEFAULT_FAMILIES), *(args.extra or [])]


def cpp_flags() -> tuple[str, ...]:
    """The flags that C++ programs are compiled with, from the language recipe itself."""
    try:
        from verifier.languages import get  # absent from a copy of this folder alone

        return header_flags(get("cpp").compile_argv)
    except (ImportError, AttributeError, TypeError) as error:
        print(f"no precompiled header: the C++ recipe cannot be read ({error})", file=sys.stderr)
        return ()


class EngineError(Exception):
    """The Docker engine did not do it; the message says what to type."""


def check_engine() -> None:
    """Fail early where no engine answers.

    Raises:
        EngineError: There is no command or no engine.
    """
    if shutil.which("docker") is None:
        message = "the docker command is not installed: apt-get install docker.io"
        raise EngineError(message)
    done = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = (
            f"no Docker engine answers: {done.stderr.strip()}\n"
            "start it: systemctl start docker, or dockerd &"
        )
        raise EngineError(message)


def choose(
    args: argparse.Namespace, families: tuple[str, ...], flags: tuple[str, ...]
) -> ImageRecipe | None:
    """The recipe to build, or None when the tag is up to date.

    Where the command line leaves the way open, an image that either way made is up to date.
    """
    ways: list[str] = []
    if args.base is None:
        try:
            ways.append(f"bootstrap:{args.suite or bootstrap.suite()}")
        except bootstrap.BootstrapError:
            if args.bootstrap:
                raise
    if not args.bootstrap:
        ways.append(f"base:{args.base or ''}")
    recipes = [ImageRecipe(families, way, flags) for way in ways]
    if not args.force and image_label(args.tag) in {recipe.digest for recipe in recipes}:
        return None
    if len(recipes) > 1 and not bootstrap.available():
        return recipes[1]
    return recipes[0]


def image_label(tag: str) -> str | None:
    """The recipe label of an image; None when there is no such image or no such label."""
    return inspect(tag, f'{{{{index .Config.Labels "{LABEL_RECIPE}"}}}}')


def inspect(image: str, template: str) -> str | None:
    """One fact of an image; None when there is no such image, or nothing to say."""
    done = subprocess.run(
        ["docker", "image", "inspect", "--format", template, image],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None if done.returncode == 0 else None


def build(recipe: ImageRecipe, args: argparse.Namespace) -> None:
    """Build a recipe under the tag; an older image of ours that had the tag is dropped."""
    before = inspect(args.tag, "{{.Id}}") if image_label(args.tag) else None
    way, _, name = recipe.origin.partition(":")
    source = f"packages of {name}" if way == "bootstrap" else name or "the pinned base"
    print(f"building {args.tag} from {source}: {', '.join(recipe.packages)}", flush=True)
    if way == "bootstrap":
        import_root(recipe, name, args)
    else:
        build_on_base(recipe, name, args.tag)
    if before and inspect(before, "{{len .RepoTags}}") == "0":
        # It has no other name. Fails while a container still uses it, and then it stays.
        subprocess.run(["docker", "image", "rm", before], capture_output=True, check=False)


def import_root(recipe: ImageRecipe, release: str, args: argparse.Namespace) -> None:
    """Bootstrap a root and import it."""
    source_files = args.sources or bootstrap.sources(release)
    with tempfile.TemporaryDirectory(prefix="verifier-image-") as folder:
        # Unshare mode writes as another uid.
        Path(folder).chmod(0o755)
        tarball = Path(folder) / "root.tar"
        bootstrap.make(recipe, release, source_files, tarball)
        docker(
            [
                "import",
                *(word for change in changes(recipe) for word in ("--change", change)),
                str(tarball),
                args.tag,
            ]
        )


def changes(recipe: ImageRecipe) -> list[str]:
    """The image's configuration as Dockerfile instructions (the Dockerfile has the same)."""
    return [
        *(f"ENV {key}={value}" for key, value in environment().items()),
        *(f'LABEL {key}="{value}"' for key, value in recipe.labels.items()),
        "WORKDIR /",
        f"USER {USER}",
        'CMD ["/usr/bin/python3"]',
    ]


def build_on_base(recipe: ImageRecipe, base: str, tag: str) -> None:
    """Build the Dockerfile."""
    arguments = {
        "PACKAGES": " ".join(recipe.packages),
        "HEADER_FLAGS": " ".join(recipe.header_flags),
    }
    if base:
        arguments["BASE"] = base
    build_context(HERE, tag, arguments, recipe.labels, network="")


def build_context(
    context: Path,
    tag: str,
    arguments: dict[str, str],
    labels: dict[str, str],
    *,
    target: str = "",
    network: str = "none",
) -> None:
    """Build the Dockerfile of a folder, up to a stage of it."""
    env = dict(os.environ)
    classic: list[str] = []
    buildx = subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False)
    if buildx.returncode != 0:
        # Debian's engine comes without BuildKit, and newer clients insist on it unless told.
        env["DOCKER_BUILDKIT"] = "0"
        # A step that fails would leave its container.
        classic = ["--force-rm"]
    docker(
        [
            "build",
            *classic,
            *(word for item in arguments.items() for word in ("--build-arg", "=".join(item))),
            *(word for item in labels.items() for word in ("--label", "=".join(item))),
            *(["--target", target] if target else []),
            *(["--network", network] if network else []),
            "--tag",
            tag,
            str(context),
        ],
        env,
    )


def docker(words: list[str], env: dict[str, str] | None = None) -> None:
    """Run a docker command that has to succeed."""
    done = subprocess.run(["docker", *words], env=env, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        message = (
            f"docker {words[0]} failed with exit code {done.returncode} (its messages are above)"
        )
        raise EngineError(message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
