"""Go: files of the same package beside the answer, which find the function's types by reflection.

`package main` and the standard packages that an answer uses without importing them are put into its
first line. Its `main` goes by another name.
"""

from __future__ import annotations

import re

from verifier.languages.calls.base import Calls, Completed, Target, driver
from verifier.languages.calls.text import GO_LIKE, MAX_CHARS, code_of, mentions, outermost

_PACKAGE = re.compile(r"^\s*package\s+\w+", re.ASCII)
_IMPORT = re.compile(r"^\s{0,99}import\s{0,9}(?:\([^)]{0,4000}\)|[^\n]{0,200})", re.MULTILINE)
_QUOTED = re.compile(r'"([^"\n]{1,200})"')
_PACKAGES = (
    *("bytes", "container/heap", "container/list", "errors", "fmt", "math", "math/bits"),
    *("math/rand", "regexp", "sort", "strconv", "strings", "unicode"),
)
_NODES = {
    "ListNode": "type ListNode struct {\n\tVal  int\n\tNext *ListNode\n}\n",
    "TreeNode": "type TreeNode struct {\n\tVal   int\n\tLeft  *TreeNode\n\tRight *TreeNode\n}\n",
}


def _complete(source: str, target: Target) -> Completed:
    code = code_of(source, GO_LIKE)
    entry = _entry(code, target)
    call = f"verifierCall({entry})" if entry else f'verifierMissing("{target.shown}")'
    beside = "package main\n\n" + "".join(
        text
        for name, text in _NODES.items()
        if mentions(code, name) and not re.search(rf"\b{name}\s{{1,9}}struct\b", code)
    )
    beside += f"func main() {{ {call} }}\n"
    head = "package main" + "".join(f'; import "{path}"' for path in _missing(source, code))
    for match in outermost(code, r"\bfunc\s{1,9}main\s{0,9}(?=\()"):
        source = f"{source[: match.start()]}func mainOfTheAnswer{source[match.end() :]}"
    if package := _PACKAGE.search(code):
        start = code.index("package")
        source = f"{source[:start]}{head}{source[package.end() :]}"
    else:
        source = f"{head}; {source}"
    return Completed(source, {"call.go": _DRIVER, "entry.go": beside.encode()})


def _entry(code: str, target: Target) -> str:
    for name in target.names:
        if next(outermost(code, rf"\bfunc\s{{1,9}}{name}\s{{0,9}}(?=\()"), None):
            return name
        if next(
            outermost(
                code,
                rf"\bfunc\s{{0,9}}\([^()]{{0,99}}\bSolution\s{{0,9}}\)\s{{0,9}}{name}\s{{0,9}}(?=\()",
            ),
            None,
        ):
            return f"(&Solution{{}}).{name}"
    return ""


def _missing(source: str, code: str) -> list[str]:
    """Packages that are used and not imported, as far as their names are nothing else."""
    imported = {
        path
        for match in _IMPORT.finditer(source, 0, MAX_CHARS)
        for path in _QUOTED.findall(match[0])
    }
    found = []
    for path in _PACKAGES:
        name = path.rpartition("/")[2]
        used = re.search(rf"(?<![.\w]){name}\.[A-Z]", code)
        declared = re.search(
            rf"\b{name}\s{{0,9}}(?:,[^\n{{]{{0,99}})?:?=|\bvar\s{{1,9}}{name}\b"
            rf"|[(,]\s{{0,9}}{name}\s{{1,9}}[*\[\w]",
            code,
        )
        if path not in imported and used and not declared:
            found.append(path)
    return found


_DRIVER = driver("call.go").encode()
GO_CALLS = Calls(
    complete=_complete,
    signatures="a function or a method of `Solution`; several results: a list; an `error` raises",
    types=(
        "`bool`, integers and floats of any width, `string`, slices, arrays, maps, pointers, "
        "`interface{}`, nodes with `Val` and `Next`, or `Val`, `Left` and `Right`; a `byte` is a "
        "string of one character"
    ),
)
