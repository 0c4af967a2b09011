"""Whether mappers keep to --time-limit: every mapper on every kind of array, graphs of 20 to 2,000 nodes.

    python benchmarks/time_limits.py [--limits 2 10 30] [--sizes 20 100 500 2000] [--mappers M ...] [--kinds K ...]

Each row is one run in a process of its own. ``over`` is what the mapper took beyond 110 % of its limit and a second,
without the compilation of kernels, which stands in a column of its own, as do reading the graph and the confirmation
of the mapping by checker and simulator. ``memory`` is the most that the process held.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.archs import Arch, build
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError

KINDS = ("grid", "registers", "rows", "spokes", "switches")

#: A run that takes this many times its limit is ended, and its row says so.
PATIENCE = 6.0


def array(kind: str, nodes: int) -> str:
    """An array of the kind on which a graph of so many nodes has a fair chance."""
    side = ceil(sqrt(1.4 * nodes))
    if kind == "grid":
        return f"mesh:{side}x{side}"
    if kind == "registers":
        rows = max(3, ceil(sqrt(nodes / 6)))
        return f"torus:{rows}x{rows},regs=8"
    if kind == "rows":
        return f"vpcma:{ceil(1.4 * side)}x{ceil(1.4 * side)}"
    if kind == "spokes":
        return f"streaming-engine:{max(8, nodes // 4)}"
    return f"rdu:{max(6, side)}x{max(6, side)}"


def graph(kind: str, mapper: str, nodes: int, arch: Arch) -> Dfg:
    """A graph of about so many nodes that suits the array."""
    from gridloom.flow.inputs import prepare

    if kind == "switches":
        return pipeline(nodes, arch)
    if mapper == "trees":
        return prepare(f"kernel:tree_reduce,nodes={2 ** (nodes // 2).bit_length() - 1}", arch).dfg
    width = max(2, ceil(sqrt(nodes)) - 1)
    if kind == "rows":
        return layers(max(1, nodes // width - 1), width)
    return prepare(f"kernel:random_layered,layers={max(1, nodes // width - 1)},width={width}", arch).dfg


def layers(count: int, width: int) -> Dfg:
    """Layers of ops that rows of ALUs have, each reading two of the layer before that are near."""
    from gridloom.dfg.model import DfgBuilder

    draw = random.Random(0)
    b = DfgBuilder("layers", "cma24")
    row = [b.input(f"x{k}") for k in range(width)]
    for _ in range(count):
        row = [
            b.add(draw.choice(("add", "sub", "and", "or", "xor")), row[k], row[(k + draw.randint(0, 2)) % width])
            for k in range(width)
        ]
    for k, node in enumerate(row):
        b.output(node, f"y{k}")
    return b.build()


def pipeline(nodes: int, arch: Arch) -> Dfg:
    """A tensor pipeline of about so many units: the section of a multi-layer perceptron that comes nearest."""
    from gridloom.targets.dataflow.lowering.lower import lower

    sections = [
        section.dfg
        for layers in (2, 4, 16, 64)
        for width in (64, 256, 1024)
        if layers * width <= 40 * nodes
        for section in lower(registry.load("networks", "mlp").build(layers=layers, width=width), arch).sections
    ]
    return min(sections, key=lambda dfg: abs(len(dfg.nodes) - nodes))


def measure(mapper: str, kind_name: str, nodes: int, limit: float) -> dict[str, Any]:
    """One run in this process: what each part of it took, in seconds, and the most memory that it held."""
    from gridloom.flow.confirmation import illegalities, run_simulation
    from gridloom.mapping.model import Mapping
    from gridloom.search import compiling
    from gridloom.search.budget import Budget
    from gridloom.search.choice import config_type

    kind = registry.kinds()[kind_name]
    began = time.perf_counter()
    arch = build(array(kind_name, nodes))
    dfg = graph(kind_name, mapper, nodes, arch)
    read = time.perf_counter()
    function = registry.entry("mappers", mapper).load(kind)
    # Listening to the compiler needs numba; its import is part of the start of the process.
    import numba  # noqa: F401

    before = compiling.seconds()
    imported = time.perf_counter()
    row: dict[str, Any] = {"nodes": len(dfg.nodes), "array": arch.name, "read": read - began}
    try:
        outcome = function(dfg, arch, config_type(function)(), Budget(time_limit=limit, workers=2))
        row["result"] = f"II {outcome.ii}" if isinstance(outcome, Mapping) else outcome.constraint
    except GridloomError as error:
        outcome, row["result"] = None, f"{type(error).__name__}: {error}"
    ended = time.perf_counter()
    compiled = compiling.seconds() - before
    row |= {"mapper_s": ended - imported - compiled, "compiled": compiled, "confirmed": 0.0}
    if isinstance(outcome, Mapping):
        bad = illegalities(outcome) or list(run_simulation(outcome, iterations=64, seed=0).findings)
        row["confirmed"] = time.perf_counter() - ended - (compiling.seconds() - before - compiled)
        row["result"] += f" REFUSED {bad[0]}" if bad else ""
    row["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return row


def runs(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run each case in a process of its own and yield its row."""
    for limit in arguments.limits:
        for kind_name in KINDS:
            if arguments.kinds and kind_name not in arguments.kinds:
                continue
            for mapper in registry.names("mappers"):
                if (arguments.mappers and mapper not in arguments.mappers) or mapper in arguments.without:
                    continue
                if registry.kinds()[kind_name] not in registry.entry("mappers", mapper).takes:
                    continue
                for nodes in arguments.sizes:
                    yield one(mapper, kind_name, nodes, limit)


