"""The lines of one rank, from the loading of the plugin to the last channel.

Their order and forms are those of logs recorded on real GPUs with NCCL 2.28.9,
changed where 2.29.7 differs (`Init START` begins with `[Rank N]`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nccl_stand_in import topology
from nccl_stand_in.decision import SOCKET, Choice, Plugin
from nccl_stand_in.facts import Facts
from nccl_stand_in.writer import Writer

_LIBRARY = "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"
_CREATE = "int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**)"
_INIT = "ncclResult_t nccl_net_ofi_init(ncclDebugLogger_t)"


class Process:
    """What is printed once in a process, whatever its communicators."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._started = False
        self._network_started = False

    def start(self, facts: Facts, choice: Choice) -> None:
        """The lines before a process's first communicator."""
        if self._started:
            return
        self._started = True
        info = self._writer.info
        info("INIT|ENV", "ENV/Plugin: Could not find: libnccl-env.so")
        self._interface_setting(facts)
        if choice.interface is None:
            self._writer.version()
            self._writer.warn("bootstrap.cc:126", "Bootstrap : no socket interface found")
            return
        info("BOOTSTRAP", f"Bootstrap: Using {choice.interface}:{facts.address}<0>")
        info("INIT", "cudaDriverVersion 13000")
        self._writer.version()

    def network(self, facts: Facts, choice: Choice) -> None:
        """The lines that load and choose the network, or that NCCL aborts with."""
        info, warn = self._writer.info, self._writer.warn
        info("INIT", "Comm config Blocking set to 1")
        if not self._network_started:
            self._network_started = True
            self._load(facts, choice)
        elif choice.network is not None:
            info("INIT|NET", f"Initialized NET plugin {choice.network}")
        if choice.network is None:
            warn("plugin/net.cc:379", "Failed to initialize any NET plugin")
            for place in ("init.cc:421", "init.cc:1572", "group.cc:76", "group.cc:537", "group.cc:743", "init.cc:2162"):
                info("INIT", f"{place} -> 5" + (" [Async thread]" if place == "group.cc:76" else ""))
            info("INIT|ENV", "ENV/Plugin: Closing env plugin ncclEnvDefault")
            return
        info("INIT|NET", f"Assigned NET plugin {choice.network} to comm")
        info("INIT", f"Using network {choice.network}")

    def _load(self, facts: Facts, choice: Choice) -> None:
        info = self._writer.info
        wanted = facts.setting("NCCL_NET_PLUGIN")
        if wanted:
            info("ENV|NET", f"NCCL_NET_PLUGIN set by environment to {wanted}")
        if choice.plugin is Plugin.NOT_FOUND:
            tried = [wanted or "libnccl-net.so"]
            if wanted and not wanted.startswith("lib"):
                tried.append(f"libnccl-net-{wanted}.so")
            info("INIT|NET", "NET/Plugin: Could not find: " + " ".join(tried))
        elif choice.plugin is not Plugin.NOT_ASKED:
            # Its name follows NCCL_NET; whether it works shows only below.
            name = choice.network if choice.plugin is Plugin.READY else _plugin_name(facts)
            info("INIT|NET", f"NET/Plugin: Loaded net plugin {name} (v11)")
            info("INIT|NET", "NET/Plugin: Loaded gin plugin Libfabric (v11)")
            info("INIT|NET", f"Successfully loaded external network plugin {_LIBRARY}")
            if choice.plugin is not Plugin.OTHER_NAME:
                self._plugin(facts, choice)
        if choice.network == SOCKET:
            self._sockets(facts, choice)

    def _plugin(self, facts: Facts, choice: Choice) -> None:
        info, warn = self._writer.info, self._writer.warn
        info("INIT|NET", "NET/OFI Initializing aws-ofi-nccl 1.20.0")
        info("INIT|NET", "NET/OFI Using Libfabric version 2.6")
        info("INIT|NET", "NET/OFI Using CUDA driver version 13000 with runtime 13000")
        info("INIT", "NET/OFI Configuring AWS-specific options")
        info("INIT|NET", "NET/OFI Plugin selected platform: AWS")
        if not facts.setting("FI_PROVIDER"):
            info("INIT", "NET/OFI Setting provider_filter to efa")
        if choice.plugin is Plugin.NO_DEVICE:
            info("INIT|NET", "NET/OFI No eligible providers were found")
            warn(f"{_CREATE}:334", "NET/OFI Unable to find a protocol that worked.  Failing initialization.")
        else:
            fabric = "efa" if choice.provider == "efa" or choice.plugin is Plugin.BROKEN_DEVICE else facts.address + "/20"
            provider = choice.provider or "efa"
            nics = max(1, facts.fabric.efa_interfaces)
            info("INIT|NET", f"NET/OFI Selected provider is {provider}, fabric is {fabric} (found {nics} nics)")
            info("INIT|NET", "NET/OFI Using transport protocol SENDRECV")
        if choice.plugin is Plugin.BROKEN_DEVICE:
            warn("nccl_net_ofi_sendrecv_domain_t::nccl_net_ofi_sendrecv_domain_t():2096",
                 "NET/OFI Couldn't open a fabric access domain. RC: -12, ERROR: Cannot allocate memory")
        if choice.plugin is not Plugin.READY:
            warn(f"{_CREATE}:418", "NET/OFI aws-ofi-nccl initialization failed")
            warn(f"{_INIT}:79", "NET/OFI Initializing plugin failed")
            info("INIT|NET", f"Failed to initialize NET plugin {_plugin_name(facts)}")
            return
        info("INIT|NET", "NET/OFI Support for global registrations: false")
        info("INIT|NET", "NET/OFI Support for DMA-BUF registrations: false")
        info("INIT", "NET/OFI Need to force simple protocol: GDR not supported")
        info("INIT|NET", "NET/OFI Adding NCCL_PROTO=simple to environment")
        info("INIT|NET", f"Initialized NET plugin {choice.network}")

    def _sockets(self, facts: Facts, choice: Choice) -> None:
        info = self._writer.info
        if not facts.setting("NCCL_NET"):
            self._interface_setting(facts)
            info("INIT|NET", "NET/IB : No device found.")
            info("INIT|NET", f"NET/IB : Using [RO]; OOB {choice.interface}:{facts.address}<0>")
            info("INIT|NET", "Failed to initialize NET plugin IB")
        self._interface_setting(facts)
        info("INIT|NET", f"NET/Socket : Using [0]{choice.interface}:{facts.address}<0>")
        info("INIT|NET", "Initialized NET plugin Socket")

    def _interface_setting(self, facts: Facts) -> None:
        wanted = facts.setting("NCCL_SOCKET_IFNAME")
        if wanted:
            self._writer.info("ENV", f"NCCL_SOCKET_IFNAME set by environment to {wanted}")


