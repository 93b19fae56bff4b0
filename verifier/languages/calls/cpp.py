"""C++: the answer is a header of the driver, which is found by overloading what to call.

`#include <bits/stdc++.h>` is there, and `using namespace std;` unless the answer has headers of its
own and says `std::`: LeetCode's answers are written for both. ListNode and TreeNode are defined
where the answer does not define them, and a `main` of its own goes by another name.
"""

from __future__ import annotations

import re

from verifier.languages.calls.base import Calls, Completed, Target, driver
from verifier.languages.calls.text import closing, code_of, defines_type, mentions, outermost

_NODES = {
    "ListNode": """\
struct ListNode {
    int val;
    ListNode *next;
    ListNode() : val(0), next(nullptr) {}
    ListNode(int x) : val(x), next(nullptr) {}
    ListNode(int x, ListNode *next) : val(x), next(next) {}
};
""",
    "TreeNode": """\
struct TreeNode {
    int val;
    TreeNode *left;
    TreeNode *right;
    TreeNode() : val(0), left(nullptr), right(nullptr) {}
    TreeNode(int x) : val(x), left(nullptr), right(nullptr) {}
    TreeNode(int x, TreeNode *left, TreeNode *right) : val(x), left(left), right(right) {}
};
""",
}
_SOLUTION = re.compile(r"\b(?:class|struct)\s{1,9}Solution\b[^;{()]{0,200}\{")
_MAIN = """\
{head}#define main main_of_the_answer
#include "main.cpp"
#undef main
#undef int
#undef char
#undef return
int main(int verifier_count, char **verifier_words) {{ return {call}, verifier_words); }}
"""


def _complete(source: str, target: Target) -> Completed:
    code = code_of(source)
    head = '#include <bits/stdc++.h>\n#include "call.h"\n' + _overloads(target.arity)
    if not (mentions(code, "std::") and "#include" in source):
        head += "using namespace std;\n"
    head += "".join(
        text
        for name, text in _NODES.items()
        if mentions(code, name) and not defines_type(code, name)
    )
    entry = _entry(code, target)
    what = f"enter(&{entry}" if entry else f'missing("{target.shown}"'
    text = _MAIN.format(head=head, call=f"verifier_call::{what}")
    return Completed(source, {"call.cpp": text.encode(), "call.h": _HEADER})


def _entry(code: str, target: Target) -> str:
    """A qualified name; "" where the code has none of the names."""
    solution = _SOLUTION.search(code)
    for name in target.names:
        pattern = rf"\b{name}\s{{0,9}}(?=\()"
        if next(outermost(code, pattern), None):
            return f"::{name}"
        if solution is None:
            continue
        start = solution.end() - 1
        if next(outermost(code, pattern, start + 1, closing(code, start)), None):
            return f"::Solution::{name}"
    return ""


def _overloads(arity: int) -> str:
    """`enter` for functions of so many parameters."""
    kinds = "".join(f", class A{i}" for i in range(arity))
    names = ", ".join(f"A{i}" for i in range(arity))
    rest = f", {names}" if names else ""
    members = "".join(
        f"template <class R, class C{kinds}> int enter(R (C::*f)({names}){const}, char **paths) "
        f"{{ return method<R, C, decltype(f){rest}>(f, paths); }}\n"
        for const in ("", " const")
    )
    free = (
        f"template <class R{kinds}> int enter(R (*f)({names}), char **paths) "
        "{ return function(f, paths); }\n"
    )
    return f"namespace verifier_call {{\n{members}{free}}}\n"


_HEADER = driver("call.h").encode()
CPP_CALLS = Calls(
    complete=_complete,
    compiled_name="call.cpp",
    signatures="a method of `Solution`, or a free function; overloads by the number of arguments",
    types=(
        "`bool`, `char`, integers of any width, `float` to `long double`, `string`, "
        "`string_view`, `vector`, `deque`, `list`, `array`, `set`, `map`, `unordered_map`, "
        "`pair`, `tuple`, `optional`, "
        "pointers to nodes with `val` and `next`, or `val`, `left` and `right`"
    ),
)
