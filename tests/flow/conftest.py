"""A graph and a mapping small enough to be right by inspection, and mappers that return it, damage it or refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.mapping import Failure, Instance, Mapping, Route
from gridloom.registry import Mapper, MapperEntry, groups
from gridloom.search.budget import Progress


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """What the sample mappers take."""

    depth: int = 3
    ii: int | None = None
    rate: float = 0.5
    eager: bool = False
    pin: dict[str, str] | None = None


def pass_through():
    """x -> y on two neighbouring tiles: x issues at 0 with latency 1, its value is at y's input in cycle 1."""
    b = DfgBuilder("pass", "i32")
    b.output(b.input("x"), "y")
    return Mapping(
        dfg=b.build(),
        arch=build("mesh:1x2"),
        ii=1,
        instances=(Instance(node="x", place="pe_0_0", cycle=0), Instance(node="y", place="pe_0_1", cycle=1)),
        routes=(Route(edge=0, hops=(("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1))),),
    )


def right(dfg, arch, config: SampleConfig, budget):
    budget.progress(Progress(seconds=0.25, moves=1, phase="done"))
    return replace(pass_through(), dfg=dfg, arch=arch)


def late(dfg, arch, config: SampleConfig, budget):
    mapping = right(dfg, arch, config, budget)
    first, second = mapping.instances
    return replace(mapping, instances=(first, replace(second, cycle=5)))


def unable(dfg, arch, config: SampleConfig, budget):
    return Failure(constraint="links", demand="3", bound="2", levers=("1 column more",), congested=("pe_0_0>pe_0_1",))


SAMPLES = {"right": right, "late": late, "unable": unable}


@pytest.fixture
def mapping():
    return pass_through()


@pytest.fixture
def sample_mappers(monkeypatch):
    """Registers the sample mappers under their own names."""
    kinds = ("grid", "registers")
    entries = {
        name: MapperEntry((Mapper(dict.fromkeys(kinds, f"tests.flow.conftest:{name}"), "a sample"),))
        for name in SAMPLES
    }
    monkeypatch.setitem(groups(), "mappers", {**groups()["mappers"], **entries})
