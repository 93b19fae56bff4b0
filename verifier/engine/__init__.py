"""The engine.

One response and one suite in, one result out. Every caller (gateway, fallback, offline) uses it.
"""

from verifier.engine.engine import Engine, EngineInfo, EngineLoad
from verifier.engine.factory import BACKENDS, engine_of, make_sandbox

__all__ = ["BACKENDS", "Engine", "EngineInfo", "EngineLoad", "engine_of", "make_sandbox"]
