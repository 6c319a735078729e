"""Real torch over gloo, eight processes on two rehearsed nodes, one scenario each."""

from __future__ import annotations

import os
import shutil
import unittest
from pathlib import Path
from typing import Any

from tests.cluster import RANKS, Cluster, temporary

# An import of torch and eight ranks on two busy cores take some 10 s.
PATIENCE_SECONDS = 180.0


class RanksTest(unittest.TestCase):
    def start(
        self, environment: dict[str, str | None] | None = None, fabric: dict[str, Any] | None = None, device: bool = True,
        defect: str = "",
    ) -> Cluster:
        folder = temporary()
        self.addCleanup(folder.cleanup)
        cluster = Cluster(Path(folder.name), environment or {}, fabric or {}, device, defect)
        self.addCleanup(self.keep, cluster)
        self.addCleanup(cluster.kill)
        cluster.start()
        return cluster

    def keep(self, cluster: Cluster) -> None:
        """Keep the scenario's NCCL files where the caller judges them."""
        if wanted := os.environ.get("KEEP_NCCL_LOGS"):
            shutil.copytree(cluster.logs, Path(wanted, self.id().rsplit(".", 1)[-1].removeprefix("test_")))

    def assert_all_end_well(self, cluster: Cluster) -> None:
        cluster.wait_until(lambda: len(cluster.ended()) == RANKS, PATIENCE_SECONDS)
        self.assertEqual({rank: 0 for rank in range(RANKS)}, cluster.ended(), cluster.output(0))

    def assert_hangs_unconnected(self, cluster: Cluster) -> None:
        self.assertEqual({}, cluster.ended())
        self.assertFalse(any("Connected" in cluster.log(rank) for rank in range(RANKS)))

    def test_efa(self) -> None:
        cluster = self.start()
        self.assert_all_end_well(cluster)
        ids = set()
        for rank in range(RANKS):
            log = cluster.log(rank)
            self.assertTrue(log.startswith("# Rehearsed"), log[:80])
            self.assertIn("Selected provider is efa, fabric is efa (found 1 nics)", log)
            self.assertIn("Using network Libfabric", log)
            self.assertIn("nRanks 8 nNodes 2 localRanks 4", log)
            self.assertIn("Connected all rings", log)
            self.assertIn("Connected all trees", log)
            self.assertIn("Destroy COMPLETE", log)
            # Only the ranks at a node's ends have an edge that leaves it.
            self.assertEqual(rank in (0, 3, 4, 7), "via NET/Libfabric/0" in log)
            ids |= {line.split()[-4] for line in log.splitlines() if f"[Rank {rank}] " in line and "nranks 8" in line}
        self.assertEqual(1, len(ids), "one communicator has one id on all ranks")
        # A group of two is a separate communicator, on its members only.
        self.assertIn("nRanks 2 nNodes 2 localRanks 1", cluster.log(4))
        self.assertNotIn("nRanks 2 ", cluster.log(1))

    def test_crash_of_the_script(self) -> None:
        cluster = self.start(defect="crash")
        cluster.wait_until(lambda: len(cluster.ended()) == RANKS, PATIENCE_SECONDS)
        self.assertEqual({rank: 1 for rank in range(RANKS)}, cluster.ended())
        self.assertIn("rehearsed crash of the script", cluster.output(0))
        self.assertNotIn("Channel", cluster.log(0))

    def test_silent_fallback(self) -> None:
        cluster = self.start({"NCCL_NET": None, "RAYTRAIN_REHEARSAL_PLUGIN": None})
        self.assert_all_end_well(cluster)
        self.assertIn("NET/Plugin: Could not find: ofi libnccl-net-ofi.so", cluster.log(0))
        self.assertIn("[send] via NET/Socket/0", cluster.log(3))
        self.assertIn("Connected all rings", cluster.log(3))

    def test_broken_device_falls_back(self) -> None:
        cluster = self.start({"NCCL_NET": None}, {"deviceBroken": True})
        self.assert_all_end_well(cluster)
        self.assertIn("Couldn't open a fabric access domain", cluster.log(0))
        self.assertIn("Using network Socket", cluster.log(0))

    def test_pinned_abort(self) -> None:
        cluster = self.start(device=False)
        cluster.wait_until(lambda: len(cluster.ended()) == RANKS, PATIENCE_SECONDS)
        self.assertEqual({rank: 1 for rank in range(RANKS)}, cluster.ended())
        self.assertIn("NCCL WARN Failed to initialize any NET plugin", cluster.log(5))
        self.assertNotIn("Using network", cluster.log(5))
        self.assertIn("Failed to initialize any NET plugin", cluster.output(5))

    def test_no_self_egress_hangs(self) -> None:
        groups = [{"id": "sg-cluster", "name": "c", "selfIngress": True, "selfEgress": False}]
        cluster = self.start(fabric={"securityGroups": groups})
        self.assertTrue(
            cluster.wait_until(lambda: all("[send] via NET/Libfabric" in cluster.log(rank) for rank in (3, 7)), PATIENCE_SECONDS),
            cluster.output(0),
        )
        self.assert_hangs_unconnected(cluster)

    def test_one_rank_on_sockets_floods_and_hangs(self) -> None:
        cluster = self.start({"NCCL_NET": None}, defect="no-plugin-on-one-rank")
        flood = "socketFinalizeAccept: didn't receive a valid magic from"
        self.assertTrue(cluster.wait_until(lambda: cluster.log(7).count(flood) > 100, PATIENCE_SECONDS), cluster.output(7))
        self.assertIn("[send] via NET/Socket/0", cluster.log(7))
        self.assertIn("[receive] via NET/Libfabric/0", cluster.log(0))
        self.assertFalse(any(flood in cluster.log(rank) for rank in range(7)))
        self.assert_hangs_unconnected(cluster)
