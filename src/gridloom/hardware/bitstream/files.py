"""Files of configuration bits, and their contents in words.

A hex file has one packet of 64 bits per line and is read by ``$readmemh``; its first line, a comment, holds the header.
A binary file has the eight bytes ``GLBITS01``, the length of the header (4 bytes), the header, and eight bytes for each
packet; numbers have their highest byte first. The header is JSON: array, fingerprint, hardware parameters.

The fingerprint is that of the array's description: :func:`load_bits` refuses bits of an array that has changed since,
because every field might be elsewhere. The disassembler goes the way back from packets to words for people; it needs
nothing but the file and the array, so it shows what the hardware is really set to, not what the mapping meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gridloom.archs.model import Arch
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import MappingError, OptionError, SourceError
from gridloom.hardware.bitstream.packets import Packet, UnitFields, unpack
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.shapes import Unit
from gridloom.hardware.rtl.structure import Hardware
from gridloom.text_file import read_bytes

FORMAT = "gridloom-bits"
VERSION = 1
MAGIC = b"GLBITS01"

_SOURCES = ("routed", "immediate", "stream")
_ACCESSES = ("none", "load", "store", "store_if")


def header(hardware: Hardware, count: int) -> dict[str, Any]:
    """Return the header of a file: for which array and which parameters its packets are, and how many there are."""
    return {
        "format": FORMAT, "version": VERSION, "array": hardware.arch.name, "fingerprint": hardware.arch.fingerprint,
        "parameters": hardware.parameters.to_json(), "packets": count,
    }  # fmt: skip


def to_hex(hardware: Hardware, packets: Sequence[Packet]) -> str:
    """Return the text of a hex file."""
    first = "// " + json.dumps(header(hardware, len(packets)), sort_keys=True)
    return "\n".join([first, *(f"{packet.to_int():016x}" for packet in packets), ""])


def to_binary(hardware: Hardware, packets: Sequence[Packet]) -> bytes:
    """Return the bytes of a binary file."""
    # Sorted keys make the file the same byte by byte for the same bits.
    head = json.dumps(header(hardware, len(packets)), sort_keys=True).encode()
    body = b"".join(packet.to_int().to_bytes(8, "big") for packet in packets)
    return MAGIC + len(head).to_bytes(4, "big") + head + body


def read_bits(data: bytes, where: str = "bits") -> tuple[dict[str, Any], list[Packet]]:
    """Return header and packets of a hex or binary file; MappingError says what is wrong with one that is neither.

    The packets are not checked against an array: ``packets.unpack`` does that.
    """
    if data.startswith(MAGIC):
        return _read_binary(data, where)
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise MappingError(f"expected {FORMAT} in hex or binary, found other bytes", where=where) from None
    if not lines or not lines[0].startswith("// {"):
        raise MappingError(f"line 1: expected a comment with the header of {FORMAT}", where=where)
    packets = []
    for number, line in enumerate(lines[1:], 2):
        text = line.partition("//")[0].strip()
        if not text:
            continue
        if len(text) != 16 or any(letter not in "0123456789abcdefABCDEF" for letter in text):
            raise MappingError(f"line {number}: expected 16 hexadecimal digits, found {text[:40]!r}", where=where)
        packets.append(Packet.from_int(int(text, 16)))
    return _checked(lines[0][3:], packets, where)


def _read_binary(data: bytes, where: str) -> tuple[dict[str, Any], list[Packet]]:
    """Header and packets of a binary file; MappingError where its length does not fit."""
    start = len(MAGIC) + 4
    end = start + int.from_bytes(data[len(MAGIC) : start], "big")
    body = data[end:]
    if len(data) < end or len(body) % 8:
        raise MappingError(f"expected a header and packets of 8 bytes, found {len(data)} bytes in all", where=where)
    packets = [Packet.from_int(int.from_bytes(body[k : k + 8], "big")) for k in range(0, len(body), 8)]
    return _checked(data[start:end].decode("utf-8", "replace"), packets, where)


def _checked(text: str, packets: list[Packet], where: str) -> tuple[dict[str, Any], list[Packet]]:
    """The parsed header with the packets; MappingError where the header is not one of ours or counts others."""
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        raise MappingError("the header is not JSON", where=where) from None
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
        raise MappingError(f"expected format {FORMAT!r} version {VERSION} in the header", where=where)
    if head.get("packets") != len(packets):
        raise MappingError(f"the header says {head.get('packets')!r} packets, found {len(packets)}", where=where)
    return head, packets


def load_bits(path: Path, arch: Arch) -> tuple[Hardware, list[Packet]]:
    """Return the hardware that the packets of a file are for, and the packets.

    OptionError when the file cannot be read, MappingError when its bits are for another array.

    The hardware is built again from the parameters in the header, so it has the layout that the bits were made for.
    """
    try:
        data = read_bytes(path)
    except SourceError as error:
        raise OptionError(error.message, where=error.where) from None
    head, packets = read_bits(data, str(path))
    if head.get("fingerprint") != arch.fingerprint:
        raise MappingError(
            f"the bits are for array {head.get('array')!r}, not for {arch.name!r} as described now", where=str(path)
        )
    parameters = head.get("parameters")
    if not isinstance(parameters, dict):
        raise MappingError("the header has no hardware parameters", where=str(path))
    return Hardware(arch, HardwareParameters.from_json(parameters, str(path))), packets


# -- in words ---------------------------------------------------------------------------------------------------------


def disassemble(hardware: Hardware, packets: Sequence[Packet]) -> str:
    """Return what packets set as a text for people: unit by unit, slot by slot, only what is in use.

    A slot is shown where one of its numbers is not 0. MappingError for a packet that no unit of the array takes. Linear
    in the packets.
    """
    fields = unpack(hardware, packets)
    lines = [f"array {hardware.arch.name}, II {fields.ii}, {len(packets)} packets"]
    if fields.settings:
        lines.append("settings " + "".join(map(str, fields.settings)))
    for unit in hardware.units:
        if unit.name in fields.units:
            lines += _unit_lines(hardware, unit, fields.units[unit.name])
    return "\n".join(lines) + "\n"


def _unit_lines(hardware: Hardware, unit: Unit, record: UnitFields) -> list[str]:
    """What a unit is set to in words: its slots, values, registers and setting; nothing where all is 0."""
    lines = []
    for slot in sorted(record.contexts):
        numbers = record.contexts[slot]
        if numbers:
            lines += [f"  slot {slot}: {_issue(hardware, unit, numbers)}", *_wire_lines(hardware, unit, numbers)]
    if record.values:
        lines.append("  values " + " ".join(str(value) for _, value in sorted(record.values.items())))
    for k, value in sorted(record.registers.items()):
        lines.append(f"  r{k} = {value} before the first cycle")
    if record.setting:
        lines.append(f"  {'value' if unit.shape.kind == 'const' else 'rotating'} {record.setting}")
    return [unit.name, *lines] if lines else []


def _issue(hardware: Hardware, unit: Unit, numbers: dict[str, int]) -> str:
    """What a slot issues, in words."""
    if not numbers.get("valid"):
        return "nothing issues"
    base = OP_TABLE[hardware.domain]["const"].code
    names = {op.code - base: name for name, op in OP_TABLE[hardware.domain].items()}
    access = numbers.get("access", 0)
    spilled = "spill " if numbers.get("spill") else ""
    op = spilled + _ACCESSES[access] if access else names.get(numbers.get("opcode", 0), "unknown op")
    words = [op, f"from round {numbers.get('start', 0)}" if not numbers.get("always") else "in every round"]
    if access:
        words.append(f"at word {numbers.get('address', 0)}")
    for k in range(max(1, unit.shape.operands)):
        words += _operand(numbers, k)
    words += [word for word in ("write", "emit") if numbers.get(word)]
    return ", ".join(words)


def _operand(numbers: dict[str, int], k: int) -> list[str]:
    """Where an operand comes from, in words; nothing for a routed one that does not wait."""
    source, count = numbers.get(f"in{k}.source", 0), numbers.get(f"in{k}.count", 0)
    base, tap = numbers.get(f"in{k}.base", 0), numbers.get(f"in{k}.tap", 0)
    parts = []
    if source:
        name = _SOURCES[source] if source < len(_SOURCES) else f"source {source}"
        parts.append(f"{name} {base + count}" if source == 1 else name)
    if tap:
        parts.append(f"{tap} cycles late")
    if count:
        parts.append(f"values {base} to {base + count - 1} first")
    return [f"in{k} {' '.join(parts)}"] if parts else []


def _wire_lines(hardware: Hardware, unit: Unit, numbers: dict[str, int]) -> list[str]:
    """Each wire with the resource it selects, and each register that is written. Wires at rest are left out."""
    names = hardware.arch.resource_names
    lines = []
    for mux, wire, arcs in zip(unit.shape.muxes, unit.wires, unit.arcs):
        number = numbers.get(f"{mux.name}.select", 0) - mux.idle
        if not mux.idle and number == 0:
            continue
        if 0 <= number < len(arcs):
            resource, late, gate = arcs[number]
            wait = f" {late} late" if late else ""
            lines.append(f"    {names[wire]} <- {names[resource]}{wait}{' through a gate' if gate >= 0 else ''}")
    for name in sorted(name for name in numbers if name.endswith(".write")):
        register, writer = name.partition(".")[0], numbers[name]
        if unit.write_ports:
            lines.append(f"    {register} <- {_port(hardware, unit, writer - 1, numbers)}")
            continue
        origin = unit.name
        if unit.shape.kind == "file":
            origin = hardware.arch.tiles[unit.inputs[writer - 1]].name
        lines.append(f"    {register} <- result of {origin}")
    return lines


def _port(hardware: Hardware, unit: Unit, port: int, numbers: Mapping[str, int]) -> str:
    """What a write port brings to a register, in words."""
    resource, *wires = unit.write_ports[port]
    chosen, names = numbers.get(f"w{port}.select", 0), hardware.arch.resource_names
    origins = [f"result of {hardware.arch.tiles[t].name}" for t in unit.inputs if unit.shape.kind == "file"]
    origins = [*(origins or [f"result of {unit.name}"]), *(names[r] for r in wires)]
    return f"{names[resource]} <- {origins[chosen]}"
