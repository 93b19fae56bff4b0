"""Rust: a module and a `main` behind the answer; the call is written from the signature's text.

What LeetCode declares is added where the answer does not: `struct Solution`, ListNode, TreeNode,
and what is commonly used of the standard library. A `main` of the answer goes by another name.
"""

from __future__ import annotations

import itertools
import re

from verifier.languages.calls.base import Calls, Completed, Target, driver
from verifier.languages.calls.text import (
    C_LIKE,
    closing,
    code_of,
    defines_type,
    mentions,
    outermost,
    split,
)

_NODES = {
    "ListNode": """
#[derive(PartialEq, Eq, Clone, Debug)]
pub struct ListNode {
    pub val: i32,
    pub next: Option<Box<ListNode>>,
}
impl ListNode {
    #[inline]
    fn new(val: i32) -> Self {
        ListNode { next: None, val }
    }
}
""",
    "TreeNode": """
#[derive(Debug, PartialEq, Eq)]
pub struct TreeNode {
    pub val: i32,
    pub left: Option<Rc<RefCell<TreeNode>>>,
    pub right: Option<Rc<RefCell<TreeNode>>>,
}
impl TreeNode {
    #[inline]
    pub fn new(val: i32) -> Self {
        TreeNode { val, left: None, right: None }
    }
}
""",
}
# How the driver reads and writes them. An empty list is no node.
_CONVERSIONS = {
    "ListNode": """
impl verifier_call::Read for Box<ListNode> {
    fn read(from: &verifier_call::Json) -> Result<Self, String> {
        Self::read_option(from)?.map_or_else(|| verifier_call::unfit(from, "a node"), Ok)
    }
    fn read_option(from: &verifier_call::Json) -> Result<Option<Self>, String> {
        let mut head = None;
        match from {
            verifier_call::Json::Null => {}
            verifier_call::Json::List(items) => {
                for item in items.iter().rev() {
                    let val = verifier_call::Read::read(item)?;
                    head = Some(Box::new(ListNode { val, next: head }));
                }
            }
            _ => return verifier_call::unfit(from, "a linked list"),
        }
        Ok(head)
    }
}
impl verifier_call::Write for Box<ListNode> {
    fn write(&self, out: &mut String) -> Result<(), String> {
        let mut at = Some(self);
        let mut before = "[";
        while let Some(node) = at {
            verifier_call::put(out, before)?;
            verifier_call::Write::write(&node.val, out)?;
            before = ",";
            at = node.next.as_ref();
        }
        verifier_call::put(out, "]")
    }
    fn write_none(out: &mut String) -> Result<(), String> {
        verifier_call::put(out, "[]")
    }
}
""",
    "TreeNode": """
type VerifierTree = std::rc::Rc<std::cell::RefCell<TreeNode>>;
impl verifier_call::Read for VerifierTree {
    fn read(from: &verifier_call::Json) -> Result<Self, String> {
        Self::read_option(from)?.map_or_else(|| verifier_call::unfit(from, "a node"), Ok)
    }
    fn read_option(from: &verifier_call::Json) -> Result<Option<Self>, String> {
        let items = match from {
            verifier_call::Json::Null => return Ok(None),
            verifier_call::Json::List(items) => items,
            _ => return verifier_call::unfit(from, "a tree"),
        };
        let mut nodes: Vec<VerifierTree> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            if let verifier_call::Json::Null = item {
                if i == 0 {
                    return Ok(None);
                }
                continue;
            }
            let val = verifier_call::Read::read(item)?;
            let made = TreeNode { val, left: None, right: None };
            let made = std::rc::Rc::new(std::cell::RefCell::new(made));
            if i > 0 {
                match nodes.get((i - 1) / 2) {
                    None => return Err("it gives a tree with a value below no node".to_string()),
                    Some(above) if i % 2 == 1 => above.borrow_mut().left = Some(made.clone()),
                    Some(above) => above.borrow_mut().right = Some(made.clone()),
                }
            }
            nodes.push(made);
        }
        Ok(nodes.into_iter().next())
    }
}
impl verifier_call::Write for VerifierTree {
    fn write(&self, out: &mut String) -> Result<(), String> {
        let mut nodes = vec![Some(self.clone())];
        let mut at = 0;
        while at < nodes.len() {
            if nodes.len() > verifier_call::MAX_NODES {
                return Err("a tree without an end".to_string());
            }
            if let Some(node) = nodes[at].clone() {
                nodes.push(node.borrow().left.clone());
                nodes.push(node.borrow().right.clone());
            }
            at += 1;
        }
        while let Some(None) = nodes.last() {
            nodes.pop();
        }
        for (i, node) in nodes.iter().enumerate() {
            verifier_call::put(out, if i > 0 { "," } else { "[" })?;
            match node {
                Some(node) => verifier_call::Write::write(&node.borrow().val, out)?,
                None => verifier_call::put(out, "null")?,
            }
        }
        verifier_call::put(out, "]")
    }
    fn write_none(out: &mut String) -> Result<(), String> {
        verifier_call::put(out, "[]")
    }
}
""",
}
_MAIN = """
fn main() {{
    verifier_call::run({arity}, |given| {{
        {body}
    }})
}}
"""
# Globs: what the answer imports or declares itself goes before them.
_USES = "\nuse std::cell::*;\nuse std::collections::*;\nuse std::rc::*;\n"
_IMPL = re.compile(r"\bimpl\b[^{;]{0,99}\bSolution\b[^{;]{0,99}\{")
# An answer has one, or one for each trait.
_MAX_BODIES = 9
_ARROW = re.compile(r"\)\s*->")
_BODY = re.compile(r"\bwhere\b|\{")
_PARAMETER = re.compile(r"[^:]*:(?!:)\s*(.*)", re.DOTALL)
_BORROWED = re.compile(r"&\s*(?:'\w+\s*)?(mut\b)?\s*(.*)", re.DOTALL)
_SELF = re.compile(r"(?:&\s*(?:'\w+\s*)?)?(?:mut\s+)?self\b(?!\s*::)")


