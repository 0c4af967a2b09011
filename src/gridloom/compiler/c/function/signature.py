"""What a C function takes and returns, as its source says it: names, element types, row lengths, signs.

LLVM's own types have no signs and its pointers no elements, so the file is compiled once more without optimisation and
with debug information, in which the types of the source stand. Nothing else of that compilation is used.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from gridloom.compiler.ir.c_source import CSource, CUnit, source_of
from gridloom.compiler.ir.driver import (
    MAX_IR_BYTES,
    MAX_MEMORY,
    SEMANTICS,
    TIME_LIMIT,
    CompilerLimits,
    find_compiler,
    run_compiler,
)
from gridloom.compiler.ir.metadata import Metadata, reference
from gridloom.errors import SourceError

_FLAGS: Final = ("-O0", "-g", "-S", "-emit-llvm", "-fno-discard-value-names", "-w")
_ENCODINGS: Final = {
    "DW_ATE_signed": "i", "DW_ATE_signed_char": "i", "DW_ATE_unsigned": "u", "DW_ATE_unsigned_char": "u",
    "DW_ATE_boolean": "u", "DW_ATE_float": "f",
}  # fmt: skip
_QUALIFIERS: Final = (
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_atomic_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CType:
    """A type of the source as far as data need it.

    ``scalar`` is NumPy's name of a number (``int16``), of the elements where ``pointer`` is set; "" for structs and
    others. ``rows`` are the lengths of the dimensions after the first, of ``int a[][8]``: (8,).
    """

    text: str
    scalar: str = ""
    pointer: bool = False
    #: The function writes through no pointer to const.
    constant: bool = False
    rows: tuple[int, ...] = ()
    #: Bytes of the value, or of what the pointer leads to.
    bytes: int = 0

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The data type of the number or of the elements; bytes where the source's type is no number."""
        return np.dtype(self.scalar or "uint8")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionParameter:
    """A parameter of the function."""

    name: str
    type: CType


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function as C declares it. ``result`` is None for void."""

    name: str
    parameters: tuple[FunctionParameter, ...]
    result: CType | None
    #: Variables of the file that are no constants: name -> their type (of the elements, for arrays).
    variables: dict[str, CType]


def read_signature(source: Path | CSource, function: str) -> Signature:
    """The signature of a function of a C program; SourceError where it has none of that name.

    Runs clang once for each file.
    """
    program = source_of(source)
    texts = [_debug_ir(unit) for unit in program.units]
    found = [text for text in texts if f'!DISubprogram(name: "{function}",' in text]
    made = parse_signature("\n".join(found[:1] or texts[:1]), function, str(program.path))
    if len(texts) == 1:
        return made
    variables: dict[str, CType] = {}
    for text in texts:
        variables |= _Types.of(text).variables()
    return replace(made, variables=variables)


def _debug_ir(unit: CUnit) -> str:
    """A file's IR with debug information."""
    compiler, path = find_compiler(), unit.path
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        output = Path(folder) / "types.ll"
        words = [*compiler.command, *compiler.target, *SEMANTICS, *unit.words, *_FLAGS]
        words += ["-o", str(output), str(path.resolve())]
        run_compiler(words, Path(folder), path, TIME_LIMIT, limits=CompilerLimits(MAX_MEMORY, MAX_IR_BYTES))
        return output.read_text(encoding="utf-8", errors="replace") if output.is_file() else ""


def parse_signature(text: str, function: str, where: str) -> Signature:
    """The signature that debug information gives a function."""
    types = _Types.of(text)
    defined = {record.text("name"): number for number, record in types.records.of_kind("!DISubprogram")
               if "DISPFlagDefinition" in record.fields.get("spFlags", "")}  # fmt: skip
    program = defined.get(function)
    if program is None:
        raise SourceError(f"has no function {function!r}; it has: {', '.join(defined) or 'none'}", where=where)
    kinds = types.members(types.records[program].reference("type"), "types")
    result = types.read(kinds[0]) if kinds and kinds[0] is not None else None
    found: dict[int, FunctionParameter] = {}
    for _, record in types.records.of_kind("!DILocalVariable"):
        position = record.number("arg")
        if record.reference("scope") == program and position is not None:
            name = record.text("name") or f"arg{position}"
            found[position] = FunctionParameter(name=name, type=types.read(record.reference("type")))
    parameters = tuple(found[k] for k in sorted(found))
    return Signature(name=function, parameters=parameters, result=result, variables=types.variables())


class _Types:
    """The types of a module's debug information."""

    def __init__(self, records: Metadata) -> None:
        self.records = records

    @classmethod
    def of(cls, text: str) -> _Types:
        """The types of a module's text."""
        return cls(Metadata(text))

    def members(self, number: int | None, name: str) -> list[int | None]:
        """The records of a list that a field names; None for ``null``."""
        return [reference(item) for item in self.records[self.records[number].reference(name)].items]

    def read(self, number: int | None) -> CType:
        """The type of a record."""
        record = self.records[number]
        tag, name = record.fields.get("tag", ""), record.text("name")
        if tag in _QUALIFIERS:
            inner = self.read(record.reference("baseType"))
            text = name if name and tag == "DW_TAG_typedef" and not inner.pointer else inner.text
            return replace(inner, text=text, constant=inner.constant or tag == "DW_TAG_const_type")
        if tag == "DW_TAG_pointer_type":
            inner = self.read(record.reference("baseType"))
            if inner.pointer:
                return CType(text=f"{inner.text}*", pointer=True, bytes=4)
            return replace(inner, text=f"{inner.text} *", pointer=True)
        if tag == "DW_TAG_array_type":
            inner = self.read(record.reference("baseType"))
            counts = [self.records[m].number("count") or 0 for m in self.members(number, "elements")]
            total = inner.bytes
            for count in counts:
                total *= max(count, 0)
            return replace(inner, rows=(*counts, *inner.rows), bytes=total)
        if tag == "DW_TAG_enumeration_type":
            return CType(text="enum", scalar="uint32", bytes=4)
        bytes_ = (record.number("size") or 0) // 8
        kind = _ENCODINGS.get(record.fields.get("encoding", ""))
        scalar = np.dtype(f"{kind}{bytes_}").name if kind and bytes_ in (1, 2, 4, 8) else ""
        struct = f"struct {name}" if name and not scalar else "struct"
        return CType(text=name if name and scalar else struct, scalar=scalar, bytes=bytes_)

    def variables(self) -> dict[str, CType]:
        """The file's variables by name."""
        return {
            record.text("name"): self.read(record.reference("type"))
            for _, record in self.records.of_kind("!DIGlobalVariable")
            if record.text("name") and "type" in record.fields and record.fields.get("isDefinition") == "true"
        }
