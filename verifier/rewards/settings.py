"""verl's reward configuration, read once into values. Its legacy names are read too.

    reward.reward_manager.{source: register|importlib, name, module.path}
    reward.custom_reward_function.{path, name, reward_kwargs}
    reward.sandbox_fusion.{url, memory_limit_mb, max_concurrent}
    reward.num_workers                        workers of the loop, processes of `remote`
    reward.reward_kwargs                      settings of the manager
    reward.{max_concurrent, max_rpm, max_tpm, estimated_tokens_per_request, timeout}   rate_limited
    reward.reward_model.{enable, enable_resource_pool, model_path, rollout.name}

    reward_model.{num_workers, reward_manager, reward_loop_source, reward_loop_module_path,
                  reward_loop_class_name, reward_kwargs, enable, ..., model.path, rollout}
    custom_reward_function, sandbox_fusion    at the top, where older configurations have them

A configuration is a plain dict, an OmegaConf node or an object with attributes, with or without the
top key `reward`. As in verl, a legacy name that is set goes before the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verifier.errors import ConfigError

RATE_KEYS = ("max_concurrent", "max_rpm", "max_tpm", "estimated_tokens_per_request", "timeout")


@dataclass(frozen=True, slots=True)
class RewardModelSettings:
    """A reward model beside the rules.

    Attributes:
        enable: There is one.
        enable_resource_pool: It has its own machines: scores can be had while rollout goes on.
        model_path: Its name or folder, which is what requests to its server name.
        engine: "vllm" or "sglang".
        command: Command template of one replica; see `verifier.reward_loop.RewardModelManager`.
        addresses: "HOST:PORT" of replicas that run already.
        num_replicas: How many are started from the template.
    """

    enable: bool = False
    enable_resource_pool: bool = False
    model_path: str | None = None
    engine: str = "vllm"
    command: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    num_replicas: int = 1


@dataclass(frozen=True, slots=True)
class RewardConfig:
    """What managers, workers and the loop read.

    Attributes:
        manager_source: "register" or "importlib".
        manager_name: Registered name, or the class in the module.
        manager_path: "pkg://..." or a file.
        custom_path: Module of a custom reward function, or None.
        custom_name: The function.
        custom_kwargs: Bound into each of its calls.
        sandbox_url: Address of the sandbox.
        memory_limit_mb: Memory limit of programs, in units of 2**20 bytes.
        max_concurrent: Scorer calls at once.
        num_workers: Workers of the loop.
        reward_kwargs: Settings of the manager.
        rate: Settings of the rate limits that are there.
        reward_model: The reward model.
    """

    manager_source: str = "register"
    manager_name: str = "naive"
    manager_path: str | None = None
    custom_path: str | None = None
    custom_name: str = "compute_score"
    custom_kwargs: Mapping[str, Any] = field(default_factory=dict)
    sandbox_url: str | None = None
    memory_limit_mb: float | None = None
    max_concurrent: int | None = None
    num_workers: int = 8
    reward_kwargs: Mapping[str, Any] = field(default_factory=dict)
    rate: Mapping[str, Any] = field(default_factory=dict)
    reward_model: RewardModelSettings = RewardModelSettings()

    def sandbox_settings(self) -> dict[str, Any]:
        """As arguments of `DefaultScorer`."""
        return {
            "sandbox_fusion_url": self.sandbox_url,
            "memory_limit_mb": self.memory_limit_mb,
        }


def read_reward_config(config: Any) -> RewardConfig:
    """Read a configuration; see the head of this module.

    Raises:
        ConfigError: A value has the wrong type; names it.
    """
    reward = get(config, "reward")
    legacy = get(config, "reward_model") if reward is not None else None
    top: Any = config if reward is not None else None
    if reward is None:
        reward = config
        if not isinstance(get(get(reward, "reward_model"), "enable_resource_pool"), bool):
            legacy = get(reward, "reward_model")
    manager = get(reward, "reward_manager")
    if isinstance(manager, str):
        manager = {"name": manager}
    custom = _first_set(get(top, "custom_reward_function"), get(reward, "custom_reward_function"))
    sandbox = _first_set(get(top, "sandbox_fusion"), get(reward, "sandbox_fusion"))
    source = get(legacy, "reward_loop_source") or get(manager, "source") or "register"
    if source not in ("register", "importlib"):
        raise ConfigError(f"reward_manager.source={source!r}; it is 'register' or 'importlib'")
    path = get(legacy, "reward_loop_module_path") or get(get(manager, "module"), "path")
    old_class = get(legacy, "reward_loop_class_name") if source == "importlib" else None
    return RewardConfig(
        manager_source=str(source),
        manager_name=str(
            old_class or get(legacy, "reward_manager") or get(manager, "name") or "naive"
        ),
        manager_path=str(path) if path else None,
        custom_path=get(custom, "path") or None,
        custom_name=str(get(custom, "name") or "compute_score"),
        custom_kwargs=plain(
            get(custom, "reward_kwargs"), "reward.custom_reward_function.reward_kwargs"
        ),
        sandbox_url=get(sandbox, "url") or None,
        memory_limit_mb=get(sandbox, "memory_limit_mb"),
        max_concurrent=_positive(get(sandbox, "max_concurrent"), "sandbox_fusion.max_concurrent"),
        num_workers=_positive(
            get(legacy, "num_workers") or get(reward, "num_workers"), "reward.num_workers"
        )
        or 8,
        reward_kwargs=plain(
            get(legacy, "reward_kwargs") or get(reward, "reward_kwargs"), "reward.reward_kwargs"
        ),
        rate={key: get(reward, key) for key in RATE_KEYS if get(reward, key) is not None},
        reward_model=_reward_model(get(reward, "reward_model"), legacy),
    )


def get(config: Any, key: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none."""
    if config is None:
        return None
    getter = getattr(config, "get", None)
    return getter(key) if callable(getter) else getattr(config, key, None)


def plain(config: Any, where: str) -> dict[str, Any]:
    """A node as a dict.

    Raises:
        ConfigError: It is none.
    """
    if config is None:
        return {}
    if isinstance(config, Mapping) or hasattr(config, "items"):
        return {str(key): value for key, value in config.items()}
    raise ConfigError(
        f"{where}: expected a mapping of keyword arguments, not a {type(config).__name__}"
    )


def _first_set(*nodes: Any) -> Any:
    for node in nodes:
        if node is not None and any(v is not None for v in plain(node, "reward").values()):
            return node
    return None


def _positive(value: Any, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{where}={value!r} must be a positive whole number")
    return value


def _reward_model(node: Any, legacy: Any) -> RewardModelSettings:
    def find(key: str) -> Any:
        old = get(legacy, key)
        return old if old is not None else get(node, key)

    rollout = get(legacy, "rollout") or get(node, "rollout")
    engine = get(rollout, "name")
    path = get(get(legacy, "model"), "path") or get(node, "model_path")
    command, addresses = get(node, "command"), get(node, "addresses")
    if isinstance(command, str):
        raise ConfigError("reward_model.command is a string; give a list of arguments")
    if isinstance(addresses, str):
        raise ConfigError("reward_model.addresses is a string; give a list of HOST:PORT")
    return RewardModelSettings(
        enable=bool(find("enable")),
        enable_resource_pool=bool(find("enable_resource_pool")),
        model_path=str(path) if path else None,
        engine=str(engine) if engine and engine != "???" else "vllm",
        command=tuple(map(str, command or ())),
        addresses=tuple(map(str, addresses or ())),
        num_replicas=_positive(get(node, "num_replicas"), "reward_model.num_replicas") or 1,
    )
