"""Test of the file that shows how far the training is."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from raytrain_job import evidence


class ProgressTest(unittest.TestCase):
    def test_file_is_replaced_with_the_speed_since_the_last_write(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            with mock.patch("time.monotonic", side_effect=[100.0, 100.0, 102.0]):
                progress = evidence.Progress(directory)
                self.assertTrue(progress.due())
                progress.write(1, 20, 2.5)
                self.assertFalse(progress.due())
            first = json.loads((directory / "progress.json").read_text(encoding="utf-8"))
            self.assertEqual(first, {"step": 1, "steps": 20, "loss": 2.5, "stepsPerSecond": None})
            with mock.patch("time.monotonic", side_effect=[105.0, 104.0]):
                self.assertTrue(progress.due())
                progress.write(3, 20, float("nan"))
            second = json.loads((directory / "progress.json").read_text(encoding="utf-8"))
            self.assertEqual(second, {"step": 3, "steps": 20, "loss": None, "stepsPerSecond": 0.5})
            self.assertEqual([file.name for file in directory.iterdir()], ["progress.json"])


if __name__ == "__main__":
    unittest.main()
