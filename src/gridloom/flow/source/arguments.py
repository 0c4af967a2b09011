"""Random arguments for a function of the IR, and the memory that its pointers lead to.

Nobody says which numbers a function is made for. So several kinds of data are made up, from the wildest to the
tamest: an index that is read from an array has to be small, a factor may be anything. Some of the numbers are
constants of the function, so that its comparisons and the cases of its switches are met.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.host import Host, global_key
from gridloom.compiler.c.function.memory import Memory
from gridloom.compiler.ir.ir import Constant, Function, Global, Instruction, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout

#: Bytes of an object that a pointer leads into, and where in it: an index may be negative.
_OBJECT: Final = 1 << 16
_AHEAD: Final = 1 << 12
_LARGEST: Final = 1 << 20
_REALS: Final = {"float": np.float32, "double": np.float64}


@dataclass(frozen=True, slots=True)
class DataKind:
    """A kind of data: the largest number of an argument (0: any) and of an element (0: any of its type).

    With ``shared``, pointers that C lets overlap lead into one object, a few elements apart.
    """

    numbers: int
    elements: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class NumberSource:
    """Where numbers come from: a kind of data, a generator, and numbers that should be met."""

    kind: DataKind
    rng: np.random.Generator
    met: Sequence[int]

    def integers(self, bits: int, count: int, largest: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers of a width: small ones, any, and those to be met; up to ``largest`` unless that is 0."""
        half, rng = 1 << (bits - 1), self.rng
        small = rng.integers(0, min(largest or 63, half - 1) + 1, count)
        wide = small if largest else rng.integers(-half, half, count, dtype=np.int64)
        fitting = [n for n in self.met if (0 <= n <= largest if largest else -half <= n < 2 * half)]
        met = rng.choice(np.array(fitting or [0], dtype=np.int64), count)
        chosen = rng.random(count)
        return np.where(chosen < 0.3, met, np.where(chosen < 0.6, small, wide))


KINDS: Final = (
    DataKind(24, 0),
    DataKind(40, 63),
    DataKind(17, 0, shared=True),
    DataKind(0, 0),
    DataKind(9, 7),
    DataKind(3, 1),
    DataKind(64, 0),
    DataKind(0, 63),
)


def draw(host: Host, function: Function, extents: Mapping[str, int], seed: int) -> Iterator[tuple[Memory, list[Any]]]:
    """Memories and arguments for a function, one of each kind.

    ``extents`` says by the name of a parameter how many bytes behind it are accessed, where that is known.
    """
    elements, met = element_types(function), constants(function)
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([seed, number])
        yield _drawn(host, function, elements, extents, NumberSource(kind, rng, met))


def constants(function: Function) -> list[int]:
    """The numbers that a function computes and compares with, and their neighbours."""
    items = (item for block in function.blocks.values() for item in block.instructions)
    found = {o.value for item in items for o in item.operands if isinstance(o, Constant) and o.type != "float"}
    return sorted({number + k for number in found for k in (-1, 0, 1) if abs(number) < 1 << 62})


def element_types(function: Function) -> dict[str, str]:
    """Parameter or global -> the type of what is accessed through it, where its address says so plainly."""
    found: dict[str, str] = {}
    for block in function.blocks.values():
        for item in block.instructions:
            if item.opcode not in ("load", "store"):
                continue
            kind = item.type if item.opcode == "load" else item.operands[0].type
            for base in _bases(item.operands[-1]):
                found.setdefault(base.name, kind)
    return found


def _bases(pointer: Value) -> Iterator[IrParameter | Global]:
    """The parameters and globals that a pointer may be counted from."""
    work, seen = [pointer], set()
    while work:
        value = work.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, IrParameter | Global):
            yield value
        elif isinstance(value, Instruction) and value.opcode in ("getelementptr", "phi", "select", "freeze"):
            work += value.operands[:1] if value.opcode == "getelementptr" else value.operands


def _drawn(
    host: Host, function: Function, elements: Mapping[str, str], extents: Mapping[str, int], source: NumberSource
) -> tuple[Memory, list[Any]]:
    """A memory and the arguments of one kind."""
    kind, rng = source.kind, source.rng
    objects: dict[str, bytes] = {}
    places: dict[str, tuple[str, int]] = {}
    for argument in function.arguments:
        if argument.type == "ptr":
            type_ = elements.get(argument.name, "i8")
            name = f"shared {type_}" if kind.shared and not argument.apart else argument.name
            if name not in objects:
                size = min(max(_OBJECT, _AHEAD + extents.get(argument.name, 0)), _LARGEST)
                objects[name] = contents(type_, size, source)
            step = 8 * int(rng.integers(0, 4)) if name != argument.name else 0
            places[argument.name] = (name, min(_AHEAD, len(objects[name]) // 2) + step)
    memory = host.memory({**_variables(host, source), **objects})
    arguments = []
    for argument in function.arguments:
        if argument.type == "ptr":
            name, offset = places[argument.name]
            arguments.append(memory.objects[name].address + offset)
        else:
            arguments.append(_number(argument, source))
    return memory, arguments


def _variables(host: Host, source: NumberSource) -> dict[str, bytes]:
    """Random contents for the arrays among the file's variables that begin as zeros."""
    layout = DataLayout(host.module.structs)
    found = {}
    for name, variable in host.module.globals.items():
        array = re.fullmatch(r"(?:\[\d+ x )+([^\[\]]+)\]+", variable.contents_type)
        if array and not variable.constant and variable.initializer.startswith("zeroinitializer"):
            size = layout.size(variable.contents_type)
            found[global_key(name)] = contents(array[1], size, source)[:size]
    return found


def contents(type_: str, size: int, source: NumberSource) -> bytes:
    """Bytes of elements of a type."""
    if type_ in _REALS:
        return source.rng.normal(0.0, 4.0, size // 4).astype(_REALS[type_]).tobytes()[:size]
    bits = max(int(type_[1:]), 8) if re.fullmatch(r"i\d+", type_) else 8
    count = -(-size // (bits // 8))
    largest = 1 if type_ == "i1" else source.kind.elements
    return source.integers(bits, count, largest).astype(f"<i{bits // 8}").tobytes()[:size]


def _number(argument: IrParameter, source: NumberSource) -> Any:
    """The value of an argument as the host has it: a single, a double, or an integer with its sign."""
    if argument.type in _REALS:
        return _REALS[argument.type](source.rng.normal(0.0, 4.0))
    bits = int(argument.type[1:])
    if bits == 1:
        return int(source.rng.integers(0, 2))
    largest = source.kind.numbers
    if largest:
        return int(source.rng.integers(1, min(largest, (1 << (bits - 1)) - 1) + 1))
    number = int(source.integers(bits, 1, 0)[0])
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half
