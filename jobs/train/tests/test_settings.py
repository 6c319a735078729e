"""What the job accepts and how it refuses."""

from __future__ import annotations

import unittest
from typing import Any

from raytrain_job.settings import Config, Identity, SettingsError, load
from tests.support import config, environment


class SettingsTest(unittest.TestCase):
    def test_reads_everything(self) -> None:
        settings = load(environment(unknown="ignored"))
        self.assertEqual(Identity("job-a1", "00ff", 1), settings.identity)
        want = Config(
            model="tiny",
            steps=10,
            batch_size=2,
            sequence_length=32,
            learning_rate=0.01,
            seed=7,
            device="cpu",
            wrap_min_parameters=10_000,
            max_failures=0,
            world_size=8,
            nodes=2,
            gpus_per_node=4,
        )
        self.assertEqual(want, settings.config)

    def test_warm_up_leaves_steps_to_measure(self) -> None:
        for steps, want in ((2, 1), (3, 1), (10, 5), (50, 5)):
            with self.subTest(steps=steps):
                self.assertEqual(want, config(steps=steps).warmup_steps)

    def test_a_rank_may_be_killed_after_a_checkpoint(self) -> None:
        self.assertEqual(4, config(killAtStep=4, checkpointEvery=3, maxFailures=1).kill_at_step)

    def test_refuses(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            (
                {"model": "gpt-2"},
                r"RAYTRAIN_CONFIG.model is 'gpt-2': give one of Qwen/Qwen2.5-0.5B, Qwen/Qwen2.5-1.5B, tiny",
            ),
            ({"model": ["tiny"]}, r"RAYTRAIN_CONFIG.model is \['tiny'\]"),
            ({"steps": 1}, r"RAYTRAIN_CONFIG.steps is 1: give a whole number of 2 or more"),
            ({"steps": True}, r"RAYTRAIN_CONFIG.steps is True"),
            ({"steps": 2.5}, r"RAYTRAIN_CONFIG.steps is 2.5"),
            ({"steps": None}, r"RAYTRAIN_CONFIG.steps is missing"),
            ({"learningRate": 0}, r"RAYTRAIN_CONFIG.learningRate is 0: give a number above 0"),
            ({"learningRate": float("inf")}, r"RAYTRAIN_CONFIG.learningRate is inf"),
            ({"device": "tpu"}, r"RAYTRAIN_CONFIG.device is 'tpu': give one of cuda, cpu"),
            ({"worldSize": 6}, r"worldSize is 6: give nodes x gpusPerNode = 8"),
            ({"maxFailures": -1}, r"RAYTRAIN_CONFIG.maxFailures is -1"),
            (
                {"strategy": "fsdp3"},
                r"RAYTRAIN_CONFIG.strategy is 'fsdp3': give one of fsdp2, fsdp1, ddp",
            ),
            ({"strategy": "fsdp1"}, r"strategy is 'fsdp1': it needs device cuda"),
            (
                {
                    "strategy": "fsdp1",
                    "device": "cuda",
                    "worldSize": 1,
                    "nodes": 1,
                    "gpusPerNode": 1,
                },
                r"strategy is 'fsdp1': it needs a worldSize of 2 or more",
            ),
            ({"compile": 1}, r"RAYTRAIN_CONFIG.compile is 1: give true or false"),
            ({"checkpointEvery": -1}, r"RAYTRAIN_CONFIG.checkpointEvery is -1"),
            (
                {"storagePath": "runs"},
                r"RAYTRAIN_CONFIG.storagePath is 'runs': give an absolute folder or a URI",
            ),
            ({"runName": "A b"}, r"RAYTRAIN_CONFIG.runName is 'A b'"),
            ({"allReduceMebibytes": -1}, r"RAYTRAIN_CONFIG.allReduceMebibytes is -1"),
            ({"killAtStep": 3, "maxFailures": 1}, r"killAtStep is 3: give a step between"),
            ({"killAtStep": 3, "maxFailures": 1, "checkpointEvery": 3}, r"killAtStep is 3"),
            ({"killAtStep": 10, "maxFailures": 1, "checkpointEvery": 3}, r"killAtStep is 10"),
            ({"killAtStep": 4, "checkpointEvery": 3}, r"killAtStep is 4: .* maxFailures of 1"),
        ]
        for changes, want in cases:
            with self.subTest(changes=changes), self.assertRaisesRegex(SettingsError, want):
                load(environment(**changes))

    def test_names_every_problem_at_once(self) -> None:
        wrong = environment(steps=0, device="tpu") | {
            "RAYTRAIN_NONCE": "xyz",
            "RAYTRAIN_ATTEMPT": "0",
            "RAYTRAIN_SUBMISSION_ID": "Job 1",
        }
        with self.assertRaises(SettingsError) as raised:
            load(wrong)
        for name in (
            "RAYTRAIN_SUBMISSION_ID",
            "RAYTRAIN_NONCE",
            "RAYTRAIN_ATTEMPT",
            "RAYTRAIN_CONFIG.steps",
            "RAYTRAIN_CONFIG.device",
        ):
            self.assertIn(name, str(raised.exception))

    def test_refuses_what_is_no_configuration(self) -> None:
        for text, want in (
            ("{", "is not JSON"),
            ("[]", "give a JSON object"),
            (None, "is not set"),
        ):
            variables = environment()
            del variables["RAYTRAIN_CONFIG"]
            if text is not None:
                variables["RAYTRAIN_CONFIG"] = text
            with self.subTest(text=text), self.assertRaisesRegex(SettingsError, want):
                load(variables)
