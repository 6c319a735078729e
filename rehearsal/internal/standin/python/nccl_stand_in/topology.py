"""Rings and trees over a communicator's ranks, as NCCL builds them between nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# With one network device and no NVLink, NCCL builds one ring and doubles it.
CHANNELS = 2


@dataclass(frozen=True)
class Tree:
    """One rank's place in a tree; -1 where there is none."""

    up: int
    down: tuple[int, int, int]


def by_node(nodes: Sequence[str]) -> list[list[int]]:
    """Ranks grouped by node, in the order of each node's first rank."""
    grouped: dict[str, list[int]] = {}
    for rank, node in enumerate(nodes):
        grouped.setdefault(node, []).append(rank)
    return list(grouped.values())


def ring(nodes: Sequence[str]) -> list[int]:
    """Return the order of the ranks in the ring: node after node, with one link into and one out of each."""
    return [rank for group in by_node(nodes) for rank in group]


def trees(nodes: Sequence[str]) -> list[list[Tree]]:
    """Each channel's tree, by rank: a chain within a node, a binary tree over the nodes' first ranks.

    The second tree runs over the nodes backwards, so that a root in one is a leaf
    in the other.
    """
    groups = by_node(nodes)
    found = []
    for channel in range(CHANNELS):
        order = groups if channel % 2 == 0 else groups[::-1]
        tree = [Tree(-1, (-1, -1, -1))] * len(nodes)
        for index, group in enumerate(order):
            parent = order[(index - 1) // 2][0] if index else -1
            children = [order[child][0] for child in (2 * index + 1, 2 * index + 2) if child < len(order)]
            for place, rank in enumerate(group):
                below = group[place + 1] if place + 1 < len(group) else -1
                across = (children + [-1, -1])[:2] if place == 0 else [-1, -1]
                down = [below, *across] if below >= 0 else [*across, -1]
                tree[rank] = Tree(group[place - 1] if place else parent, (down[0], down[1], down[2]))
        found.append(tree)
    return found
