"""Generated C loops: graph and native code agree on random data, and no access is out of order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.compiler.c.generated_loops import arguments, source
from tests.compiler.c.ir_machine import Machine
from tests.compiler.c.native import native_library, run_both

from gridloom.compiler.c import COptions
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools

#: What a random loop may fail with: clang needs no loop for it, or leaves one whose end is computed.
_NO_LOOP = re.compile(
    r"has no loop left|has no function|no loop around it|has \d+ loops inside|leave out --flatten"
    r"|ends when a value that it computes says so|one of several arrays|computes nothing"
    r"|an address that the loop computes"
)


def compare(path: Path, seeds: range, **options: object) -> int:
    """Run every function of a generated file; returns how many had a loop left."""
    library = native_library(path)
    compared = 0
    for seed in seeds:
        try:
            machine = run_both(path, COptions(function=f"f{seed}", **options), arguments(seed), library)
        except SourceError as error:
            assert _NO_LOOP.search(str(error)), f"seed {seed}: {error}"
            continue
        assert_ordered(machine, f"seed {seed}")
        compared += 1
    return compared


def assert_ordered(machine: Machine, what: str) -> None:
    """Every two accesses that met (one of them a store) are tied by a value or by an order edge that allows for it."""
    loop = machine.loop
    if loop.region.inner:
        return
    nodes = nodes_of_accesses(machine)
    kept = sorted((e for e in loop.dfg.edges if e.kind == "order"), key=lambda e: -e.distance)
    reach = {(e.source, e.target): e.distance for e in kept}
    for trace in machine.traces:
        last: dict[tuple[str, int], list] = {}
        for touch in trace:
            for before in last.get(touch.place, []):
                if "store" not in (touch.item.opcode, before.item.opcode) or touch.item is before.item:
                    continue
                pair = (nodes.get(before.item), nodes.get(touch.item))
                if None in pair:
                    continue
                gap = touch.iteration - before.iteration
                assert pair in reach and reach[pair] <= gap, f"{what}: {pair} meet after {gap} iterations"
            last.setdefault(touch.place, []).append(touch)


def nodes_of_accesses(machine: Machine) -> dict[object, str]:
    alive = machine.loop.dfg.index
    return {item: node for item, node in machine.loop.accesses.items() if node in alive}


def write(folder: Path, seeds: range, **options: bool) -> Path:
    path = folder / f"loops_{seeds.start}.c"
    path.write_text(source(seeds, **options))
    return path


def test_25_generated_loops(tmp_path: Path):
    seeds = range(25)
    assert compare(write(tmp_path, seeds), seeds) >= 20


def test_8_generated_nests_flattened_and_innermost(tmp_path: Path):
    seeds = range(1000, 1008)
    path = write(tmp_path, seeds, nest=True)
    assert compare(path, seeds, flatten=True) >= 4
    assert compare(path, seeds) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 2400, 50))
def test_400_generated_loops(tmp_path: Path, start: int):
    seeds = range(start, start + 50)
    assert compare(write(tmp_path, seeds), seeds) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3000, 3100, 50))
def test_100_generated_nests(tmp_path: Path, start: int):
    seeds = range(start, start + 50)
    path = write(tmp_path, seeds, nest=True)
    assert compare(path, seeds, flatten=True) >= 20
    assert compare(path, seeds) >= 25