def _complete(source: str, target: Target) -> Completed:
    code = code_of(source, C_LIKE)
    for match in outermost(code, r"\bfn\s{1,9}main\s{0,9}(?=\()"):
        source = f"{source[: match.start()]}fn main_of_the_answer{source[match.end() :]}"
    parts = ["#![allow(warnings)] ", source, "\n", _DRIVER, _USES]
    parts += [
        f"use std::cmp::{name};\n"
        for name in ("Ordering", "Reverse")
        if mentions(code, name) and not re.search(rf"\buse\b[^;]{{0,500}}(?:\b{name}\b|\*)", code)
    ]
    if _IMPL.search(code) and not re.search(r"\b(?:struct|enum)\s+Solution\b", code):
        parts.append("struct Solution;\n")
    for name, text in _NODES.items():
        if mentions(code, name):
            parts += [_CONVERSIONS[name], "" if defines_type(code, name) else text]
    parts.append(_main(code, target))
    return Completed("".join(parts))


def _main(code: str, target: Target) -> str:
    found = _entry(code, target)
    if found is None:
        return f'fn main() {{ verifier_call::missing("{target.shown}") }}\n'
    path, at = found
    end = closing(code, at)
    parameters = split(code[at + 1 : end])
    if parameters and _SELF.match(parameters[0]):
        path = path.replace("Solution::", "Solution {}.")
        del parameters[0]
    lines, given, in_place = [], [], False
    for i, parameter in enumerate(parameters):
        match = _PARAMETER.fullmatch(parameter)
        kind = match[1].strip() if match else "()"
        if borrowed := _BORROWED.fullmatch(kind):
            kind = _owned(borrowed[2].strip())
            given.append(f"&mut a{i}" if borrowed[1] else f"&a{i}")
            in_place = in_place or (i == 0 and bool(borrowed[1]))
        else:
            given.append(f"a{i}")
        lines.append(f"let mut a{i} = verifier_call::argument::<{kind}>(given, {i})?;")
    lines.append(f"let value = verifier_call::guarded(|| {path}({', '.join(given)}))?;")
    if _returned(code, end) not in ("", "()"):
        lines.append("verifier_call::answer(&value)")
    else:
        lines.append("verifier_call::in_place(&a0)" if in_place else "verifier_call::nothing()")
    body = "\n        ".join(lines)
    return _MAIN.format(arity=len(parameters), body=body)


def _returned(code: str, end: int) -> str:
    """The result's type, behind the bracket that closes the parameters."""
    arrow = _ARROW.match(code, end)
    body = _BODY.search(code, arrow.end()) if arrow else None
    return code[arrow.end() : body.start()].strip() if arrow and body else ""


def _owned(kind: str) -> str:
    """What is behind a reference, as a type of its own."""
    if kind == "str":
        return "String"
    if kind.startswith("[") and kind.endswith("]") and ";" not in kind:
        return f"Vec<{kind[1:-1]}>"
    return kind


def _entry(code: str, target: Target) -> tuple[str, int] | None:
    """The function's path, and where its parameters begin."""
    for name in target.names:
        pattern = rf"\bfn\s{{1,9}}{name}\s{{0,9}}(?:<[^()]{{0,200}}>)?\s{{0,9}}(?=\()"
        if match := next(outermost(code, pattern), None):
            return name, match.end()
        for body in itertools.islice(_IMPL.finditer(code), _MAX_BODIES):
            start = body.end() - 1
            inside = outermost(code, pattern, start + 1, closing(code, start))
            if match := next(inside, None):
                return f"Solution::{name}", match.end()
    return None


_DRIVER = driver("call.rs")
RUST_CALLS = Calls(
    complete=_complete,
    signatures="a function of `Solution`, with or without `self`, or a free one; not a generic one",
    types=(
        "`bool`, `char`, integers and floats of any width, `String`, `Vec`, `VecDeque`, arrays, "
        "`HashMap`, `BTreeMap`, `BTreeSet`, `HashSet` (no result: it has no order), `Option`, "
        "`Result` (of results), tuples, references to these, "
        "`Option<Box<ListNode>>`, `Option<Rc<RefCell<TreeNode>>>`"
    ),
)
