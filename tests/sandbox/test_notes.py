"""What an operator should know of a host besides the guarantees."""

from __future__ import annotations

import pytest

from verifier.sandbox.notes import host_notes


@pytest.fixture
def weaknesses(tmp_path):
    def write(**files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def test_open_weaknesses_of_the_processor_are_named(weaknesses):
    folder = weaknesses(
        mds="Not affected\n",
        spectre_v1="Mitigation: usercopy barriers\n",
        spectre_v2="Vulnerable: eIBRS with unprivileged eBPF\n",
        tsa="Vulnerable\n",
    )
    (note,) = host_notes(folder)
    assert "(spectre_v2, tsa)" in note
    assert f"grep . {folder}/*" in note


def test_nothing_to_say(weaknesses, tmp_path):
    assert host_notes(weaknesses(mds="Not affected\n", l1tf="Mitigation: PTE Inversion\n")) == ()
    assert host_notes(tmp_path / "absent") == ()
