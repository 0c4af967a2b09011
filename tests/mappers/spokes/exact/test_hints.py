"""The annealed placement that the exact model starts from obeys the model's own order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridloom.archs import build
from gridloom.flow.inputs import prepare
from gridloom.mappers.budget import Budget
from gridloom.mappers.spokes.annealing import annealed
from gridloom.mappers.spokes.exact import search
from gridloom.mappers.spokes.problem import build_problem
from gridloom.mappers.spokes.search import longest_path


def test_hint_is_mirrored_where_the_ordered_pair_sits_the_other_way_round():
    pytest.importorskip("ortools")
    arch = build("streaming-engine:16")
    problem = build_problem(prepare("kernel:fir", arch).dfg, arch)
    pair = search._ordered_pair(problem)
    assert pair is not None
    clock = Budget(effort=2000).start()
    start = annealed(problem, 4, clock, 2, longest_path(problem)).legal
    assert start is not None
    for tiles in (start.tile, start.tile.max() - start.tile):
        model = search._build(problem, 4, None, Budget().start())
        hints = search._hints(problem, model, replace(start, tile=tiles))
        tile = {variable.name: value for variable, value in hints if variable.name.startswith("tile")}
        assert min(tile.values()) == 0
        assert tile[f"tile{pair[0]}"] < tile[f"tile{pair[1]}"]
