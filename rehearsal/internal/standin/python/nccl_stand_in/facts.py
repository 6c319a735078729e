"""What one rank knows: its environment, its node's fabric, its devices."""

from __future__ import annotations

import glob
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nccl_stand_in import defects

# The settings of NCCL and libfabric that decide the network.
VARIABLES = (
    "FI_PROVIDER",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_HOSTID",
    "NCCL_NET",
    "NCCL_NET_PLUGIN",
    "NCCL_SOCKET_IFNAME",
)


class WiringError(RuntimeError):
    """The rehearsal itself is misconfigured; nothing was rehearsed."""


@dataclass(frozen=True)
class SecurityGroup:
    """One security group on a node's interfaces."""

    id: str
    self_ingress: bool
    self_egress: bool


@dataclass(frozen=True)
class Fabric:
    """The part of node-facts.json that decides whether EFA works."""

    node: str
    zone: str
    subnet: str
    efa_interfaces: int
    device_broken: bool
    security_groups: tuple[SecurityGroup, ...]


@dataclass(frozen=True)
class Facts:
    """One rank's facts, as it sends them to the others."""

    rank: int
    host: str
    pid: int
    environment: dict[str, str] = field(hash=False)
    fabric: Fabric = field(hash=False)
    # Device files of EFA that the pod was given.
    devices: int
    has_plugin: bool
    interfaces: tuple[str, ...]
    address: str
    # Random, and the same in the whole communicator: that of rank 0.
    communicator: int = 0

    @property
    def node(self) -> str:
        """Return what identifies a node to NCCL: its host id if one is set, else the host's name."""
        return self.environment.get("NCCL_HOSTID") or self.host

    def setting(self, name: str) -> str:
        """Return a setting of NCCL or libfabric, "" when it is not set."""
        return self.environment.get(name, "")


def gather(rank: int, world_rank: int, world_size: int, environment: Mapping[str, str]) -> Facts:
    """Collect this process's facts. RAYTRAIN_REHEARSAL_ROOT moves `/` for tests."""
    root = Path(environment.get("RAYTRAIN_REHEARSAL_ROOT", "/"))
    interfaces = tuple(name for _, name in socket.if_nameindex())
    defect = defects.read(environment)
    environment = {**environment, **defects.overrides(defect)}
    return Facts(
        rank=rank,
        host=host(),
        pid=os.getpid(),
        environment={name: environment[name] for name in VARIABLES if environment.get(name)},
        fabric=read_fabric(root / "run/raytrain-rehearsal/node-facts.json"),
        devices=len(glob.glob(str(root / "dev/infiniband/uverbs*"))),
        has_plugin=environment.get("RAYTRAIN_REHEARSAL_PLUGIN") == "1"
        and not defects.lacks_plugin(defect, world_rank, world_size),
        interfaces=interfaces,
        address=_address(),
        communicator=int.from_bytes(os.urandom(8), "big"),
    )


def host() -> str:
    """Return the host name as NCCL prints it: up to the first dot, `%` and `/` replaced."""
    return socket.gethostname().split(".", 1)[0].replace("%", "-").replace("/", "-")


def read_fabric(path: Path) -> Fabric:
    """Read the node's facts. Without them nothing can be rehearsed."""
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Fabric(
            node=values["node"],
            zone=values["zone"],
            subnet=values["subnetId"],
            efa_interfaces=values["efaInterfaces"],
            device_broken=values["deviceBroken"],
            security_groups=tuple(
                SecurityGroup(group["id"], group["selfIngress"], group["selfEgress"])
                for group in values["securityGroups"] or ()
            ),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WiringError(f"the NCCL stand-in cannot read the rehearsed node's facts in {path}: {error!r}") from error


def _address() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
