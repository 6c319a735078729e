"""The job's own deadline."""

from __future__ import annotations

import subprocess
import sys
import unittest
from unittest import mock

from raytrain_job import __main__ as entry
from raytrain_job.settings import load
from tests.support import environment

HANG = "from raytrain_job.watchdog import start; start(0.2); import time; time.sleep(30)"
ENDS = "from raytrain_job.watchdog import start; start(30)"


class WatchdogTest(unittest.TestCase):
    def test_ends_a_job_that_hangs(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-c", HANG], capture_output=True, text=True, timeout=20, check=False
        )
        self.assertEqual(124, ended.returncode)
        self.assertIn("ended at its own deadline", ended.stderr)

    def test_does_not_delay_a_job_that_ends(self) -> None:
        subprocess.run([sys.executable, "-c", ENDS], timeout=20, check=True)

    def test_is_started_when_the_provider_sets_a_deadline(self) -> None:
        for seconds, want in (("90", [mock.call(90)]), (None, [])):
            variables = environment()
            if seconds is not None:
                variables["RAYTRAIN_DEADLINE_SECONDS"] = seconds
            with (
                self.subTest(seconds=seconds),
                mock.patch.dict("os.environ", variables, clear=True),
                mock.patch.object(entry, "drive", return_value={}),
                mock.patch("raytrain_job.watchdog.start") as start,
                mock.patch("builtins.print"),
            ):
                self.assertEqual(0, entry.main())
                self.assertEqual(want, start.mock_calls)

    def test_refuses_a_wrong_deadline(self) -> None:
        with self.assertRaisesRegex(ValueError, "RAYTRAIN_DEADLINE_SECONDS is '0'"):
            load(environment() | {"RAYTRAIN_DEADLINE_SECONDS": "0"})
