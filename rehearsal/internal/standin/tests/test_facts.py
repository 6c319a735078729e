"""Reading a node's facts."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from nccl_stand_in.facts import SecurityGroup, WiringError, gather, read_fabric

FABRIC = {
    "rehearsed": True, "node": "ip-10-0-1-7", "instanceId": "i-1", "instanceType": "g6.12xlarge", "zone": "us-east-2a",
    "subnetId": "subnet-1", "vpcId": "vpc-1", "privateIp": "10.0.1.7", "placementGroup": "pg", "placementStrategy": "cluster",
    "efaInterfaces": 1, "deviceBroken": False, "gpus": 4,
    "securityGroups": [{"id": "sg-1", "name": "own", "selfIngress": True, "selfEgress": False}],
}


class FactsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.path = self.root / "run/raytrain-rehearsal/node-facts.json"
        self.path.parent.mkdir(parents=True)

    def test_gather(self) -> None:
        self.path.write_text(json.dumps(FABRIC), encoding="utf-8")
        devices = self.root / "dev/infiniband"
        devices.mkdir(parents=True)
        (devices / "uverbs0").touch()
        facts = gather(2, 2, 8, {"RAYTRAIN_REHEARSAL_ROOT": str(self.root), "NCCL_NET": "Libfabric", "FI_PROVIDER": "", "HOME": "/"})
        self.assertEqual(1, facts.devices)
        self.assertEqual({"NCCL_NET": "Libfabric"}, facts.environment)
        self.assertEqual((SecurityGroup("sg-1", True, False),), facts.fabric.security_groups)
        self.assertEqual("subnet-1", facts.fabric.subnet)
        self.assertFalse(facts.has_plugin)

    def test_refuses_what_it_cannot_read(self) -> None:
        without_zone = {key: value for key, value in FABRIC.items() if key != "zone"}
        for content in (None, "{", "[]", json.dumps(without_zone)):
            with self.subTest(content=content):
                if content is not None:
                    self.path.write_text(content, encoding="utf-8")
                with self.assertRaisesRegex(WiringError, "node-facts.json"):
                    read_fabric(self.path)

    def test_no_groups(self) -> None:
        self.path.write_text(json.dumps({**FABRIC, "securityGroups": None}), encoding="utf-8")
        self.assertEqual((), read_fabric(self.path).security_groups)
