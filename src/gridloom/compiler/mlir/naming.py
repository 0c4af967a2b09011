"""Names for LLVM IR that came from MLIR: those of the source, where MLIR's passes left numbers.

Parameters get their names from the signature, values from the text that their location points at. Clang keeps names,
so that graphs, arrays and listings speak of ``A`` and ``i``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gridloom.compiler.ir.metadata import Metadata
from gridloom.compiler.mlir.source_text import value_name
from gridloom.errors import MissingExtra, SourceError, install_hint

_SPECIAL_PATTERNS: Final = {
    "+inf": "0x7FF0000000000000", "-inf": "0xFFF0000000000000",
    "+qnan": "0x7FF8000000000000", "-qnan": "0xFFF8000000000000",
}  # fmt: skip
#: One of these is in each line with a number that older versions of LLVM do not take as it is written.
_SIGNS: Final = ("e+", "e-", "f0x", "inf", "qnan")


def name_values(text: str, source: str, parameters: Mapping[str, Sequence[str]], where: str) -> str:
    """The IR text with names: of each function's parameters, and of values by where they stand in the source."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise MissingExtra(f"MLIR sources need llvmlite: {install_hint('c')}") from None
    text = _exact_singles(text)
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0]
        raise SourceError(f"the IR that MLIR's passes give cannot be read: {first}", where=where) from None
    places = {number: (record.number("line") or 0, record.number("column") or 0)
              for number, record in Metadata(text).of_kind("!DILocation")}  # fmt: skip
    lines = source.splitlines()
    for function in module.functions:
        if function.is_declaration:
            continue
        for argument, name in zip(function.arguments, parameters.get(function.name, ())):
            argument.name = name
        attached = _attached(function)
        for block in function.blocks:
            _name_values(block, attached, places, lines)
    return str(module)


def _exact_singles(text: str) -> str:
    """The text with singles as patterns: LLVM up to 22 takes a decimal only where it is exact.

    All decimals of such a module are singles, since doubles are refused before.
    """
    rows = text.split("\n")
    for k, row in enumerate(rows):
        if any(sign in row for sign in _SIGNS):
            rows[k] = " ".join(map(_exact_word, row.split(" ")))
    return "\n".join(rows)


def _exact_word(word: str) -> str:
    """A word of a line, with a pattern where it is a single, in brackets or not."""
    number = word.strip("()[]{}<>,")
    if number in _SPECIAL_PATTERNS:
        return word.replace(number, _SPECIAL_PATTERNS[number])
    if number.startswith("f0x") and len(number) == 11:
        return word.replace(number, _pattern(struct.unpack(">f", bytes.fromhex(number[3:]))[0]))
    digits, exponent, _ = number.partition("e")
    if exponent and digits.removeprefix("-").replace(".", "", 1).isdecimal():
        return word.replace(number, _pattern(struct.unpack("<f", struct.pack("<f", float(number)))[0]))
    return word


def _pattern(number: float) -> str:
    """A number as LLVM writes it whatever its version: the pattern of a double."""
    return f"0x{struct.pack('>d', number).hex().upper()}"


def _attached(function: Any) -> Iterator[int | None]:
    """The number of each instruction's location, in their order; None: it has none.

    The text of a function is written once: to write a single instruction, LLVM numbers all values of the function.
    """
    for line in str(function).splitlines():
        # The further lines of a switch stand deeper or begin with a bracket.
        if line.startswith("  ") and line[2:3] not in (" ", "]"):
            number = line.rpartition("!dbg !")[2]
            yield int(number) if number.isdecimal() else None


def _name_values(
    block: Any, attached: Iterator[int | None], places: Mapping[int, tuple[int, int]], lines: list[str]
) -> None:
    """Name the last value of each op of the source; the ones before it compute its address."""
    last: dict[str, Any] = {}
    for item in block.instructions:
        number = next(attached, None)
        place = places.get(number) if number is not None else None
        if place and str(item.type) != "void" and (name := value_name(lines, *place)):
            last[name] = item
    for name, item in last.items():
        item.name = name
