"""docs/languages.md, made of the recipes: each is described in `verifier/languages` alone."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.gateway.http_fields import NOT_RUN, OURS, languages_of_sandbox_fusion
from verifier.languages import MODES, RECIPES, Recipe
from verifier.languages.calls.base import Calls

__all__ = ["page"]

_HEAD = """\
# Languages

<!-- Made by `verifier languages docs`; change verifier/languages instead. -->

A request names a language by any of its names, in any case, with blanks or without ("C++ 17"). An
unknown name is an error that lists the nearest. A language whose toolchain the sandbox lacks is an
infrastructure fault that says how to get it, never a verdict. So name the language of each task in
training: a model that may choose it could choose one that is not there, and have no score.

The namespaces backend uses what the host has in `/usr`; an image has the families that it was built
with ([images.md](images.md), which lists their libraries too). `verifier doctor` lists what is
there, with versions; `GetInfo` and `verifier languages verify` ask a gateway's or an image's
sandbox. The recipes take the version that is there: Debian 12 has Go 1.19, Rust 1.63, Kotlin 1.3,
Scala 2.11, GHC 9.0 and Node 18.

What holds for all of them:

- [languages-matrix.md](languages-matrix.md) shows the verdict on a program of each kind (too slow,
  too large, too deep, and so on) in each language and in both sandboxes.
- The memory limit is of what is resident, in all processes together. The address space has no
  limit: node, Go, the JVM and numpy cannot start under one.
- A runtime with a heap of its own is told a part of the memory limit as its size. When that is full
  the verdict is MEMORY_LIMIT, as it is when the kernel ends the program, and so it is when a
  runtime is refused what no machine has (`MemoryError`, `std::bad_alloc`). A program that catches
  the exception goes on.
- The stack's limit is 512 MB, or the memory limit where that is less.
- A byte-order mark at a source's start is dropped, and CR LF is read as LF. A NUL byte in a
  source is a COMPILE_ERROR.
- Where the compile step is a check (`node --check`, `ruby -c`), a syntax error is a COMPILE_ERROR.
- Where no request names the language, the tag of a block does. Bash and SQL are never chosen so (an
  answer in another language shows commands and queries too), and a block in Python, C, C++, Java
  or JavaScript goes before one in any other language.
- How long compilers and runtimes take to start, cold and warm: [starts.md](starts.md).
"""
_FUSION = """\
## Sandbox Fusion's names

