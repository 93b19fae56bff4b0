"""verl's prime format, which Eurus-2 uses too.

`inputs` and `outputs`, with or without `fn_name`; or `assert_case`. Beside these, our own optional
fields: `weights` (one number per case), `groups` (the subtask of each), `checker` and `interactor`
(their source, or an object with the fields of `verifier.types.Checker`).

Where `assert_case` stands beside inputs and outputs, verl's sandbox_fusion scorer lets it override
them and refuses lengths that differ; prime_code ignores it. Here it overrides, with the same
refusal.
"""

from __future__ import annotations

from collections.abc import Mapping

from verifier.errors import SuiteError
from verifier.testcases.asserts import load_asserts
from verifier.testcases.calls import call_suite
from verifier.testcases.fields import (
    Context,
    drained,
    function_name,
    groups,
    keys_of,
    mapping,
    paired,
    sequence,
    stdin_suite,
    weights,
)
from verifier.testcases.helpers import checker_of, interactor_of
from verifier.types import Suite


def is_prime(row: Mapping[str, object]) -> bool:
    """The row has this shape."""
    return not row.keys().isdisjoint({"inputs", "outputs", "assert_case"})


def load_prime(data: object, context: Context, *, raw: bool = False) -> Suite:
    """Read the format. `raw`: outputs of calls are values, never JSON text (APPS, TACO)."""
    row = mapping(data, "ground_truth")
    if not is_prime(row):
        raise SuiteError("inputs", f"missing (the keys are: {keys_of(row)})")
    if row.get("assert_case") is not None:
        return _asserts(row, context)
    inputs, outputs = paired(row.get("inputs"), row.get("outputs"), context)
    case_weights = weights(row.get("weights"), len(inputs))
    fn_name = function_name(row.get("fn_name"), "fn_name") or context.fn_name
    if fn_name is None:
        count = len(inputs)
        return stdin_suite(
            drained(inputs, context),
            drained(outputs, context),
            case_weights=case_weights,
            case_groups=groups(row.get("groups"), count),
            checker=checker_of(row.get("checker"), "checker"),
            interactor=interactor_of(row.get("interactor"), "interactor"),
        )
    for name in ("checker", "interactor"):
        if row.get(name):
            raise SuiteError(name, "it cannot judge the results of calls")
    return call_suite(inputs, outputs, fn_name, raw=raw, case_weights=case_weights)


def _asserts(row: Mapping[str, object], context: Context) -> Suite:
    suite = load_asserts(row["assert_case"], context, field="assert_case", row=row)
    for name in ("inputs", "outputs"):
        if row.get(name) is not None:
            count = len(sequence(row[name], name, context.max_cases))
            if count not in (0, len(suite.cases)):
                raise SuiteError(name, f"{count} {name} for {len(suite.cases)} asserts")
    return suite
