r"""Texts of a model that are about to be read as mathematics.

`sympy.parse_expr` is `eval` with SymPy's names and Python's built-in functions in reach, and
scorers built on it (verl's among them) run what a response says. Two readers here do not: `parse`
gives SymPy only what cannot name a function of Python's, reach an attribute, or hold a string, and
`arithmetic` computes numbers from a syntax tree.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["arithmetic", "parse"]

# Text within text can be evaluated again; a dot behind a name or a bracket reaches its attributes.
_REFUSED = re.compile(
    r"""["'`\\]|__|[^\W\d]\w*\s*\.\s*[^\W\d]|[)\]}]\s*\.\s*[^\W\d]|\b(?:Symbol|Function)\b"""
)
_MAX_CHARS = 10_000
_CONSTANTS = ("pi", "E", "I", "oo", "zoo", "nan", "true", "false")
_FUNCTIONS = ("sqrt", "cbrt", "root", "real_root", "gcd", "lcm", "det")


@cache
def _names() -> dict[str, Any]:
    """What an expression may name: SymPy's classes of mathematical objects, and a few functions.

    Every other name is a symbol.
    """
    import sympy

    # With what `parse_expr` itself writes in the place of numbers and of names that are not known.
    names: dict[str, Any] = {
        name: value
        for name, value in vars(sympy).items()
        if isinstance(value, type) and issubclass(value, (sympy.Basic, sympy.MatrixBase))
    }
    names |= {name: getattr(sympy, name) for name in (*_CONSTANTS, *_FUNCTIONS)}
    names |= {"max": sympy.Max, "min": sympy.Min, "abs": abs, "pow": pow, "round": round}
    names["__builtins__"] = {}
    return names


def parse(text: str, *, implicit: bool = True) -> Any:
    """A SymPy expression of a text, where that is safe.

    Args:
        text: Python's operators and SymPy's names; names that are not known are symbols.
        implicit: `2x` is `2*x`.

    Raises:
        ValueError: It is refused.
        Exception: Whatever SymPy raises for what it cannot read.
    """
    from sympy.parsing import sympy_parser

    if len(text) > _MAX_CHARS or _REFUSED.search(text):
        raise ValueError("not an expression that is read")
    steps = sympy_parser.standard_transformations
    if implicit:
        steps += (sympy_parser.implicit_multiplication_application,)
    return sympy_parser.parse_expr(text, transformations=steps, global_dict=dict(_names()))


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitXor: operator.xor,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


def arithmetic(text: str) -> Any:
    """The value of an expression of numbers, tuples, lists and sets, as Python computes it.

    Raises:
        ValueError: It has anything else in it.
        Exception: Whatever the computation raises.
    """
    try:
        return _compute(ast.parse(text.lstrip(" \t"), mode="eval").body)
    except (SyntaxError, MemoryError) as error:
        raise ValueError("not an expression of numbers") from error


def _compute(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex)):
        return node.value
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_compute(node.left), _compute(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_compute(node.operand))
    if isinstance(node, ast.Tuple):
        return tuple(map(_compute, node.elts))
    if isinstance(node, ast.List):
        return list(map(_compute, node.elts))
    if isinstance(node, ast.Set):
        return set(map(_compute, node.elts))
    raise ValueError("not an expression of numbers")
