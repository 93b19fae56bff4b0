"""The manifests say what docker-compose.yml says, as far as a pod can."""

from __future__ import annotations

from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/verifier.yaml").read_text()))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
POD = next(d for d in DOCUMENTS if d["kind"] == "Deployment")["spec"]["template"]["spec"]
BY_NAME = {one["name"]: one for one in POD["containers"]}
RUNNERS = {name: one for name, one in BY_NAME.items() if name != "gateway"}


def of_kind(kind):
    (found,) = [document for document in DOCUMENTS if document["kind"] == kind]
    return found


def test_what_there_is():
    assert {document["kind"] for document in DOCUMENTS} == {
        "Deployment",
        "Service",
        "NetworkPolicy",
    }
    assert len(RUNNERS) >= 2


@pytest.mark.parametrize(
    "one", [*POD["initContainers"], *POD["containers"]], ids=lambda o: o["name"]
)
def test_no_container_has_a_privilege(one):
    security = one["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["readOnlyRootFilesystem"]
    assert security["runAsNonRoot"]
    assert security["runAsUser"] > 0
    assert security["allowPrivilegeEscalation"] is False
    assert "privileged" not in security
    assert one["resources"]["limits"].keys() == {"cpu", "memory"}


def test_no_folder_of_the_host_and_no_token_is_in_the_pod():
    assert all("emptyDir" in volume for volume in POD["volumes"])
    assert POD["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & POD.keys()


def test_each_container_mounts_what_there_is():
    names = {volume["name"] for volume in POD["volumes"]}
    for one in [*POD["initContainers"], *POD["containers"]]:
        assert {mount["name"] for mount in one["volumeMounts"]} <= names


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_a_runner_is_started_as_compose_starts_it(name):
    given, compose = RUNNERS[name], COMPOSE["services"][name.partition("-")[0]]
    command = given["command"] + given["args"]
    assert command[-2:] == ["--name", name]
    assert command[:-2] == compose["command"]
    assert given["image"] in compose["image"]
    user, group = compose["user"].split(":")
    assert given["securityContext"]["runAsUser"] == int(user)
    assert given["securityContext"]["runAsGroup"] == int(group) == POD["securityContext"]["fsGroup"]
    assert given["securityContext"]["seccompProfile"]["type"] == "Localhost"
    (mount,) = [m for m in given["volumeMounts"] if m["name"] == "agent"]
    assert mount["readOnly"]
    socket = f"/run/verifier/runners/{name.partition('-')[0]}-{name}.sock"
    assert given["livenessProbe"]["exec"]["command"] == ["test", "-S", socket]


def test_the_gateway_is_probed_and_set_as_in_compose():
    gateway, compose = BY_NAME["gateway"], COMPOSE["services"]["gateway"]
    assert gateway["args"] == compose["command"]
    given = {entry["name"]: entry["value"] for entry in gateway["env"]}
    assert given.keys() == compose["environment"].keys()
    assert given["VERIFIER_RUNNERS_DIR"] == compose["environment"]["VERIFIER_RUNNERS_DIR"]
    assert gateway["readinessProbe"]["grpc"] == gateway["startupProbe"]["grpc"] == {"port": 50051}
    ports = {port["name"]: port["containerPort"] for port in gateway["ports"]}
    assert ports == {"grpc": 50051, "http": 8080}
    service = of_kind("Service")["spec"]
    assert {port["targetPort"] for port in service["ports"]} == ports.keys()
    labels = of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["selector"] == labels
    assert of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    assert of_kind("NetworkPolicy")["spec"]["egress"] == []


def test_compose_files_name_no_version_and_the_second_unmasks_proc():
    second = yaml.safe_load((ROOT / "docker-compose.v2.yml").read_text())
    assert "version" not in COMPOSE
    assert "version" not in second
    for name in ("runner", "helper"):
        assert second["services"][name]["security_opt"] == ["systempaths=unconfined"]
    engine = COMPOSE["services"]["gateway-engine"]
    assert engine["profiles"] == ["engine"]
    others = {name: s for name, s in COMPOSE["services"].items() if name != "gateway-engine"}
    assert "docker.sock" not in str(others)
    assert COMPOSE["services"]["prometheus"]["profiles"] == ["monitoring"]
