"""LiveCodeBench: public tests as JSON, private ones as base64 of zlib of a pickle of JSON text."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping

from verifier._text import excerpt
from verifier.errors import SuiteError
from verifier.testcases.fields import Context, decoded, function_name, mapping, sequence, text
from verifier.testcases.io_rows import suite_of_rows
from verifier.testcases.plain_pickle import plain_loads
from verifier.types import Suite

# The largest private tests of the data set are about 100 MB.
MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024
FIELDS = ("public_test_cases", "private_test_cases")


def load_livecodebench(data: object, context: Context) -> Suite:
    """Read a row: the public cases, then the private ones."""
    row = mapping(data, "ground_truth")
    cases: list[object] = []
    for field in FIELDS:
        if row.get(field) in (None, ""):
            continue
        cases += _cases(row[field], field, context)
        if len(cases) > context.max_cases:
            raise SuiteError(field, f"{len(cases)} cases are over the limit of {context.max_cases}")
    if not cases:
        given = next((field for field in FIELDS if row.get(field) is not None), FIELDS[0])
        raise SuiteError(given, "no cases")
    return suite_of_rows(cases, "test_cases", context, fn_name=_function(row))


def _function(row: Mapping[str, object]) -> str | None:
    if row.get("metadata") in (None, ""):
        return function_name(row.get("fn_name"), "fn_name")
    metadata = mapping(decoded(row["metadata"], "metadata"), "metadata")
    return function_name(metadata.get("func_name"), "metadata.func_name")


def _cases(value: object, field: str, context: Context) -> list[object]:
    if isinstance(value, (str, bytes)):
        raw = text(value, field).strip()
        value = decoded(raw if raw[:1] in '["' else _unpacked(raw, field), field)
    return list(sequence(value, field, context.max_cases))


def _unpacked(packed: str, field: str) -> object:
    try:
        compressed = base64.b64decode("".join(packed.split()), validate=True)
    except (binascii.Error, ValueError):
        raise SuiteError(field, "neither JSON nor base64") from None
    unpacker = zlib.decompressobj()
    try:
        pickled = unpacker.decompress(compressed, MAX_DECOMPRESSED_BYTES)
    except zlib.error as error:
        raise SuiteError(field, f"not zlib: {error}") from None
    if unpacker.unconsumed_tail:
        raise SuiteError(field, f"over {MAX_DECOMPRESSED_BYTES} bytes when decompressed")
    if not unpacker.eof:
        raise SuiteError(field, "the zlib stream is cut off")
    try:
        return plain_loads(pickled)
    except ValueError as error:
        raise SuiteError(field, f"refused pickle: {excerpt(str(error))}") from None
