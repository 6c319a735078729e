"""A decoder of Qwen2's shape, sized by name and built with random weights.

The job measures a network, so it needs a model of the right shape and no trained weights: nothing
is downloaded, and the same code runs on GPUs and, with the size `tiny`, on a CPU. The sizes are
those of the published config.json files. torch is imported only where a model is built: the driver
does not need it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raytrain_job.decoder import Decoder


@dataclass(frozen=True)
class ModelSize:
    """The numbers that decide a Qwen2 decoder's shape."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    intermediate: int
    # Number of parameters; the head shares the embedding's.
    parameters: int
    rope_theta: float = 1_000_000.0
    norm_epsilon: float = 1e-6


# The provider reads the same file.
_MODELS_JSON = Path(__file__).with_name("models.json").read_text(encoding="utf-8")
MODELS: dict[str, ModelSize] = {
    name: ModelSize(**size) for name, size in json.loads(_MODELS_JSON).items()
}


def build(size: ModelSize) -> Decoder:
    """Build the decoder on torch's current default device."""
    from raytrain_job.decoder import Decoder

    return Decoder(size)
