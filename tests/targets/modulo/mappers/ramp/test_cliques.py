"""The compatibility graph by its definition, and cliques of it by both searches."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from gridloom.targets.modulo.mappers.ramp.cliques import dharwadker_kernel, local_kernel
from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import (
    Clique,
    ConflictRelations,
    Files,
    compatibility,
    nearest_tiles,
)

SEARCHES = {"local": local_kernel.find_clique, "dharwadker": dharwadker_kernel.find_clique}


def random_relations(rng: Generator, ops: int, tiles: int, slots: int = 3) -> ConflictRelations:
    pairs = np.array([rng.choice(ops, 2, replace=False) for _ in range(ops // 2)], dtype=np.int64).reshape(-1, 2)
    return ConflictRelations(
        able=rng.random((ops, tiles)) < 0.8,
        slot=rng.integers(0, slots, ops),
        result=rng.integers(-1, slots, ops),
        pool=rng.integers(-1, 3, (ops, tiles)),
        first=pairs[:, 0].copy(),
        second=pairs[:, 1].copy(),
        row=rng.integers(0, 2, len(pairs)),
        tables=rng.random((2, tiles, tiles)) < 0.6,
        hops=np.zeros((tiles, tiles), dtype=np.int64),
    )


def expected(r: ConflictRelations) -> np.ndarray:
    """Compatible pairs of vertices, straight from the definition."""
    ops, tiles = r.able.shape
    found = np.zeros((ops, tiles, ops, tiles), dtype=bool)
    for a in range(ops):
        for b in range(ops):
            if a == b:
                continue
            fits = np.outer(r.able[a], r.able[b])
            if r.slot[a] == r.slot[b]:
                fits &= ~((r.pool[a][:, None] == r.pool[b][None, :]) & (r.pool[a][:, None] >= 0))
            if r.slot[a] == r.slot[b] or (r.result[a] >= 0 and r.result[a] == r.result[b]):
                fits &= ~np.eye(tiles, dtype=bool)
            for first, second, row in zip(r.first, r.second, r.row, strict=True):
                if (first, second) == (a, b):
                    fits &= r.tables[row]
                if (second, first) == (a, b):
                    fits &= r.tables[row].T
            found[a, :, b, :] = fits
    return found.reshape(ops * tiles, ops * tiles)


def no_files(ops: int, tiles: int, ii: int) -> Files:
    none = np.zeros(0, dtype=np.int64)
    need = np.zeros((ops, ii), dtype=np.int64)
    at = np.zeros(ops + 1, dtype=np.int64)
    return Files(np.full(tiles, -1), none, none, need, at, none, 0)


def empty_clique(ops: int, tiles: int, ii: int) -> Clique:
    return Clique(
        place=np.full(ops, -1, dtype=np.int64),
        weight=np.ones(ops, dtype=np.int64),
        until=np.zeros(ops * tiles, dtype=np.int64),
        held=np.zeros((1, ii), dtype=np.int64),
        kept=np.zeros((1, 1), dtype=np.int64),
        keeps=np.zeros(1, dtype=np.int64),
        random_state=np.zeros(1, dtype=np.uint64),
    )


@pytest.mark.parametrize("tiles", [1, 3, 16, 64, 70, 130])
def test_rows_are_what_the_relations_say(tiles: int) -> None:
    for seed in range(4):
        rng = default_rng(seed)
        relations = random_relations(rng, int(rng.integers(2, 9)), tiles)
        graph = compatibility(relations)
        count = relations.able.size
        bits = np.unpackbits(graph.rows.view(np.uint8), axis=1, bitorder="little")[:, :count].astype(bool)
        assert (bits == expected(relations)).all()


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_find_cliques_that_are_cliques(search: str) -> None:
    for seed in range(12):
        rng = default_rng(seed)
        ops, tiles = int(rng.integers(2, 10)), int(rng.choice([4, 16]))
        relations = random_relations(rng, ops, tiles)
        graph, start = compatibility(relations), np.full(ops, -1, dtype=np.int64)
        place = SEARCHES[search](
            graph, no_files(ops, tiles, 3), empty_clique(ops, tiles, 3), start, 300, seed, np.zeros(1, np.uint8),
            np.zeros(1, np.int64),
        )  # fmt: skip
        chosen = [op * tiles + place[op] for op in range(ops) if place[op] >= 0]
        fits = expected(relations)
        assert all(fits[a, b] for a in chosen for b in chosen if a != b)
        assert chosen


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_find_the_whole_clique_of_ops_that_do_not_meet(search: str) -> None:
    ops, tiles = 6, 3
    relations = random_relations(default_rng(0), ops, tiles)._replace(
        able=np.ones((ops, tiles), dtype=bool),
        slot=np.repeat([0, 1], 3),
        result=np.full(ops, -1),
        pool=np.full((ops, tiles), -1),
        tables=np.ones((2, tiles, tiles), dtype=bool),
    )
    place = SEARCHES[search](
        compatibility(relations), no_files(ops, tiles, 2), empty_clique(ops, tiles, 2), np.full(ops, -1), 300, 1,
        np.zeros(1, np.uint8), np.zeros(1, np.int64),
    )  # fmt: skip
    assert sorted(place[:3]) == sorted(place[3:]) == [0, 1, 2]


def test_an_op_without_a_tile_is_told_where_least_stands_in_its_way() -> None:
    relations = random_relations(default_rng(0), 3, 2)._replace(
        able=np.ones((3, 2), dtype=bool),
        slot=np.zeros(3, dtype=np.int64),
        result=np.full(3, -1),
        pool=np.full((3, 2), -1),
        first=np.array([0]),
        second=np.array([2]),
        row=np.array([0]),
        tables=np.array([[[True, False], [False, True]]]),
    )
    # Op 0 is on tile 0 and needs op 2 there, which has no slot: on tile 0 one op is in the way, on tile 1 two are.
    near, failures = nearest_tiles(compatibility(relations), np.array([0, 1, -1]))
    assert near.tolist() == [0, 1, 0]
    assert failures == 1
