"""The parts of the managers' page that need Ray."""

from __future__ import annotations

from page_snippets import run_page


def test_the_page_of_the_managers_with_ray(ray_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page("rewards.md", tmp_path, ray=True)
    assert names["rewards"].batch["rm_scores"].sum() == 0.0
