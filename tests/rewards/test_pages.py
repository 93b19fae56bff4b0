"""What the pages of the documentation show is run."""

from __future__ import annotations

import re

from page_snippets import DOCS, run_page

from verifier.rewards import loop


def test_the_page_of_the_managers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "advantages" in run_page("rewards.md", tmp_path)


def test_every_manager_has_a_section_with_a_snippet():
    text = (DOCS / "rewards.md").read_text()
    sections = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == {*loop.names(), "batch", "prime"}
    assert all("```python" in section for section in sections.values())
