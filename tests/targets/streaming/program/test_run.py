"""Programs from a file to flows that were mapped, checked and run together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tests.plain_arrays import static_grid

from gridloom.archs import Arch, build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import DfgBuilder
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.request import Request
from gridloom.mapping.model import Failure
from gridloom.targets.streaming.program.model import Channel
from gridloom.targets.streaming.program.run import (
    FlowSource,
    ProgramResult,
    ProgramSource,
    map_program,
    read_program,
    windows,
)

ENGINE = "streaming-engine:32,spokes=8"
EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "programs"


def mapped(source: ProgramSource, arch: Arch | str = "streaming-engine:24,spokes=8", seed: int = 1) -> ProgramResult:
    return map_program(source, Request(source="", arch=arch, effort=4000, seed=seed))


def small(name: str, **settings: int) -> FlowSource:
    b = DfgBuilder(name)
    b.output(b.add("add", b.input("x"), b.const(1)), "y")
    return FlowSource(name=name, dfg=b.build(), **settings)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_example_is_mapped_legal_and_simulated(path: Path) -> None:
    record = mapped(read_program(path, ENGINE), ENGINE).to_json()
    assert record["status"] == "mapped"
    assert record["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"}
    spans = sorted((flow["base"], flow["base"] + flow["tiles"]) for flow in record["flows"])
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_flows_of_the_filter_have_an_ii_each() -> None:
    result = mapped(read_program(EXAMPLES / "scaled_filter.yaml", ENGINE), ENGINE)
    assert result.program is not None
    assert {flow.name: flow.ii for flow in result.program.flows} == {"power": 3, "scale": 1, "smooth": 6, "average": 4}


@pytest.mark.parametrize("seed", range(3))
def test_chain_of_random_graphs_keeps_its_values(seed: int) -> None:
    flows = []
    for k in range(3):
        dfg = load_source(f"kernel:random_growing,nodes={4 + 2 * k},inputs=2,seed={10 * seed + k}")
        flows.append(FlowSource(name=f"f{k}", dfg=dfg, iterations=24, ii=(5, 2, 4)[(k + seed) % 3]))
    channels = tuple(
        Channel(kind="transfer", source=f"f{k}", target=f"f{k + 1}", value="y_0", into="x_1") for k in range(2)
    )
    result = mapped(ProgramSource(name="chain", flows=tuple(flows), channels=channels), seed=seed)
    assert result.program is not None, result
    assert result.verdict is not None and result.verdict.ok


def test_given_base_tiles_and_ii_are_kept() -> None:
    source = ProgramSource(name="p", flows=(small("a"), small("b", base=2, tiles=3, ii=7)), channels=())
    program = mapped(source).program
    assert program is not None
    assert (program.flow("b").base, program.flow("b").tiles, program.flow("b").ii) == (2, 3, 7)
    assert (program.flow("a").base, program.flow("a").tiles) == (5, 19)


def test_tiles_are_shared_out_by_ops() -> None:
    arch = build("streaming-engine:10,spokes=4")
    large = FlowSource(name="l", dfg=load_source("kernel:fir,taps=4"))
    assert windows([small("a"), large], arch) == [(0, 2), (2, 8)]


@pytest.mark.parametrize(
    ("flows", "constraint"),
    [
        ([small("a", tiles=3), small("b", tiles=2)], "tiles of the flows together"),
        ([small("a", base=1, tiles=2), small("b", tiles=2)], "tiles side by side for flow b"),
    ],
)
def test_flows_that_do_not_fit_say_so(flows: list[FlowSource], constraint: str) -> None:
    found = windows(flows, build("streaming-engine:4,spokes=4"))
    assert isinstance(found, Failure) and found.constraint == constraint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": 22, "tiles": 3}, "base 22 and tiles 3 lie beyond array 'streaming-engine:24,spokes=8'"),
        ({"base": 24}, "base 24 lies beyond array 'streaming-engine:24,spokes=8'"),
    ],
)
def test_given_tiles_beyond_the_array_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError) as error:
        mapped(ProgramSource(name="p", flows=(small("a", **settings),), channels=()))
    assert str(error.value) == f"flow a: {message}, whose tiles are 0 to 23"


def test_an_open_number_of_tiles_ends_with_the_array() -> None:
    program = mapped(ProgramSource(name="p", flows=(small("a", base=20),), channels=())).program
    assert program is not None
    assert (program.flows[0].base, program.flows[0].tiles) == (20, 4)


def test_flow_that_cannot_be_mapped_is_named() -> None:
    average = FlowSource(name="avg", dfg=load_source("kernel:moving_average"), ii=2)
    result = mapped(ProgramSource(name="p", flows=(average,), channels=()))
    assert result.program is None and result.flow == "avg" and result.failure is not None
    assert result.to_json()["failure"]["flow"] == "avg"


def test_overlapping_flows_are_not_mapped() -> None:
    flows = (small("a", base=0, tiles=4), small("b", base=0, tiles=4))
    result = mapped(ProgramSource(name="p", flows=flows, channels=()))
    assert result.program is None
    assert {violation.kind for violation in result.violations} == {"tile-shared"}


def test_other_arrays_have_no_flows() -> None:
    with pytest.raises(OptionError, match="programs run on the family streaming-engine"):
        mapped(ProgramSource(name="p", flows=(small("a"),), channels=()), static_grid())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flows: []", "flows: expected at least one"),
        ("flows: 3", "flows: expected a list of keys and values"),
        ("canals: []", "unknown key 'canals'; expected program, flows, channels"),
        ("flows: [{name: a}]", "flows.0: source: expected text, found None"),
        ("flows: [{name: a, source: 'kernel:fir', ii: 0}]", "flows.0: ii: expected a number from 1 on, found 0"),
        ("flows: [{name: a, source: 'kernel:fir', taps: 3}]", "flows.0: unknown key 'taps'"),
        ("flows: [{name: a, source: 'kernel:nothing'}]", "flows.0: "),
        ("flows: [{name: a, source: 'kernel:fir'}, {name: a, source: 'kernel:fir'}]", "two of them have the same name"),
        ("flows: [{name: a, source: 'kernel:fir'}]\nchannels: [{kind: post}]", "channels.0: kind: expected transfer"),
        (
            "flows: [{name: a, source: 'kernel:fir'}]\nchannels: [{kind: start, from: a}]",
            "channels.0: expected the keys",
        ),
    ],
)
def test_file_that_is_not_a_program_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(GridloomError) as error:
        read_program(path, ENGINE)
    assert message in str(error.value)
