"""The catalogue: it loads, it is whole, and a file that is wrong is refused with its name."""

from __future__ import annotations

import ast
import re

import pytest

from verifier import languages
from verifier.errors import ConfigError
from verifier.sandbox.base import GuaranteeName
from verifier.sandbox.controls import MECHANISMS
from verifier.stress import catalogue
from verifier.stress.catalogue import GROUPS, WORDS, Kind
from verifier.stress.sweep import MARK

ATTACKS = catalogue.load()

# The rows of the list that the issue names, but for those of the service (2.9).
ROWS = {
    *range(1, 14), 15, 16, 17, 20, 21, 22, 23, 24, 25, 27, 28, 29, 31, 32, 33, 34, 35, 40, 41, 42,
    43, 45, 46, 47, 48, 50, 51, 52, 53, 54, 55, 60, *range(62, 70), 71, 72, 73, 74, 80, 81, 82, 83,
    *range(85, 92), 93, 95, 96, 97, 98, *range(100, 104), 110, 111, 113, 114, 115, 117, 118, 119,
    122, 123, *range(125, 129), 130, 131, 132, 134, 135, 136, 139, 140, 141, 142, 143, 146, 150,
    *range(152, 158), 159, *range(161, 165),
} - {61, 88 + 6, 99}  # fmt: skip


def test_every_row_of_the_list_has_a_file():
    assert {a.id for a in ATTACKS if a.id != "own"} == {str(row) for row in ROWS}


def test_there_are_attacks_of_our_own():
    assert sum(a.id == "own" for a in ATTACKS) >= 15


def test_keys_and_own_numbers_are_unique():
    assert len({a.key for a in ATTACKS}) == len(ATTACKS)
    own = [re.search(r"/own-(\d+)", a.key)[1] for a in ATTACKS if a.id == "own"]
    assert len(set(own)) == len(own)


def test_file_names_say_the_row():
    for attack in ATTACKS:
        name = attack.key.partition("/")[2]
        assert name.startswith("own-" if attack.id == "own" else f"{int(attack.id):03d}-"), name


def test_every_group_and_every_guarantee_is_attacked():
    assert {a.group for a in ATTACKS} == set(GROUPS)
    aimed = {name for a in ATTACKS if a.kind is not Kind.NONE for name in a.guarantees}
    # Hardening: it is in no attack's way alone; the controls of 082 show it.
    assert aimed == {g.value for g in GuaranteeName} - {"separate_uid"} | WORDS.keys()


@pytest.mark.parametrize("guarantee", sorted({g.value for g in GuaranteeName} - {"separate_uid"}))
def test_every_guarantee_has_a_control(guarantee):
    aimed = {
        "unprivileged_uid": {"unprivileged_uid", "capabilities", "no_new_privs"},
    }.get(guarantee, {guarantee})
    assert any(aimed & set(a.control) for a in ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.key)
def test_a_file_is_well_formed(attack):
    assert set(attack.control) <= MECHANISMS
    assert b"```" not in attack.program
    assert languages.get(attack.language).name == attack.language
    if attack.kind in (Kind.NONE, Kind.REQUEST):
        return
    # What it makes can be told from what others make.
    if b"/tmp/" in attack.program and b"open(" in attack.program and attack.group == "files":
        assert MARK.encode() in attack.program
    if attack.language == "python" and attack.kind is not Kind.COMPILE:
        ast.parse(attack.program)


def test_attacks_on_the_kernel_say_what_became_of_each_attempt():
    """A module that is not there, or a typo, must not look like a refusal."""
    for attack in ATTACKS:
        if attack.group == "kernel" and attack.kind is Kind.STDIN:
            assert attack.stdout or attack.contains, attack.key


def write(tmp_path, text, name="001-x"):
    for group in GROUPS:
        (tmp_path / group).mkdir()
    (tmp_path / catalogue.PRELUDES).write_text('kernel = "import os\\n"\n')
    (tmp_path / "time" / f"{name}.toml").write_text(text)
    return tmp_path


GOOD = """
id = 1
title = "t"
guarantee = "verdict"
program = "print(1)"
expect = "ACCEPTED"
"""


def test_a_small_file(tmp_path):
    (attack,) = catalogue.load(write(tmp_path, GOOD + 'prelude = "kernel"\nruns = 2\n'))
    assert attack.key == "time/001-x"
    assert attack.program == b"import os\nprint(1)"
    assert attack.expect == {"ACCEPTED"}
    assert attack.limits == catalogue.LIMITS


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ('expects = "ACCEPTED"', "no field expects"),
        ('prelude = "none"', "KeyError"),
        ("limits = { cpu = 1 }", "TypeError"),
        ("check = { nothing = 1 }", "TypeError"),
        ('control = ["seccomp"]', "control and succeeds"),
        ("runs = 0", "runs must be positive"),
        ('kind = "call"', "needs fn_name"),
        ('kind = "assert"', "needs a test"),
        ('kind = "none"', "no program, and no note"),
        ('kind = "sometimes"', "ValueError"),
        ("id = 1", "001-x"),  # twice: not TOML
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path, change, problem):
    with pytest.raises(ConfigError, match=problem) as e:
        catalogue.load(write(tmp_path, GOOD + change + "\n"))
    assert "001-x" in str(e.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"verdict"', '"everything"', "no guarantee everything"),
        ('"ACCEPTED"', '"FINE"', "no status: FINE"),
        ('"print(1)"', '""', "no program"),
        ('expect = "ACCEPTED"', "", "nothing is expected"),
        ('title = "t"', 'title = ""', "no title"),
        ("id = 1", "", "KeyError"),
    ],
)
def test_a_wrong_value_is_named_with_its_file(tmp_path, old, new, problem):
    with pytest.raises(ConfigError, match=problem):
        catalogue.load(write(tmp_path, GOOD.replace(old, new)))
