"""What the gateway's image is made of, and the list of what is in an image; builds nothing."""

from __future__ import annotations

import json
import re
import sys

import pytest

from sandbox_images import __main__ as command
from sandbox_images import gateway, lock, sbom
from verifier.cli import images as cli

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DPKG = "zlib1g 1:1.2.13.dfsg-1 amd64 zlib (1:1.2.13.dfsg-1)\nbase-files 12.4+deb12u11 amd64 \n"


def locked():
    lines = lock.LOCK.read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_library_of_the_gateway_is_pinned():
    wanted = set()
    project = tomllib.loads((gateway.ROOT / "pyproject.toml").read_text())["project"]
    requirements = list(project["dependencies"])
    for extra in (*lock.EXTRAS, "fast"):
        requirements += project["optional-dependencies"][extra]
    wanted = {canonical(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}
    wanted -= {"sandbox-verifier", "tomli"}  # itself, and what Python has from 3.11 on
    assert {"grpcio", "uvicorn", "docker", "pydantic"} <= wanted
    missing = wanted - locked().keys()
    assert not missing, f"run: python3 -m sandbox_images.lock ({missing})"


def test_pins_are_exact_and_sorted():
    pins = locked()
    assert list(pins) == sorted(pins, key=lambda name: f"{name}==")
    assert all(re.fullmatch(r"[0-9][\w.]*", version) for version in pins.values())


def test_the_digest_follows_the_package_and_the_system(tmp_path, monkeypatch):
    before, system = (
        gateway.digest("bootstrap:bookworm"),
        gateway.system_digest("bootstrap:bookworm"),
    )
    assert before == gateway.digest("bootstrap:bookworm")
    assert before != gateway.digest("base:debian:bookworm-slim")
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "one.py").write_text("changed = True\n")
    for name in ("pyproject.toml", "hatch_build.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(gateway, "ROOT", tmp_path)
    assert gateway.digest("bootstrap:bookworm") != before
    # The system stays: only the package is laid anew.
    assert gateway.system_digest("bootstrap:bookworm") == system


def test_the_dockerfile_ends_as_an_ordinary_user():
    text = (gateway.HERE / "Dockerfile.gateway").read_text()
    users = re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert users == ["root", "65531:65532"]
    assert re.search(r"^ARG BASE=debian:\w+-\d{8}-slim$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("argv", "code"),
    [(["runner", "gateway", "--tag", "x"], 2), (["--family", "cobol", "gateway"], 2)],
)
def test_wrong_command_lines(argv, code, capsys):
    assert command.main(argv) == code
    assert capsys.readouterr().err


def test_images_are_the_builders():
    assert cli.IMAGES == command.IMAGES
    assert (cli.RECIPES / "build").is_file()


def test_a_list_of_what_is_in_an_image():
    found = sbom.document("an:image", DPKG, [["PyYAML", "6.0"], ["grpcio_status", "1.71.2"]])
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    packages = [component["purl"] for component in found["components"]]
    assert packages == [
        "pkg:deb/debian/base-files@12.4%2Bdeb12u11?arch=amd64",
        "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64",
        "pkg:pypi/pyyaml@6.0",
        "pkg:pypi/grpcio-status@1.71.2",
    ]
    again = sbom.document("an:image", DPKG, [["PyYAML", "6.0"], ["grpcio_status", "1.71.2"]])
    assert again == found
    assert json.loads(json.dumps(found)) == found


@pytest.mark.docker
def test_an_image_holds_its_own_list(engine):
    tags = [tag for image in engine.images.list() for tag in image.tags]
    if gateway.TAG not in tags:
        pytest.skip(f"there is no image {gateway.TAG}: sandbox_images/build gateway")
    image = engine.images.get(gateway.TAG)
    assert image.labels["sandbox-verifier.sbom"] == sbom.INSIDE
    assert image.attrs["Config"]["User"] == "65531:65532"
    inside = engine.containers.run(
        gateway.TAG, [sbom.INSIDE], entrypoint=["/bin/cat"], remove=True, network_mode="none"
    )
    held = {component["name"].lower() for component in json.loads(inside)["components"]}
    assert {"python3", "libstdc++6", "grpcio", "sandbox-verifier"} <= held
    assert {canonical(name) for name in held} >= locked().keys()
