"""Builds facts of rehearsed ranks for the tests."""

from __future__ import annotations

from typing import Any

from nccl_stand_in.facts import Fabric, Facts, SecurityGroup

# The environment that the program pins on AWS.
PINNED = {
    "FI_PROVIDER": "efa",
    "NCCL_DEBUG": "INFO",
    "NCCL_NET": "Libfabric",
    "NCCL_NET_PLUGIN": "ofi",
    "NCCL_SOCKET_IFNAME": "eth0",
}
OWN_GROUP = SecurityGroup("sg-own", True, True)
CLUSTER_GROUP = SecurityGroup("sg-cluster", True, False)


def fabric(**changes: Any) -> Fabric:
    """A node with all that EFA needs."""
    values: dict[str, Any] = {
        "node": "node",
        "zone": "us-east-2a",
        "subnet": "subnet-1",
        "efa_interfaces": 1,
        "device_broken": False,
        "security_groups": (CLUSTER_GROUP, OWN_GROUP),
    }
    return Fabric(**{**values, **changes})


def rank(number: int = 0, host: str = "node-0", environment: dict[str, str] | None = None, **changes: Any) -> Facts:
    """A rank with all that EFA needs."""
    values: dict[str, Any] = {
        "rank": number,
        "host": host,
        "pid": 4000 + number,
        "environment": dict(PINNED if environment is None else environment),
        "fabric": fabric(),
        "devices": 1,
        "has_plugin": True,
        "interfaces": ("lo", "eth0"),
        "address": f"10.0.1.{number + 10}",
        "communicator": 0x1000 + number,
    }
    return Facts(**{**values, **changes})


def two_nodes(environment: dict[str, str] | None = None, **changes: Any) -> list[Facts]:
    """Eight ranks, four on each of two nodes."""
    return [rank(number, f"node-{number // 4}", environment, **changes) for number in range(8)]


def unpinned() -> dict[str, str]:
    """The pinned environment without the pin."""
    return {name: value for name, value in PINNED.items() if name != "NCCL_NET"}
