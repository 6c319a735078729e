"""The training function of each rank: write its evidence, check its placement, train, measure."""

from __future__ import annotations

import json
import os
import signal
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
    result = run(
        settings.config, placement.rank, placement.world_size, device, report, options["starts"]
    )
    _print(
        f"SUCCESS rank {placement.rank} of {placement.world_size}: "
        + json.dumps(evidence.short(result))
    )
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
    starts: Any = None,
) -> dict[str, Any]:
    """Train, and return speed and loss. Requires torch's process group.

    starts is the driver's actor; without it nothing of an earlier attempt is known.
    """
    import torch
    from torch import distributed

    from raytrain_job import bandwidth, checkpoint, data
    from raytrain_job.metrics import Kernels, StepClock
    from raytrain_job.parallel import autocast, parallel_model

    torch.manual_seed(config.seed)
    model = parallel_model(config, rank, world_size, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    first = checkpoint.restore(model, optimizer) if config.checkpoint_every else 0
    history = _history(starts) if rank == 0 else None
    tokens = data.Tokens(config.seed, rank, config.batch_size, config.sequence_length, device)
    tokens.skip(first)
    if first >= config.steps:
        raise RuntimeError(
            f"the run's last checkpoint has {first} steps, and steps is {config.steps}: "
            "give more steps, or another runName"
        )

    warm = first + min(config.warmup_steps, config.steps - first - 1)
    clock, kernels, started, resumed_at = StepClock(device), Kernels(device), 0.0, None
    loss, saving = torch.zeros((), device=device), 0.0
    for step in range(first, config.steps):
        if step == warm:
            _synchronize(device)
            started = time.monotonic()
            clock.mark()
        with kernels.recording(step == warm - 1 and rank == 0):
            with autocast(config, device):
                loss = model(tokens.next())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if step >= warm:
            clock.mark()
        if progress is not None and progress.due():
            progress.write(step + 1, config.steps, loss.item())
        if rank == 0 and (step == first or (step + 1) % max(1, config.steps // 10) == 0):
            _print(f"step {step + 1} of {config.steps}: loss {loss.item():.4f} on rank 0")
        if config.checkpoint_every:
            if step == first:
                resumed_at = time.time()
            if rank == 0 and starts is not None:
                starts.reach.remote(step + 1)
            if (step + 1) % config.checkpoint_every == 0:
                _synchronize(device)
                began = time.monotonic()
                checkpoint.save(model, optimizer, step + 1)
                if step >= warm:
                    saving += time.monotonic() - began
                    clock.skip()
            if step + 1 == config.kill_at_step and rank == world_size - 1 and first == 0:
                checkpoint.wait_until_recorded()
                os.kill(os.getpid(), signal.SIGKILL)
    _synchronize(device)
    seconds = time.monotonic() - started - saving

    mean_loss = loss.detach().float().clone()
    distributed.all_reduce(mean_loss)
    measured = config.steps - warm
    result = {
        "stepsPerSecond": round(measured / seconds, 4),
        "steps": config.steps,
        "finalLoss": round(mean_loss.item() / world_size, 4),
        "worldSize": world_size,
        "strategy": config.strategy,
        "stepSeconds": clock.seconds(),
        "checkpointSeconds": round(saving, 3),
        "resumedAtStep": first,
        "split": kernels.split(),
    }
    if config.all_reduce_mebibytes:
        result["allReduce"] = bandwidth.sweep(
            config.all_reduce_mebibytes, device, lambda: _synchronize(device)
        )
    result |= _efficiency(config, world_size, device, measured / seconds)
    if history is not None:
        result |= _recovery(history, first, resumed_at, config.steps, seconds / measured)
    return result


def _efficiency(
    config: Config, world_size: int, device: torch.device, steps_per_second: float
) -> dict[str, Any]:
    """Return tokens per second, and the share of the device's peak where that is known."""
    import torch

    from raytrain_job.metrics import flops_per_token, peak_flops
    from raytrain_job.model import MODELS

    per_rank = steps_per_second * config.batch_size * config.sequence_length
    peak = peak_flops(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    used = per_rank * flops_per_token(MODELS[config.model], config.sequence_length)
    return {
        "tokensPerSecond": round(per_rank * world_size, 1),
        "mfu": None if peak is None else round(used / peak, 4),
    }


def _history(starts: Any) -> dict[str, float] | None:
    import ray

    return None if starts is None else ray.get(starts.history.remote())


def _recovery(
    history: dict[str, float], first: int, resumed_at: float | None, steps: int, mean: float
) -> dict[str, Any]:
    """Return what restarts cost: lost steps, seconds without progress, and goodput.

    Goodput is the time that all steps take at the measured speed, as a share of the time since the
    first attempt began.
    """
    lost = int(history["steps"]) - first
    elapsed = time.time() - history["firstStart"]
    return {
        "lostSteps": max(0, lost),
        "secondsToRecover": (
            round(resumed_at - history["reachedAt"], 3)
            if resumed_at is not None and history["steps"] > 0
            else None
        ),
        "goodput": round(min(1.0, steps * mean / elapsed), 4) if elapsed > 0 else None,
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
        node_ip=ray.util.get_node_ip_address(),  # type: ignore[no-untyped-call]
        train_attempt=ray.get(options["starts"].next.remote(rank)),
    )


def _logs() -> Path:
    import ray

    # Ray has no public call for it. Its type says None, which the worker's start replaces.
    node: Any = ray._private.worker._global_node
    return Path(node.get_logs_dir_path())
