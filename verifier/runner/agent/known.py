"""Names that a test uses without importing them, and that mean the library's own.

Data sets' tests lean on the imports of the solution they were written for: `math.isclose(f(2), 4)`,
`Counter(f(s)) == Counter(t)`. A program that was asked for such a name could answer with a function
that finds everything equal, so it is not asked. Only the entry point is the program's own under any
name.
"""

import importlib
import types

MODULES = frozenset(
    (
        "math cmath collections itertools functools operator re string random heapq bisect copy "
        "json datetime time decimal fractions statistics typing sys os io pytest"
    ).split()
)
ALIASES = {"np": "numpy", "numpy": "numpy", "pd": "pandas", "pandas": "pandas"}
# What `from module import name` gives, where tests compute an expected value or compare with it.
MEMBERS = {
    "math": "isclose inf nan pi sqrt ceil floor fabs fsum sin cos tan exp log log2 log10",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "copy": "deepcopy",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "datetime": "timedelta timezone",
    "functools": "reduce partial cmp_to_key",
    "io": "StringIO BytesIO",
    "typing": "List Dict Tuple Set Optional Any Union Callable",
    "numpy": "allclose array_equal",
    "numpy.testing": "assert_allclose assert_array_equal assert_almost_equal "
    "assert_array_almost_equal",
}
_MODULE_OF = {name: module for module, names in MEMBERS.items() for name in names.split()}
# Where it is known which function is tested, all that these offer is the library's too. Where it is
# not, a `factorial` that a test calls may well be what it tests.
OFFERING = "math itertools functools collections heapq bisect statistics".split()
UNKNOWN = object()


class Both(types.ModuleType):
    """A module that may stand for its member of the same name: from where was `copy` imported?"""

    def __init__(self, module, member):
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _member=member)

    def __getattr__(self, name):
        try:
            return getattr(self._module, name)
        except AttributeError:
            return getattr(self._member, name)

    def __call__(self, *arguments, **keywords):
        return self._member(*arguments, **keywords)

    def __instancecheck__(self, value):
        return isinstance(value, self._member)


def module(name):
    """A library's module under the name that solutions import it by."""
    found = importlib.import_module(name)
    member = getattr(found, name, None)
    return found if member is None else Both(found, member)


def meaning(name, entry_point):
    """What a name means; None: the library's, which is not here; UNKNOWN: the program's."""
    if name == entry_point:
        return UNKNOWN
    try:
        if name in MODULES:
            return module(name)
        if name in ALIASES:
            return importlib.import_module(ALIASES[name])
        if name in _MODULE_OF:
            return getattr(importlib.import_module(_MODULE_OF[name]), name)
    except ImportError:
        return None
    if entry_point and not name.startswith("_"):
        for offering in OFFERING:
            found = getattr(importlib.import_module(offering), name, None)
            if found is not None and not isinstance(found, types.ModuleType):
                return found
    return UNKNOWN
