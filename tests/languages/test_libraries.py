"""Each library that a sandbox lists, used by a program there under verl's default of 1,024 MB."""

from __future__ import annotations

import os

import pytest

from sandbox_images.recipe import FULL_FAMILIES, ImageRecipe
from tests.conftest import ACCEPTABLE, IMAGE, require_backend
from verifier.engine import make_sandbox
from verifier.languages import RECIPES
from verifier.types import LimitOverrides, Program, RunTask, Status

# (language, library) -> a program that prints 5 by means of it.
PROGRAMS = {
    ("python", "numpy"): "import numpy as np\nprint(int(np.ones((5, 9)).T[3] @ np.ones(5)))",
    ("python", "scipy"): "from scipy.optimize import linprog\n"
    "print(round(linprog([1], bounds=[(5, 9)]).fun))",
    ("python", "pandas"): "import pandas as pd\n"
    "print(pd.DataFrame({'k': [1, 1, 2], 'v': [2, 3, 4]}).groupby('k').v.sum()[1])",
    ("python", "sympy"): "import sympy\nx = sympy.Symbol('x')\nprint(sympy.solve(2 * x - 10)[0])",
    ("python", "networkx"): "import networkx as nx\n"
    "print(nx.shortest_path_length(nx.path_graph(9), 1, 6))",
    ("python", "sortedcontainers"): "from sortedcontainers import SortedList\n"
    "print(SortedList([7, 5, 9])[0])",
    ("python", "pytest"): "import pytest\n"
    "with pytest.raises(ValueError):\n    int('x')\nprint(pytest.approx(5.0) == 5 and 5)",
    ("c", "gmp"): "#include <stdio.h>\n#include <gmp.h>\nint main() { mpz_t a; "
    'mpz_init_set_ui(a, 25); mpz_sqrt(a, a); gmp_printf("%Zd\\n", a); }',
    ("cpp", "gmp"): "#include <bits/stdc++.h>\n#include <gmpxx.h>\n"
    'int main() { std::cout << mpz_class("5") << "\\n"; }',
    ("cpp", "boost"): "#include <cstdio>\n#include <boost/integer/common_factor_rt.hpp>\n"
    'int main() { std::printf("%d\\n", boost::integer::gcd(25, 10)); }',
    ("javascript", "lodash"): "console.log(require('lodash').sum([2, 3]));",
    ("typescript", "lodash"): "const _: any = require('lodash');\nconsole.log(_.sum([2, 3]));",
    ("php", "gmp"): "<?php echo gmp_strval(gmp_add('2', '3')), \"\\n\";",
    ("php", "mbstring"): "<?php echo mb_strlen('äöüßé', 'UTF-8'), \"\\n\";",
    ("haskell", "vector"): "import qualified Data.Vector.Unboxed as V\n"
    "main :: IO ()\nmain = print (V.sum (V.fromList [2, 3 :: Int]))\n",
    ("haskell", "unordered-containers"): "import qualified Data.HashMap.Strict as H\n"
    "main :: IO ()\nmain = print (H.fromList [('a', 5 :: Int)] H.! 'a')\n",
    ("haskell", "split"): "import Data.List.Split (splitOn)\n"
    'main :: IO ()\nmain = print (length (splitOn "," "a,b,c,d,e"))\n',
    ("haskell", "random"): "import System.Random\n"
    "main :: IO ()\nmain = print (fst (randomR (5, 5 :: Int) (mkStdGen 1)))\n",
}
PROGRAMS |= {
    ("pypy", name): PROGRAMS["python", name] for name in ("sympy", "networkx", "sortedcontainers")
}
# Programs do not use these: the modes of unit tests do.
FRAMEWORKS = {"junit4", "junit5", "jest"}
SLOW = ("haskell",)
ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"
# What CI's host and its image have to have.
REQUIRED = set(ImageRecipe(FULL_FAMILIES, "").packages)


def package_of(language: str, name: str) -> str:
    return next(one.package for one in RECIPES[language].libraries if one.name == name)


def test_each_has_a_program():
    listed = {
        (recipe.name, library.name)
        for recipe in RECIPES.values()
        for library in recipe.libraries
        if (not recipe.written_as or recipe.name == "pypy") and library.name not in FRAMEWORKS
    }
    assert listed == PROGRAMS.keys()


@pytest.mark.parametrize(
    ("source", "linked"),
    [
        (b"#include <gmpxx.h>\n", ("-lgmpxx", "-lgmp")),
        (b"int a;\n  # include <boost/multiprecision/gmp.hpp>\n", ("-lgmpxx", "-lgmp")),
        (b'#include <bits/stdc++.h>\nint gmp; // "gmp.h", not #include <gmp.h>\n', ()),
        (b"#include <ogmp.h>\n", ()),
    ],
)
def test_gmp_is_linked_where_it_is_included(source, linked):
    """A host without it compiles all other programs."""
    cpp = RECIPES["cpp"]
    assert cpp.compile_command(source) == (*cpp.compile_argv, *linked)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("language", "library"), PROGRAMS)
async def test_a_library_is_listed_and_works(backend, shared_engine, language, library):
    listed = shared_engine.info().packages.get(language, {})
    package = package_of(language, library)
    if library not in listed:
        needed = {package, *RECIPES[language].packages}
        must = os.environ.get(f"VERIFIER_REQUIRE_{backend.upper()}") and needed <= REQUIRED
        if must or ALL:
            pytest.fail(f"{package} is not in the {backend} backend's sandbox")
        pytest.skip(f"{package} is not there")
    if language in SLOW and not ALL:
        pytest.skip("slow to compile: scripts/test --all-languages")
    outcome = await shared_engine.run(
        RunTask(
            Program(language, PROGRAMS[language, library].encode()),
            limits=LimitOverrides(memory_bytes=1024**3, cpu_time_s=20.0, wall_time_s=60.0),
        )
    )
    assert outcome.status is Status.ACCEPTED, outcome
    assert outcome.facts.stdout.split() == [b"5"], outcome


@pytest.mark.docker
@pytest.mark.namespaces
async def test_both_backends_have_the_same(namespaces):
    """So that their verdicts are equal: of what the image has, versions and all."""
    require_backend("docker")
    found = []
    for sandbox in (namespaces(), make_sandbox("docker", image=IMAGE, accept=ACCEPTABLE)):
        found.append(await sandbox.packages())
        await sandbox.close()
    host, image = found
    there = {name: {**host.get(name, {}), **libraries} for name, libraries in image.items()}
    assert there == {name: host.get(name, {}) for name in image}
