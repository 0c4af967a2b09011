"""Speed of the simulator in tile-cycles per second, on an 8 x 8 mesh whose function units all fire in every cycle.

    python benchmarks/sim_speed.py [--side 8] [--iterations 20000] [--repeat 5]

The mapping is a snake through all tiles; each op reads its predecessor and the tile above, which waits in a FIFO. It is
compared with the interpreter before it is timed; compilation is not counted.
"""

from __future__ import annotations

import argparse
import sys
import time

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.dfg.interpreter import random_stimulus
from gridloom.mapping import Instance, Mapping, Route, configure
from gridloom.sim import simulate
from gridloom.sim.execute import execute
from gridloom.sim.slot_code import compile_slots

OPS = ("add", "xor", "mul", "sub", "min", "shl", "max", "and")


def snake(side: int) -> Mapping:
    """Return a legal mapping with an op on every tile of a square mesh; tile k of the snake issues at cycle k."""
    cells = [(r, c if r % 2 == 0 else side - 1 - c) for r in range(side) for c in range(side)]
    number = {cell: k for k, cell in enumerate(cells)}
    b = DfgBuilder(f"snake_{side}")
    b.input("n0")
    for k, (r, c) in enumerate(cells[1:-1], start=1):
        above = f"n{number[r - 1, c]}" if r else b.const(k)
        b.add(OPS[k % len(OPS)], f"n{k - 1}", above, id=f"n{k}")
    b.output(f"n{side * side - 2}", f"n{side * side - 1}")
    dfg = b.build()
    place = {f"n{k}": (f"pe_{r}_{c}", k) for k, (r, c) in enumerate(cells)}
    routes = []
    for e, edge in enumerate(dfg.edges):
        if edge.source in place:
            (source, issued), (target, wanted) = place[edge.source], place[edge.target]
            hops = (
                (f"{source}.out", issued + 1),
                (f"{source}>{target}", issued + 1),
                (f"{target}.in{edge.operand}", issued + 1),
            )
            routes.append(Route(edge=e, hops=hops, fifo=wanted - issued - 1))
    return Mapping(
        dfg=dfg,
        arch=build(f"mesh:{side}x{side}"),
        ii=1,
        instances=tuple(Instance(node=node, place=tile, cycle=cycle) for node, (tile, cycle) in place.items()),
        routes=tuple(routes),
    )


def main() -> None:
    """Check the mapping, time its simulation, and print one line per repetition."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--side", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    mapping = snake(options.side)
    verdict = simulate(mapping)
    write = sys.stdout.write
    write(verdict.explain() + "\n")
    program = compile_slots(configure(mapping))
    stimulus = random_stimulus(mapping.dfg, options.iterations, seed=1)
    for _ in range(options.repeat):
        begin = time.perf_counter()
        run = execute(program, stimulus)
        seconds = time.perf_counter() - begin
        rate = options.side**2 * run.cycles / seconds
        size = f"{run.cycles} cycles of {options.side**2} tiles"
        write(f"{size} in {seconds:.3f} s: {rate / 1e6:.1f} million tile-cycles/s\n")


if __name__ == "__main__":
    main()
