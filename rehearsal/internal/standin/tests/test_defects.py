"""What each defect does to a rank's files."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from nccl_stand_in import defects
from nccl_stand_in.defects import Defect
from nccl_stand_in.writer import DAMAGED_RECORD, HUGE_BYTES, Writer


class DefectTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "rank7.node.7.log"

    def write(self, defect: Defect | None) -> None:
        environment = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(self.log)}
        writer = Writer(environment, 3, defect)
        for record in range(2 * DAMAGED_RECORD):
            writer.info("INIT", f"record {record} commId 0x1234")
        writer.info("INIT", "Connected all rings")
        writer.close()

    def test_the_node_holds_the_defect(self) -> None:
        environment = {"RAYTRAIN_REHEARSAL_ROOT": str(self.folder)}
        self.assertIsNone(defects.read(environment))
        path = self.folder / defects.FILE
        path.parent.mkdir(parents=True)
        path.write_text("provider-tcp\n", encoding="utf-8")
        self.assertIs(Defect.PROVIDER_TCP, defects.read(environment))
        self.assertEqual({"FI_PROVIDER": "tcp"}, defects.overrides(Defect.PROVIDER_TCP))
        path.write_text("no-such-defect", encoding="utf-8")
        with self.assertRaises(ValueError):
            defects.read(environment)

    def test_logs(self) -> None:
        self.write(None)
        whole = self.log.read_bytes()
        lines = whole.count(b"\n")
        cases = [
            (Defect.LOG_TRUNCATED, lambda text: text.count(b"\n") == DAMAGED_RECORD and not text.endswith(b"\n")),
            (Defect.LOG_NOT_UTF8, lambda text: b"\xff\xfe\x80" in text and text.count(b"\n") == lines + 1),
            (Defect.LOG_OF_EARLIER_RUN, lambda text: b"0x1234" not in text and text.count(b"0xdead") == 2 * DAMAGED_RECORD),
            (Defect.NEVER_CONNECTED, lambda text: b"Connected" not in text and text.count(b"\n") == lines - 1),
            (Defect.LOG_HUGE, lambda text: len(text) > HUGE_BYTES - 2**20 and b"Connected" in text),
            (Defect.LOG_ROTATED, lambda text: b"record 2 " not in text and b"Connected" in text),
        ]
        for defect, holds in cases:
            with self.subTest(defect=defect):
                self.write(defect)
                self.assertTrue(holds(self.log.read_bytes()))
        self.assertIn(b"record 2 ", self.log.with_name(self.log.name + ".1").read_bytes())
        self.log.unlink()
        self.write(Defect.LOG_MISSING)
        self.assertFalse(self.log.exists())

    def test_manifests(self) -> None:
        truth = {"rank": 7, "nonce": "abc", "ncclFile": self.log.name}
        cases = [
            (None, truth),
            (Defect.CRASH, truth),
            (Defect.MANIFEST_OF_OTHER_RANK, {**truth, "rank": 0}),
            (Defect.MANIFEST_OF_EARLIER_RUN, {**truth, "nonce": "0" * 32}),
            (Defect.MANIFEST_NAMES_OTHER_LOG, {**truth, "ncclFile": "other"}),
        ]
        path = self.folder / "rank7.json"
        for defect, want in cases:
            with self.subTest(defect=defect):
                path.write_text(json.dumps(truth), encoding="utf-8")
                defects.falsify_manifest(defect, str(self.log), 7, "other")
                self.assertEqual(want, json.loads(path.read_text(encoding="utf-8")))
