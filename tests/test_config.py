"""Settings: layers with their provenance, mistakes with their remedy."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from verifier.config import (
    Settings,
    default_cache_dir,
    is_loopback,
    load_settings,
    read_testlib,
)
from verifier.errors import ConfigError
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "verifier.toml"
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_the_defaults():
    loaded = load_settings(env={})
    settings = loaded.settings
    assert (settings.backend, settings.grpc, settings.http) == (
        "namespaces",
        "127.0.0.1:50051",
        None,
    )
    assert settings.default_limits.to_limits() == DEFAULT_LIMITS
    assert settings.max_limits.to_limits() == MAX_LIMITS
    assert set(loaded.sources.values()) == {"default"}
    assert settings == Settings()


def test_each_layer_overrides_the_one_before(file):
    path = file("""
        slots = 1
        grace_s = 1
        max_queue = 10
        [max_limits]
        cpu_time_s = 50
        wall_time_s = 99
    """)
    env = {
        "VERIFIER_GRACE_S": "2",
        "VERIFIER_MAX_QUEUE": "20",
        "VERIFIER_ACCEPT": "seccomp, no_network",
    }
    loaded = load_settings(path, {"max_queue": 30, "http": None}, env=env)
    settings = loaded.settings
    assert (settings.slots, settings.grace_s, settings.max_queue) == (1, 2.0, 30)
    assert settings.accept == ("seccomp", "no_network")
    assert settings.max_limits.cpu_time_s == 50.0
    assert settings.max_limits.memory_bytes == MAX_LIMITS.memory_bytes
    sources = loaded.sources
    assert sources["slots"] == f"file {path}"
    assert sources["max_limits.cpu_time_s"] == f"file {path}"
    assert sources["max_limits.memory_bytes"] == "default"
    assert sources["grace_s"] == "env VERIFIER_GRACE_S"
    assert sources["max_queue"] == "flag --max-queue"
    assert sources["http"] == "default"


def test_nested_settings_from_the_environment_and_from_flags():
    env = {"VERIFIER_DEFAULT_LIMITS__CPU_TIME_S": "3", "VERIFIER_DEFAULT_LIMITS__PROCESSES": "8"}
    loaded = load_settings(None, {"default_limits.memory_bytes": 1 << 20}, env=env)
    limits = loaded.settings.default_limits.to_limits()
    assert (limits.cpu_time_s, limits.processes, limits.memory_bytes) == (3.0, 8, 1 << 20)
    assert limits.wall_time_s == 7.0
    assert loaded.sources["default_limits.wall_time_s"] == "derived from default_limits.cpu_time_s"


def test_the_file_may_be_named_by_the_environment(file):
    path = file("slots = 3")
    assert load_settings(env={"VERIFIER_CONFIG": str(path)}).settings.slots == 3


def test_the_environment_of_this_process_is_read(monkeypatch):
    monkeypatch.setenv("VERIFIER_SLOTS", "5")
    monkeypatch.delenv("VERIFIER_CONFIG", raising=False)
    assert load_settings().settings.slots == 5
    assert Settings().slots is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("slot = 1", r"unknown setting slot \(file .*did you mean slots\?"),
        ("[max_limits]\ncpu_time = 1", r"did you mean max_limits\.cpu_time_s\?"),
        ("[max_limitz]\ncpu_time_s = 1", r"did you mean max_limits\.cpu_time_s\?"),
        ("zzzzzz = 1", r"verifier config show"),
        ("slots = ", r"is not TOML"),
        ("slots = 0", r"slots: .*greater than or equal to 1, got 0 \(file"),
        ("slots = 'many'", r"slots: "),
        ("backend = 'vm'", r"backend: .*'namespaces'"),
        ("default_limits = 3", r"unknown setting default_limits"),
        ("[default_limits]\ncpu_time_s = nan", r"default_limits\.cpu_time_s: must be positive"),
        ("[default_limits]\nprocesses = -1", r"default_limits\.processes: must be positive"),
        ("grace_s = inf", r"grace_s: "),
        (
            "[max_limits]\nmemory_bytes = 1000",
            r"default_limits\.memory_bytes = .*\(default\) is over",
        ),
    ],
)
def test_mistakes_in_a_file_say_what_and_where(file, text, match):
    path = file("")
    path.write_text(text)
    with pytest.raises(ConfigError, match=match):
        load_settings(path, env={})


@pytest.mark.parametrize(
    ("env", "match"),
    [
        ({"VERIFIER_SLOTTS": "1"}, r"VERIFIER_SLOTTS.*did you mean VERIFIER_SLOTS\?"),
        ({"VERIFIER_SLOTS": "x"}, r"slots: .*got 'x' \(env VERIFIER_SLOTS\)"),
        (
            {"VERIFIER_MAX_LIMITS__CPU": "1"},
            r"did you mean VERIFIER_MAX_LIMITS__\w+\?",
        ),
        ({"VERIFIER_MAX_LIMITS__CPU_TIME_S": "soon"}, r"max_limits\.cpu_time_s: .*'soon'"),
        ({"VERIFIER_CONFIG": "/nonexistent/v.toml"}, r"cannot read the settings file"),
    ],
)
def test_mistakes_in_the_environment_say_which_variable(env, match):
    with pytest.raises(ConfigError, match=match):
        load_settings(env=env)


def test_mistakes_in_flags():
    with pytest.raises(ConfigError, match=r"flag --max-que.*did you mean max_queue"):
        load_settings(None, {"max_que": 1}, env={})
    with pytest.raises(ConfigError, match=r"slots: .*\(flag --slots\)"):
        load_settings(None, {"slots": -1}, env={})


def test_testlib_is_a_file(tmp_path):
    path = tmp_path / "testlib.h"
    settings = load_settings(flags={"testlib": str(path)}, env={}).settings
    with pytest.raises(ConfigError, match=r"testlib: cannot read .*testlib\.h"):
        read_testlib(settings.testlib)
    path.write_bytes(b"\xff")
    assert read_testlib(settings.testlib) == b"\xff"
    assert read_testlib(Settings().testlib) is None


def test_what_kubernetes_and_the_tests_set_is_not_ours():
    env = {
        "VERIFIER_SERVICE_HOST": "10.0.0.1",
        "VERIFIER_PORT": "tcp://10.0.0.1:50051",
        "VERIFIER_PORT_50051_TCP": "tcp://10.0.0.1:50051",
        "VERIFIER_REQUIRE_DOCKER": "1",
        "VERIFIER_SERVER": "host:1",
        "PATH": "/bin",
    }
    assert load_settings(env=env).settings == Settings()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:0", "localhost:1", "[::1]:50051", "127.9.9.9:65535", "unix:/run/v.sock"]
)
def test_loopback_is_fine(address):
    assert is_loopback(address)
    assert load_settings(None, {"grpc": address}, env={}).settings.grpc == address


@pytest.mark.parametrize(
    "address", ["0.0.0.0:50051", "[::]:50051", ":50051", "10.0.0.1:1", "example.org:1"]
)
@pytest.mark.parametrize("key", ["grpc", "http"])
def test_beyond_loopback_only_when_told_so(address, key):
    with pytest.raises(ConfigError, match=rf"{key}: .*neither TLS.*insecure_bind = true"):
        load_settings(None, {key: address}, env={})
    with pytest.raises(ConfigError, match=rf"{key}: .*there is no TLS.*insecure_bind = true"):
        load_settings(None, {key: address, "tokens": "/t"}, env={})
    tls = {"tls_cert": "/c", "tls_key": "/k"}
    assert getattr(load_settings(None, {key: address, **tls}, env={}).settings, key) == address
    flags = {key: address, "insecure_bind": True}
    assert getattr(load_settings(None, flags, env={}).settings, key) == address
    env = {f"VERIFIER_{key.upper()}": address, "VERIFIER_INSECURE_BIND": "1"}
    assert getattr(load_settings(env=env).settings, key) == address


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("grpc", "50051"),
        ("grpc", "127.0.0.1"),
        ("grpc", "127.0.0.1:99999"),
        ("grpc", "::1:50051"),
        ("http", "unix:/run/v.sock"),
    ],
)
def test_what_is_no_address(key, address):
    with pytest.raises(ConfigError, match=rf"{key}: .*\(flag --{key}\)"):
        load_settings(None, {key: address, "insecure_bind": True}, env={})


@pytest.mark.parametrize("given", ["tls_cert", "tls_key", "tls_client_ca"])
def test_a_certificate_needs_its_key(given):
    with pytest.raises(ConfigError, match=rf"tls_(cert|key): missing beside {given} \(env"):
        load_settings(env={f"VERIFIER_{given.upper()}": "/x"})


def test_a_clients_credentials_are_no_settings():
    load_settings(env={"VERIFIER_TOKEN": "x", "VERIFIER_CA_FILE": "y", "VERIFIER_SERVER_NAME": "z"})


@pytest.mark.parametrize("mode", ["999", "rw", "00660", "6"])
def test_what_is_no_mode(mode):
    with pytest.raises(ConfigError, match="socket_mode"):
        load_settings(None, {"socket_mode": mode}, env={})


def test_what_a_value_overrides_is_known(file):
    path = file("slots = 1")
    rows = load_settings(path, {"slots": 3}, env={"VERIFIER_SLOTS": "2"}).rows()
    row = next(row for row in rows if row.name == "slots")
    assert (row.value, row.source) == (3, "flag --slots")
    assert row.overridden == (("env VERIFIER_SLOTS", "2"), (f"file {path}", 1))


def test_a_secret_by_mistake_is_not_shown(tmp_path):
    token = "0123456789abcdef"

    def shown(value):
        rows = load_settings(None, {"tokens": value}, env={"VERIFIER_TOKENS": token}).rows()
        row = next(row for row in rows if row.name == "tokens")
        assert token not in str(row.overridden)
        return row.value

    path = tmp_path / "tokens"
    path.touch()
    assert shown(str(path)) == path
    assert shown(token) == "(not shown)"


def test_every_setting_is_documented_once_and_shown():
    rows = list(load_settings(None, {"slots": 4}, env={}).rows())
    assert all(row.description.strip() for row in rows)
    assert len({row.description for row in rows}) == len(rows)
    shown = {row.name: (row.value, row.source) for row in rows}
    assert shown["slots"] == (4, "flag --slots")
    assert shown["default_limits.cpu_time_s"] == (10.0, "default")


def test_importing_the_package_loads_no_pydantic():
    code = "import sys, verifier; sys.exit(any(m.startswith('pydantic') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/verifier"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/scratch"}, "/scratch/verifier"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/verifier"),
    ],
)
def test_where_a_server_keeps_things(env, folder):
    assert default_cache_dir(env) == folder


def test_the_folder_is_unset_given_or_none():
    assert load_settings(env={}).settings.cache_dir is None
    assert load_settings(env={"VERIFIER_CACHE_DIR": ""}).settings.cache_dir == ""
    given = load_settings(None, {"cache_dir": "/x"}, env={"VERIFIER_CACHE_DIR": ""})
    assert given.settings.cache_dir == "/x"


@pytest.mark.parametrize("key", ["compile_slots", "result_cache_bytes"])
def test_what_zero_switches_off(key):
    assert getattr(load_settings(None, {key: 0}, env={}).settings, key) == 0
    with pytest.raises(ConfigError, match=key):
        load_settings(None, {key: -1}, env={})
