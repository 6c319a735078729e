"""Which network each rank uses, and how the set-up ends: pure functions over facts.

The order of the checks is NCCL's own: the plugin is loaded, then initialized,
then the name that NCCL_NET pins is compared; without a pin the next network in
the list follows, InfiniBand and then sockets. What matters only between two
nodes (security groups, zones) causes no error: connections are never established.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from nccl_stand_in.facts import Fabric, Facts

# The names that aws-ofi-nccl answers to, in lower case: it renames itself to what
# NCCL_NET says, and NCCL compares without regard to case.
PLUGIN_NAMES = {"libfabric": "Libfabric", "aws libfabric": "AWS Libfabric", "ofi": "OFI"}
# The values of NCCL_NET_PLUGIN that lead to the plugin's library. NCCL tries the
# value itself and libnccl-net-<value>.so; the build also installs libnccl-net.so.
PLUGIN_LIBRARIES = ("", "libnccl-net.so", "ofi", "libnccl-net-ofi.so")
SOCKET = "Socket"


class Plugin(enum.Enum):
    """The result of loading the plugin on one rank."""

    NOT_ASKED = "NCCL_NET_PLUGIN is none"
    NOT_FOUND = "no library of that name in the image"
    OTHER_NAME = "loaded, but NCCL_NET names another network"
    NO_DEVICE = "no EFA device in the pod"
    BROKEN_DEVICE = "the EFA device cannot be opened"
    READY = "initialized"


class End(enum.Enum):
    """How setting up a communicator ends on one rank."""

    CONNECTED = "every channel works"
    NO_INTERFACE = "aborted: no interface for the bootstrap"
    NO_NETWORK = "aborted: the pinned network is not available"
    PEER_GONE = "waits in the bootstrap for a rank that aborted"
    NOT_CONNECTED = "channels are set up and never connect"


@dataclass(frozen=True)
class Choice:
    """The network that one rank chooses from its own facts."""

    plugin: Plugin
    # As `Using network` prints it; None when NCCL aborts.
    network: str | None
    # Libfabric's provider; None on sockets.
    provider: str | None
    # The interface of the bootstrap; None when NCCL_SOCKET_IFNAME matches none.
    interface: str | None

    @property
    def fails(self) -> bool:
        """Return whether NCCL returns an error on this rank."""
        return self.network is None or self.interface is None


def choose(facts: Facts) -> Choice:
    """Choose the network of one rank."""
    interface = match_interface(facts.setting("NCCL_SOCKET_IFNAME"), facts.interfaces)
    pinned = facts.setting("NCCL_NET")
    plugin = load_plugin(facts)
    if plugin is Plugin.READY:
        provider = provider_of(facts)
        return Choice(plugin, PLUGIN_NAMES.get(pinned.lower(), "Libfabric"), provider, interface)
    network = SOCKET if pinned.lower() in ("", SOCKET.lower()) else None
    return Choice(plugin, network, None, interface)


def load_plugin(facts: Facts) -> Plugin:
    """Return the result of loading the plugin."""
    wanted = facts.setting("NCCL_NET_PLUGIN")
    if wanted.lower() == "none":
        return Plugin.NOT_ASKED
    if not facts.has_plugin or wanted not in PLUGIN_LIBRARIES:
        return Plugin.NOT_FOUND
    pinned = facts.setting("NCCL_NET").lower()
    if pinned and pinned not in PLUGIN_NAMES:
        return Plugin.OTHER_NAME
    if provider_of(facts) != "efa":
        return Plugin.READY
    if facts.devices == 0 or facts.fabric.efa_interfaces == 0:
        return Plugin.NO_DEVICE
    if facts.fabric.device_broken:
        return Plugin.BROKEN_DEVICE
    return Plugin.READY


def provider_of(facts: Facts) -> str:
    """Return libfabric's provider: on AWS the plugin filters for efa unless FI_PROVIDER is set."""
    listed = [name.strip() for name in facts.setting("FI_PROVIDER").split(",") if name.strip()]
    if not listed or "efa" in listed:
        return "efa"
    return listed[0]


def match_interface(wanted: str, interfaces: Sequence[str]) -> str | None:
    """Apply NCCL_SOCKET_IFNAME: prefixes, `=` for whole names, `^` to exclude.

    Unset, NCCL takes the first interface that is not the loopback or a Docker
    bridge, and one of those only when there is no other.
    """
    if not wanted:
        others = [name for name in interfaces if not name.startswith(("lo", "docker"))]
        return next(iter([*others, *interfaces]), None)
    exclude = wanted.startswith("^")
    rest = wanted[1:] if exclude else wanted
    whole = rest.startswith("=")
    names = [name for name in (rest[1:] if whole else rest).split(",") if name]
    for interface in interfaces:
        matches = any(interface == name if whole else interface.startswith(name) for name in names)
        if matches != exclude:
            return interface
    return None


def reaches(one: Fabric, other: Fabric) -> bool:
    """Return whether EFA traffic flows between two nodes, in both directions.

    It stays within a zone and a subnet. Security groups must allow it to and
    from themselves: a rule for 0.0.0.0/0 does not count, because EFA traffic is not IP.
    The rules of all groups that both nodes have add up.
    Source: EC2 user guide, "Get started with EFA and NCCL", step 1.
    """
    if (one.zone, one.subnet) != (other.zone, other.subnet):
        return False
    shared = {group.id for group in one.security_groups} & {group.id for group in other.security_groups}
    groups = [group for group in (*one.security_groups, *other.security_groups) if group.id in shared]
    return any(group.self_ingress for group in groups) and any(group.self_egress for group in groups)


def decide(ranks: Sequence[Facts]) -> tuple[list[Choice], list[End]]:
    """Choose every rank's network and return how the set-up ends on each."""
    choices = [choose(facts) for facts in ranks]
    if any(choice.fails for choice in choices):
        return choices, [_failed(choice) for choice in choices]
    if len({facts.node for facts in ranks}) == 1:
        return choices, [End.CONNECTED] * len(ranks)
    # Names do not matter: two spellings of the plugin's name are one network.
    kinds = {choice.provider or SOCKET for choice in choices}
    works = len(kinds) == 1
    if kinds == {"efa"}:
        fabrics = {facts.node: facts.fabric for facts in ranks}
        works = all(reaches(one, other) for one, other in combinations(fabrics.values(), 2))
    return choices, [End.CONNECTED if works else End.NOT_CONNECTED] * len(ranks)


def _failed(choice: Choice) -> End:
    if choice.interface is None:
        return End.NO_INTERFACE
    return End.NO_NETWORK if choice.network is None else End.PEER_GONE
