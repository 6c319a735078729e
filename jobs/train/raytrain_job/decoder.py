"""The decoder's modules, in torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from raytrain_job.model import ModelSize


class Attention(nn.Module):
    """Causal attention with grouped keys and values, and biases as Qwen2 has them."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.heads, self.key_value_heads = size.heads, size.key_value_heads
        self.head_size = size.hidden // size.heads
        key_value = self.key_value_heads * self.head_size
        self.query = nn.Linear(size.hidden, size.hidden)
        self.key = nn.Linear(size.hidden, key_value)
        self.value = nn.Linear(size.hidden, key_value)
        self.output = nn.Linear(size.hidden, size.hidden, bias=False)

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, length, _ = hidden.shape

        def split(projected: Tensor, heads: int) -> Tensor:
            return projected.view(batch, length, heads, self.head_size).transpose(1, 2)

        query = rotate(split(self.query(hidden), self.heads), cosine, sine)
        key = rotate(split(self.key(hidden), self.key_value_heads), cosine, sine)
        value = split(self.value(hidden), self.key_value_heads)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True
        )
        output: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, -1))
        return output


class FeedForward(nn.Module):
    """The gated feed-forward block."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.gate = nn.Linear(size.hidden, size.intermediate, bias=False)
        self.up = nn.Linear(size.hidden, size.intermediate, bias=False)
        self.down = nn.Linear(size.intermediate, size.hidden, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        output: Tensor = self.down(functional.silu(self.gate(hidden)) * self.up(hidden))
        return output


class Layer(nn.Module):
    """One decoder layer: attention, then feed-forward, each after its norm."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(size.hidden, eps=size.norm_epsilon)
        self.attention = Attention(size)
        self.feed_forward_norm = nn.RMSNorm(size.hidden, eps=size.norm_epsilon)
        self.feed_forward = FeedForward(size)

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden), cosine, sine)
        output: Tensor = hidden + self.feed_forward(self.feed_forward_norm(hidden))
        return output


class Decoder(nn.Module):
    """Tokens in, next-token loss out; the head shares the embedding's weight."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.size = size
        # Whether the backward pass computes each layer again instead of keeping its activations.
        self.checkpointing = False
        self.embedding = nn.Embedding(size.vocabulary, size.hidden)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.hidden, eps=size.norm_epsilon)

    @property
    def shared_modules(self) -> tuple[nn.Module, ...]:
        """Modules whose weights are used outside their own forward.

        FSDP may not shard them on their own: they belong to the root, whose
        weights stay whole for the length of the forward pass.
        """
        return (self.embedding,)

    def forward(self, tokens: Tensor) -> Tensor:
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        cosine, sine = rotation(self.size, inputs.shape[1], inputs.device)
        hidden = self.embedding(inputs)
        cosine, sine = cosine.to(hidden.dtype), sine.to(hidden.dtype)
        for layer in self.layers:
            if self.checkpointing:
                hidden = checkpoint(layer, hidden, cosine, sine, use_reentrant=False)
            else:
                hidden = layer(hidden, cosine, sine)
        logits = functional.linear(self.norm(hidden), self.embedding.weight)
        return functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def rotation(size: ModelSize, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary position embedding, [length, head size]."""
    head_size = size.hidden // size.heads
    exponents = torch.arange(0, head_size, 2, device=device, dtype=torch.float32) / head_size
    positions = torch.arange(length, device=device, dtype=torch.float32)
    angles = torch.outer(positions, size.rope_theta**-exponents)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn queries or keys by their positions' angles."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cosine + torch.cat((-second, first), dim=-1) * sine
