"""The driver's checks and its last line."""

from __future__ import annotations

import io
import json
import unittest
from contextlib import redirect_stderr
from unittest import mock

from raytrain_job import __main__ as entry
from raytrain_job.driver import ClusterError, Starts, missing_gpus, result_line, wait_for_cluster
from raytrain_job.worker import check_places
from tests.support import config, environment

HEAD = {"Alive": True, "Resources": {"memory": 1.0}}
WORKER = {"Alive": True, "Resources": {"GPU": 4.0}}
DEAD = {"Alive": False, "Resources": {"GPU": 4.0}}


class ClusterTest(unittest.TestCase):
    def test_missing_gpus(self) -> None:
        small, big = (
            {"Alive": True, "Resources": {"GPU": 2.0}},
            {"Alive": True, "Resources": {"GPU": 8.0}},
        )
        cases = [
            ("as wanted", [HEAD, WORKER, WORKER], None),
            ("a dead one beside", [HEAD, WORKER, WORKER, DEAD], None),
            (
                "one missing",
                [HEAD, WORKER, DEAD],
                r"has 1 nodes with GPUs \(\[4\]\); required: 2 nodes with 4 each",
            ),
            ("too few on one", [HEAD, WORKER, small], r"\[4, 2\]"),
            ("all ranks would fit on one", [HEAD, big], r"\[8\]"),
            ("one too many", [HEAD, WORKER, WORKER, WORKER], r"has 3 nodes"),
            ("none", [HEAD], r"has 0 nodes"),
        ]
        for name, nodes, want in cases:
            with self.subTest(name):
                problem = missing_gpus(config(), nodes)
                if want is None:
                    self.assertIsNone(problem)
                else:
                    self.assertRegex(problem or "", want)

    def test_one_node_of_several_is_enough_for_a_run_on_one(self) -> None:
        one = config(nodes=1, worldSize=4)
        self.assertIsNone(missing_gpus(one, [HEAD, WORKER, WORKER]))
        small = {"Alive": True, "Resources": {"GPU": 2.0}}
        self.assertRegex(missing_gpus(one, [HEAD, small, small]) or "", r"required: 1 nodes with 4")

    def test_waits_for_the_last_node(self) -> None:
        answers = iter([[HEAD, WORKER], [HEAD, WORKER, WORKER]])
        with mock.patch("time.sleep"):
            wait_for_cluster(config(), lambda: next(answers), wait=60)
        with self.assertRaisesRegex(ClusterError, "required: 2 nodes"):
            wait_for_cluster(config(), lambda: [HEAD], wait=0)


class PlacesTest(unittest.TestCase):
    def test_ranks_fill_every_node(self) -> None:
        check_places(["a"] * 4 + ["b"] * 4, config())
        check_places(["a", "b"] * 4, config())
        for places in (
            ["a"] * 8,
            ["a"] * 5 + ["b"] * 3,
            ["a"] * 4 + ["b"] * 2 + ["c"] * 2,
            ["a"] * 4,
        ):
            with (
                self.subTest(places=places),
                self.assertRaisesRegex(RuntimeError, "required: 4 on each of 2 nodes"),
            ):
                check_places(places, config())


class StartsTest(unittest.TestCase):
    def test_counts_by_rank(self) -> None:
        starts = Starts()
        self.assertEqual([0, 0, 1, 2, 1], [starts.next(rank) for rank in (0, 1, 0, 0, 1)])


class EntryTest(unittest.TestCase):
    def test_wrong_settings_end_the_job_with_one_message(self) -> None:
        errors = io.StringIO()
        with (
            mock.patch.dict("os.environ", environment(steps=0), clear=True),
            redirect_stderr(errors),
        ):
            self.assertEqual(1, entry.main())
        self.assertIn("RAYTRAIN_CONFIG.steps is 0", errors.getvalue())
        self.assertNotIn("Traceback", errors.getvalue())

    def test_result_line(self) -> None:
        name, _, text = result_line({"steps": 50, "stepSeconds": [0.1], "allReduce": []}).partition(
            " "
        )
        self.assertEqual(("RAYTRAIN_RESULT", {"steps": 50}), (name, json.loads(text)))
