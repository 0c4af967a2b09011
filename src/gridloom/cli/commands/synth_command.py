"""``gridloom synth`` places and routes an array, or the array of a mapping, on an FPGA and prints area and clock."""

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
    from gridloom.mapping.model import Mapping

TARGETS = ("ecp5",)


def synth(
    *,
    what: ArrayOrMapping,
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="The kind of FPGA: ecp5.")] = "ecp5",
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
    """Place and route the hardware of an array and print its LUTs, its clock and its critical path."""
    from gridloom.hardware.synthesis.boards import load_board
    from gridloom.hardware.synthesis.ecp5 import place

    if target not in TARGETS:
        raise OptionError(f"no such target: {target!r}; known: {', '.join(TARGETS)}", where="--target")
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
