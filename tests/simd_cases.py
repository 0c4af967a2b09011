"""Mappings on streaming engines with SIMD lanes, for the tests of simulation, hardware and reports."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, DfgBuilder, Edge
from gridloom.mapping import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.streaming.mappers.anneal import SpokesAnnealConfig, anneal_spokes


def widened(mapping: Mapping, simd: int | None) -> Mapping:
    """The same mapping on the same array with another SIMD width."""
    spec = {key: value for key, value in mapping.arch.spec.items() if key != "simd"}
    return replace(mapping, arch=build(spec if simd is None else {**spec, "simd": simd}))


def running_sum() -> Dfg:
    """y = the sum of all x so far, plus a live-in that the sum starts with."""
    b = DfgBuilder("running_sum")
    total = b.add("add", b.input("x"), id="total", liveout="total")
    b.carry(total, total, operand=1, distance=1, initial=["start"])
    b.output(total, "y")
    return b.build()


def table() -> Dfg:
    """y = T[x & 7] * 3; U[i & 7] = y where y is odd: accesses whose addresses and conditions differ between lanes."""
    b = DfgBuilder("table")
    b.array("T", 8)
    b.array("U", 8)
    index = b.add("and", b.input("x"), b.const(7), id="index")
    scaled = b.add("mul", b.load("T", index), b.const(3), id="scaled")
    odd = b.add("and", scaled, b.const(1), id="odd")
    count = b.add("add", id="count")
    b.edges.append(Edge(source="count", target="count", operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target="count", operand=1))
    place = b.add("and", count, b.const(7), id="place")
    b.add("store_if", place, scaled, odd, id="kept", array="U")
    b.output(scaled, "y")
    return b.build()


@cache
def mapped(graph: Dfg, arch: str) -> Mapping:
    """A mapping of a graph; the same one in every test that asks for it."""
    built: Arch = build(arch)
    found = anneal_spokes(graph, built, SpokesAnnealConfig(), Budget(effort=20_000, seed=1))
    assert isinstance(found, Mapping), found
    return found
