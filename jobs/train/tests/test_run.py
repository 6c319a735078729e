"""Real training: four processes, gloo and FSDP2 on a CPU."""

from __future__ import annotations

import builtins
import json
import math
import multiprocessing
import socket
import tempfile
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

from tests.support import config

RANKS = 4


def rank_main(rank: int, port: int, output: str) -> None:
    """One rank; its result goes to a file."""
    import torch
    from torch import distributed

    from raytrain_job.worker import run

    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS
    )
    settings = replace(config(steps=20, allReduceMebibytes=1), world_size=RANKS)
    # Ray Train replaces print by one that writes each line twice.
    with (
        Path(output, f"{rank}.out").open("w", encoding="utf-8") as out,
        redirect_stdout(out),
        mock.patch.object(builtins, "print", side_effect=AssertionError("print")),
    ):
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
            ranks = [
                context.Process(target=rank_main, args=(rank, port, output))
                for rank in range(RANKS)
            ]
            for process in ranks:
                process.start()
            for process in ranks:
                process.join(180)
            self.assertEqual([0] * RANKS, [process.exitcode for process in ranks])
            printed = [
                Path(output, f"{rank}.out").read_text(encoding="utf-8").splitlines()
                for rank in range(RANKS)
            ]
            results = [
                json.loads(Path(output, f"{rank}.json").read_text(encoding="utf-8"))
                for rank in range(RANKS)
            ]
        first = results[0]
        self.assertEqual((20, RANKS), (first["steps"], first["worldSize"]))
        self.assertGreater(first["stepsPerSecond"], 0)
        # It began at the loss of guessing among 256 tokens.
        self.assertLess(first["finalLoss"], math.log(256) / 2)
        self.assertEqual(
            {first["finalLoss"]},
            {result["finalLoss"] for result in results},
            "the loss is of all ranks",
        )
        self.assertEqual([1 << 16, 1 << 18, 1 << 20], [one["bytes"] for one in first["allReduce"]])
        for one in first["allReduce"]:
            # Each rank of a ring of four sends and receives three quarters twice.
            self.assertAlmostEqual(
                1.5 * one["bytes"] / one["seconds"], one["busBytesPerSecond"], delta=1e6
            )
        steps = [line.partition(":")[0] for line in printed[0]]
        self.assertEqual([f"step {step} of 20" for step in (1, *range(2, 21, 2))], steps)
        self.assertEqual([[]] * (RANKS - 1), printed[1:], "only rank 0 prints")


class SynchronizeTest(unittest.TestCase):
    def test_names_the_gpu(self) -> None:
        import torch

        from raytrain_job.worker import _synchronize

        for device, want in (("cuda:1", mock.call(device_ids=[1])), ("cpu", mock.call())):
            with (
                self.subTest(device),
                mock.patch("torch.cuda.synchronize") as synchronize,
                mock.patch("torch.distributed.barrier") as barrier,
            ):
                _synchronize(torch.device(device))
                self.assertEqual([want], barrier.mock_calls)
                self.assertEqual(
                    [mock.call(torch.device(device))] * (device != "cpu"), synchronize.mock_calls
                )
