"""Synthetic tokens that a model can learn, the same in every run with the same seed."""

from __future__ import annotations

import torch
from torch import Tensor

# Tokens follow one another by a fixed rule within a small part of the
# vocabulary, so that the loss falls within a few steps.
_RANGE, _FACTOR, _SHIFT = 97, 5, 7


class Tokens:
    """Batches for one rank."""

    def __init__(
        self, seed: int, rank: int, batch_size: int, length: int, device: torch.device
    ) -> None:
        self._shape = (batch_size, 1)
        self._length = length
        self._device = device
        self._generator = torch.Generator().manual_seed(seed * 1_000_003 + rank)

    def skip(self, batches: int) -> None:
        """Continue as if that many batches had been returned."""
        for _ in range(batches):
            torch.randint(0, _RANGE, self._shape, generator=self._generator)

    def next(self) -> Tensor:
        """Return one batch, [batch size, length + 1]: inputs and, shifted by one, targets."""
        columns = [torch.randint(0, _RANGE, self._shape, generator=self._generator)]
        for _ in range(self._length):
            columns.append((columns[-1] * _FACTOR + _SHIFT) % _RANGE)
        return torch.cat(columns, dim=1).to(self._device)
