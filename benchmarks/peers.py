"""Claims beside other tools: their stored results, from tables beside the published graphs, and ours on the same cells.

Their values are facts of files that are not part of the project; a row names the file. Times are not compared, since
theirs are of other machines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import cells
from benchmarks.cells import PUBLISHED, map_cell, mapped, over_mii, peer_rows
from benchmarks.claim import MAPPING, Claim, Row, Rows, published_folder
from gridloom.statistics import compare_pairs

MODULO = (*MAPPING, "targets.modulo")
_GRAPHS = ("published graphs",)


def map_beside_peers(asked: Row) -> Row:
    """Map a published loop; columns with the names of tools have their II, or why they have none."""
    from gridloom.flow.bench.peers import peers_of

    found = map_cell(asked)
    size = "x".join(str(asked["arch"]).partition(":")[2].partition(",")[0].split("x"))
    peers = peers_of(asked["source"].removeprefix(PUBLISHED), size, published_folder())
    return {**found, **{f"{name} (theirs)": value for name, value in peers.items()}}


def ask_suite(suite: str, effort: int, *, archs: list[str] | None = None, most: int = 99) -> Any:
    """Return a function that asks for the cells of a suite of published loops."""

    def ask(quick: bool) -> list[Row]:
        from gridloom.flow.bench.suite import load_suite

        found = [
            {"source": f"{PUBLISHED}{cell.source}", "arch": cell.arch, "mapper": "modulo", "effort": effort, "seed": 1}
            for cell in load_suite(suite).cells() if not archs or cell.arch in archs
        ]  # fmt: skip
        return found[:most] if quick else found

    return ask


def peer_names(rows: Rows) -> list[str]:
    """Return the columns of other tools."""
    return sorted({name for row in rows for name in row if name.endswith("(theirs)")})


def peer_table(rows: Rows) -> list[Row]:
    """Return II and MII of each cell beside those of other tools."""
    names = peer_names(rows)
    return [
        {"loop": row["source"].removeprefix(PUBLISHED), "array": row["arch"], "MII": row["mii"],
         "ours": row["ii"] if row["status"] == "mapped" else "no mapping", **{name: row.get(name) for name in names}}
        for row in rows
    ]  # fmt: skip


def peer_verdicts(rows: Rows) -> list[str]:
    """Return a sentence for each tool, over the cells that it was run on; a cell without a mapping is lost."""
    found = []
    for name in peer_names(rows):
        both = [row for row in rows if row.get(name) is not None]
        ours = {(row["source"], row["arch"]): row["ii"] for row in both}
        theirs = {(r["source"], r["arch"]): r[name] if isinstance(r[name], int) else None for r in both}
        found.append(compare_pairs(ours, theirs).sentence("`modulo`", name.removesuffix(" (theirs)")))
    return found


def peer_figures(rows: Rows) -> Row:
    """Return how many cells are mapped, how many at the MII."""
    return {"cells": len(rows), "mapped": len(mapped(rows)), "at_mii": cells.at_mii(rows), "mii": over_mii(rows)}


def ask_neura(quick: bool) -> list[Row]:
    """Return a question for each kernel of neura, with its IIs."""
    rows = list(peer_rows("neura", "results.csv"))
    return [
        {"source": f"{PUBLISHED}neura/{row['kernel']}.json", "arch": f"{PUBLISHED}neura/neura4x4.yaml",
         "mapper": "modulo", "effort": 20_000 if quick else 200_000, "seed": 1,
         **{f"neura {name} (theirs)": int(row[key]) if row[key] else None
            for name, key in (("test", "lit_ii"), ("heuristic", "heuristic_ii"), ("CP-SAT", "cpsat_ii"))}}
        for row in (cells.first_of(rows, 6, quick))
    ]  # fmt: skip


def map_on_file(asked: Row) -> Row:
    """Map a graph onto an array that a published file describes."""
    return map_cell({**asked, "arch": cells.source_of(asked["arch"])})


def ask_vpr(quick: bool) -> list[Row]:
    """Return a question for each cell that VPR placed, with its best wirelength and shallowest FIFO of three runs."""
    rows = [row for row in peer_rows("neosa", "vpr9_cells.csv") if row["effort"] == "default" and row["io"] == "any"]
    return [
        {"source": f"kernel:neosa-{row['graph']}", "arch": f"{row['family']}:{row['side']}x{row['side']},inputs=skewed",
         "mapper": "anneal", "effort": 200_000 if quick else 2_000_000, "seed": 1, "settings": {"objective": goal},
         "VPR wirelength": float(row["vpr_wl_best3"]) if row["vpr_wl_best3"] else None,
         "VPR fifo": float(row["vpr_fifo_min"]) if row["vpr_fifo_min"] else None}
        for row in cells.first_of(rows, 24, quick) for goal in ("wirelength", "buffers")
    ]  # fmt: skip


def ask_released(quick: bool) -> list[Row]:
    """Return a question for each cell of the released NeoSA program, with the best of its instances."""
    import gridloom as gl

    topologies = {"mesh": "mesh", "one-hop": "onehop", "chess": "chess", "hex": "hex", "hexagonal": "hex"}
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for row in peer_rows("neosa"):
        name = f"neosa-{row['benchmark'].replace('Tree', 'tree').replace('Matmul', 'matmul')}"
        if row["layout"] == "homogeneous" and row["topology"] in topologies and name in gl.names("kernels"):
            cell = (f"kernel:{name}", f"{topologies[row['topology']]}:auto,inputs=skewed")
            found = (float(row["best_wirelength"]), float(row["best_buffer"]))
            best[cell] = min(found[0], best.get(cell, found)[0]), min(found[1], best.get(cell, found)[1])
    return [
        {"source": source, "arch": arch, "mapper": "anneal", "seed": 1, "effort": 200_000 if quick else 2_000_000,
         "settings": {"objective": goal}, "NeoSA wirelength": wires, "NeoSA fifo": fifo}
        for (source, arch), (wires, fifo) in cells.first_of(list(best.items()), 24, quick)
        for goal in ("wirelength", "buffers")
    ]  # fmt: skip


def placer_verdicts(tool: str) -> Any:
    """Return a function from rows to sentences on wires where wires were asked for, and on FIFOs where buffers were."""

    def sentences(rows: Rows) -> list[str]:
        found = []
        for goal, column in (("wirelength", "wirelength"), ("buffers", "fifo")):
            part = [row for row in rows if row["settings"]["objective"] == goal]
            ours = {(row["source"], row["arch"]): row[column] for row in part}
            theirs = {(row["source"], row["arch"]): row[f"{tool} {column}"] for row in part}
            found.append(f"{column}: {compare_pairs(ours, theirs).sentence('`anneal`', tool)}")
        return found

    return sentences


def placer_table(tool: str) -> Any:
    """Return a function from rows to means by topology, ours beside theirs."""

    def table(rows: Rows) -> list[Row]:
        flat: list[Mapping[str, Any]] = [{**row, "topology": row["arch"].partition(":")[0],
                                          "objective": row["settings"]["objective"]} for row in rows]  # fmt: skip
        return cells.table_by("topology", "objective", cells=len, mapped=cells.mapped_of,
                              wires=cells.mean("wirelength"),
                              their_wires=cells.mean(f"{tool} wirelength"), FIFO=cells.mean("fifo"),
                              their_FIFO=cells.mean(f"{tool} fifo"))(flat)  # fmt: skip

    return table


def ask_genmap(quick: bool) -> list[Row]:
    """Return a question for each graph of GenMap's table, with the width that it found."""
    best: dict[str, Row] = {}
    for row in peer_rows("genmap"):
        width = int(row["best_width"]) if row["best_width"].isdigit() else None
        if row["app"] not in best or (width or 99) < (best[row["app"]]["GenMap width"] or 99):
            best[row["app"]] = {"GenMap width": width, "lower bound": int(row["width_lower_bound"])}
    return [
        {"source": f"{PUBLISHED}genmap/app_samples/{app}.dot", "arch": "vpcma", "mapper": "width", "effort": 2_000_000,
         "seed": 1, **found}
        for app, found in best.items()
    ]  # fmt: skip


