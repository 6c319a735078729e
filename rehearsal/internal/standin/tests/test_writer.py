"""Which lines reach the file, and which file."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from nccl_stand_in import facts
from nccl_stand_in.writer import BANNER, Mask, Writer, expand


class WriterTest(unittest.TestCase):
    def written(self, environment: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "nccl.log")
            writer = Writer({**environment, "NCCL_DEBUG_FILE": str(path)}, 3)
            writer.info("INIT", "Using network Libfabric")
            writer.info("INIT|NET", "channel")
            writer.warn("plugin/net.cc:379", "nothing works")
            writer.close()
            return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_levels(self) -> None:
        prefix = f"{facts.host()}:{os.getpid()}:"
        cases = [({}, 0), ({"NCCL_DEBUG": "WARN"}, 3), ({"NCCL_DEBUG": "INFO"}, 5), ({"NCCL_DEBUG": "info"}, 5)]
        for environment, count in cases:
            with self.subTest(environment=environment):
                lines = self.written(environment)
                self.assertEqual(count, len(lines))
                if lines:
                    self.assertEqual(BANNER, lines[0])
                    self.assertTrue(lines[-1].endswith("plugin/net.cc:379 NCCL WARN nothing works"))
                    self.assertEqual("", lines[-2])
                if count == 5:
                    self.assertTrue(lines[1].startswith(prefix))
                    self.assertTrue(lines[1].endswith(" [3] NCCL INFO Using network Libfabric"))

    def test_banner_holds_no_record(self) -> None:
        self.assertNotRegex(BANNER, r"NCCL (INFO|WARN)|via NET|Selected [Pp]rovider|Using network")

    def test_mask(self) -> None:
        cases = [
            ("", ["INIT"], True), ("", ["NET"], False), ("", ["INIT", "NET"], True),
            ("NET", ["INIT"], False), ("NET", ["INIT", "NET"], True), ("ALL", ["TUNING"], True),
            ("^INIT", ["INIT", "NET"], False), ("^INIT", ["NET"], True), ("init,env", ["ENV"], True),
        ]
        for setting, subsystems, want in cases:
            with self.subTest(setting=setting, subsystems=subsystems):
                self.assertEqual(want, Mask(setting).allows(subsystems))

    def test_expand(self) -> None:
        cases = [
            ("/x/%h.%p.log", f"/x/{facts.host()}.{os.getpid()}.log"),
            ("/x/100%%", "/x/100%"),
            ("/x/%q", "/x/%q"),
            ("/plain", "/plain"),
        ]
        for path, want in cases:
            with self.subTest(path=path):
                self.assertEqual(want, expand(path))
