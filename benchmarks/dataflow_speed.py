"""Measurements per CPU second that the simulator of dataflow units makes on the sections of a network.

    python benchmarks/dataflow_speed.py                 # a block of BERT-large on rdu:16x8, one line per section
    python benchmarks/dataflow_speed.py --network mha,width=512,heads=8,rows=64

Placements are starts with short wires; each is measured once, and the best of three rounds counts, since other work on
the machine makes a round slower and never faster.
"""

from __future__ import annotations

import argparse
import sys
import time

from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.search_comparison import NetworkSection, parts
from gridloom.targets.dataflow.machine.measure import Meter
from gridloom.targets.dataflow.mappers.place_kernel import seed_generator
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

_PLACEMENTS = 4
_ROUNDS = 3


def seconds(part: NetworkSection) -> float:
    """Return the CPU seconds of a measurement: the mean over some placements in the best round."""
    search = AnnealingChains(part.pipeline, DataflowConfig(chains=_PLACEMENTS), 0)
    seed_generator(0)
    search.shorten()
    decisions = data.route_places(part.pipeline, search.places, "present")
    meter = Meter(part.pipeline.dfg, part.pipeline.arch)
    meter.measure(*decisions.routes(0))
    rounds = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        for k in range(_PLACEMENTS):
            meter.measure(*decisions.routes(k))
        rounds.append((time.process_time() - began) / _PLACEMENTS)
    return min(rounds)


def main() -> None:
    """Print the sections and their rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="bert_large,layers=1")
    family, *sizes = parser.parse_args().network.split(",")
    total = 0.0
    listed = parts((family, {name: int(value) for name, value in (item.split("=") for item in sizes)}))
    for part in listed:
        each = seconds(part)
        total += each
        sys.stdout.write(f"section {part.section:3d}: {part.pipeline.units:4d} units, {1 / each:6.1f} measurements/s\n")
    sys.stdout.write(f"all: {len(listed) / total:.1f} measurements/s\n")


if __name__ == "__main__":
    main()
