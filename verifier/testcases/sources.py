"""Test sources: whether they are Python, and what they call."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from verifier import _python
from verifier.errors import SuiteError
from verifier.runner.agent import known

# Modules from which pytest bodies import the program under test.
SOLUTION_MODULES = frozenset(
    {"solution", "solutions", "main", "your_module", "your_solution", "program"}
)
_BUILTINS = frozenset(dir(builtins))
_LIBRARY = frozenset(
    (*known.MODULES, *known.ALIASES, *(n for row in known.MEMBERS.values() for n in row.split()))
)
# They reach into the process that they run in: what the program prints or awaits is in another. Or
# they make files, which a program in another jail does not see, or objects that do not cross.
_IN_PROCESS_CALLS = frozenset(
    str.split("""
    redirect_stdout redirect_stderr patch run_until_complete create_task gather
    mkdtemp mkstemp TemporaryDirectory TemporaryFile NamedTemporaryFile SpooledTemporaryFile
    write_text write_bytes read_text read_bytes
    Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec StringIO BytesIO
    CaptureFixture MonkeyPatch
    """)
)
_IN_PROCESS_BUILTINS = frozenset(("open",))
_IN_PROCESS_FUNCTIONS = frozenset(("asyncio.run", "os.mkdir", "os.makedirs", "os.chdir"))
_IN_PROCESS_MODULES = frozenset(("pd", "pandas"))
_MAX_CHARS = 4_000_000
_INFER_CASES = 200
_INFER_CHARS = 20_000


def checked(source: str, field: str) -> str:
    """The source, if it is Python that does something.

    A test that does not parse fails every program: that is broken data, not a wrong program.
    """
    if len(source) > _MAX_CHARS:
        raise SuiteError(field, f"a test of {len(source)} characters")
    if not source.strip():
        raise SuiteError(field, "empty")
    if len(source) <= _python.MAX_PARSE_CHARS and _python.parse(source) is None:
        raise SuiteError(field, "not valid Python")
    return source


def infer_entry_point(tests: Sequence[str]) -> str | None:
    """The one function that every test calls, if exactly one: it helps to find the block."""
    common: set[str] | None = None
    everywhere: set[str] | None = None  # of builtins: a task may be to write `sum` or `filter`
    for test in tests[:_INFER_CASES]:
        tree = _python.parse(test) if len(test) <= _INFER_CHARS else None
        if tree is None:
            return None
        called, bound = _names(tree)
        found = called - bound - _BUILTINS
        common = found if common is None else common & found
        builtin = (called - bound) & _BUILTINS
        everywhere = builtin if everywhere is None else everywhere & builtin
        if not common and (found or not everywhere):
            return None
    found = common or everywhere or set()
    return next(iter(found)) if len(found) == 1 else None


def needs_objects(source: str) -> bool:
    """Whether a test can only run beside the program's real objects, in its process.

    Decided from the test alone, never from the program: else a program could choose the weaker
    mode. Stand-ins carry calls, attributes, iteration and callbacks. They cannot be a base class,
    answer `isinstance`, be equal to or added to each other, or be awaited; objects of the test's
    own classes do not reach the program, nor do data frames and mocks; and files, streams and names
    that a test makes or replaces are those of its own process.
    """
    tree = _python.parse(source)
    if tree is None:
        return False
    _, bound = _names(tree)
    # A library's name that the test does not import means the library's own (see there).
    own = bound | _BUILTINS | _LIBRARY
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_made(node.value, own)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    classes = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not _holds_tests(node)
    }
    return any(
        _needs_object(node, own, classes) or _works_on(node, made) for node in ast.walk(tree)
    )


def _works_on(node: ast.AST, made: AbstractSet[str]) -> bool:
    """Whether objects of the program's classes are compared or computed with, by name."""
    operands: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        if not all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            operands = [node.left, *node.comparators]
    elif isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        operands = [node.operand]
    return any(isinstance(operand, ast.Name) and operand.id in made for operand in operands)


def _needs_object(node: ast.AST, own: AbstractSet[str], classes: AbstractSet[str]) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(_is_foreign(base, own) for base in node.bases)
    if isinstance(node, ast.Compare):
        return any(_is_made(side, own) for side in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp):
        return _is_made(node.left, own) or _is_made(node.right, own)
    if isinstance(node, ast.Set):
        return any(_is_made(item, own) for item in node.elts)
    if isinstance(node, (ast.Await, ast.AsyncFunctionDef)):
        return True
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(
            isinstance(t, ast.Attribute)
            and (
                t.attr in ("stdin", "stdout", "stderr")
                or _chain(t)[0] in known.MODULES | {"builtins"}
            )
            for t in targets
        )
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        chain = _chain(node.func)
        return (
            chain[-1] in _IN_PROCESS_CALLS
            or "patch" in chain
            or ".".join(chain) in _IN_PROCESS_FUNCTIONS
            or chain[0] in _IN_PROCESS_MODULES
        )
    if not isinstance(node.func, ast.Name):
        return False
    name = node.func.id
    if name in ("isinstance", "issubclass"):
        return len(node.args) == 2 and _is_foreign(node.args[1], own)
    return (
        name in classes
        or name in _IN_PROCESS_BUILTINS
        or (name in _IN_PROCESS_CALLS and name in own)
    )


def _is_foreign(node: ast.AST, own: AbstractSet[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id not in own for n in ast.walk(node))


def _is_made(node: ast.AST, own: AbstractSet[str]) -> bool:
    """An object of a class of the program, by the way classes are named."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id not in own
        and node.func.id[:1].isupper()
    )


def _holds_tests(node: ast.ClassDef) -> bool:
    """A class for pytest or unittest, or an exception."""
    bases = [_chain(base)[-1] for base in node.bases]
    return node.name.startswith("Test") or any(
        base.endswith(("TestCase", "Exception", "Error")) for base in bases
    )


def _chain(node: ast.expr) -> list[str]:
    """The names of `a.b.c`; what is no name is ""."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "")
    return names[::-1]


def _names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names that are called, and names that the source itself binds."""
    called: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if isinstance(node, ast.Import) or node.module not in SOLUTION_MODULES:
                bound.update((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return called, bound
