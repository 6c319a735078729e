"""FSDP2 by size: fully_shard on the modules that FSDP1's size policy would wrap.

AWS's reference wraps with `size_based_auto_wrap_policy` at 1e7 parameters, which
belongs to FSDP1. FSDP1 needs CUDA and torch is retiring it, so FSDP2 is the
default, on the same modules: smallest first, a module is sharded on its
own when the parameters below it that no smaller unit has taken reach the minimum.
The gathers and scatters between nodes are the same in number and size.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

# Containers that have no forward of their own cannot be units.
_CONTAINERS = (nn.ModuleList, nn.ModuleDict)


def units(model: nn.Module, minimum: int, shared: Collection[nn.Module] = ()) -> list[str]:
    """Names of the modules to shard on their own, inner ones first; the root is not among them."""
    chosen: list[str] = []

    def visit(name: str, module: nn.Module) -> int:
        """Return the number of parameters below module that no unit contains."""
        left = sum(parameter.numel() for parameter in module.parameters(recurse=False))
        for child_name, child in module.named_children():
            left += visit(f"{name}.{child_name}" if name else child_name, child)
        can_be_unit = module not in shared and not isinstance(module, _CONTAINERS)
        if name and left >= minimum and can_be_unit:
            chosen.append(name)
            return 0
        return left

    visit("", model)
    return chosen


def shard(model: nn.Module, minimum: int, mesh: DeviceMesh) -> None:
    """Shard the model in place over the mesh."""
    precision = MixedPrecisionPolicy()
    if mesh.device_type == "cuda":
        # Compute in bfloat16, sum gradients in full precision: the usual choice on such GPUs.
        precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for name in units(model, minimum, getattr(model, "shared_modules", ())):
        fully_shard(model.get_submodule(name), mesh=mesh, mp_policy=precision)
    fully_shard(model, mesh=mesh, mp_policy=precision)


def initialise(model: nn.Module, seed: int, rank: int) -> None:
    """Give a sharded model its random weights, shard by shard.

    Every rank draws for its own shard from its own seed, so the whole model never
    exists in one place and a run can be repeated exactly.
    """
    generator: torch.Generator | None = None
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
            if generator is None:
                generator = torch.Generator(device=local.device)
                generator.manual_seed(seed * 1_000_003 + rank)
            if "norm" in name:
                local.fill_(1.0)
            elif name.endswith("bias"):
                local.zero_()
            else:
                local.normal_(0.0, 0.02, generator=generator)
