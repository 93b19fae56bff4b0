"""JavaScript and TypeScript: a line behind the answer hands over what it has declared.

Neither language says at run time which arguments are linked lists or trees. A type in the signature
does (TypeScript), or a `@param {ListNode} head` in the comment before the function, as LeetCode's
stubs have it. Where there is neither, the names that it gives to nodes do, in an answer that uses
`.next` or `.left`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable

from verifier.languages.calls.base import Calls, Completed, Target, driver
from verifier.languages.calls.text import JS_LIKE, closing, code_of, split

# `export` is no part of a script. TypeScript's compiler removes it itself.
_EXPORT = re.compile(
    r"^([ \t]{0,8})export(?:"
    r"[ \t]+(?:default[ \t]+(?=(?:async[ \t]+)?function[ \t*]+\w|class[ \t]+\w))?"
    r"(?=(?:async|function|class|const|let|var)\b)"
    r"|[ \t]+default[ \t]+(?=[\w$]{1,99}[ \t]{0,9};?[ \t]{0,9}$)"
    r"|[ \t]{0,9}\{[\w$,\s]{0,400}\}"
    r")",
    re.MULTILINE,
)
_DOC_PARAM = re.compile(r"@param\s{1,9}\{([^}\n]{1,99})\}\s{1,9}\[?(\w{1,99})")
_DOC_RETURN = re.compile(r"@returns?\s{1,9}\{([^}\n]{1,99})\}")
_LISTS = re.compile(r"(?:head|list|l)[A-Z0-9]?|lists")
_TREES = re.compile(r"(?:root|tree)\d?|p|q|subRoot|s|t|original|cloned|target")
# Where a declaration is looked for among calls of the function.
_MAX_PLACES = 20
_HAND_OVER = """
;module.exports = {{
  names: {names},
  found: [{found}],
  Solution: typeof Solution === 'undefined' ? undefined : Solution,
  exported: module.exports,
  kinds: {kinds},
  result: {result},
  optional: {optional},
}};
"""


def _javascript(source: str, target: Target) -> Completed:
    return _typescript(_EXPORT.sub(lambda m: m[1] + "\n" * m[0].count("\n"), source), target)


def _typescript(source: str, target: Target) -> Completed:
    kinds, result, optional = _kinds(source, target)
    found = ", ".join(
        f"typeof {name} === 'undefined' ? undefined : {name}" for name in target.names
    )
    return Completed(
        source
        + _HAND_OVER.format(
            names=json.dumps(target.names),
            found=found,
            kinds=json.dumps(kinds),
            result=json.dumps(result),
            optional=optional,
        ),
        {"call.js": _DRIVER},
    )


def _kinds(source: str, target: Target) -> tuple[list[str], str, int]:
    """What the parameters are, and the result: see `argument` in call.js; how many may be absent.

    Those with a default are not among the latter: JavaScript knows of them itself.
    """
    code = code_of(source, JS_LIKE)
    found = _parameters(code, target)
    if found is None:
        return [], "", 0
    start, parameters, returns = found
    # The last comment before the function.
    close = source.rfind("*/", 0, start)
    doc = source[max(source.rfind("/**", 0, close), 0) : max(close, 0)]
    documented = {name: kind for kind, name in _DOC_PARAM.findall(doc)}
    kinds = []
    for parameter in parameters:
        name, _, kind = parameter.partition(":")
        name = name.split("=")[0].strip(" ?.")
        kind = kind.split("=")[0] or documented.get(name, "")
        kinds.append(_kind(kind) if kind else _by_name(code, name))
    if not returns and (match := _DOC_RETURN.search(doc)):
        returns = match[1]
    optional = sum(parameter.partition(":")[0].rstrip().endswith("?") for parameter in parameters)
    return kinds, _kind(returns), optional


def _parameters(code: str, target: Target) -> tuple[int, list[str], str] | None:
    """Where the function begins, its parameters, and its result's type."""
    for name in target.names:
        pattern = (
            rf"\bfunction\s{{0,9}}\*?\s{{0,9}}{name}\s{{0,9}}(?:<[^()]{{0,200}}>)?\s{{0,9}}(?=\()"
            rf"|\b{name}\s{{0,9}}(?::[^=\n]{{0,200}})?=\s{{0,9}}(?:async\s{{0,9}})?(?:function\b\s{{0,9}}\w{{0,99}}\s{{0,9}})?(?=\()"
            rf"|\b{name}\s{{0,9}}(?=\()"
        )
        for match in itertools.islice(re.finditer(pattern, code), _MAX_PLACES):
            end = closing(code, match.end())
            after = re.compile(r"\)\s{0,9}(?::([^{=]{0,200}))?\s{0,9}(?:=>|\{)").match(code, end)
            if after:  # it is declared there, not called
                return match.start(), split(code[match.end() + 1 : end]), after[1] or ""
        single = re.search(
            rf"\b{name}\s{{0,9}}=\s{{0,9}}(?:async\s{{0,9}})?(\w{{1,99}})\s{{0,9}}=>", code
        )
        if single:
            return single.start(), [single[1]], ""
    return None


def _kind(text: str) -> str:
    """Of a type in TypeScript, or in a comment."""
    kind = "list" if "ListNode" in text else "tree" if "TreeNode" in text else ""
    return kind + "[]" if kind and ("[]" in text or "Array" in text) else kind


def _by_name(code: str, name: str) -> str:
    if re.search(r"\.\s?next\b", code) and _LISTS.fullmatch(name):
        return "list[]" if name == "lists" else "list"
    if re.search(r"\.\s?left\b", code) and _TREES.fullmatch(name):
        return "tree"
    return ""


_DRIVER = driver("call.js").encode()
_SIGNATURES = (
    "a function or a constant that is one, or a method of `Solution`; a promise is waited for"
)
_TYPES = (
    "what JSON has; an integer beyond 2^53 that a number cannot hold is a `BigInt`; results may be "
    "`Map`s and typed arrays; nodes by "
)


def _calls(
    complete: Callable[[str, Target], Completed],
    nodes: str,
    node: tuple[str, ...],
    outputs: tuple[str, ...],
) -> Calls:
    return Calls(
        complete=complete,
        outputs=(*outputs, "call.js"),
        run_argv=(*node, "/program/call.js"),
        signatures=_SIGNATURES,
        types=_TYPES + nodes,
    )


def javascript_calls(node: tuple[str, ...], outputs: tuple[str, ...]) -> Calls:
    """JavaScript's, with the command of Node.js and what a program's artifact is."""
    nodes = "`@param {ListNode} head` in the comment, or by LeetCode's names"
    return _calls(_javascript, nodes, node, outputs)


def typescript_calls(node: tuple[str, ...], outputs: tuple[str, ...]) -> Calls:
    """TypeScript's, with the command of Node.js and what a program's artifact is."""
    return _calls(_typescript, "their types in the signature", node, outputs)
