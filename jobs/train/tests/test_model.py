"""The decoder's size and shape, and what of it is sharded on its own."""

from __future__ import annotations

import unittest

import torch

from raytrain_job.data import Tokens
from raytrain_job.decoder import Layer, rotate, rotation
from raytrain_job.model import MODELS, build
from raytrain_job.sharding import initialise, units


class ModelTest(unittest.TestCase):
    def test_sizes(self) -> None:
        # The parameters that the models' own pages give: 0.49 and 1.54 billion.
        for name, want in (
            ("Qwen/Qwen2.5-0.5B", 494_032_768),
            ("Qwen/Qwen2.5-1.5B", 1_543_714_304),
        ):
            with self.subTest(name):
                with torch.device("meta"):
                    model = build(MODELS[name])
                self.assertEqual(want, MODELS[name].parameters)
                self.assertEqual(want, sum(parameter.numel() for parameter in model.parameters()))

    def test_no_rank_sees_the_future(self) -> None:
        torch.manual_seed(1)
        model = build(MODELS["tiny"])
        kept: list[torch.Tensor] = []
        model.norm.register_forward_hook(lambda module, inputs, output: kept.append(output))
        tokens = torch.randint(0, 256, (1, 9))
        changed = tokens.clone()
        changed[0, 7] = (changed[0, 7] + 1) % 256
        model(tokens)
        model(changed)
        # The last token is only a target, the one before is the last input.
        self.assertTrue(torch.allclose(kept[0][:, :7], kept[1][:, :7]))
        self.assertFalse(torch.allclose(kept[0][:, 7], kept[1][:, 7]))

    def test_rotation_keeps_lengths_and_depends_on_distance(self) -> None:
        size = MODELS["tiny"]
        cosine, sine = rotation(size, 8, torch.device("cpu"))
        query, key = torch.randn(16), torch.randn(16)
        queries = rotate(query.expand(8, 16), cosine, sine)
        keys = rotate(key.expand(8, 16), cosine, sine)
        self.assertTrue(torch.allclose(queries.norm(dim=-1), query.norm().expand(8), atol=1e-5))
        products = queries @ keys.T
        self.assertTrue(torch.allclose(products[2, 1], products[5, 4], atol=1e-4))
        self.assertFalse(torch.allclose(products[2, 1], products[2, 0], atol=1e-4))


class UnitsTest(unittest.TestCase):
    def test_size_policy(self) -> None:
        with torch.device("meta"):
            model = build(MODELS["Qwen/Qwen2.5-1.5B"])
        found = units(model, 10_000_000, model.shared_modules)
        # The three projections of 13.8 million parameters in each layer; what is left of a layer is below the minimum.
        self.assertEqual(3 * 28, len(found))
        self.assertEqual(
            [
                "layers.0.feed_forward.gate",
                "layers.0.feed_forward.up",
                "layers.0.feed_forward.down",
            ],
            found[:3],
        )

    def test_shared_embedding_belongs_to_the_root(self) -> None:
        with torch.device("meta"):
            model = build(MODELS["Qwen/Qwen2.5-1.5B"])
        self.assertNotIn("embedding", units(model, 10_000_000, model.shared_modules))
        self.assertIn("embedding", units(model, 10_000_000))

    def test_small_parts_join_until_they_reach_the_minimum(self) -> None:
        with torch.device("meta"):
            model = build(MODELS["tiny"])
        self.assertEqual([], units(model, 10_000_000, model.shared_modules))
        self.assertEqual(
            [
                "layers.0.attention",
                "layers.0.feed_forward",
                "layers.1.attention",
                "layers.1.feed_forward",
            ],
            units(model, 10_000, model.shared_modules),
        )


class InitialiseTest(unittest.TestCase):
    def test_is_repeatable_and_differs_between_ranks(self) -> None:
        first, second, other = (build(MODELS["tiny"]) for _ in range(3))
        initialise(first, 7, 0)
        initialise(second, 7, 0)
        initialise(other, 7, 1)
        self.assertTrue(torch.equal(first.embedding.weight, second.embedding.weight))
        self.assertFalse(torch.equal(first.embedding.weight, other.embedding.weight))
        self.assertTrue(torch.equal(first.norm.weight, torch.ones(64)))
        layer = first.layers[0]
        assert isinstance(layer, Layer)
        self.assertTrue(torch.equal(layer.attention.query.bias, torch.zeros(64)))


class TokensTest(unittest.TestCase):
    def test_shape_rule_and_seed(self) -> None:
        device = torch.device("cpu")
        batch = Tokens(7, 0, 2, 5, device).next()
        self.assertEqual((2, 6), tuple(batch.shape))
        self.assertTrue(torch.equal(batch[:, 1:], (batch[:, :-1] * 5 + 7) % 97))
        self.assertTrue(torch.equal(batch, Tokens(7, 0, 2, 5, device).next()))
        stream, rank = Tokens(7, 0, 8, 5, device), Tokens(7, 1, 8, 5, device)
        self.assertFalse(torch.equal(stream.next(), stream.next()))
        self.assertFalse(torch.equal(Tokens(7, 0, 8, 5, device).next(), rank.next()))
