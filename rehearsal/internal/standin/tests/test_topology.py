"""Rings and trees must agree between ranks: each edge has two ends."""

from __future__ import annotations

import unittest

from nccl_stand_in import topology


class TopologyTest(unittest.TestCase):
    def test_ring_keeps_nodes_together(self) -> None:
        cases = [
            (["a", "a", "b", "b"], [0, 1, 2, 3]),
            (["a", "b", "a", "b"], [0, 2, 1, 3]),
            (["a"], [0]),
        ]
        for nodes, want in cases:
            with self.subTest(nodes=nodes):
                self.assertEqual(want, topology.ring(nodes))

    def test_two_ranks_as_recorded(self) -> None:
        # `Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1` and its counterpart on rank 1.
        first, second = topology.trees(["a", "b"])
        self.assertEqual([topology.Tree(-1, (1, -1, -1)), topology.Tree(0, (-1, -1, -1))], first)
        self.assertEqual([topology.Tree(1, (-1, -1, -1)), topology.Tree(-1, (0, -1, -1))], second)

    def test_trees_span_and_agree(self) -> None:
        for nodes in (["a"] * 4 + ["b"] * 4, ["a", "b", "c", "d", "e"], ["a", "b", "a", "b", "c", "c"]):
            for tree in topology.trees(nodes):
                with self.subTest(nodes=nodes, tree=tree):
                    roots = [rank for rank, place in enumerate(tree) if place.up == -1]
                    self.assertEqual(1, len(roots))
                    reached, todo = set(), roots
                    while todo:
                        rank = todo.pop()
                        self.assertNotIn(rank, reached)
                        reached.add(rank)
                        for below in tree[rank].down:
                            if below >= 0:
                                self.assertEqual(rank, tree[below].up)
                                todo.append(below)
                    self.assertEqual(set(range(len(nodes))), reached)
