"""Claims about modulo-scheduled arrays, beside the RAMP paper: loops mapped, speed-ups, strategies, energy."""

from __future__ import annotations

import gridloom as gl
from benchmarks import cells
from benchmarks.cells import at_mii, group, largest, map_cell, mapped, mapped_of, mean, over_mii, questions, rivals
from benchmarks.cells import table_by as by
from benchmarks.claim import MAPPING, Claim, Row, Rows
from gridloom.statistics import geometric_mean

MODULO = (*MAPPING, "targets.modulo")
PRESETS = [f"ramp-{k}" for k in range(1, 13)]
PAPER = ("ramp", "regimap", "memmap")
#: Table 1 of the paper: rows, registers (of the central file, or of each PE), and whether the file is central.
TABLE_1 = {
    1: (2, 16, True), 2: (2, 16, True), 3: (2, 2, False), 4: (2, 4, False), 5: (4, 64, True), 6: (4, 2, False),
    7: (4, 4, False), 8: (4, 4, False), 9: (8, 128, True), 10: (8, 4, False), 11: (8, 8, False), 12: (8, 8, False),
}  # fmt: skip
STRATEGIES = ("route", "recompute", "memory", "reschedule", "files", "livein")
#: Variants beside ``ramp``: the references as the paper describes them, and its own clique search.
VARIANTS = {
    "ramp": ("ramp", {}), "regimap, as described": ("regimap", {"learns": False}),
    "memmap, as described": ("memmap", {"decides": "after"}),
}  # fmt: skip


def map_loop(asked: Row) -> Row:
    """Map a loop; also return its cycles on the processor, its energy, and what its strategies did."""
    from gridloom.flow.bench.processor import Processor, sequential_cycles
    from gridloom.flow.hardware import energy_of

    result = gl.map(asked["source"], asked["arch"], mapper=asked["mapper"], effort=asked["effort"], seed=asked["seed"],
                    settings=asked.get("settings"))  # fmt: skip
    mapping, found = result.mapping, cells.describe_result(result)
    search = {} if mapping is None else mapping.provenance
    size = search.get("graph", {})
    return {
        **found,
        "processor": round(sequential_cycles(result.dfg, Processor()), 3),
        "energy": None if mapping is None else round(energy_of(mapping).total, 3),
        "strategies": ",".join(sorted(search.get("strategies", ()))),
        "ops": size.get("ops"),
        "inserted": size.get("inserted"),
        "pairs": size.get("pairs"),
        "placements": size.get("placements"),
    }


def ask_loops(
    archs: list[str], *, loops: int, seeds: tuple[int, ...] = (1,), mappers: tuple[str, ...] = PAPER
) -> object:
    """Return a function that asks for the loops of the suite on some arrays with each mapper."""

    def ask(quick: bool) -> list[Row]:
        sources = cells.first_of(cells.suite_sources("loops"), loops, quick)
        return questions(mapper=mappers, source=sources, arch=archs, effort=100_000 if quick else 1_000_000,
                         seed=seeds[:1] if quick else seeds)  # fmt: skip

    return ask


def ask_variants(variants: dict[str, tuple[str, Row]], archs: list[str], loops: int) -> object:
    """Return a function that asks for mappers with settings."""

    def ask(quick: bool) -> list[Row]:
        sources = cells.first_of(cells.suite_sources("loops"), loops, quick)
        return [
            row
            for name, (mapper, settings) in variants.items()
            for row in questions(variant=name, mapper=mapper, settings=[settings], source=sources, arch=archs,
                                 effort=200_000, seed=1)
        ]  # fmt: skip

    return ask


def describe_preset(asked: Row) -> Row:
    """Count tiles, tiles with memory access, and registers of a preset."""
    arch = gl.arch(asked["arch"])
    spec = dict(arch.spec)
    return {"tiles": len(arch.tiles), "links": len(arch.links), "spec_regs": spec.get("regs"),
            "memory_tiles": sum("mem" in tile.classes for tile in arch.tiles)}  # fmt: skip


