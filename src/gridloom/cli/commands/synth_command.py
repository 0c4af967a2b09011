"""``gridloom synth`` prints area, clock and power of an array or of the array of a mapping: on an FPGA or in cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import ArrayOrMapping, AsJson, Quiet
from gridloom.cli.progress import note
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.hardware.synthesis.ecp5 import FpgaPlacement
    from gridloom.hardware.synthesis.standard_cells import CellResult
    from gridloom.mapping.model import Mapping

#: The RISC-V core of ``gridloom system``, which only standard cells are tried for.
CORE = "core:vexriscv"


def synth(
    *,
    what: ArrayOrMapping,
    target: Annotated[
        str,
        typer.Option("--target", metavar="NAME", help="The FPGA ecp5, or a cell library: osu018, osu035 or osu050."),
    ] = "ecp5",
    liberty: Annotated[
        Path | None, typer.Option("--liberty", metavar="FILE", help="Map to the standard cells of this liberty file.")
    ] = None,
    activity: Annotated[
        float, typer.Option("--activity", metavar="A", help="Cells: changes of a net per clock cycle, for the power.")
    ] = 0.1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the hardware: width=16 or ops=add+mul."),
    ] = None,
    trim: Annotated[
        list[str] | None,
        typer.Option("--trim", metavar="MAPPING", help="Keep only what this mapping needs (repeat it for several)."),
    ] = None,
    board: Annotated[
        str | None, typer.Option("--board", metavar="NAME|FILE", help="Place it on this board and write a bitstream.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Keep netlist, report and bitstream here.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of placement.")] = 1,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds that all programs together may take.")
    ] = 600.0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Synthesise the hardware of an array and print its area, its clock and its critical path."""
    from gridloom.hardware.synthesis.boards import load_board
    from gridloom.hardware.synthesis.ecp5 import place
    from gridloom.hardware.synthesis.standard_cells import LIBRARIES, array_design, core_design, find_liberty
    from gridloom.hardware.synthesis.standard_cells import synthesise as map_to_cells

    if target not in ("ecp5", *LIBRARIES):
        raise OptionError(f"no such target: {target!r}; known: ecp5, {', '.join(LIBRARIES)}", where="--target")
    if liberty is not None or target in LIBRARIES:
        if board is not None:
            raise OptionError("standard cells have no board; leave out --board, or use --target ecp5", where="--board")
        if not 0 < activity <= 2:
            raise OptionError("expected a number above 0, at most 2", where="--activity")
        file = find_liberty(target, liberty)
        built, mapped = (None, None) if what == CORE else _hardware(what, settings or [], trim or [])
        result = map_to_cells(
            core_design() if built is None else array_design(built), file, activity=activity, folder=output,
            seconds=time_limit, progress=note,
        )  # fmt: skip
        cells = _cell_record(built, mapped, result)
        print(json.dumps(cells) if as_json else _describe_cells(cells))
        return 0
    if what == CORE:
        raise OptionError(f"{CORE} is for standard cells; add --target osu018 or --liberty FILE", where="--target")
    if board is not None and output is None:
        raise OptionError("a bitstream needs a folder to be written to: add -o DIR", where="--board")
    chosen = load_board(board) if board is not None else None
    hardware, mapping = _hardware(what, settings or [], trim or [])
    placed = place(
        hardware, board=chosen, folder=output, seed=seed, seconds=time_limit, progress=lambda text: note(text)
    )
    record = _record(hardware, mapping, placed)
    print(json.dumps(record) if as_json else _describe(record))
    return 0


def _hardware(what: str, settings: list[str], trim: list[str]) -> tuple[Hardware, Mapping | None]:
    """The hardware of an array or a mapping, and the mapping where there is one."""
    from gridloom.archs.model import Arch
    from gridloom.flow.files import load_any
    from gridloom.flow.hardware import hardware_for
    from gridloom.flow.options import parse_settings
    from gridloom.hardware.parameters import parse_parameters
    from gridloom.mapping.model import Mapping

    shown = load_any(what)
    if not isinstance(shown, Arch | Mapping):
        raise OptionError(f"{what!r} is a graph; expected an array or a mapping")
    kept = [load_any(path) for path in trim]
    for path, other in zip(trim, kept):
        if not isinstance(other, Mapping):
            raise OptionError(f"{path!r} is no mapping", where="--trim")
    arch = shown.arch if isinstance(shown, Mapping) else shown
    parameters = parse_parameters({"width": str(arch.word)} | parse_settings(settings))
    mappings = [m for m in kept if isinstance(m, Mapping)]
    mapping = shown if isinstance(shown, Mapping) else None
    return hardware_for(arch, parameters, mapping=mapping, trim=mappings), mapping


