"""``gridloom rtl`` writes the hardware of an array, and the configuration bits of a mapping, into a folder.

A mapping is checked and simulated before bits are written for it: bits of a wrong mapping would load like any others
and compute something else. The hardware of a mapping is fitted to it, so that FIFO depths and the like are large
enough.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import ArrayOrMapping, AsJson, OutputFolder, Quiet, Seed, VerilogSimulator
from gridloom.cli.outputs import check_folder, write_all
from gridloom.cli.progress import note
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.mapping.model import Mapping


def rtl(
    *,
    what: ArrayOrMapping,
    output: OutputFolder,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set a parameter of the hardware: width=16, fifo=2 or ops=add+mul."
        ),
    ] = None,
    livein: Annotated[
        list[str] | None,
        typer.Option("--livein", metavar="NAME=VALUE,...", help="Set live-ins in the configuration bits (a=1,b=2)."),
    ] = None,
    cosimulate: Annotated[
        bool, typer.Option("--cosim", help="Run the mapping on the hardware and compare it with the simulator.")
    ] = False,
    simulator: VerilogSimulator = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Write the Verilog of an array into a folder; for a mapping also its configuration bits."""
    from gridloom.archs.model import Arch
    from gridloom.flow.confirmation import find_faults
    from gridloom.flow.files import load_any
    from gridloom.flow.options import parse_settings
    from gridloom.hardware.parameters import parse_parameters
    from gridloom.mapping.model import Mapping

    check_folder(output, "-o")
    chosen = parse_settings(settings or [])
    shown = load_any(what)
    arch = shown.arch if isinstance(shown, Mapping) else shown if isinstance(shown, Arch) else None
    parameters = parse_parameters(({} if arch is None else {"width": str(arch.word)}) | chosen)
    if isinstance(shown, Arch):
        if cosimulate or livein:
            raise OptionError("needs a mapping; an array alone computes nothing", where="--cosim, --livein")
        from gridloom.hardware.rtl.structure import Hardware

        record = _write_hardware(Hardware(shown, parameters), output)
    elif isinstance(shown, Mapping):
        refused = find_faults(shown)
        if refused:
            print(json.dumps({"status": "refused", "findings": refused}) if as_json else "\n".join(refused))
            return 1
        record = _write_mapping(shown, parameters, output, _numbers(livein or []), seed)
        if cosimulate:
            record |= _cosimulate(shown, parameters, _numbers(livein or []), seed, simulator)
    else:
        raise OptionError(f"{what!r} is a graph; expected an array or a mapping")
    print(json.dumps(record) if as_json else _describe(record, output))
    return int(bool(record.get("findings")))


def _numbers(pairs: list[str]) -> dict[str, int]:
    """The values of live-ins by name; decimal, ``0x`` and ``0b`` numbers are taken. OptionError for anything else."""
    from gridloom.flow.options import parse_settings

    numbers = {}
    for name, text in parse_settings(part for pair in pairs for part in pair.split(",")).items():
        try:
            numbers[name] = int(text, 0)
        except ValueError:
            raise OptionError(f"{name}: expected a whole number, found {text!r}", where="--livein") from None
    return numbers


def _write_hardware(hardware: Hardware, folder: Path) -> dict[str, Any]:
    """Write the Verilog of an array and return what the command prints about it.

    The folder is made where it is missing; files of the same names are replaced, others stay.
    """
    from gridloom.hardware.rtl.package import hardware_files

    files = hardware_files(hardware)
    folder.mkdir(parents=True, exist_ok=True)
    write_all({folder / name: text for name, text in files.items()})
    modules = sum(name.endswith(".v") for name in files)
    return {"status": "written", "array": hardware.arch.name, "tiles": len(hardware.arch.tiles), "modules": modules,
            "width": hardware.width, "simd_lanes": hardware.simd_lanes, "files": sorted(files)}  # fmt: skip


