"""The bandwidth of all_reduce by message size: a torch loop of the shape of nccl-tests' all_reduce_perf.

all_reduce_perf itself needs MPI to run on several nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import distributed

SMALLEST, FACTOR = 1 << 16, 4
WARMUP, REPEATS = 5, 20
MEBIBYTE = 1 << 20


def sizes(largest_mebibytes: int) -> list[int]:
    """Return the message sizes in bytes, each four times the one before, up to the largest."""
    chosen, largest = [SMALLEST], largest_mebibytes * MEBIBYTE
    while chosen[-1] * FACTOR <= largest:
        chosen.append(chosen[-1] * FACTOR)
    return chosen


def sweep(
    largest_mebibytes: int, device: torch.device, synchronize: Callable[[], None]
) -> list[dict[str, float]]:
    """Time all_reduce of float32 sums over all ranks. synchronize waits for all of them.

    The bus bandwidth is the data that crosses the slowest link of a ring, per second: 2 (n - 1) / n
    times the message's size. Source: nccl-tests' doc/PERFORMANCE.md.
    """
    ranks = distributed.get_world_size()
    measured = []
    for size in sizes(largest_mebibytes):
        message = torch.zeros(size // 4, dtype=torch.float32, device=device)
        for _ in range(WARMUP):
            distributed.all_reduce(message)
        synchronize()
        started = time.monotonic()
        for _ in range(REPEATS):
            distributed.all_reduce(message)
        synchronize()
        seconds = (time.monotonic() - started) / REPEATS
        measured.append(
            {
                "bytes": size,
                "seconds": round(seconds, 9),
                "busBytesPerSecond": round(2 * (ranks - 1) / ranks * size / seconds),
            }
        )
    return measured