def ask_foreign(quick: bool) -> list[Row]:
    """Return a question for each mapping that another tool made, in the folder that ``GRIDLOOM_FOREIGN`` names."""
    folder = Path(os.environ["GRIDLOOM_FOREIGN"])
    formats = {".yaml": "neura", ".sat": "satmapit"}
    return [{"file": path.name, "path": str(path.relative_to(folder)), "format": formats[path.suffix]}
            for path in sorted(folder.rglob("*"), key=lambda path: (path.suffix, path.name))
            if path.suffix in formats]  # fmt: skip


def judge_foreign(asked: Row) -> Row:
    """Read a mapping of another tool and judge it: legal, illegal with a fault, or no mapping with the reason."""
    from gridloom import registry
    from gridloom.errors import MappingError
    from gridloom.flow.confirmation import find_faults

    folder = Path(os.environ["GRIDLOOM_FOREIGN"])
    try:
        mapping = registry.hook("importers", asked["format"])(folder / asked["path"])
    except MappingError as error:
        return {"judged": "no mapping", "reason": str(error).replace(f"{folder}/{asked['path']}: ", "")}
    faults = find_faults(mapping)
    return {"judged": "illegal" if faults else "legal", "reason": faults[0] if faults else "", "ii": mapping.ii,
            "nodes": len(mapping.dfg.nodes), "edges": len(mapping.dfg.edges)}  # fmt: skip


