"""Plain torch.distributed on Ray Core, as torchrun starts it: actors get rank and address.

One rank for each GPU of the cluster, or two ranks with gloo when it has none.
"""

from __future__ import annotations

import os
import socket

import ray
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 5


class Rank:
    """One rank; its process is an actor of its own."""

    def address(self) -> tuple[str, int]:
        """Return an address of this node at which rank 0 can listen."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            ip: str = ray.util.get_node_ip_address()
            return ip, probe.getsockname()[1]

    def train(self, rank: int, world_size: int, address: tuple[str, int]) -> float:
        """Train with the others and return the last loss."""
        os.environ.update(
            RANK=str(rank),
            WORLD_SIZE=str(world_size),
            MASTER_ADDR=address[0],
            MASTER_PORT=str(address[1]),
        )
        cuda = torch.cuda.is_available()
        device = torch.device("cuda" if cuda else "cpu")  # an actor sees its own GPU only
        distributed.init_process_group("nccl" if cuda else "gloo")
        torch.manual_seed(7)
        model = DistributedDataParallel(nn.Linear(64, 1).to(device))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        generator = torch.Generator().manual_seed(rank)
        loss = torch.zeros(())
        for _ in range(STEPS):
            features = torch.randn(32, 64, generator=generator).to(device)
            loss = nn.functional.mse_loss(model(features), features.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        last = loss.detach().clone()
        distributed.all_reduce(last)
        distributed.destroy_process_group()
        return last.item() / world_size


def main() -> None:
    """Start one rank for each GPU, or two on CPUs."""
    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    world_size = gpus or 2
    actor = ray.remote(num_gpus=1 if gpus else 0, scheduling_strategy="SPREAD")(Rank)
    ranks = [actor.remote() for _ in range(world_size)]
    address = ray.get(ranks[0].address.remote())
    losses = ray.get(
        [one.train.remote(rank, world_size, address) for rank, one in enumerate(ranks)]
    )
    print("trained: loss", losses[0])


if __name__ == "__main__":
    main()