`POST /run_code` takes each of them ([http.md](http.md)). One whose toolchain the sandbox lacks, or
that is not run here, is answered with `SandboxError` and what to do instead.
"""
_CALLS = """\
A suite with a function's name (`fn_name`) calls it with JSON arguments and compares what it
returns: [cli.md](cli.md#ground-truths) shows such data. Python's functions are called by
the warm interpreter. In the languages below a driver is put around the program: it converts the
arguments to what the function takes and writes the result, as JSON, to a channel that is not
standard output. A request that asks for any other language is an infrastructure fault; where none
is asked for, a program in another one is no answer (NO_CODE).

- The function may be spelled in the data's way, in camelCase, in snake_case or in PascalCase:
  `twoSum` finds Rust's `two_sum`.
- What LeetCode declares for an answer is declared here: its headers and imports, `ListNode` and
  `TreeNode` (lists of values; a tree's level by level with null for an absent node), Rust's `struct
  Solution`. An answer's own declarations go before these, and its own `main` is not run.
- Whole numbers that do not fit the parameter's type, too few or too many arguments, a string for a
  number: RUNTIME_ERROR, with a message that says so. (JavaScript and TypeScript have no types in a
  run: there it is too few arguments alone.) So are an exception, and a program that does not define
  the function. A parameter of a type that is not in the table is that or a COMPILE_ERROR. Compile
  errors have the line numbers of the answer.
- A function that returns nothing (`void`, `undefined`) returns null, as Python's does. Where
  no case of the suite expects null, its first argument is compared, as the call has left it:
  LeetCode's rule for problems that are solved in place. (Python's functions that return None have
  no such rule, as in verl.)
- Results are held to what holds for Python's: plain data, 64 MiB and 200 levels at most. A set
  without an order is none.

| language | functions | arguments and results |
|---|---|---|"""
_UNIT_TESTS = """\
Frameworks that run test files with a program among them ([scoring.md](scoring.md#unit-tests)), or a
test file alone ([http.md](http.md)). unittest's tests are read one by one, or run by pytest. cargo
itself is not needed: its test binaries are built by `rustc --test`, for one crate without
dependencies.
"""
_ADD = """\
## A new language

It is one file of the package and one of its tests:

1. `verifier/languages/NAME.py`: a `Recipe`, in the manner of `lua.py`; its place in `registry.py`.
2. Its Debian packages in a family of `sandbox_images/recipe.py`.
3. `tests/languages/cells/NAME.py`: a program for each column of the matrix, or why there can be
   none. `python -m tests.languages.matrix NAME` tells what they get, and what is wrong with it.
4. For call-based tests: a `Calls` in `verifier/languages/calls`, named by the recipe, and answers
   in `tests/languages/called.py`.
5. `verifier languages docs > docs/languages.md`, and `verifier languages verify NAME`.
"""


def page() -> str:
    """The page, as it is in docs/."""
    return "\n".join([_HEAD, *_sections(), _ADD])


def _sections() -> Iterator[str]:
    packaged = [recipe for recipe in RECIPES.values() if recipe.packages]
    yield "## Names\n"
    yield "| language | name | other names | Sandbox Fusion | image family | Debian packages |"
    yield "|---|---|---|---|---|---|"
    for recipe in packaged:
        yield _row(
            (
                recipe.title,
                f"`{recipe.name}`",
                _names(recipe.aliases),
                _names(recipe.sandbox_fusion),
                recipe.family,
                _names(recipe.packages),
            )
        )
    yield f"\n{_FUSION}"
    yield "| Sandbox Fusion | here | |"
    yield "|---|---|---|"
    for name in languages_of_sandbox_fusion():
        ours = RECIPES.get(OURS.get(name, ""))
        why = NOT_RUN.get(name, "not in Debian" if ours and ours.unpackaged else "")
        yield _row((f"`{name}`", f"`{ours.name}`" if ours else "not run", why))
    yield "\n## Commands\n"
    yield "| language | source | compiled by | run by | stack overflow |"
    yield "|---|---|---|---|---|"
    for recipe in packaged:
        yield _row(
            (
                recipe.title,
                f"`{recipe.source_name}`",
                _command(recipe.compile_argv) or "byte code, in the runner",
                _command(recipe.run_argv),
                recipe.stack_overflow,
            )
        )
    yield "\n## Call-based tests\n"
    yield _CALLS
    yield from _calls(packaged)
    yield "\n## Remarks\n"
    for recipe in packaged:
        limits = recipe.compile_limits
        remark = f" {recipe.notes}" if recipe.notes else ""
        yield (
            f"- **{recipe.title}**:{remark} The compiler has {limits.cpu_time_s:g} s of CPU and "
            f"{limits.memory_bytes >> 20:,} MiB; {recipe.extra_processes} threads are allowed "
            "beside the program's."
        )
    yield "\n## Unit-test modes\n"
    yield _UNIT_TESTS
    yield "| mode | name | Sandbox Fusion | image family | Debian packages | program's file |"
    yield "|---|---|---|---|---|---|"
    for mode in MODES.values():
        recipe = mode.recipe
        yield _row(
            (
                recipe.title,
                f"`{recipe.name}`",
                _names(recipe.sandbox_fusion),
                recipe.family,
                _names(recipe.packages),
                f"`{mode.solution_file}`" if mode.solution_file else "after its public class",
            )
        )
    yield "\n## Not in Debian\n"
    yield "Recipes are there, and nothing here tries them:\n"
    for recipe in RECIPES.values():
        if recipe.unpackaged:
            names = _names((recipe.name, *recipe.aliases))
            yield f"- **{recipe.title}** ({names}): {recipe.unpackaged}. {_how(recipe)}"
    yield ""


def _calls(recipes: list[Recipe]) -> Iterator[str]:
    """One row for each driver."""
    titles: dict[Calls, list[str]] = {}
    for recipe in recipes:
        if recipe.calls is not None:
            titles.setdefault(recipe.calls, []).append(recipe.title)
    for calls, names in titles.items():
        yield _row((", ".join(names), calls.signatures, calls.types))


def _how(recipe: Recipe) -> str:
    return f"Compiled by {_command(recipe.compile_argv)}, run by {_command(recipe.run_argv)}."


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _command(argv: tuple[str, ...]) -> str:
    """A command as a person reads it: a script in it is three dots."""
    words = ["..." if "\n" in word else word for word in argv]
    return f"`{' '.join(words)}`" if argv else ""


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