def _cell_record(hardware: Hardware | None, mapping: Mapping | None, result: CellResult) -> dict[str, Any]:
    """What the command prints of standard cells, as plain data."""
    from gridloom.flow.hardware import operations

    record: dict[str, Any] = {
        "status": "synthesised", "target": result.library, "cells": result.cells,
        "mm2": round(result.area / 1e6, 4), "register_share": round(result.register_share, 4),
        "parts": {part: round(share, 4) for part, share in result.parts.items()}, "macro_bits": result.macro_bits,
        "ns": round(result.period, 3), "fmax_mhz": round(result.fmax_mhz, 2),
        "power_mw": round(result.power_mw, 3), "internal_mw": round(result.internal_mw, 3),
        "switching_mw": round(result.switching_mw, 3), "leakage_mw": round(result.leakage_mw, 6),
        "activity": result.activity, "critical_path": [f"{s.place} ({s.logic:.2f} ns)" for s in result.critical_path],
        "seconds": {"yosys": round(result.seconds[0], 1), "opensta": round(result.seconds[1], 1)},
        "files": [str(path) for path in result.files],
    }  # fmt: skip
    if hardware is None:
        return {"array": CORE} | record
    ops, ii = operations(hardware, mapping)
    gops = ops * result.fmax_mhz / ii / 1000
    return {
        "array": hardware.arch.name, "tiles": len(hardware.arch.tiles), "width": hardware.width,
        "simd_lanes": hardware.simd_lanes, "ii": ii, "ops": ops, "gops": round(gops, 3),
        "pj_per_op": round(result.power_mw / gops, 2) if gops else None,
    } | record  # fmt: skip


def _describe_cells(record: dict[str, Any]) -> str:
    """The same in words."""
    from gridloom.hardware.parameters import words_text

    words = words_text(record["width"], record["simd_lanes"]) if "tiles" in record else ""
    shape = f": {record['tiles']} tiles, {words}" if words else ""
    macros = f"; {record['macro_bits']} bits of memory macros apart" if record["macro_bits"] else ""
    shares = [f"{part} {share:.0%}" for part, share in record["parts"].items() if share >= 0.01]
    power = f"power: {record['power_mw']:.1f} mW at this clock and {record['activity']:g} changes of a net per cycle"
    lines = [
        f"{record['array']}{shape} in {record['target']}",
        f"area: {record['mm2']:.3f} mm2, {record['cells']} cells, {record['register_share']:.0%} flip-flops{macros}",
        *([f"  {', '.join(shares)}"] if len(shares) > 1 else []),
        f"clock: {record['fmax_mhz']} MHz ({record['ns']} ns) without wires"
        + (f"; throughput at most: {record['gops']} Gops ({record['ops']} ops every {record['ii']} cycles)"
           if "gops" in record else ""),
        power + (f"; {record['pj_per_op']} pJ per op" if record.get("pj_per_op") else ""),
        "critical path:",
        *(f"  {step}" for step in record["critical_path"]),
    ]  # fmt: skip
    return "\n".join([*lines, *(f"wrote {path}" for path in record["files"])])


def _record(hardware: Hardware, mapping: Mapping | None, placed: FpgaPlacement) -> dict[str, Any]:
    """What the command prints, as plain data."""
    from gridloom.flow.hardware import operations

    ops, ii = operations(hardware, mapping)
    return {
        "status": "placed", "array": hardware.arch.name, "tiles": len(hardware.arch.tiles), "width": hardware.width,
        "simd_lanes": hardware.simd_lanes,
        "target": "ecp5", "device": placed.device, "luts": placed.luts, "ffs": placed.ffs, "dsps": placed.dsps,
        "brams": placed.brams, "fmax_mhz": round(placed.fmax_mhz, 2), "ii": ii, "ops": ops,
        "gops": round(ops * placed.fmax_mhz / ii / 1000, 3),
        "critical_path": [str(step) for step in placed.critical_path],
        "seconds": {"yosys": round(placed.seconds[0], 1), "nextpnr": round(placed.seconds[1], 1)},
        "seed": placed.seed, "files": [str(path) for path in placed.files],
    }  # fmt: skip


def _describe(record: dict[str, Any]) -> str:
    """The same in words."""
    from gridloom.hardware.parameters import words_text

    words = words_text(record["width"], record["simd_lanes"])
    kind = "of the mapping" if record["ii"] > 1 or record["ops"] < record["tiles"] * record["simd_lanes"] else "at most"
    lines = [
        f"{record['array']}: {record['tiles']} tiles, {words} on {record['device']}",
        f"area: {record['luts']} LUTs, {record['ffs']} flip-flops, {record['dsps']} multiplier blocks, "
        f"{record['brams']} block RAMs",
        f"clock: {record['fmax_mhz']} MHz; throughput {kind}: {record['gops']} Gops "
        f"({record['ops']} ops every {record['ii']} cycles)",
        "critical path:",
        *(f"  {step}" for step in record["critical_path"]),
    ]
    return "\n".join([*lines, *(f"wrote {path}" for path in record["files"])])
