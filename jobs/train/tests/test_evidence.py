"""The files that each rank leaves."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from raytrain_job import evidence
from raytrain_job.settings import load
from tests.support import environment


class EvidenceTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = Path(folder.name)
        self.settings = load(environment())
        self.placement = evidence.Placement(
            rank=3, world_size=8, local_rank=3, node="abc", node_ip="10.0.1.7", train_attempt=0
        )
        kept = mock.patch.dict(os.environ)
        kept.start()
        self.addCleanup(kept.stop)

    def test_rank_leaves_what_the_contract_says(self) -> None:
        directory = evidence.open_folder(self.logs, self.settings, self.placement)
        self.assertEqual(self.logs / "raytrain/job-a1", directory)
        name = f"rank3.{evidence.host()}.{os.getpid()}.log"
        self.assertEqual(str(directory / name), os.environ["NCCL_DEBUG_FILE"])
        evidence.write_manifest(directory, self.settings, self.placement)
        self.assertEqual(["rank3.json"], [path.name for path in directory.iterdir()])
        manifest = json.loads((directory / "rank3.json").read_text(encoding="utf-8"))
        self.assertRegex(manifest.pop("ncclVersion"), r"^\d+\.\d+\.\d+$")
        self.assertRegex(manifest.pop("torchVersion"), r"^\d+\.\d+\.\d+$")
        want = {
            "rank": 3,
            "worldSize": 8,
            "localRank": 3,
            "node": "abc",
            "nodeIp": "10.0.1.7",
            "host": evidence.host(),
            "pid": os.getpid(),
            "nonce": "00ff",
            "submissionId": "job-a1",
            "attempt": 1,
            "trainAttempt": 0,
            "ncclFile": name,
            "device": "cpu",
        }
        self.assertEqual(want, manifest)

    def test_a_restarted_rank_replaces_its_manifest_only(self) -> None:
        directory = evidence.open_folder(self.logs, self.settings, self.placement)
        evidence.write_manifest(directory, self.settings, self.placement)
        (directory / "rank3.host.1.log").write_text("old", encoding="utf-8")
        again = evidence.Placement(
            rank=3, world_size=8, local_rank=0, node="def", node_ip="10.0.1.8", train_attempt=1
        )
        evidence.write_manifest(
            evidence.open_folder(self.logs, self.settings, again), self.settings, again
        )
        manifest = json.loads((directory / "rank3.json").read_text(encoding="utf-8"))
        self.assertEqual((1, "def"), (manifest["trainAttempt"], manifest["node"]))
        self.assertEqual("old", (directory / "rank3.host.1.log").read_text(encoding="utf-8"))
