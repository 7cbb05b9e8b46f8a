"""The cheapest cut: against all cuts, on random networks."""

from __future__ import annotations

import itertools
import random

import pytest

from tilelang.tiling.min_cut import NEVER, Network

Edges = list[tuple[int | str, int | str, int]]


def network(edges: Edges) -> Network:
    made = Network()
    for edge in edges:
        made.edge(*edge)
    return made


def price(edges: Edges, sink_side: set) -> int:
    return sum(capacity for start, end, capacity in edges if start not in sink_side and end in sink_side)


def all_cuts(edges: Edges, count: int) -> dict[frozenset, int]:
    inner = range(count)
    sides = (frozenset(("t", *chosen)) for n in range(count + 1) for chosen in itertools.combinations(inner, n))
    return {side: price(edges, set(side)) for side in sides}


def test_the_picture():
    edges: Edges = [("s", "a", 3), ("s", "b", 1), ("a", "b", 9), ("a", "t", 2), ("b", "t", 1)]
    assert network(edges).cut("s", "t") == (3, {"t"})


@pytest.mark.parametrize("seed", range(60))
def test_no_cut_is_cheaper_and_no_equal_one_has_a_smaller_side(seed):
    rng, count = random.Random(seed), 6
    nodes: list[int | str] = ["s", "t", *range(count)]
    edges: Edges = [(a, b, rng.choice((0, 1, 2, 3, 7, NEVER if rng.random() < 0.2 else 5)))
                    for a, b in itertools.permutations(nodes, 2) if a != "t" and b != "s" and rng.random() < 0.4]
    cuts = all_cuts(edges, count)
    cheapest = min(cuts.values())
    if cheapest >= NEVER:
        edges = [(a, b, min(capacity, 5)) for a, b, capacity in edges]
        cuts = all_cuts(edges, count)
        cheapest = min(cuts.values())
    cost, side = network(edges).cut("s", "t")
    assert cost == cheapest == price(edges, side)
    assert all(side <= set(other) for other, its in cuts.items() if its == cheapest)


def test_edges_between_the_same_nodes_add_up_and_loops_are_none():
    assert network([("s", 1, 2), ("s", 1, 3), (1, 1, 4), (1, "t", 9)]).cut("s", "t") == (5, {1, "t"})


def test_without_a_way_nothing_is_cut():
    assert network([("s", 1, 2), (2, "t", 2)]).cut("s", "t") == (0, {2, "t"})