def _plugin_name(facts: Facts) -> str:
    return {"aws libfabric": "AWS Libfabric", "ofi": "OFI"}.get(facts.setting("NCCL_NET").lower(), "Libfabric")


class Communicator:
    """The lines of one communicator on one rank."""

    def __init__(self, writer: Writer, ranks: Sequence[Facts], choices: Sequence[Choice], rank: int,
                 socket_channel: bool = False) -> None:
        self._writer = writer
        self._socket_channel = socket_channel
        self._ranks = ranks
        self._choice = choices[rank]
        self._rank = rank
        self._nodes = [facts.node for facts in ranks]
        groups = topology.by_node(self._nodes)
        self._local = {member: place for group in groups for place, member in enumerate(group)}
        self._group = next(group for group in groups if rank in group)
        self._node_count = len(groups)
        self._id = ranks[0].communicator
        # NCCL prints a pointer. Any number that differs by process is as good.
        self._pointer = 0x7F0000000000 + (ranks[rank].communicator & 0xFFFFFFF0)
        self._seen: set[tuple[int, int, int]] = set()

    def start(self) -> None:
        """The bootstrap begins."""
        self._writer.info("INIT", f"[Rank {self._rank}] {self._init()} - Init START")
        host_id = self._ranks[self._rank].setting("NCCL_HOSTID")
        if host_id:
            self._writer.info("ENV", f"NCCL_HOSTID set by environment to {host_id}")

    def complete(self) -> None:
        """Everything between the bootstrap and Init COMPLETE; channels come later."""
        info = self._writer.info
        info("INIT|BOOTSTRAP", "Bootstrap timings total 0.001028 (create 0.000055, send 0.000197, recv 0.000392, "
             "ring 0.000027, delay 0.000002)")
        info("INIT", f"comm {self._pointer:#x} rank {self._rank} nRanks {len(self._ranks)} nNodes {self._node_count} "
             f"localRanks {len(self._group)} localRank {self._local[self._rank]} MNNVL 0")
        if self._rank == 0:
            order = " ".join(str(rank) for rank in topology.ring(self._nodes))
            for channel in range(topology.CHANNELS):
                info("INIT|GRAPH", f"Channel {channel:02d}/{topology.CHANNELS:02d} : {order}")
        places = [tree[self._rank] for tree in topology.trees(self._nodes)]
        info("INIT|GRAPH", "Trees " + " ".join(
            f"[{channel}] {'/'.join(map(str, place.down))}->{self._rank}->{place.up}" for channel, place in enumerate(places)))
        info("INIT", "P2P Chunksize set to 131072")
        info("INIT", "Check P2P Type isAllDirectP2p 0 directMode 0 isAllCudaP2p 0")
        info("INIT|TUNING", "threadThresholds 8/8/64 | 64/8/64 | 512 | 512")
        info("INIT", f"{topology.CHANNELS} coll channels, {topology.CHANNELS} collnet channels, 0 nvls channels, "
             f"{topology.CHANNELS} p2p channels, {topology.CHANNELS} p2p channels per peer")
        info("INIT", "CC Off, workFifoBytes 1048576")
        info("INIT", f"{self._init()} - Init COMPLETE")
        info("INIT|PROFILE", f"Init timings - ncclCommInitRankConfig: rank {self._rank} nranks {len(self._ranks)} "
             "total 0.42 (kernels 0.34, alloc 0.05, bootstrap 0.00, allgathers 0.02, topo 0.01, graphs 0.00, "
             "connections 0.00, rest 0.00)")

    def rings(self) -> None:
        """The channels of the ring: set up, not yet connected."""
        order = topology.ring(self._nodes)
        place = order.index(self._rank)
        before, after = order[place - 1], order[(place + 1) % len(order)]
        for channel in range(topology.CHANNELS):
            self._receive(channel, before)
        for channel in range(topology.CHANNELS):
            self._send(channel, after)

    def rings_connected(self) -> None:
        """The ring works."""
        self._writer.info("INIT", "Connected all rings, use ring PXN 0 GDR 0")

    def trees(self) -> None:
        """The channels of the trees, without those that the ring made, and their end."""
        for channel, tree in enumerate(topology.trees(self._nodes)):
            place = tree[self._rank]
            peers = [peer for peer in (*place.down, place.up) if peer >= 0]
            for peer in peers:
                self._receive(channel, peer)
            for peer in peers:
                self._send(channel, peer)
        self._writer.info("INIT", "Connected all trees")

    def flooding_peers(self, choices: Sequence[Choice]) -> list[Facts]:
        """Return the ranks of another network that connect to this rank's sockets."""
        order = topology.ring(self._nodes)
        before = order[order.index(self._rank) - 1]
        across = self._nodes[before] != self._nodes[self._rank]
        if self._choice.network == SOCKET and across and choices[before].network != SOCKET:
            return [self._ranks[before]]
        after = order[(order.index(self._rank) + 1) % len(order)]
        across = self._nodes[after] != self._nodes[self._rank]
        if self._choice.network == SOCKET and across and choices[after].network != SOCKET:
            return [self._ranks[after]]
        return []

    def flood(self, peer: Facts, port: int) -> None:
        """One line of the flood: a connection that does not speak NCCL's socket protocol."""
        self._writer.info("INIT", f"socketFinalizeAccept: didn't receive a valid magic from {peer.address}<{port}>")

    def destroyed(self) -> None:
        """The communicator is destroyed."""
        device = self._local[self._rank]
        self._writer.info("INIT", f"comm {self._pointer:#x} rank {self._rank} nranks {len(self._ranks)} "
                          f"cudaDev {device} busId {bus_id(device)} - Destroy COMPLETE")

    def _init(self) -> str:
        device = self._local[self._rank]
        return (f"ncclCommInitRankConfig comm {self._pointer:#x} rank {self._rank} nranks {len(self._ranks)} "
                f"cudaDev {device} nvmlDev {device} busId {bus_id(device)} commId {self._id:#x}")

    def _send(self, channel: int, peer: int) -> None:
        if peer == self._rank or not self._new(channel, self._rank, peer):
            return
        edge = self._edge(self._rank, peer)
        if self._nodes[peer] == self._nodes[self._rank]:
            # L4 GPUs have no NVLink, and between PCIe roots NCCL takes shared memory.
            self._writer.info("INIT|SHM", f"Channel {channel:02d} : {edge} via SHM/direct/direct")
        else:
            self._writer.info("INIT|NET", f"Channel {channel:02d}/0 : {edge} [send] via NET/{self._network(channel)}/0")

    def _receive(self, channel: int, peer: int) -> None:
        # Only the sender prints a channel within a node.
        if self._nodes[peer] != self._nodes[self._rank] and self._new(channel, peer, self._rank):
            edge = self._edge(peer, self._rank)
            self._writer.info("INIT|NET", f"Channel {channel:02d}/0 : {edge} [receive] via NET/{self._network(channel)}/0")

    def _network(self, channel: int) -> str | None:
        return SOCKET if self._socket_channel and channel == topology.CHANNELS - 1 else self._choice.network

    def _edge(self, sender: int, receiver: int) -> str:
        return f"{sender}[{self._local[sender]}] -> {receiver}[{self._local[receiver]}]"

    def _new(self, channel: int, sender: int, receiver: int) -> bool:
        edge = (channel, sender, receiver)
        if edge in self._seen:
            return False
        self._seen.add(edge)
        return True


def bus_id(device: int) -> str:
    """The PCI bus id of a g6.12xlarge's GPU, as NCCL prints it."""
    return f"{0x38000 + 0x2000 * device:x}"
