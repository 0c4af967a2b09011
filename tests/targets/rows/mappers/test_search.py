"""The ladder of starts: what it finds, and what a last look at fewer columns changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.conftest import butterflies, sums

from gridloom.archs import build
from gridloom.dfg.model import DfgBuilder
from gridloom.targets.rows.mappers.mapping import RowLayout
from gridloom.targets.rows.mappers.problem import RowGraph, flatten
from gridloom.targets.rows.mappers.screening import columns_by_rows
from gridloom.targets.rows.mappers.search import (
    BEFORE_PUSH,
    EAGER,
    FIT,
    HOPEFUL,
    NARROW,
    NEVER,
    PUSH,
    PUSH_TURNS,
    TEMPERATURES,
    Heat,
    Narrowest,
    Rung,
    Starts,
    narrowest,
)

SHORT: tuple[Rung, ...] = ((0.25, 4), (0.5, 0))


def search(graph: RowGraph, narrow: tuple[Rung, ...], last: tuple[Rung, ...] = (), seed: int = 0) -> Narrowest:
    arch = build("vpcma:4x6")
    return narrowest(Starts(graph, arch), arch.cols, fit=FIT[:4], narrow=narrow, last=last, seed=seed)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), ops=st.integers(3, 16))
def test_a_last_look_only_ever_narrows(seed: int, ops: int) -> None:
    arch = build("vpcma:4x6")
    graph = flatten(sums(seed, ops, 2, 3), arch)
    once, twice = search(graph, SHORT, seed=seed), search(graph, SHORT, NARROW, seed=seed)
    assert (once.decided, once.bound, once.conflicts) == (twice.decided, twice.bound, twice.conflicts)
    if once.width is None:
        assert twice.width is None
        assert twice.moves == once.moves
        return
    assert twice.layout is not None
    assert twice.layout.legal
    assert twice.layout.array.width == twice.width
    least = max(once.bound, columns_by_rows(graph, arch) or 1)
    assert twice.width is not None
    assert least <= twice.width <= once.width
    # Only what is not yet proved narrowest is looked at again.
    assert (twice.moves > once.moves) == (once.width > least)


def test_a_start_ends_at_the_first_temperature_at_which_it_has_no_hope() -> None:
    arch = build("vpcma:4x6")
    starts = Starts(flatten(sums(1, 16, 4, 3), arch), arch)
    seen: list[list[int]] = []
    starts.watch = lambda moves, least: seen.append(least.tolist())
    go, moves = np.zeros(1, dtype=np.uint8), starts.moves(0.25)
    whole = starts.start(4, 3, moves, None, go, go)
    assert whole is not None
    assert not whole.legal
    assert whole.moves == TEMPERATURES * moves
    (least,) = seen
    assert least == sorted(least, reverse=True)
    assert least[-1] == whole.conflicts
    # With one conflict less than it has after ten temperatures it ends there, and what it did before is the same.
    starts.most = np.where(np.arange(TEMPERATURES) < 10, NEVER, least[10] - 1).astype(np.int32)
    ended = starts.start(4, 3, moves, None, go, go)
    assert ended is not None
    assert ended.moves == 11 * moves
    assert ended.conflicts == least[10]
    assert seen[1][:11] == least[:11]


def test_limits_fall_and_never_end_a_start_that_is_one_conflict_short() -> None:
    assert len(HOPEFUL) == TEMPERATURES
    assert HOPEFUL.tolist() == sorted(HOPEFUL.tolist(), reverse=True)
    assert HOPEFUL.min() == 1


def test_what_the_first_look_leaves_wide_the_last_one_narrows() -> None:
    graph = flatten(butterflies(3), build("vpcma:4x6"))
    wide, narrow = search(graph, ()), search(graph, (), NARROW)
    assert (wide.width, narrow.width) == (6, narrow.bound)
    again = search(graph, (), NARROW)
    assert (again.width, again.moves) == (narrow.width, narrow.moves)


def test_the_long_starts_of_an_eager_search_are_those_of_push(monkeypatch: pytest.MonkeyPatch) -> None:
    arch = build("vpcma:4x6")
    graph = flatten(butterflies(3), arch)
    start = Starts.start
    made: list[tuple[int, int, Heat | None]] = []

    def one_conflict_short(self: Starts, columns: int, seed: int, moves: int, *rest: Any) -> RowLayout | None:
        made.append((seed, moves, rest[-1]))
        layout = start(self, columns, seed, 16, *rest)
        return None if layout is None else replace(layout, conflicts=1)

    monkeypatch.setattr(Starts, "start", one_conflict_short)
    narrowest(Starts(graph, arch), 6, fit=EAGER, narrow=(), seed=5, long_turns=PUSH_TURNS)
    eager = list(made)
    made.clear()
    narrowest(Starts(graph, arch), 6, fit=PUSH, narrow=(), seed=5, first=len(BEFORE_PUSH), long_turns=PUSH_TURNS)
    assert len(eager) == len(EAGER)
    assert eager[len(BEFORE_PUSH) :] == made
    # All three settings have their turn.
    assert len({heat for _, _, heat in made}) == len(PUSH_TURNS)


@pytest.mark.parametrize("ops", [0, 1])
def test_graphs_without_much_in_them_fit_a_column(ops: int) -> None:
    b = DfgBuilder("little", "cma24")
    x = b.input("x")
    b.output(b.add("add", x, x) if ops else x, "y")
    assert search(flatten(b.build(), build("vpcma:4x6")), NARROW, NARROW).width == 1
