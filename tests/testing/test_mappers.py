"""What the battery for mappers takes: names, functions, and problems that the caller poses."""

from __future__ import annotations

import dataclasses

import pytest

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.registry import Mapper, MapperEntry
from gridloom.search.budget import Budget
from gridloom.testing import check_mapper
from gridloom.testing.mappers import mapper_cases, solve_for
from gridloom.testing.promises import declare_for_a_while
from gridloom.testing.self_check import PlantedConfig, sound


def test_name_gives_a_case_for_each_kind_that_it_declares() -> None:
    cases = mapper_cases("exact", effort=5, seed=3)
    assert {case.kind.traits[0] for case in cases} == {"grid", "registers", "spokes"}
    assert {(case.effort, case.seed) for case in cases} == {(5, 3)}


def test_problem_of_the_caller_chooses_the_kind() -> None:
    (case,) = mapper_cases("exact", problem=("kernel:axpy", "torus:2x2,regs=4"))
    assert (case.kind, case.problem) == (registry.kinds()["registers"], ("kernel:axpy", "torus:2x2,regs=4"))


def test_problem_on_an_array_that_the_mapper_does_not_take_is_refused() -> None:
    with pytest.raises(AssertionError, match="trees declares no kind of array that torus:2x2 is of"):
        mapper_cases("trees", problem=("kernel:axpy", "torus:2x2"))


def test_kind_without_a_problem_needs_one_from_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(registry.kinds()["grid"], problem=None)
    monkeypatch.setitem(registry.kinds(), "grid", bare)
    with pytest.raises(AssertionError, match=r"nobody declares a problem for static grids such as mesh: call with "):
        check_mapper("trees")


def test_function_needs_a_problem() -> None:
    with pytest.raises(AssertionError, match="sound is a function, which declares no arrays: call with problem="):
        check_mapper(sound)


def test_function_is_known_by_its_name_only_while_the_battery_runs() -> None:
    check_mapper(sound, effort=2000, problem=("kernel:vector_add", "mesh:3x3"))
    assert "sound" not in registry.names("mappers")


def test_name_that_was_there_before_comes_back() -> None:
    before = registry.entry("mappers", "anneal")
    with declare_for_a_while("mappers", "anneal", MapperEntry((Mapper({"grid": sound}, "another"),))):
        assert registry.entry("mappers", "anneal").summary == "another"
    assert registry.entry("mappers", "anneal") is before


def test_program_stands_for_its_first_part() -> None:
    dfg, arch = solve_for(("model:gemm,inner=64,columns=64", "rdu:4x4"))
    assert arch.style == "elastic"
    assert {node.op for node in dfg.nodes} >= {"gemm", "buffer"}


def fails(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Find nothing."""
    return Failure(constraint="patience", demand="some", bound="none", levers=())


def test_failure_on_the_problem_breaks_a_promise() -> None:
    with pytest.raises(AssertionError, match="fails finds no mapping of kernel:vector_add on mesh:3x3"):
        check_mapper(fails, problem=("kernel:vector_add", "mesh:3x3"))
