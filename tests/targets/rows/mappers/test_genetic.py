"""The genetic reference mapper: legal results, the same twice, sound genes, refusals."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.search.conftest import proved_right

from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import MissingExtra, OptionError
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.rows.mappers.genetic import GeneticConfig, _Evolution, genetic
from gridloom.targets.rows.mappers.problem import OP, flatten
from gridloom.verify import stats

pytest.importorskip("deap")

SMALL = GeneticConfig(population=60, offspring=40)


@pytest.fixture(scope="module")
def vpcma() -> Arch:
    return build({"family": "vpcma"})


@pytest.fixture(scope="module")
def blend() -> Dfg:
    """Two outputs of a few ops and constants."""
    b = DfgBuilder("blend", "cma24")
    x, y = b.input("x"), b.input("y")
    total = b.add("add", b.add("mult", x, b.const(5)), b.add("mult", y, b.const(9)))
    b.output(b.add("sr", total, b.const(4)), "mean")
    b.output(b.add("gt", x, y), "above")
    return b.build()


def test_a_small_graph_is_mapped_legally(vpcma: Arch, blend: Dfg) -> None:
    found = genetic(blend, vpcma, SMALL, Budget(effort=1500, seed=2))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert stats(found).width >= found.provenance["bound"] == 2


def test_a_published_graph_is_mapped_legally(benchmarks: Path, vpcma: Arch) -> None:
    dfg = load_source(str(benchmarks / "genmap" / "app_samples" / "sepia.dot"))
    found = genetic(dfg, vpcma, GeneticConfig(), Budget(effort=1500))
    assert isinstance(found, Mapping)
    proved_right(found)


def test_effort_gives_the_same_mapping_whatever_the_workers(vpcma: Arch, blend: Dfg) -> None:
    texts = set()
    for workers in (1, 2):
        found = genetic(blend, vpcma, SMALL, Budget(effort=400, seed=5, workers=workers))
        assert isinstance(found, Mapping)
        texts.add(json_format.dumps(found))
    assert len(texts) == 1


def test_generations_make_the_best_individual_better(vpcma: Arch, blend: Dfg) -> None:
    words: list[str] = []
    budget = Budget(effort=2500, seed=1, progress=lambda progress: words.append(progress.best))
    assert isinstance(genetic(blend, vpcma, SMALL, budget), Mapping)
    assert words[0] != words[-1]


def test_children_never_put_two_ops_on_one_tile(vpcma: Arch, blend: Dfg) -> None:
    graph = flatten(blend, vpcma)
    evolution = _Evolution(graph, vpcma, GeneticConfig(mutation=1.0, crossover=1.0), seed=3)
    clock = Budget(effort=10_000).start()
    population = evolution.evaluated([evolution.random_genes() for _ in range(20)], clock)
    for _ in range(200):
        place, bits = evolution.child(population)
        tiles = place[graph.group == OP].tolist()
        assert len(set(tiles)) == len(tiles)
        assert all(vpcma.tiles[tile].kind == "pe" for tile in tiles)
        assert len(bits) == 7


def test_evaluating_twice_gives_the_same_figures(vpcma: Arch, blend: Dfg) -> None:
    evolution = _Evolution(flatten(blend, vpcma), vpcma, GeneticConfig(), seed=random.Random(1).randrange(1000))
    clock = Budget(effort=10).start()
    place, bits = evolution.random_genes()
    once, again = evolution.evaluated([(place.copy(), bits), (place.copy(), bits)], clock)
    assert once.figures == again.figures
    assert np.array_equal(once.place, again.place)


def test_without_the_extra_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, vpcma: Arch, blend: Dfg
) -> None:
    monkeypatch.setitem(sys.modules, "deap", None)
    with pytest.raises(MissingExtra) as caught:
        genetic(blend, vpcma, GeneticConfig(), Budget(effort=10))
    assert str(caught.value) == "mapper 'genetic' needs DEAP; install it with: pip install '.[genetic]'"


def test_counts_that_do_not_fit_are_a_failure(vpcma: Arch) -> None:
    found = genetic(load_source("kernel:cma_md5"), vpcma, GeneticConfig(), Budget(effort=10))
    assert isinstance(found, Failure)
    assert found.constraint == "constants"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("population", 1, "population: expected at least 2, found 1"),
        ("crossover", 1.5, "crossover: expected 0 to 1, found 1.5"),
    ],
)
def test_settings_out_of_range_are_refused(key: str, value: float, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        GeneticConfig(**{key: value})  # type: ignore[arg-type]
    assert str(caught.value) == text
