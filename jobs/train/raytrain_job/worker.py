"""The training function of each rank: write its evidence, check its placement, train, measure."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raytrain_job import evidence
from raytrain_job.settings import Config, load

if TYPE_CHECKING:
    import torch


def train(options: dict[str, Any]) -> dict[str, Any] | None:
    """Ray Train's training function. Returns the result on rank 0, None elsewhere."""
    settings = load(os.environ)
    placement = _placement(options)
    logs = _logs()
    # First, before anything uses CUDA or NCCL.
    directory = evidence.open_folder(logs, settings, placement)
    evidence.write_manifest(directory, settings, placement)

    import torch.distributed

    device = _device(settings.config)
    places: list[str] = [""] * placement.world_size
    torch.distributed.all_gather_object(places, placement.node)
    check_places(places, settings.config)

    report = evidence.Progress(directory) if placement.rank == 0 else None
    result = run(settings.config, placement.rank, placement.world_size, device, report)
    if placement.rank != 0:
        return None
    evidence.write_json(directory / "result.json", result)
    return result


def check_places(places: Sequence[str], config: Config) -> None:
    """Raise RuntimeError unless the ranks fill every node.

    Ranks that share one node never use the network between nodes, so such a run would succeed and
    leave no evidence.
    """
    counts = Counter(places)
    if len(places) == config.world_size and set(counts.values()) == {config.gpus_per_node}:
        return
    spread = ", ".join(f"{count} on {node[:12]}" for node, count in sorted(counts.items()))
    raise RuntimeError(
        f"{len(places)} ranks run as {spread}; required: {config.gpus_per_node} on each of "
        f"{config.nodes} nodes: check that every node is in the Ray cluster with all its GPUs and "
        "that nothing else uses one"
    )


def run(
    config: Config,
    rank: int,
    world_size: int,
    device: torch.device,
    progress: evidence.Progress | None = None,
) -> dict[str, Any]:
    """Train, and return speed and loss. Requires torch's process group."""
    import torch
    import torch.distributed as distributed
    from torch.distributed.device_mesh import init_device_mesh

    from raytrain_job import data, sharding
    from raytrain_job.model import MODELS, build

    torch.manual_seed(config.seed)
    mesh = init_device_mesh(device.type, (world_size,))
    with torch.device("meta"):
        model = build(MODELS[config.model])
    sharding.shard(model, config.wrap_min_parameters, mesh)
    model.to_empty(device=device)
    sharding.initialise(model, config.seed, rank)
    optimizer = torch.optim.AdamW(model.parameters(), **config.optimizer)
    tokens = data.Tokens(config.seed, rank, config.batch_size, config.sequence_length, device)

    started = 0.0
    loss = torch.zeros((), device=device)
    for step in range(config.steps):
        if step == config.warmup_steps:
            _synchronize(device)
            started = time.monotonic()
        loss = model(tokens.next())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if progress is not None and progress.due():
            progress.write(step + 1, config.steps, loss.item())
        if rank == 0 and (step == 0 or (step + 1) % max(1, config.steps // 10) == 0):
            _print(f"step {step + 1} of {config.steps}: loss {loss.item():.4f} on rank 0")
    _synchronize(device)
    seconds = time.monotonic() - started

    mean_loss = loss.detach().float().clone()
    distributed.all_reduce(mean_loss)
    return {
        "stepsPerSecond": round((config.steps - config.warmup_steps) / seconds, 4),
        "steps": config.steps,
        "finalLoss": round(mean_loss.item() / world_size, 4),
        "worldSize": world_size,
    }


def _print(text: str) -> None:
    """Print a line once: Ray Train's print also logs it, so the driver's log has it twice."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _synchronize(device: torch.device) -> None:
    """Wait for this rank's device, then for all ranks: only rank 0 measures the time."""
    import torch

    if device.type != "cuda":
        torch.distributed.barrier()
        return
    torch.cuda.synchronize(device)
    # Without device_ids torch guesses the device, and warns in every run's log.
    torch.distributed.barrier(device_ids=[device.index])


def _device(config: Config) -> torch.device:
    import torch

    if config.device == "cuda":
        from ray.train.torch import get_device

        device = get_device()
        torch.cuda.set_device(device)
        return device
    # Several ranks share a machine's cores: one thread each avoids contention.
    torch.set_num_threads(1)
    return torch.device("cpu")


def _placement(options: dict[str, Any]) -> evidence.Placement:
    import ray
    import ray.train

    context = ray.train.get_context()
    rank = context.get_world_rank()
    return evidence.Placement(
        rank=rank,
        world_size=context.get_world_size(),
        local_rank=context.get_local_rank(),
        node=ray.get_runtime_context().get_node_id(),
        node_ip=ray.util.get_node_ip_address(),
        train_attempt=ray.get(options["starts"].next.remote(rank)),
    )


def _logs() -> Path:
    import ray

    return Path(ray._private.worker._global_node.get_logs_dir_path())
