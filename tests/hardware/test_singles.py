"""Graphs of singles run on their hardware, with function units of one cycle and of several."""

from __future__ import annotations

import random

import pytest
from tests.constructive import construct
from tests.hardware.conftest import Cosimulate
from tests.hardware.test_word_lengths import quotient_of

from gridloom.archs.spec import build_spec
from gridloom.dfg import DfgBuilder
from gridloom.dfg.model import Dfg, Edge
from gridloom.errors import MappingError, OptionError
from gridloom.flow.hardware import hardware_for
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.parameters import HardwareParameters, parse_parameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo

ARRAYS: tuple[tuple[dict[str, object], int], ...] = (
    ({"family": "onehop", "rows": 4, "cols": 4, "latency": {"*": 1, "fp": 3}}, 1),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 4, "latency": {"*": 1, "fp": 4, "mul": 2}}, 4),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 4, "latency": {"*": 2, "fp": 6}}, 4),
    ({"family": "onehop", "rows": 4, "cols": 4}, 1),
)
OPS = ("fadd", "fsub", "fmul", "fmin", "fmax", "flt", "fge")


def stream_graph(rng: random.Random) -> Dfg:
    """Three ops on two streams of singles; one of them may be a conversion."""
    b = DfgBuilder("singles", "f32")
    values = [b.input("x"), b.input("y")]
    for _ in range(3):
        op = rng.choice(("add", "sub", "mul", "lt", "neg", "float_to_int"))
        if op in ("neg", "float_to_int"):
            values.append(b.add(op, rng.choice(values)))
        else:
            second = rng.choice([*values, b.const(rng.choice([0.5, -3.25, 1e20, 1e-38]))])
            values.append(b.add(op, rng.choice(values), second))
    b.output(values[-1], "z")
    return b.build()


def memory_graph(rng: random.Random) -> Dfg:
    """A loop of integers that loads a word, makes it a single, computes with a carried single and stores the result."""
    b = DfgBuilder("loop")
    b.array("A", 128)
    b.array("B", 128)
    b.add("add", id="i")
    b.edges.append(Edge(source="i", target="i", operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    value = b.add("int_to_float", b.load("A", "i", id="a"), id="x")
    node = b.add(rng.choice(OPS), value, id="s")
    b.edges.append(Edge(source="s", target="s", operand=1, distance=2, initial=(0x3F800000, 0x41200000)))
    b.store("B", "i", b.add(rng.choice(OPS), node, value, id="t"), id="w")
    return b.build()


def mapped(number: int, count: int) -> list[Mapping]:
    """Mappings of random graphs of singles on one of the arrays."""
    spec, ii = ARRAYS[number]
    arch = build_spec(spec, "array")
    found: list[Mapping] = []
    for seed in range(20 * count):
        rng = random.Random(seed)
        if ii == 1:
            mapping = construct(stream_graph(rng), arch, seed)
        else:
            mapping = modulo(memory_graph(rng), arch, ModuloConfig(), Budget(seed=seed, effort=1500))
        found += [mapping] if isinstance(mapping, Mapping) else []
        if len(found) == count:
            break
    return found


@pytest.mark.tools
@pytest.mark.parametrize("number", [0, 1])
def test_random_graphs_of_singles_run_on_their_hardware(number: int, cosimulate: Cosimulate) -> None:
    (mapping,) = mapped(number, 1)
    assert cosimulate(mapping) == ()


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_many_graphs_of_singles_wait_for_their_streams(number: int, cosimulate: Cosimulate) -> None:
    found = mapped(number, 5)
    assert len(found) == 5
    for seed, mapping in enumerate(found):
        assert cosimulate(mapping, seed=seed, stall=seed + 1) == (), f"seed {seed}"


@pytest.mark.parametrize(("number", "single"), [(0, 2), (1, 3), (2, 4), (3, 0)])
def test_the_latency_of_the_array_is_the_one_of_the_unit(number: int, single: int) -> None:
    """The output register is one cycle; where no op has a single cycle, the register before the units is another."""
    arch = build_spec(ARRAYS[number][0], "array")
    hardware = Hardware(arch, HardwareParameters(floats=("fadd",)))
    assert {shape.single for shape in hardware.variants} == {single}


def test_trimmed_hardware_has_singles_where_a_mapping_needs_them() -> None:
    (mapping,) = mapped(0, 1)
    kept = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    used = {i.place for i in mapping.instances if mapping.dfg.op_class(i.node) == "fp"}
    assert {unit.name for unit in kept.units if unit.shape.floats} == used
    assert encode(configure(mapping), kept).ii == mapping.ii


def test_singles_of_an_array_are_named() -> None:
    assert parse_parameters({"floats": "fadd+fmul"}).floats == ("fadd", "fmul")
    chosen = HardwareParameters(floats=("fadd",))
    assert HardwareParameters.from_json(chosen.to_json()) == chosen
    with pytest.raises(OptionError, match="floats: no hardware is generated for 'fdiv'; known: fadd, fsub, fmul, fneg"):
        HardwareParameters(floats=("fdiv",))
    with pytest.raises(OptionError, match="floats: singles have words of 32 bits, found width 16"):
        HardwareParameters(floats=("fadd",), width=16)


def singles(op: str) -> Mapping:
    """x op 1.5 in singles on a row of three."""
    b = DfgBuilder("singles", "f32")
    b.output(b.add(op, b.input("x"), b.const(1.5), id="q"), "y")
    whole = quotient_of(3)
    numbers = {(e.source, e.target): k for k, e in enumerate(b.build().edges)}
    renumbered = tuple(
        type(r)(edge=numbers[whole.dfg.edges[r.edge].source, whole.dfg.edges[r.edge].target], hops=r.hops)
        for r in whole.routes
    )
    return Mapping(dfg=b.build(), arch=whole.arch, ii=1, settings={}, instances=whole.instances, routes=renumbered)


@pytest.mark.tools
@pytest.mark.parametrize("op", ["fmul", "add", "lt"])
def test_singles_run_on_their_hardware(op: str, cosimulate: Cosimulate) -> None:
    assert cosimulate(singles(op), iterations=40) == ()


def test_singles_have_words_of_32_bits() -> None:
    with pytest.raises(MappingError, match=r"^graph 'singles' has singles: words of 32 bits, not 16$"):
        fit_parameters(configure(singles("fmul")), HardwareParameters(width=16))


def test_quotients_of_singles_have_no_hardware() -> None:
    with pytest.raises(MappingError, match=r"^node 'q': no hardware is generated for op 'div' of singles$"):
        fit_parameters(configure(singles("div")))


def test_hardware_has_the_ops_on_singles_that_its_mapping_needs() -> None:
    configuration = configure(singles("add"))
    assert fit_parameters(configuration).floats == ("fadd",)
    shapes = Hardware(configuration.arch, fit_parameters(configuration)).variants
    assert {shape.floats for shape in shapes} == {1 << 55}
