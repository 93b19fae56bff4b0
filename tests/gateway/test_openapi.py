"""The HTTP side's description, and a search for what it answers otherwise than it says."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.gateway import http_client
from tests.gateway.conftest import StubEngine
from verifier.gateway import openapi
from verifier.gateway.admission import Admission
from verifier.gateway.http import make_app
from verifier.gateway.http_fields import RunCode
from verifier.gateway.http_run import SandboxFusion

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 60


def make():
    admission = Admission(64, 1 << 24)
    admission.open()
    routes = SandboxFusion(StubEngine(), admission, max_body_bytes=1 << 20).routes()
    return make_app(lambda: True, [*routes, openapi.route()])


app = make()
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case):
    case.call_and_validate(checks=CHECKS)


def test_the_search_reaches_every_operation():
    paths = openapi.document()["paths"]
    assert set(paths) == {"/healthz", "/readyz", "/run_code"}
    assert {route.path for route in app.routes} >= set(paths)
    assert set(openapi.document()["components"]["schemas"]["RunCode"]["properties"]) == set(
        RunCode.model_fields
    )


def test_a_description_that_lies_is_found():
    """The search is able to fail."""

    async def liar(request):
        del request
        return openapi.JSONResponse({"ready": "perhaps"})

    lying = make_app(lambda: True, [openapi.route()])
    lying.router.routes.insert(0, openapi.Route("/readyz", liar))
    found = schemathesis.openapi.from_asgi("/openapi.json", lying)
    case = found["/readyz"]["GET"].Case()
    with pytest.raises((Failure, FailureGroup), match="schema"):
        case.call_and_validate(checks=CHECKS)


async def test_it_is_served(serve):
    running = await serve(http="127.0.0.1:0")
    answer = await http_client.get(running.http, "/openapi.json")
    assert answer.json()["openapi"] == "3.1.0"