def _write_mapping(
    mapping: Mapping, parameters: Any, folder: Path, liveins: dict[str, int], seed: int
) -> dict[str, Any]:
    """Write hardware and configuration bits of a mapping and return what the command prints about them.

    A Makefile runs the testbench on the random stimulus of the folder ``run``. Live-ins without a value are 0 in the
    bits. OptionError for a live-in that the graph does not have.
    """
    from gridloom.flow.hardware import bench_files
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.rtl.package import MAKEFILE, bit_files
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.mapping.configuration import configure

    configuration = configure(mapping)
    names = mapping.dfg.liveins
    for name in liveins:
        if name not in names:
            known = ", ".join(names) or "none"
            raise OptionError(f"graph {mapping.dfg.name!r} has no live-in {name!r}; it has: {known}", where="--livein")
    hardware = Hardware(mapping.arch, fit_parameters(configuration, parameters))
    bits = bit_files(hardware, configuration, liveins)
    run = {f"run/{name}": text for name, text in bench_files(mapping, hardware, seed=seed, liveins=liveins).items()}
    record = _write_hardware(hardware, folder)
    (folder / "run").mkdir(exist_ok=True)
    texts = {**bits.texts, "Makefile": MAKEFILE, **run}
    write_all({folder / name: text for name, text in texts.items()})
    (folder / "config.bin").write_bytes(bits.binary)
    files = sorted([*record["files"], *texts, "config.bin"])
    size = {"bits": bits.size.bits, "capacity": bits.size.capacity, "packets": bits.size.packets}
    return {**record, "files": files, "configuration": size, "unset_liveins": [n for n in names if n not in liveins]}


def _cosimulate(
    mapping: Mapping, parameters: Any, liveins: dict[str, int], seed: int, simulator: str | None
) -> dict[str, Any]:
    """Run a mapping on its hardware and on the simulator; returns where they differ, and on which values they ran.

    Live-ins that are not given are random: those of the bits are 0, with which a filter puts out nothing but 0. The
    hardware is the Verilog that was written, run by a Verilog simulator, which has to be installed.
    """
    from gridloom.flow.hardware import cosimulate_mapping
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.cosimulation import Bench, parse_simulator
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.mapping.configuration import configure

    hardware = Hardware(mapping.arch, fit_parameters(configure(mapping), parameters))
    bench = Bench(hardware, simulator=parse_simulator(simulator or "icarus"))
    outcome = cosimulate_mapping(mapping, bench=bench, liveins=liveins, seed=seed)
    counts = ", ".join(map(str, outcome.trip_counts))
    note(f"co-simulated runs of {counts} iterations, {outcome.cycles} cycles")
    ran = {"trip_counts": list(outcome.trip_counts), "cycles": outcome.cycles, "seed": outcome.seed,
           "random_liveins": list(outcome.random_liveins)}  # fmt: skip
    return {"findings": list(outcome.findings), "cosimulation": ran}


def _describe(record: dict[str, Any], folder: Path) -> str:
    """What was written, in a few lines: the size of the hardware, of the configuration, and what the comparison
    found.
    """
    from gridloom.hardware.parameters import words_text

    words = words_text(record["width"], record["simd_lanes"])
    lines = [f"{record['array']}: {record['tiles']} tiles, {words}, {record['modules']} modules in {folder}"]
    if "configuration" in record:
        size = record["configuration"]
        lines.append(
            f"configuration: {size['bits']} bits in {size['packets']} packets ({size['capacity']} bits in all)"
        )
        if record["unset_liveins"]:
            lines.append(f"live-ins set to 0 in the bits: {', '.join(record['unset_liveins'])}")
    if "findings" in record:
        # In words of the full width the simulator itself is the reference; narrower ones are compared with their own.
        whole = record["width"] in (32, 25)
        agree = "hardware and simulator agree" if whole else f"hardware agrees in words of {record['width']} bits"
        lines += record["findings"] or [f"{agree}, {_values(record['cosimulation'])}"]
    return "\n".join(lines)


def _values(cosimulation: dict[str, Any]) -> str:
    """On which values a co-simulation ran, in words."""
    drawn = len(cosimulation["random_liveins"])
    what = f"streams, memories and {drawn} live-in{'s' * (drawn > 1)}" if drawn else "streams and memories"
    return f"on random {what} (seed {cosimulation['seed']})"