def speed(rows: Rows) -> float | None:
    """Return the geometric mean of the speed-up over the processor; a loop that does not map runs there."""
    return geometric_mean(row["processor"] / row["ii"] if row["status"] == "mapped" else 1.0 for row in rows)


def loop_figures(rows: Rows) -> Row:
    """Return for each mapper: loops mapped, MII / II, speed-up; and the ratios of the first to the others."""
    found: Row = {}
    parts = {name: part for (name,), part in group(rows, "variant" if "variant" in rows[0] else "mapper")}
    first = next(iter(parts))
    for name, part in parts.items():
        found |= {f"{name}_mapped": mapped_of(part), f"{name}_mii": over_mii(part), f"{name}_speed": speed(part),
                  f"{name}_ratio": round((speed(parts[first]) or 1) / (speed(part) or 1), 2),
                  f"{name}_saved": energy_saved(parts[first], part)}  # fmt: skip
    return found


def energy_saved(first: Rows, second: Rows) -> str:
    """Return how much less energy (power times cycles) the first takes over the loops that both map, in per cent."""
    other = {(row["source"], row["arch"], row["seed"]): row["ii"] for row in mapped(second)}
    pairs = [(row["ii"], other.get((row["source"], row["arch"], row["seed"]))) for row in mapped(first)]
    mean_ratio = geometric_mean(a / b for a, b in pairs if b)
    return "-" if mean_ratio is None else f"{100 * (1 - mean_ratio):.0f} %"


def used_strategies(rows: Rows) -> list[Row]:
    """Return how many loops of ``ramp`` use each strategy, by array."""
    table = []
    for (arch,), part in group([row for row in rows if row["mapper"] == "ramp"], "arch"):
        used = [str(row["strategies"]).split(",") for row in mapped(part)]
        table.append({"arch": arch, "mapped": mapped_of(part), **{
            name: sum(name in one for one in used) for name in STRATEGIES}})  # fmt: skip
    return table


def plot_mapped(rows: Rows) -> str:
    """Draw loops mapped on each array."""
    from gridloom.emit.plots.chart import ChartSeries, line_chart, picture

    lines = [
        ChartSeries(name, tuple((float(str(arch).partition("-")[2]), float(len(mapped(part))))
                                for (arch,), part in group(mine, "arch")), colour=k)
        for k, ((name,), mine) in enumerate(group(rows, "mapper"))
    ]  # fmt: skip
    panel = line_chart("loops mapped on each array", lines, x_title="configuration", y_title="loops", y_from=0.0,
                       x_ticks=range(1, 13))  # fmt: skip
    return picture([panel], "ramp-mapped")


_BY_MAPPER = by("arch", "mapper", mapped=mapped_of, at_the_MII=at_mii, MII_over_II=over_mii, speed_up=speed)
_ENERGY = by("mapper", mapped=mapped_of, mean_II=mean("ii"), mean_energy=mean("energy"))
_SIZES = by("mapper", mapped=mapped_of, ops=mean("ops"), inserted=mean("inserted"), pairs=mean("pairs"),
            placements=mean("placements"))  # fmt: skip
_VARIANT = by("arch", "variant", mapped=mapped_of, MII_over_II=over_mii, speed_up=speed)

