"""What the HTTP side is, for tools: `GET /openapi.json`.

The fields of a request come from the model that reads them; the rest is written here. It is held to
what is answered by a search over it (tests/gateway/test_openapi.py).
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from verifier._version import __version__
from verifier.gateway.http_answers import FAILED, FINISHED, SANDBOX_ERROR, SUCCESS, TIME_LIMIT
from verifier.gateway.http_fields import RunCode

__all__ = ["document", "route"]

Json = dict[str, Any]

_DETAIL: Json = {"type": "object", "required": ["detail"], "properties": {"detail": {}}}
_COMMAND: Json = {
    "type": "object",
    "required": ["status", "execution_time", "return_code", "stdout", "stderr", "verifier"],
    "properties": {
        "status": {"enum": [FINISHED, TIME_LIMIT]},
        "execution_time": {"type": "number", "description": "Wall-clock seconds."},
        "return_code": {
            "type": ["integer", "null"],
            "description": "Exit code, -N for signal N; null where the time was over.",
        },
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "verifier": {
            "type": "object",
            "required": ["status", "cpu_time_s", "memory_bytes", "signal"],
            "properties": {
                "status": {"type": ["string", "null"], "description": "The verdict."},
                "cpu_time_s": {"type": "number"},
                "memory_bytes": {"type": ["integer", "null"]},
                "signal": {"type": ["integer", "null"]},
            },
        },
    },
}
_ANSWER: Json = {
    "type": "object",
    "required": ["status", "message", "compile_result", "run_result", "files"],
    "properties": {
        "status": {"enum": [SUCCESS, FAILED, SANDBOX_ERROR]},
        "message": {"type": "string"},
        "compile_result": {"anyOf": [{"$ref": "#/components/schemas/Command"}, {"type": "null"}]},
        "run_result": {"anyOf": [{"$ref": "#/components/schemas/Command"}, {"type": "null"}]},
        "executor_pod_name": {"type": "null"},
        "files": {
            "type": "object",
            "description": "Name to content, base64.",
            "additionalProperties": {"type": "string"},
        },
    },
}


def document() -> Json:
    """OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "verifier",
            "version": __version__,
            "description": "Runs one program on one input, as Sandbox Fusion does; health.",
        },
        "paths": {
            "/healthz": {
                "get": {
                    "summary": "Whether the process lives.",
                    "security": [],
                    "responses": {"200": _text("It does.")},
                }
            },
            "/readyz": {
                "get": {
                    "summary": "Whether work is accepted.",
                    "security": [],
                    "responses": {
                        code: _json(text, {"$ref": "#/components/schemas/Ready"})
                        for code, text in (("200", "It is."), ("503", "Starting, or draining."))
                    },
                }
            },
            "/run_code": {
                "post": {
                    "summary": "Run a program.",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/RunCode"}}
                        },
                    },
                    "responses": _run_code_responses(),
                }
            },
        },
        "security": [{}, {"bearer": []}, {"basic": []}],
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The token as the password.",
                },
            },
            "schemas": {
                "RunCode": RunCode.model_json_schema(),
                "Answer": _ANSWER,
                "Command": _COMMAND,
                "Detail": _DETAIL,
                "Ready": {
                    "type": "object",
                    "required": ["ready"],
                    "properties": {"ready": {"type": "boolean"}},
                },
            },
        },
    }


def route() -> Route:
    """For the application."""
    made = document()

    async def serve(request: Request) -> Response:
        del request
        return JSONResponse(made)

    return Route("/openapi.json", serve)


def _run_code_responses() -> Json:
    refusals = {
        "401": "No token, or not a valid one.",
        "408": "The body did not arrive in time.",
        "413": "The body is too big.",
        "422": "A field is missing or wrong; `detail` says which.",
        "504": "No verdict, and not the program's fault: try again.",
    }
    detail = {"$ref": "#/components/schemas/Detail"}
    return {
        "200": _json("What the run gave.", {"$ref": "#/components/schemas/Answer"}),
        **{code: _json(text, detail) for code, text in refusals.items()},
    }


def _json(text: str, schema: Json) -> Json:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _text(text: str) -> Json:
    return {"description": text, "content": {"text/plain": {"schema": {"type": "string"}}}}
