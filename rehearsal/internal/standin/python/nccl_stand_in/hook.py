"""Installs the stand-in in torch.distributed when a program imports it.

NCCL sets up a communicator at a process group's first collective, and connects rings
then and trees at the first all_reduce. The stand-in does the same: it wraps the
collectives of gloo groups, and changes nothing else of the program.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

TARGET = "torch.distributed.distributed_c10d"
# Each takes a process group by the name `group`.
COLLECTIVES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "broadcast_object_list", "gather", "gather_object", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list",
)
# Collectives for which NCCL may choose a tree.
TREE_COLLECTIVES = frozenset({"all_reduce", "barrier"})
# The real flood was 17,000 lines a second. This one shows the signature within
# what a rehearsal's disk and log API can take.
FLOOD_LINES_PER_SECOND = 200
FLOOD_LINES = 40_000


def install() -> None:
    """Arrange for torch.distributed to be wrapped when it is imported."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module with the other finders, and wraps it after it ran."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Runs a module by its own loader, then wraps its collectives."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        wrap(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def wrap(module: ModuleType) -> None:
    """Wrap the collectives and the end of torch.distributed.distributed_c10d."""
    stand_in = StandIn(module)
    for name in COLLECTIVES:
        setattr(module, name, _wrapped(getattr(module, name), stand_in, name))
    module.destroy_process_group = _destroying(module.destroy_process_group, stand_in)


def _wrapped(original: Callable[..., Any], stand_in: StandIn, name: str) -> Callable[..., Any]:
    # Imported here, because every start of Python loads this module.
    import inspect

    place = list(inspect.signature(original).parameters).index("group")

    @functools.wraps(original)
    def collective(*args: Any, **kwargs: Any) -> Any:
        group = kwargs.get("group", args[place] if len(args) > place else None)
        stand_in.before(group, name in TREE_COLLECTIVES)
        return original(*args, **kwargs)

    return collective


def _destroying(original: Callable[..., Any], stand_in: StandIn) -> Callable[..., Any]:
    @functools.wraps(original)
    def destroy(group: Any = None) -> Any:
        stand_in.destroyed(group)
        return original(group)

    return destroy


class StandIn:
    """The NCCL of this process: its communicators, by process group."""

    def __init__(self, c10d: ModuleType) -> None:
        self._c10d = c10d
        self._gather = c10d.all_gather_object
        self._communicators: dict[Any, Any] = {}
        self._with_trees: set[Any] = set()
        self._process: Any = None
        self._writer: Any = None
        self._busy = threading.local()

    def before(self, group: Any, trees: bool) -> None:
        """Set up what NCCL would before a collective on group; raise or hang where NCCL would."""
        if getattr(self._busy, "value", False) or not self._c10d.is_initialized():
            return
        self._busy.value = True
        try:
            group = group or self._c10d._get_default_group()
            # On GPUs the backend is NCCL itself, which needs no stand-in.
            if self._c10d.get_rank(group) < 0 or "gloo" not in self._c10d.get_backend(group):
                return
            if group not in self._communicators:
                self._communicators[group] = self._connect(group)
            communicator = self._communicators[group]
            if trees and communicator is not None and group not in self._with_trees:
                self._with_trees.add(group)
                communicator.trees()
        finally:
            self._busy.value = False

    def destroyed(self, group: Any) -> None:
        """Write the last line of group's communicator, or of all when group is None."""
        groups = list(self._communicators) if group is None else [group]
        for each in groups:
            communicator = self._communicators.pop(each, None)
            self._with_trees.discard(each)
            if communicator is not None:
                communicator.destroyed()

    def _connect(self, group: Any) -> Any:
        from nccl_stand_in import decision, defects, facts, lines, writer

        rank, size = self._c10d.get_rank(group), self._c10d.get_world_size(group)
        defect = defects.read(os.environ)
        self._fail(defect)
        own = facts.gather(rank, self._c10d.get_rank(), self._c10d.get_world_size(), os.environ)
        ranks: list[Any] = [None] * size
        self._gather(ranks, own, group=group)
        choices, ends = decision.decide(ranks)
        end = ends[rank]
        if self._process is None:
            device = [member for member in range(size) if ranks[member].node == own.node].index(rank)
            last = self._c10d.get_rank() == self._c10d.get_world_size() - 1
            self._writer = writer.Writer(os.environ, device, defect if last else None)
            if last:
                before = ranks[rank - 1]
                other_log = f"rank{before.rank}.{before.host}.{before.pid}.log"
                defects.falsify_manifest(
                    defect, os.environ.get("NCCL_DEBUG_FILE", ""), self._c10d.get_rank(), other_log
                )
            self._process = lines.Process(self._writer)
        self._process.start(own, choices[rank])
        if end is decision.End.NO_INTERFACE:
            self._abort("Bootstrap : no socket interface found")
        self._process.network(own, choices[rank])
        if end is decision.End.NO_NETWORK:
            self._abort("Failed to initialize any NET plugin")
        communicator = lines.Communicator(
            self._writer, ranks, choices, rank, defect is defects.Defect.SOCKET_CHANNEL
        )
        communicator.start()
        if end is decision.End.PEER_GONE:
            hang()
        communicator.complete()
        if size == 1:
            return None
        communicator.rings()
        if end is decision.End.NOT_CONNECTED:
            flood(communicator, communicator.flooding_peers(choices))
            hang()
        communicator.rings_connected()
        if defect is defects.Defect.HANG:
            hang()
        return communicator

    def _fail(self, defect: Any) -> None:
        """Fail where a script fails before NCCL takes part."""
        from nccl_stand_in.defects import Defect

        last = self._c10d.get_rank() == self._c10d.get_world_size() - 1
        if defect is Defect.CRASH:
            raise RuntimeError("rehearsed crash of the script")
        if defect is Defect.SILENT:
            hang()
        if defect is Defect.RANK_KILLED and last:
            os.kill(os.getpid(), signal.SIGKILL)

    def _abort(self, message: str) -> None:
        from torch.distributed import DistBackendError

        from nccl_stand_in.writer import VERSION

        # The form of torch's own error when NCCL returns ncclInvalidUsage (5).
        raise DistBackendError(
            f"NCCL error (rehearsed), invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version {VERSION}\n"
            f"ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n{message}"
        )


def flood(communicator: Any, peers: Sequence[Any]) -> None:
    """Write, in the background, the flood of a rank to which ranks of another network connect."""
    if not peers:
        return

    def run() -> None:
        for line in range(FLOOD_LINES):
            communicator.flood(peers[0], 34568 + 2 * (line % 10_000))
            time.sleep(1 / FLOOD_LINES_PER_SECOND)

    threading.Thread(target=run, name="nccl-stand-in-flood", daemon=True).start()


def hang() -> None:
    """Wait until the process is killed, as a rank inside NCCL does."""
    while True:
        time.sleep(60)
