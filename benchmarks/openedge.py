"""Claims on programs for OpenEdgeCGRA: what is refused, clocks beside other compilers, and what the objective saves.

Programs run on gridloom's interpreter of the instruction set, whose clocks tests compare with the group's RTL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.cells import mean
from benchmarks.claim import MAPPING, REPOSITORY, Claim, Row, Rows
from gridloom.statistics import compare_pairs

OPENEDGE = (*MAPPING, "transform", "targets.modulo")
LOOPS = REPOSITORY / "examples" / "kernels"
PUBLISHED = REPOSITORY / "tests" / "targets" / "modulo" / "export" / "openedge" / "loops"
#: C loops of the examples on floating-point numbers, and kernels on other words or of random shape.
FLOATS = frozenset({"gemm", "jacobi", "saxpy", "spmv_row"})
OTHERS = ("cma_", "neosa-", "random_")
#: Loop -> trip count, clocks of Compigra's code, and of its code by SAT-MapIt. Both were measured on the RTL.
THEIRS = {
    "dot_product": (40, 453, 259), "sha1_schedule": (64, 965, 590), "reverse_bits": (32, 79, 111),
    "isqrt": (15, 103, 117),
}  # fmt: skip
SEEDS = range(1, 7)


def ask_loops(quick: bool) -> list[Row]:
    """Return a question for each integer kernel and each C loop of the examples, and for each of six seeds."""
    import gridloom as gl

    kernels = [f"kernel:{name}" for name in gl.names("kernels") if not name.startswith(OTHERS)]
    loops = [f"examples/kernels/{path.name}" for path in sorted(LOOPS.glob("*.c")) if path.stem not in FLOATS]
    asked = [{"source": source, "effort": 100_000, "seed": seed} for seed in SEEDS for source in (*kernels, *loops)]
    return asked[: len(kernels) + len(loops) : 4] if quick else asked


def try_loop(asked: Row) -> Row:
    """Map a loop and run its program; ``status`` is ``right``, or ``refused`` with a reason."""
    import gridloom as gl
    from gridloom.errors import MappingError
    from gridloom.targets.modulo.export.openedge.assembly import assemble
    from gridloom.targets.modulo.export.openedge.trial import try_program

    source = asked["source"] if ":" in asked["source"] else str(REPOSITORY / asked["source"])
    result = gl.map(source, "openedge-cgra", effort=asked["effort"], seed=asked["seed"], settings=asked.get("settings"))
    if result.mapping is None:
        return {"status": "refused", "reason": str(result.failure).partition(";")[0]}
    found: Row = {"nodes": len(result.mapping.dfg.nodes), "ii": result.mapping.ii}
    try:
        program = assemble(result.mapping)
    except MappingError as error:
        return {**found, "status": "refused", "reason": str(error)}
    trips = (asked["trips"],) if "trips" in asked else ()
    # A program that leaves a wrong word ends the run: no row says so.
    trials = try_program(program, result.mapping.dfg, seed=asked["seed"], trips=trips)
    return {**found, "status": "right", "length": len(program.lines), "trips": trials[0].trips,
            "clocks": trials[0].clocks}  # fmt: skip


def loop_figures(rows: Rows) -> Row:
    """Return how many programs are right, and the share that is refused."""
    refused = sum(row["status"] != "right" for row in rows)
    return {"loops": len({row["source"] for row in rows}), "programs": len(rows), "right": len(rows) - refused,
            "refused, %": round(100 * refused / len(rows), 1)}  # fmt: skip


def refusals(rows: Rows) -> Rows:
    """Return the loops that are refused with some seed, each with its seeds and a reason."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        if row["status"] != "right":
            found.setdefault(row["source"], []).append(row)
    return [
        {"loop": source, "seeds refused": len(refused), "of": sum(row["source"] == source for row in rows),
         "reason": refused[0]["reason"]}
        for source, refused in found.items()
    ] or [{"loop": "none is refused"}]  # fmt: skip


