"""The engine.

One response and one suite in, one result out. Every caller (gateway, fallback, offline) uses it.
"""

from verifier.engine.engine import Engine, EngineInfo, EngineLoad
from verifier.engine.factory import BACKENDS, make_sandbox

__all__ = ["BACKENDS", "Engine", "EngineInfo", "EngineLoad", "make_sandbox"]
