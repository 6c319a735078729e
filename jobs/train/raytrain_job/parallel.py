"""The three ways to train one model on many ranks."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from raytrain_job import sharding
from raytrain_job.decoder import Decoder
from raytrain_job.model import MODELS
from raytrain_job.settings import Config


def parallel_model(config: Config, rank: int, world_size: int, device: torch.device) -> nn.Module:
    """Build the configured model with its random weights, distributed over all ranks."""
    if config.strategy == "fsdp2":
        with torch.device("meta"):
            model = _build(config)
        sharding.shard(
            model, config.wrap_min_parameters, init_device_mesh(device.type, (world_size,))
        )
        model.to_empty(device=device)
        sharding.initialise(model, config.seed, rank)
        return model
    with torch.device(device):
        model = _build(config)
    # Every rank draws the same whole model: FSDP1 and DDP expect equal weights on all ranks.
    sharding.initialise(model, config.seed, 0)
    if config.strategy == "ddp":
        return nn.parallel.DistributedDataParallel(
            model, device_ids=[device.index] if device.type == "cuda" else None
        )
    return _fsdp1(model, config.wrap_min_parameters)


def autocast(config: Config, device: torch.device) -> AbstractContextManager[Any]:
    """Compute in bfloat16 on a GPU under DDP; FSDP does so by its own mixed precision."""
    if config.strategy == "ddp" and device.type == "cuda":
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


def _build(config: Config) -> Decoder:
    model = Decoder(MODELS[config.model])
    model.checkpointing = config.gradient_checkpointing
    if config.compile:
        for layer in model.layers:
            # Each layer on its own: they are equal, so the compiler works once.
            layer.compile()
    return model


def _fsdp1(model: nn.Module, minimum: int) -> nn.Module:
    """FSDP1 as AWS's reference uses it. It exists for GPUs only."""
    from ray.train.torch import prepare_model
    from torch.distributed.fsdp import MixedPrecision
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

    policy = functools.partial(
        size_based_auto_wrap_policy,
        min_num_params=minimum,
        # The head uses the embedding's weight outside the embedding's forward.
        exclude_wrap_modules={nn.ModuleList, nn.ModuleDict, nn.Embedding},
    )
    wrapped: nn.Module = prepare_model(
        model,
        parallel_strategy="fsdp",
        parallel_strategy_kwargs={
            "auto_wrap_policy": policy,
            "mixed_precision": MixedPrecision(
                param_dtype=torch.bfloat16, reduce_dtype=torch.float32
            ),
            # The optimizer and the checkpoint see the model's own parameters.
            "use_orig_params": True,
        },
    )
    return wrapped