def foreign_figures(rows: Rows) -> Row:
    """Return how many files were judged, and how."""
    return {
        "files": len(rows),
        "formats": len({row["format"] for row in rows}),
        **{what: sum(row["judged"] == what for row in rows) for what in ("legal", "illegal", "no mapping")},
    }


def _suite_claim(name: str, measures: str, ask: Any, minutes: float, quick: float, measure: Any = None) -> Claim:
    return Claim(
        name=f"peers/{name}", measures=measures, ask=ask, measure=measure or map_beside_peers, depends=MODULO,
        minutes=minutes, quick_minutes=quick, needs=_GRAPHS, figures=peer_figures, table=peer_table,
        verdicts=peer_verdicts,
    )  # fmt: skip


CLAIMS = (
    _suite_claim("satmapit", "loops of SAT-MapIt on four tori: SAT-MapIt, MonoMap and the mappers of CCF",
                 ask_suite("satmapit", 20_000), 5, 0.5),
    _suite_claim("ccf", "loops extracted by CCF on a torus: RAMP, CRIMSON and GraphMinor",
                 ask_suite("ccf", 20_000, most=16), 20, 0.5),
    _suite_claim("morpher", "kernels of Morpher on a torus: its PathFinder", ask_suite("morpher", 20_000, most=4), 20,
                 0.7),
    _suite_claim("neura", "kernels of neura: its heuristic and its CP-SAT model", ask_neura, 20, 0.7, map_on_file),
    Claim(
        name="peers/foreign", measures="mappings that other tools published, read and judged", ask=ask_foreign,
        measure=judge_foreign, depends=MODULO, minutes=0.5, needs=("$GRIDLOOM_FOREIGN",), figures=foreign_figures,
        table=lambda rows: [{"tool": row["format"], "file": row["path"], "II": row.get("ii"),
                             "nodes": row.get("nodes"), "judged": row["judged"], "reason": row["reason"]}
                            for row in rows],
    ),
    Claim(
        name="peers/vpr", measures="graphs that VPR 9 placed, best of three runs",
        ask=ask_vpr, measure=map_cell, depends=(*MAPPING, "targets.grid"), minutes=20, quick_minutes=0.5, needs=_GRAPHS,
        table=placer_table("VPR"), verdicts=placer_verdicts("VPR"), figures=peer_figures,
    ),
    Claim(
        name="peers/neosa", measures="graphs that the released NeoSA program placed, best of its instances",
        ask=ask_released, measure=map_cell, depends=(*MAPPING, "targets.grid"), minutes=20, quick_minutes=0.5,
        needs=_GRAPHS, table=placer_table("NeoSA"), verdicts=placer_verdicts("NeoSA"), figures=peer_figures,
    ),
    Claim(
        name="peers/genmap", measures="graphs that GenMap placed on rows of ALUs: width in columns",
        ask=ask_genmap, measure=map_cell, depends=(*MAPPING, "targets.rows"), minutes=2, quick_minutes=0.5,
        needs=_GRAPHS, figures=peer_figures,
        table=lambda rows: [{"graph": row["source"].rpartition("/")[2], "lower bound": row["lower bound"],
                             "ours": row["width"], "GenMap": row["GenMap width"]} for row in rows],
        verdicts=lambda rows: [compare_pairs(
            {row["source"]: row["width"] for row in rows}, {row["source"]: row["GenMap width"] for row in rows}
        ).sentence("`width`", "GenMap")],
    ),
)  # fmt: skip