CLAIMS = (
    Claim(
        name="ramp/presets", measures="the twelve arrays of table 1",
        ask=lambda quick: [
            {"arch": f"ramp-{k}", "published_side": side, "published_registers": regs, "published_central": central}
            for k, (side, regs, central) in TABLE_1.items()
        ],
        measure=describe_preset, depends=("archs", "targets.modulo.families"), minutes=0.1, quick_minutes=0.1,
        figures=lambda rows: {"equal": sum(row["tiles"] == row["published_side"] ** 2 for row in rows)},
    ),
    Claim(
        name="ramp/loops", measures="loops on the twelve arrays by RAMP and its references",
        ask=ask_loops(PRESETS, loops=5), measure=map_loop, depends=MODULO, minutes=60, quick_minutes=2,
        figures=loop_figures, table=_BY_MAPPER, verdicts=rivals("ii"), picture=plot_mapped,
    ),
    Claim(
        name="ramp/by-loop", measures="each loop on ramp-7",
        ask=ask_loops(["ramp-7"], loops=20, seeds=(1, 2, 3)), measure=map_loop, depends=MODULO, minutes=15,
        quick_minutes=1, figures=loop_figures, verdicts=rivals("ii"),
        table=by("source", "mapper", mapped=mapped_of, II=largest("ii"), MII=largest("mii"), speed_up=speed),
    ),
    Claim(
        name="ramp/strategies", measures="how many loops use each routing strategy",
        ask=ask_loops(["ramp-3", "ramp-6", "ramp-7", "ramp-8"], loops=10, mappers=("ramp",)), measure=map_loop,
        depends=MODULO, minutes=30, quick_minutes=1, table=used_strategies,
        figures=lambda rows: {name: sum(name in str(row["strategies"]).split(",") for row in rows)
                              for name in STRATEGIES} | {"mapped": mapped_of(rows)},
    ),
    Claim(
        name="ramp/left-out", measures="loops with one routing strategy left out",
        ask=ask_variants({"all": ("ramp", {}), **{f"without {s}": ("ramp", {"without": s}) for s in STRATEGIES}},
                         ["ramp-7"], 6), measure=map_loop,
        depends=MODULO, minutes=30, quick_minutes=1, table=_VARIANT, figures=loop_figures,
        verdicts=rivals("ii", of="variant"),
    ),
    Claim(
        name="ramp/described", measures="the references as the paper describes them",
        ask=ask_variants(VARIANTS, ["ramp-7", "ramp-1"], 8), measure=map_loop, depends=MODULO, minutes=30,
        quick_minutes=1, table=_VARIANT, figures=loop_figures, verdicts=rivals("ii", of="variant"),
    ),
    Claim(
        name="ramp/clique", measures="the clique search of the paper in the place of ours",
        ask=ask_variants({"local": ("ramp", {}), "dharwadker": ("ramp", {"clique": "dharwadker"})}, ["ramp-7"], 5),
        measure=map_loop, depends=MODULO, minutes=30, quick_minutes=1, table=_VARIANT, figures=loop_figures,
        verdicts=rivals("ii", of="variant"),
    ),
    Claim(
        name="ramp/energy", measures="energy of an iteration on ramp-7, from what switches",
        ask=ask_loops(["ramp-7"], loops=8), measure=map_loop, depends=(*MODULO, "hardware"), minutes=15,
        quick_minutes=0.5, table=_ENERGY, figures=loop_figures, verdicts=rivals("energy"), tolerance={"energy": 1e-6},
    ),
    Claim(
        name="ramp/sizes", measures="sizes of the working graphs of the clique searches",
        ask=ask_loops(["ramp-7", "ramp-12"], loops=6), measure=map_loop, depends=MODULO, minutes=30, quick_minutes=1,
        table=_SIZES,
        figures=lambda rows: {f"{name}_ops": mean("ops")(part) for (name,), part in group(rows, "mapper")},
    ),
    Claim(
        name="ramp/modulo", measures="the loops by our own search beside RAMP",
        ask=ask_loops(["ramp-3", "ramp-7", "ramp-12"], loops=8, mappers=("modulo", "ramp")), measure=map_loop,
        depends=MODULO, minutes=60, quick_minutes=2, table=_BY_MAPPER, figures=loop_figures, verdicts=rivals("ii"),
    ),
    Claim(
        name="ramp/c-loops", measures="loops from C on a 4 x 4 torus",
        ask=lambda quick: questions(
            mapper=["modulo", "ramp"],
            source=[f"examples/kernels/{s}" for s in cells.first_of(cells.suite_sources("c-loops"), 8, quick)],
            arch="torus:4x4", effort=20_000 if quick else 200_000, seed=1),
        measure=map_cell, depends=(*MODULO, "compiler"), minutes=20, quick_minutes=1, needs=("llvmlite", "ziglang"),
        table=by("mapper", mapped=mapped_of, at_the_MII=at_mii, MII_over_II=over_mii), verdicts=rivals("ii"),
        figures=lambda rows: {f"{name}_mii": over_mii(part) for (name,), part in group(rows, "mapper")},
    ),
)  # fmt: skip