def ask_published(quick: bool) -> list[Row]:
    """Return a question for each loop with published clocks and each seed."""
    return [
        {"source": str((PUBLISHED / f"{name}.c").relative_to(REPOSITORY)), "effort": 100_000, "seed": seed,
         "trips": trips}
        for seed in (SEEDS[:2] if quick else SEEDS) for name, (trips, *_) in THEIRS.items()
    ]  # fmt: skip


def published_table(rows: Rows) -> Rows:
    """Return for each loop the clocks of three compilers; ours are the least, mean and most of the seeds."""
    found = []
    for name, (trips, plain, satmapit) in THEIRS.items():
        ours = [row["clocks"] for row in rows if Path(row["source"]).stem == name and row["status"] == "right"]
        found.append({"loop": name, "iterations": trips, "Compigra (theirs)": plain,
                      "Compigra with SAT-MapIt (theirs)": satmapit, "ours, least": min(ours, default=None),
                      "mean": round(sum(ours) / len(ours), 1) if ours else None,
                      "most": max(ours, default=None)})  # fmt: skip
    return found


def ask_objective(quick: bool) -> list[Row]:
    """Return each kernel and seed twice: with clocks as the objective, and with the II alone."""
    return [
        {"source": f"kernel:{name}", "effort": 1_000_000, "seed": seed, "settings": settings}
        for name in ("dct4", "sepia", "fft_radix2", "aes_column", "matmul", "convolution")
        for seed in (SEEDS[:2] if quick else SEEDS) for settings in ({}, {"batches": 0})
    ]  # fmt: skip


def objective_rows(rows: Rows, clocks: bool) -> dict[tuple[str, int], Any]:
    """Return (kernel, seed) -> clocks under one of the objectives; None: no program."""
    return {(row["source"], row["seed"]): row.get("clocks") for row in rows if bool(row["settings"]) != clocks}


def objective_table(rows: Rows) -> Rows:
    """Return for each kernel the clocks under both objectives."""
    found = []
    for source in dict.fromkeys(row["source"] for row in rows):
        ours, plain = (
            [value for (name, _), value in objective_rows(rows, clocks).items() if name == source and value]
            for clocks in (True, False)
        )
        found.append({"kernel": source.removeprefix("kernel:"), "clocks, best seed": min(ours, default=None),
                      "mean": mean("x")([{"x": value} for value in ours]), "worst seed": max(ours, default=None),
                      "by II alone, mean": mean("x")([{"x": value} for value in plain]),
                      "programs by II alone": len(plain)})  # fmt: skip
    return found


def objective_figures(rows: Rows) -> Row:
    """Return by how much fewer clocks are needed, over the cells that have a program under both objectives."""
    ours, plain = objective_rows(rows, True), objective_rows(rows, False)
    both = [(ours[cell], plain[cell]) for cell in ours if ours[cell] and plain.get(cell)]
    best = {name: min(value for (other, _), value in ours.items() if other == name and value) for name, _ in ours}
    near = [value <= 1.01 * best[name] for (name, _), value in ours.items() if value]
    return {"cells": len(both), "fewer clocks, %": round(100 - 100 * sum(a / b for a, b in both) / len(both), 1),
            "within 1 % of the best seed, %": round(100 * sum(near) / len(near), 1)}  # fmt: skip


CLAIMS = (
    Claim(name="openedge/loops", measures="integer kernels and C loops as programs: right, or refused with a reason",
          ask=ask_loops, measure=try_loop, depends=OPENEDGE, minutes=40, quick_minutes=2, figures=loop_figures,
          table=refusals),
    Claim(name="openedge/published", measures="clocks of loops that Compigra compiled, run-time trip counts",
          ask=ask_published, measure=try_loop, depends=OPENEDGE, minutes=1, quick_minutes=0.5, table=published_table),
    Claim(name="openedge/objective", measures="clocks by the objective of clocks, and by II alone",
          ask=ask_objective, measure=try_loop, depends=OPENEDGE, minutes=2, quick_minutes=0.7,
          figures=objective_figures, table=objective_table,
          verdicts=lambda rows: [compare_pairs(objective_rows(rows, True), objective_rows(rows, False)).sentence(
              "the objective of clocks", "the lowest II")]),
)  # fmt: skip
