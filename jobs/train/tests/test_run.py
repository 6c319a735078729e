"""Real training: four processes, gloo and FSDP2 on a CPU."""

from __future__ import annotations

import json
import math
import multiprocessing
import socket
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from tests.support import config

RANKS = 4


def rank_main(rank: int, port: int, output: str) -> None:
    """One rank; its result goes to a file."""
    import torch
    import torch.distributed as distributed

    from raytrain_job.worker import run

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    settings = replace(config(steps=20), world_size=RANKS)
    result = run(settings, rank, RANKS, torch.device("cpu"))
    Path(output, f"{rank}.json").write_text(json.dumps(result), encoding="utf-8")
    distributed.destroy_process_group()


class RunTest(unittest.TestCase):
    def test_learns_and_reports(self) -> None:
        # Imported before the fork, so that it happens once.
        import torch.distributed.fsdp  # noqa: F401

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with tempfile.TemporaryDirectory() as output:
            context = multiprocessing.get_context("fork")
            ranks = [context.Process(target=rank_main, args=(rank, port, output)) for rank in range(RANKS)]
            for process in ranks:
                process.start()
            for process in ranks:
                process.join(180)
            self.assertEqual([0] * RANKS, [process.exitcode for process in ranks])
            results = [json.loads(Path(output, f"{rank}.json").read_text(encoding="utf-8")) for rank in range(RANKS)]
        first = results[0]
        self.assertEqual((20, RANKS), (first["steps"], first["worldSize"]))
        self.assertGreater(first["stepsPerSecond"], 0)
        # It began at the loss of guessing among 256 tokens.
        self.assertLess(first["finalLoss"], math.log(256) / 2)
        self.assertEqual({first["finalLoss"]}, {result["finalLoss"] for result in results}, "the loss is of all ranks")
