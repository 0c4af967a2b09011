"""Cycles of one sample alone on networks, simulated from an array without configuration, beside formulas for them.

    python benchmarks/cold_start.py                           # MLP, MHA, a layer of BERT-large, a block of GPT2-XL
    python benchmarks/cold_start.py --network mha --each      # one network, and a line for each of its sections
    python benchmarks/cold_start.py --quick                   # with as many blocks as `gridloom map` simulates

Every section is simulated with all blocks of a sample, which takes minutes for the large networks. The formulas take
all channels of the DRAM as busy all the time, a block for each double buffer that has to fill, and a sample at the
steady period for attention's held operands.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.archs.spec import parameters
from gridloom.flow import Request, run
from gridloom.targets.dataflow import rates
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.sections.cold_start import section_start
from gridloom.targets.dataflow.sections.run import MappedSection

NETWORKS = ("mlp", "mha", "bert_large,layers=1", "gpt2_xl,layers=1")


@dataclass(frozen=True)
class Steps:
    """Cycles of configuration, of weights, to the first block of results, and from there to the last."""

    configure: float = 0.0
    load: float = 0.0
    fill: float = 0.0
    rest: float = 0.0

    def __add__(self, other: Steps) -> Steps:
        return Steps(
            self.configure + other.configure, self.load + other.load, self.fill + other.fill, self.rest + other.rest
        )

    def times(self, count: int) -> Steps:
        """Return the steps of so many sections that are alike."""
        return Steps(self.configure * count, self.load * count, self.fill * count, self.rest * count)

    @property
    def total(self) -> float:
        """Cycles until the last result."""
        return self.configure + self.load + self.fill + self.rest

    def __str__(self) -> str:
        parts = (self.configure, self.load, self.fill, self.rest, self.total)
        return " ".join(f"{cycles:12,.0f}" for cycles in parts)


def read_cycles(vectors: int, arch: Arch) -> int:
    """Return the cycles in which all channels together bring so many vectors, by formula."""
    p = parameters(RduParameters, arch.spec)
    channels = max(1, min(p.dram_channels, sum(tile.kind == "dram" for tile in arch.tiles)))
    busy = p.dram_cycles * -(-vectors // channels)
    return busy + busy // (p.refresh_every - p.refresh_cycles) * p.refresh_cycles + p.dram_latency if vectors else 0


def computed(item: MappedSection) -> Steps:
    """Return the steps of a section by formula."""
    section, arch = item.section, item.result.arch
    period = float(item.result.metrics["period"] or 0.0)
    depth = max(rates.stages(section.dfg, rates.repetitions(section.dfg)), default=0)
    vectors = len(section.dfg.nodes) * parameters(RduParameters, arch.spec).configure_vectors
    return Steps(
        configure=read_cycles(vectors, arch),
        load=read_cycles(section.weights * section.copies, arch),
        fill=period * depth + (item.cycles if section.held else 0.0),
        rest=item.cycles,
    )


def simulated(item: MappedSection, *, whole: bool) -> Steps:
    """Return the steps of a section by simulation: of all blocks, or of as many as ``gridloom map`` takes."""
    mapping = item.result.mapping
    start = section_start(mapping, item.section, whole=True) if whole and mapping is not None else item.start
    if start is None:
        raise SystemExit(f"{item.section.dfg.name} comes to a deadlock")
    found = start.figures
    return Steps(
        configure=found.configured,
        load=found.loaded - found.configured,
        fill=found.first_output - found.loaded,
        rest=found.last_output - found.first_output,
    )


def report(network: str, effort: int, *, each: bool, quick: bool) -> None:
    """Print the steps of a network, summed over its sections."""
    result = run(Request(source=f"model:{network}", arch="rdu:16x8", effort=effort))
    rows = {"simulated": Steps(), "gridloom map": Steps(), "formulas": Steps()}
    for item in result.sections:
        mapped = simulated(item, whole=False)
        whole = mapped if quick else simulated(item, whole=True)
        found = {"simulated": whole, "gridloom map": mapped, "formulas": computed(item)}
        rows = {name: rows[name] + steps.times(item.count) for name, steps in found.items()}
        if each:
            for name, steps in found.items():
                sys.stdout.write(f"  {item.section.dfg.name:22s} x{item.count:<3d} {name:13s} {steps}\n")
            sys.stdout.flush()
    sections = sum(item.count for item in result.sections)
    sys.stdout.write(f"{network}: {sections} sections, steady {result.metrics['period']:,.0f} cycles per sample\n")
    for name, steps in rows.items():
        off = f"{100 * (steps.total / rows['simulated'].total - 1):+.1f} %"
        sys.stdout.write(f"  {name:13s} {steps}  {off}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="append", help="may be repeated")
    parser.add_argument("--effort", type=int, default=200)
    parser.add_argument("--each", action="store_true", help="also list the sections")
    parser.add_argument("--quick", action="store_true", help="simulate no more blocks than gridloom map")
    given = parser.parse_args()
    sys.stdout.write(f"{'':15s} configuration      weights first output   until last        total\n")
    for network in given.network or NETWORKS:
        report(network, given.effort, each=given.each, quick=given.quick)


if __name__ == "__main__":
    main()
