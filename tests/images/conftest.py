"""The engine and the image for the tests that look at real containers."""

from __future__ import annotations

import os

import pytest


def absent(reason: str):
    """No engine is a skip, unless the caller said there has to be one."""
    if os.environ.get("VERIFIER_REQUIRE_DOCKER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def image_name():
    return os.environ.get("VERIFIER_TEST_IMAGE", "verifier-sandbox:latest")


@pytest.fixture(scope="session")
def engine(image_name):
    docker = pytest.importorskip("docker")
    try:
        client = docker.from_env(timeout=60)
    except docker.errors.DockerException as error:
        absent(f"no Docker engine answers: {error}")
    try:
        client.images.get(image_name)
    except docker.errors.ImageNotFound:
        client.close()
        absent(f"there is no image {image_name}: sandbox_images/build")
    yield client
    client.close()
