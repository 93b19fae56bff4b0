"""Small changes to a right solution, by its syntax tree: what a model gets wrong by one step.

One change a mutant: a comparison, an operator or a constant is another one, `and` is `or`, a
condition is negated, a statement is left out, a call's arguments change places. A mutant may still
be right, or never end: nothing is claimed of it. The same seed gives the same mutants.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

Change = Callable[[], None]
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.FloorDiv,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}


def mutants(source: str, *, first_line: int, count: int, seed: str) -> list[str]:
    """Programs that each differ from the source, and from each other, in one place.

    Args:
        source: The right one.
        first_line: Lines before it are left as they are.
        count: At most so many.
        seed: Which of all possible changes.
    """
    tree = ast.parse(source)
    places = sum(1 for _ in _changes(tree, first_line))
    order = random.Random(seed).sample(range(places), places)  # noqa: S311 - the same each time
    found: dict[str, None] = {}
    same = ast.unparse(tree)
    for place in order:
        if len(found) == count:
            break
        changed = copy.deepcopy(tree)
        for number, change in enumerate(_changes(changed, first_line)):
            if number == place:
                change()
                break
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text != same:
            found.setdefault(text)
    return list(found)


def _changes(tree: ast.Module, first_line: int) -> Iterator[Change]:
    """All that could be done, in the order of the tree."""
    for node in ast.walk(tree):
        if getattr(node, "lineno", first_line) < first_line and not isinstance(
            node, ast.FunctionDef
        ):
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
            yield _set(node.ops, 0, _COMPARED[type(node.ops[0])]())
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
            yield _attribute(node, "op", _OPERATORS[type(node.op)]())
        elif isinstance(node, ast.BoolOp):
            yield _attribute(node, "op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        elif isinstance(node, ast.Constant):
            yield from _constants(node)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield _attribute(node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            yield _attribute(node, "args", node.args[::-1])
        elif isinstance(node, ast.Return) and node.value is not None:
            yield _attribute(node, "value", ast.Constant(None))
            yield _attribute(node, "value", ast.UnaryOp(ast.Not(), node.value))
            yield _attribute(node, "value", ast.List([node.value], ast.Load()))
        yield from _left_out(node, first_line)


def _constants(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield _attribute(node, "value", not node.value)
    elif isinstance(node.value, (int, float)):
        yield _attribute(node, "value", node.value + 1)
        yield _attribute(node, "value", node.value - 1)
    elif isinstance(node.value, str):
        yield _attribute(node, "value", node.value[1:] if node.value else "x")


def _left_out(node: ast.AST, first_line: int) -> Iterator[Change]:
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if not isinstance(block, list) or isinstance(node, ast.Module):
            continue
        for place, statement in enumerate(block):
            if statement.lineno >= first_line and not isinstance(statement, ast.FunctionDef):
                yield _set(block, place, ast.Pass())


def _set(items: list, place: int, value: ast.AST) -> Change:  # type: ignore[type-arg]
    return lambda: items.__setitem__(place, value)


def _attribute(node: ast.AST, name: str, value: object) -> Change:
    return lambda: setattr(node, name, value)
