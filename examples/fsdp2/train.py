"""FSDP2 on Ray Train: each rank keeps a shard of a small transformer.

One rank for each GPU of the cluster, or two ranks with gloo when it has none.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, get_device
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS, BATCH, LENGTH, VOCABULARY, WIDTH, LAYERS = 5, 4, 32, 128, 64, 2


class Model(nn.Module):
    """A causal language model."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
            for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], tokens.device)
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden, src_mask=mask, is_causal=True)
        logits: torch.Tensor = self.head(hidden)
        return logits


def train(config: dict[str, Any]) -> None:
    """Train on one rank; Ray Train has started torch's process group."""
    context = ray.train.get_context()
    device = get_device()
    torch.manual_seed(7)  # equal weights on all ranks, before they are sharded
    model = Model().to(device)
    mesh = init_device_mesh(device.type, (context.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(context.get_world_rank())
    for step in range(config["steps"]):
        tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=generator).to(device)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ray.train.report({"step": step + 1, "loss": loss.item()})


def main() -> None:
    """Start one rank for each GPU, or two on CPUs."""
    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    result = TorchTrainer(
        train,
        train_loop_config={"steps": STEPS},
        scaling_config=ScalingConfig(num_workers=gpus or 2, use_gpu=gpus > 0),
    ).fit()
    print("trained:", result.metrics)


if __name__ == "__main__":
    main()
