"""What rank 0 measures: time of each step, share of communication, and use of the device."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]  # it has no __all__
from torch.profiler import ProfilerActivity, profile

from raytrain_job.model import ModelSize

# Dense bfloat16 peak of one GPU in operations per second, from NVIDIA's data sheets, by the name
# that the driver reports. Variants of one chip differ: a PCIe card has lower clocks than an SXM
# module. The sheets of all but A100 give the rate with sparsity, which is twice as high.
PEAK_FLOPS = {
    "NVIDIA L4": 121e12,
    "NVIDIA L40S": 362e12,
    "NVIDIA A100-SXM4-40GB": 312e12,
    "NVIDIA A100-SXM4-80GB": 312e12,
    "NVIDIA A100-PCIE-40GB": 312e12,
    "NVIDIA A100 80GB PCIe": 312e12,
    "NVIDIA H100 80GB HBM3": 989e12,  # SXM5
    "NVIDIA H100 PCIe": 756e12,
    "NVIDIA H100 NVL": 835e12,
    "NVIDIA H200": 989e12,  # SXM5
    "NVIDIA H200 NVL": 835e12,
}


def peak_flops(device_name: str) -> float | None:
    """Return the peak of a device by its exact name, or None when it is not in the table."""
    return PEAK_FLOPS.get(device_name)


def flops_per_token(size: ModelSize, length: int) -> float:
    """Operations of forward and backward for one token, without recomputation.

    Six for each parameter, and twelve for each layer, hidden unit and position of the attention
    (PaLM, appendix B, arXiv 2204.02311). A causal mask would halve the second part; it is counted
    whole, as usual.
    """
    return 6.0 * size.parameters + 12.0 * size.layers * size.hidden * length


class StepClock:
    """Times each step without waiting for the GPU: CUDA events there, the clock on a CPU."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        # Enough for a chart; a long run must not keep an event for each of its steps.
        # None stands for a break, as for a checkpoint.
        self._marks: deque[Any] = deque(maxlen=1001)

    def mark(self) -> None:
        """Mark the beginning of the first step, and the end of every step."""
        if self._cuda:
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())

    def skip(self) -> None:
        """Leave out the time since the last mark, and mark the beginning of the next step."""
        self._marks.append(None)
        self.mark()

    def seconds(self) -> list[float]:
        """Return the seconds of the last 1000 steps. On a GPU, call it after a synchronization."""
        pairs = [pair for pair in itertools.pairwise(self._marks) if None not in pair]
        if self._cuda:
            return [round(first.elapsed_time(second) / 1000, 6) for first, second in pairs]
        return [round(second - first, 6) for first, second in pairs]


class Kernels:
    """Records the GPU kernels of one step with torch's profiler. Nothing on a CPU."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._intervals: list[tuple[str, float, float]] = []

    @contextmanager
    def recording(self, on: bool) -> Iterator[None]:
        """Record what runs inside, if on. The profiler slows that step down."""
        if not on or self._device.type != "cuda":
            yield
            return
        torch.cuda.synchronize(self._device)
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            yield
            torch.cuda.synchronize(self._device)
        self._intervals = [
            (event.name, event.time_range.start / 1e6, event.time_range.end / 1e6)
            for event in profiler.events()
            if event.device_type == DeviceType.CUDA
        ]

    def split(self) -> dict[str, float] | None:
        """Return how the recorded step divides, or None when nothing was recorded."""
        return split(self._intervals)


def split(intervals: Iterable[tuple[str, float, float]]) -> dict[str, float] | None:
    """Split a step's GPU kernels, given as (name, start, end), into computation and communication.

    exposedCommunicationSeconds is the time in which NCCL's kernels ran and no other kernel did:
    what a faster network could save at most. None when there are no kernels.
    """
    kernels = list(intervals)
    communication = _union((start, end) for name, start, end in kernels if "nccl" in name.lower())
    computation = _union((start, end) for name, start, end in kernels if "nccl" not in name.lower())
    if not kernels:
        return None
    both = _length(_union((*communication, *computation)))
    return {
        "computeSeconds": round(_length(computation), 6),
        "communicationSeconds": round(_length(communication), 6),
        "exposedCommunicationSeconds": round(both - _length(computation), 6),
    }


def _union(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge intervals that overlap."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _length(intervals: Iterable[tuple[float, float]]) -> float:
    return sum(end - start for start, end in intervals)
