"""Launches with known results: a mapping on random data, and what the simulator says that it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import gridloom as gl
from gridloom.archs.spec import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.hardware.bitstream.encode import fit_parameters
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.system.image import Image, image_of
from gridloom.hardware.system.parameters import System, SystemParameters
from gridloom.mapping.configuration import Configuration, configure
from gridloom.sim import run, stimulus_for

PLACE = 32


def scaled(factor: int) -> Dfg:
    """y[i] = x[i] * k + factor, and the sum of all that is stored."""
    b = DfgBuilder(f"scaled_{factor}")
    b.array("x", 48)
    b.array("y", 48)
    at = b.add("add", b.const(1), id="at")
    b.carry(at, at, operand=1, distance=1, initial=[-1])
    x = b.add("load", at, array="x", id="loaded")
    y = b.add("add", b.add("mul", x, b.livein("k")), b.const(factor), id="y")
    b.add("store", at, y, array="y")
    total = b.add("add", y, id="total", liveout="total")
    b.carry(total, total, operand=1, distance=1, initial=[0])
    return b.build()


@dataclass(frozen=True)
class Job:
    """A launch: the words of its arrays before and after, its live-ins by register and what it leaves in live-outs."""

    image: Image
    iterations: int
    place: int
    memory: list[int]
    expected: list[int]
    liveins: list[tuple[int, int]]
    liveouts: list[tuple[int, int]]


@cache
def configuration_of(factor: int, arch: str) -> Configuration:
    result = gl.map(scaled(factor), arch, seed=1, effort=5000)
    assert result.mapping is not None
    return configure(result.mapping)


@cache
def small_system(arch: str = "torus:2x2") -> System:
    parameters = HardwareParameters(values=8, memory_words=256, contexts=8, liveouts=True)
    for factor in (3, 11):
        parameters = fit_parameters(configuration_of(factor, arch), parameters)
    return System(Hardware(build(arch), parameters), SystemParameters(banks=2, rows=256, liveouts=4))


def job_of(factor: int, system: System, *, iterations: int = 40, seed: int = 1, place: int = PLACE) -> Job:
    """A launch of the graph with one factor on random data."""
    configuration = configuration_of(factor, "torus:2x2")
    image = image_of(configuration, system)
    stimulus = stimulus_for(configuration.dfg, iterations, seed=seed)
    seen = run(configuration, stimulus)
    memory: list[int] = []
    expected: list[int] = []
    liveins = []
    for array in configuration.dfg.arrays:
        liveins.append((image.bases[array.name], place + len(memory)))
        memory += [int(word) for word in stimulus.memory[array.name]]
        expected += [int(word) for word in seen.memory[array.name]]
    liveins += [(number, int(stimulus.liveins[name])) for name, number in image.liveins.items()]
    liveouts = [(number, int(seen.liveouts[name])) for name, number in image.liveouts.items()]
    return Job(image, iterations, place, memory, expected, liveins, liveouts)
