"""Distributed checkpoints through Ray Train's storage: each rank saves and loads its own shards."""

from __future__ import annotations

import tempfile
from typing import Any

from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save as save_state
from torch.optim import Optimizer


def save(model: nn.Module, optimizer: Optimizer, step: int) -> None:
    """Save the state after that many steps. Every rank calls it after the same step."""
    import ray.train

    with tempfile.TemporaryDirectory() as folder:
        write(folder, model, optimizer, step)
        # Returns when this rank's files are in the storage; Ray Train waits for all ranks.
        ray.train.report({"step": step}, checkpoint=ray.train.Checkpoint.from_directory(folder))


def wait_until_recorded() -> None:
    """Wait until Ray Train has recorded the last checkpoint of all ranks, so that a restart finds it."""
    import ray.train

    ray.train.get_all_reported_checkpoints(ray.train.CheckpointConsistencyMode.COMMITTED)


def restore(model: nn.Module, optimizer: Optimizer) -> int:
    """Load the run's last checkpoint; return its number of steps, or 0 when there is none."""
    import ray.train

    last = ray.train.get_checkpoint()
    if last is None:
        return 0
    with last.as_directory() as folder:
        return read(folder, model, optimizer)


def write(folder: str, model: nn.Module, optimizer: Optimizer, step: int) -> None:
    """Write this rank's part of the checkpoint to a folder."""
    save_state(_state(model, optimizer, step), checkpoint_id=folder)


def read(folder: str, model: nn.Module, optimizer: Optimizer) -> int:
    """Load this rank's part of a complete checkpoint; return its number of steps."""
    state = _state(model, optimizer, 0)
    load(state, checkpoint_id=folder)
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return int(state["step"])


def _state(model: nn.Module, optimizer: Optimizer, step: int) -> dict[str, Any]:
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments, "step": step}
