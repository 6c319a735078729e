"""A resumed run ends with the same weights as one without a break, bit for bit."""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support import config

RANKS = 2


def rank_main(rank: int, port: int, storage: str, strategy: str, steps: int) -> None:
    """One rank. Ray Train's storage is replaced by a folder that all ranks share."""
    import torch
    from torch import distributed

    from raytrain_job import checkpoint
    from raytrain_job.worker import run

    def save(model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
        checkpoint.write(f"{storage}/{step}", model, optimizer, step)

    def restore(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
        saved = sorted(Path(storage).iterdir(), key=lambda path: int(path.name))
        return checkpoint.read(str(saved[-1]), model, optimizer) if saved else 0

    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS
    )
    settings = replace(config(steps=steps, strategy=strategy, checkpointEvery=5), world_size=RANKS)
    with (
        mock.patch.object(checkpoint, "save", save),
        mock.patch.object(checkpoint, "restore", restore),
    ):
        result = run(settings, rank, RANKS, torch.device("cpu"))
    Path(f"{storage}.{steps}.{rank}").write_text(str(result["resumedAtStep"]), encoding="utf-8")
    distributed.destroy_process_group()


def train(storage: str, strategy: str, steps: int) -> list[int]:
    """Run all ranks; return at which step each began."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("fork")
    ranks = [
        context.Process(target=rank_main, args=(rank, port, storage, strategy, steps))
        for rank in range(RANKS)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(180)
    if any(process.exitcode != 0 for process in ranks):
        raise AssertionError([process.exitcode for process in ranks])
    return [
        int(Path(f"{storage}.{steps}.{rank}").read_text(encoding="utf-8")) for rank in range(RANKS)
    ]


class ResumeTest(unittest.TestCase):
    def test_is_exact(self) -> None:
        import torch
        import torch.distributed.fsdp
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

        def state(folder: str, step: int) -> dict[str, Any]:
            dcp_to_torch_save(f"{folder}/{step}", f"{folder}.pt")
            return flat(torch.load(f"{folder}.pt", weights_only=False))

        def flat(value: object, name: str = "") -> dict[str, Any]:
            if not isinstance(value, dict):
                return {name: value}
            return {
                key: leaf
                for part, below in value.items()
                for key, leaf in flat(below, f"{name}/{part}").items()
            }

        for strategy in ("fsdp2", "ddp"):
            with self.subTest(strategy), tempfile.TemporaryDirectory() as folder:
                whole, broken = f"{folder}/whole", f"{folder}/broken"
                for storage in (whole, broken):
                    Path(storage).mkdir()
                self.assertEqual([0, 0], train(whole, strategy, 10))
                self.assertEqual([0, 0], train(broken, strategy, 5))
                self.assertEqual([5, 5], train(broken, strategy, 10))
                want, got, before = state(whole, 10), state(broken, 10), state(whole, 5)
                self.assertEqual(want.keys(), got.keys())
                self.assertTrue(any("embedding" in name for name in want))
                moved = 0
                for name, value in want.items():
                    if isinstance(value, torch.Tensor):
                        self.assertTrue(torch.equal(value, got[name]), name)
                        moved += not torch.equal(value, before[name])
                    else:
                        self.assertEqual(value, got[name], name)
                self.assertGreater(moved, 10, "the last five steps changed the weights")


class CheckpointingTest(unittest.TestCase):
    def test_computes_the_same_with_less_memory(self) -> None:
        import torch

        from raytrain_job.decoder import Layer
        from raytrain_job.model import MODELS, build
        from raytrain_job.sharding import initialise

        losses: list[float] = []
        gradients: list[torch.Tensor] = []
        for checkpointing in (False, True):
            model = build(MODELS["tiny"])
            initialise(model, 7, 0)
            model.checkpointing = checkpointing
            loss = model(torch.arange(34).view(2, 17))
            loss.backward()
            losses.append(loss.item())
            layer = model.layers[0]
            assert isinstance(layer, Layer)
            gradient = layer.attention.query.weight.grad
            assert gradient is not None
            gradients.append(gradient)
        self.assertEqual(losses[0], losses[1])
        self.assertTrue(torch.equal(gradients[0], gradients[1]))
