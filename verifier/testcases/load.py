"""Which format a ground truth has, and the one entry point."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping

from verifier import _json
from verifier.errors import RequestError, SuiteError
from verifier.testcases.apps import load_apps
from verifier.testcases.asserts import load_acecode, load_asserts, load_mbpp
from verifier.testcases.codecontests import GROUPS, load_codecontests
from verifier.testcases.codeforces import load_codeforces
from verifier.testcases.digest import suite_digest
from verifier.testcases.fields import (
    Context,
    decoded,
    function_name,
    keys_of,
    kind_of,
    mapping,
    sequence,
    utf8,
)
from verifier.testcases.humaneval import load_humaneval, load_kodcode
from verifier.testcases.io_rows import load_primeintellect, suite_of_rows
from verifier.testcases.livecodebench import FIELDS, load_livecodebench
from verifier.testcases.pieces import Pieces
from verifier.testcases.prime import is_prime, load_prime
from verifier.testcases.unit_tests import load_unit_tests
from verifier.types import Suite

_Loader = Callable[[object, Context], Suite]


def _load_assert(data: object, context: Context) -> Suite:
    if isinstance(data, Mapping):
        return load_prime(data, context) if "assert_case" in data else load_acecode(data, context)
    return load_asserts(data, context, field="assert_case")


_LOADERS: dict[str, _Loader] = {
    "prime": load_prime,
    "eurus2": load_prime,
    "apps": load_apps,
    "taco": load_apps,
    "codecontests": load_codecontests,
    "livecodebench": load_livecodebench,
    "primeintellect": load_primeintellect,
    "synthetic1": load_primeintellect,
    "humaneval": load_humaneval,
    "evalplus": load_humaneval,
    "mbpp": load_mbpp,
    "acecode": load_acecode,
    "kodcode": load_kodcode,
    "assert": _load_assert,
    "codeforces": load_codeforces,
    "unittests": load_unit_tests,
}
# Formats whose whole ground truth may be source text rather than JSON.
_SOURCE_FORMATS = ("auto", "kodcode", "assert", "acecode")

FORMATS: tuple[str, ...] = ("auto", *_LOADERS)


def load_suite(
    ground_truth: object, *, fmt: str = "auto", fn_name: str | None = None, max_cases: int = 100_000
) -> Suite:
    """Read a ground truth.

    Args:
        ground_truth: JSON text (str or bytes, also JSON text of JSON text), `Pieces` of it, which
            are empty afterwards, or the decoded value.
        fmt: One of `FORMATS` ("-", "_" and case do not matter); "auto" goes by the shape.
        fn_name: The function to call, where the ground truth does not name it itself.
        max_cases: More are refused.

    Raises:
        SuiteError: The data is unusable; names the field.
        RequestError: `fmt` is unknown, or `fn_name` is no name.
    """
    loader = _loader(fmt)
    try:
        ours = isinstance(ground_truth, (str, bytes, bytearray, Pieces))
        context = Context(function_name(fn_name, "fn_name"), max_cases, ours)
    except SuiteError as error:
        raise RequestError("fn_name", error.problem) from None
    try:
        data = _data(ground_truth, _key(fmt))
        del ground_truth  # of a large one, text and value are not held beside each other
        suite = _marked(loader(data, context), data)
    except RecursionError:
        raise SuiteError("ground_truth", "nested too deeply") from None
    return dataclasses.replace(suite, digest=suite_digest(suite))


def _marked(suite: Suite, data: object) -> Suite:
    """With what `deterministic` beside the tests says, in every format that is an object."""
    said = data.get("deterministic") if isinstance(data, Mapping) else None
    if said is None or said is True:
        return suite
    if said is not False:
        raise SuiteError("deterministic", f"must be true or false, not {kind_of(said)}")
    return dataclasses.replace(suite, deterministic=False)


def _key(fmt: str) -> str:
    return fmt.lower().replace("-", "").replace("_", "").replace(" ", "") or "auto"


def _loader(fmt: str) -> _Loader:
    key = _key(fmt)
    if key == "auto":
        return _auto
    if key not in _LOADERS:
        near = difflib.get_close_matches(key[:40], _LOADERS, n=3)
        raise RequestError(
            "ground_truth_format",
            f"unknown format {fmt[:40]!r}; known: {', '.join(near or FORMATS)}",
        )
    return _LOADERS[key]


def _data(ground_truth: object, fmt: str) -> object:
    """Decode JSON text. Text that is no JSON is a test source, where the format allows."""
    if isinstance(ground_truth, Pieces):
        if fmt == "auto" or fmt not in _SOURCE_FORMATS:
            value = _of_pieces(ground_truth)
            if value is not None:
                return value
        ground_truth = ground_truth.joined()
    if isinstance(ground_truth, (bytes, bytearray)):
        ground_truth = utf8(bytes(ground_truth), "ground_truth")
    if not isinstance(ground_truth, str):
        return ground_truth
    ground_truth = ground_truth.removeprefix("\ufeff")  # a file's byte order mark
    if not ground_truth or ground_truth.isspace():
        raise SuiteError("ground_truth", "empty")
    if fmt in _SOURCE_FORMATS:
        try:
            value = _json.loads(ground_truth)
        except ValueError:
            if fmt != "auto" or (
                ground_truth.lstrip()[:1] not in ("{", "[", '"') and _looks_like_tests(ground_truth)
            ):
                return ground_truth
        else:
            if not isinstance(value, str):
                return value
    return decoded(ground_truth, "ground_truth")


def _of_pieces(pieces: Pieces) -> object:
    """An object or a list, read piece by piece; None where it is neither, or JSON text of it."""
    if pieces.first() not in (b"{", b"["):
        return None
    try:
        return pieces.loads()
    except UnicodeDecodeError:
        raise SuiteError("ground_truth", "not UTF-8") from None
    except ValueError as error:
        raise SuiteError("ground_truth", f"not JSON: {error}") from None


def _looks_like_tests(source: str) -> bool:
    return "assert" in source or "def test" in source or "def check" in source


def _auto(data: object, context: Context) -> Suite:
    if isinstance(data, str):
        return load_kodcode(data, context)
    if not isinstance(data, Mapping):
        if data is None or (not isinstance(data, (list, tuple)) and not hasattr(data, "tolist")):
            raise SuiteError("ground_truth", f"must be an object or a list, not {kind_of(data)}")
        return _auto_list(data, context)
    loader = _by_shape(mapping(data, "ground_truth"))
    if loader is not None:
        return loader(data, context)
    for field in ("ground_truth", "reward_model"):  # a whole row of a verl data set
        if data.get(field) is not None:
            inner = _data(data[field], "auto")
            return _marked(_auto(inner, context), inner)
    raise SuiteError("ground_truth", f"no known format has the keys: {keys_of(data)}")


def _auto_list(data: object, context: Context) -> Suite:
    items = sequence(data, "ground_truth", context.max_cases)
    if not items:
        raise SuiteError("ground_truth", "no cases")
    if all(isinstance(item, str) for item in items):
        return load_asserts(items, context, field="ground_truth")
    return suite_of_rows(items, "ground_truth", context, fn_name=context.fn_name)


def _by_shape(row: Mapping[str, object]) -> _Loader | None:
    """By the keys that only one format has."""

    def has(*keys: str) -> bool:
        return any(row.get(key) is not None for key in keys)

    if has("unit_tests"):
        return load_unit_tests
    if has("verification_info"):
        return load_primeintellect
    if has(*FIELDS):
        return load_livecodebench
    if has("official_tests"):
        return load_codeforces
    if has(*GROUPS):
        return load_codecontests
    if "input_output" in row:
        return load_apps
    if is_prime(row):
        return load_prime
    if has("test_list"):
        return load_mbpp
    if has("test_cases", "tests", "test"):
        return _tests
    return None


def has_known_shape(data: object) -> bool:
    """Whether an object has the keys of a format: whether "auto" would find one."""
    return isinstance(data, Mapping) and _by_shape(data) is not None


def _tests(data: object, context: Context) -> Suite:
    """`test`, `tests`, `test_cases`: asserts, cases, a source with `check` or test functions."""
    row = mapping(data, "ground_truth")
    for field in ("test_cases", "tests"):
        value = row.get(field)
        if value is None:
            continue
        if isinstance(value, str) and value.lstrip()[:1] not in ("[", "{", '"'):
            return load_kodcode(row, context)
        items = decoded(value, field)
        if isinstance(items, Mapping):
            return load_prime(items, context)
        items = sequence(items, field, context.max_cases)
        if items and all(isinstance(item, str) for item in items):
            return load_asserts(items, context, field=field, row=row)
        return load_primeintellect({**row, field: items}, context)
    source = row["test"]
    if isinstance(source, str) and "def check" not in source and "def test" in source:
        return load_kodcode(row, context)
    return load_humaneval(row, context)