def one(mapper: str, kind: str, nodes: int, limit: float) -> dict[str, Any]:
    """The row of one case, from a child process that is ended when it takes far too long."""
    row = {"mapper": mapper, "kind": kind, "size": nodes, "limit": limit}
    command = [sys.executable, __file__, "--child", mapper, kind, str(nodes), str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * limit + 240, check=False)
    except subprocess.TimeoutExpired:
        return row | {"result": "ENDED: far over its limit", "over": PATIENCE * limit}
    if done.returncode:
        return row | {"result": "CRASHED: " + done.stderr.strip().splitlines()[-1][:200], "over": 0.0}
    row |= json.loads(done.stdout.splitlines()[-1])
    return row | {"over": max(0.0, row["mapper_s"] - 1.1 * limit - 1)}


def shown(row: dict[str, Any]) -> str:
    """A row as one line of a Markdown table."""
    numbers = " | ".join(f"{row.get(key, 0):.1f}" for key in ("mapper_s", "over", "read", "compiled", "confirmed"))
    names = f"{row['mapper']} | {row['kind']} | {row.get('array', '')} | {row.get('nodes', row['size'])}"
    return f"| {names} | {row['limit']:g} | {numbers} | {row.get('memory', 0):.2f} | {row['result'][:90]} |"


HEAD = (
    "| mapper | kind | array | nodes | limit | mapper | over | read | compiled | confirmed | GB | result |\n"
    "| --- | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --- |"
)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table, and write the rows as JSON lines where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--limits", nargs="*", type=float, default=[2.0, 10.0, 30.0])
    parser.add_argument("--sizes", nargs="*", type=int, default=[20, 100, 500, 2000])
    parser.add_argument("--mappers", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=["ppo"])
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=[])
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.child:
        mapper, kind, nodes, limit = arguments.child
        say(json.dumps(measure(mapper, kind, int(nodes), float(limit))))
        solver = sys.modules.get("gridloom.search.solver")
        if solver is not None and solver.is_left_behind():
            os._exit(0)
        return
    say(HEAD)
    for row in runs(arguments):
        say(shown(row))
        if arguments.output:
            with arguments.output.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
