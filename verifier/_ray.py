"""What everything on Ray shares: the module, the nodes with cores, and what a death looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verifier.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster.

    Attributes:
        id: Ray's, in hexadecimal.
        cores: That Ray gives out there.
    """

    id: str
    cores: float


def import_ray(user: str, extra: str) -> Any:
    """The module `ray`.

    Args:
        user: What needs it, for the message.
        extra: Of this package, that brings it.

    Raises:
        ConfigError: It is absent.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigError(f"{user} needs ray: pip install 'sandbox-verifier[{extra}]'") from error
    return ray


def nodes_with_cores(ray: Any) -> list[Node]:
    """The nodes that are alive and have cores.

    Raises:
        ConfigError: There is none.
    """
    nodes = [
        Node(node["NodeID"], node["Resources"]["CPU"])
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]
    if not nodes:
        raise ConfigError("no node of this Ray cluster has a core")
    return nodes


def on_node(ray: Any, node: Node) -> Any:
    """The scheduling strategy of an actor that is on a node, and on another if that is gone."""
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node_id=node.id, soft=True)


def deaths(ray: Any) -> tuple[type[Exception], ...]:
    """The exceptions that say that an actor, or its node, died over a task."""
    return (
        ray.exceptions.RayActorError,
        # The whole answer of a node that was lost may be lost with it.
        ray.exceptions.ObjectLostError,
        ray.exceptions.OutOfMemoryError,
    )
