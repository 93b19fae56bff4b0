"""Java: a class beside the answer finds the method by reflection, and converts to what it declares.

`java.util` and what is below it are imported, as LeetCode does; a class of the answer's own goes
before one of theirs. A package is dropped: the classes beside it are in none. ListNode and TreeNode
are defined where the answer does not define them.
"""

from __future__ import annotations

import re

from verifier.languages.calls.base import Calls, Completed, Target, driver
from verifier.languages.calls.text import C_LIKE, code_of, defines_type, mentions

_PACKAGE = re.compile(r"^\s*package\s+[\w.\s]{1,200};")
_IMPORTS = "import java.util.*; import java.util.function.*; import java.util.stream.*; "
_NODES = {
    "ListNode": """\
public class ListNode {
    int val;
    ListNode next;
    ListNode() {}
    ListNode(int val) { this.val = val; }
    ListNode(int val, ListNode next) { this.val = val; this.next = next; }
}
""",
    "TreeNode": """\
public class TreeNode {
    int val;
    TreeNode left;
    TreeNode right;
    TreeNode() {}
    TreeNode(int val) { this.val = val; }
    TreeNode(int val, TreeNode left, TreeNode right) {
        this.val = val;
        this.left = left;
        this.right = right;
    }
}
""",
}


def _complete(source: str, target: Target) -> Completed:
    del target  # it is looked up by name, in the run
    code = code_of(source, C_LIKE)
    if package := _PACKAGE.search(code):
        start, end = package.span()
        source = source[:start] + re.sub(r"[^\n]", " ", source[start:end]) + source[end:]
    files = {"VerifierCall.java": _DRIVER}
    for name, text in _NODES.items():
        if mentions(code, name) and not defines_type(code, name, "class|record"):
            files[f"{name}.java"] = text.encode()
    return Completed(_IMPORTS + source, files)


_DRIVER = driver("VerifierCall.java").encode()


def java_calls(command: tuple[str, ...]) -> Calls:
    """Java's.

    Args:
        command: Of a run: flags, and `-jar` with the jar.
    """
    *start, _, jar = command
    return Calls(
        complete=_complete,
        run_argv=(*start, "-cp", jar, "VerifierCall"),
        names_in_run=True,
        signatures="a method of `Solution`, or a static one of any class; overloads by what fits",
        types=(
            "primitives and their boxes, `String`, `BigInteger`, `BigDecimal`, arrays, `List`, "
            "`Set`, `Deque`, `Queue`, `Map`, `Optional`, `Object`, nodes with `val` and `next`, or "
            "`val`, `left` and `right`; a `HashSet` is no result, for it has no order"
        ),
    )
