"""A decoder of Qwen2's shape, sized by name and built with random weights.

The job measures a network, so it needs a model of the right shape and no
trained weights: nothing is downloaded, and the same code runs on GPUs and, with
the size `tiny`, on a CPU. The sizes are those of the published config.json files.
torch is imported only where a model is built: the driver has no need of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class ModelSize:
    """The numbers that decide a Qwen2 decoder's shape."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    intermediate: int
    rope_theta: float = 1_000_000.0
    norm_epsilon: float = 1e-6

    @property
    def parameters(self) -> int:
        """Number of parameters; the head shares the embedding's."""
        head_size = self.hidden // self.heads
        key_value = self.key_value_heads * head_size
        attention = 2 * self.hidden * self.hidden + self.hidden + 2 * (self.hidden + 1) * key_value
        feed_forward = 3 * self.hidden * self.intermediate
        return self.vocabulary * self.hidden + self.layers * (attention + feed_forward + 2 * self.hidden) + self.hidden


MODELS: dict[str, ModelSize] = {
    "Qwen/Qwen2.5-0.5B": ModelSize(151936, 896, 24, 14, 2, 4864),
    "Qwen/Qwen2.5-1.5B": ModelSize(151936, 1536, 28, 12, 2, 8960),
    "tiny": ModelSize(256, 64, 2, 4, 2, 128),
}


def build(size: ModelSize) -> nn.Module:
    """Build the decoder on torch's current default device."""
    from raytrain_job.decoder import Decoder

    return Decoder(size)
