"""The matrix of languages, for real: every cell's verdict under verl's default of 1,024 MB.

Of every run are the languages that are common and quick to compile; with
`VERIFIER_REQUIRE_LANGUAGES=1` (`scripts/test --all-languages`) it is all of them, and one that the
host lacks is a failure; one that the image lacks is, where `VERIFIER_TEST_IMAGE` names the image.
"""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.languages.cells import CELLS, cells_of
from tests.languages.cells.base import Cell, Impossible, Kind
from tests.languages.matrix import LANGUAGES, problems_of, run_matrix
from tests.languages.toolchains import ALL, require_toolchain
from verifier.engine import Engine
from verifier.types import Limits

QUICK = ("python", "c", "cpp", "java", "javascript", "typescript", "go", "rust", "bash", "perl")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(sandbox_of):
    made = Engine(sandbox_of(), slots=2, default_limits=Limits(memory_bytes=1024 * 1024 * 1024))
    await made.start()
    missing = {guarantee.name.value for guarantee in made.info().guarantees if not guarantee.holds}
    if missing & {"memory_limit", "cpu_accounting"}:
        await made.close()
        pytest.skip(f"missing here: {', '.join(missing)}")
    yield made
    await made.close()


@pytest.mark.timeout(600 if ALL else 180)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("language", LANGUAGES if ALL else QUICK)
async def test_a_language(engine, language):
    require_toolchain(engine, language)
    assert problems_of(await run_matrix(engine, language)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_cell_is_missing(language):
    cells = cells_of(language)
    assert set(cells) == set(Kind) - {Kind.ACCEPTED}
    for cell in cells.values():
        if isinstance(cell, Impossible):
            assert cell.why
        elif isinstance(cell, Cell):
            other = [cell.status, cell.stdout, cell.exit_code] != [None, None, None]
            assert bool(cell.why) or not other


def test_no_language_is_misspelled():
    assert set(CELLS) <= set(LANGUAGES)
