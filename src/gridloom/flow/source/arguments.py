"""Random arguments for a function of the IR, and the memory that its pointers lead to.

Nobody says which numbers a function is made for. So several kinds of data are made up, from the wildest to the
tamest: an index that is read from an array has to be small, a factor may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.frontend.c.function.host import Host, global_key
from gridloom.frontend.c.function.memory import Memory
from gridloom.frontend.c.llvm.ir import Argument, Function, Global, Instruction, Value
from gridloom.frontend.c.llvm.layout import Layout

#: Bytes of an object that a pointer leads into, and where in it: an index may be negative.
_OBJECT: Final = 1 << 16
_AHEAD: Final = 1 << 12
_REALS: Final = {"float": np.float32, "double": np.float64}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of data: the largest number of an argument (0: any) and of an element (0: any of its type).

    With ``shared``, pointers that C lets overlap lead into one object, a few elements apart.
    """

    numbers: int
    elements: int
    shared: bool = False


KINDS: Final = (
    Kind(24, 0), Kind(40, 63), Kind(17, 0, shared=True), Kind(0, 0), Kind(9, 7), Kind(3, 1), Kind(64, 0), Kind(0, 63),
)  # fmt: skip


def draw(host: Host, function: Function, elements: Mapping[str, str], seed: int) -> Iterator[tuple[Memory, list[Any]]]:
    """Memories and arguments for a function, one of each kind.

    ``elements`` says by the name of a parameter what is loaded or stored through it: an LLVM type.
    """
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([seed, number])
        yield _drawn(host, function, elements, kind, rng)


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


def _bases(pointer: Value) -> Iterator[Argument | Global]:
    """The parameters and globals that a pointer may be counted from."""
    work, seen = [pointer], set()
    while work:
        value = work.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Argument | Global):
            yield value
        elif isinstance(value, Instruction) and value.opcode in ("getelementptr", "phi", "select", "freeze"):
            work += value.operands[:1] if value.opcode == "getelementptr" else value.operands


def _drawn(
    host: Host, function: Function, elements: Mapping[str, str], kind: Kind, rng: np.random.Generator
) -> tuple[Memory, list[Any]]:
    """A memory and the arguments of one kind."""
    objects: dict[str, bytes] = {}
    places: dict[str, tuple[str, int]] = {}
    for argument in function.arguments:
        if argument.type == "ptr":
            type_ = elements.get(argument.name, "i8")
            name = f"shared {type_}" if kind.shared and not argument.apart else argument.name
            if name not in objects:
                objects[name] = contents(type_, _OBJECT, kind.elements, rng)
            step = 8 * int(rng.integers(0, 4)) if name != argument.name else 0
            places[argument.name] = (name, min(_AHEAD, len(objects[name]) // 2) + step)
    memory = host.memory({**_variables(host, kind, rng), **objects})
    arguments = []
    for argument in function.arguments:
        if argument.type == "ptr":
            name, offset = places[argument.name]
            arguments.append(memory.objects[name].address + offset)
        else:
            arguments.append(_number(argument, kind.numbers, rng))
    return memory, arguments


def _variables(host: Host, kind: Kind, rng: np.random.Generator) -> dict[str, bytes]:
    """Random contents for the arrays among the file's variables that begin as zeros."""
    layout = Layout(host.module.structs)
    found = {}
    for name, variable in host.module.globals.items():
        array = re.fullmatch(r"(?:\[\d+ x )+([^\[\]]+)\]+", variable.contents_type)
        if array and not variable.constant and variable.initializer.startswith("zeroinitializer"):
            size = layout.size(variable.contents_type)
            found[global_key(name)] = contents(array[1], size, kind.elements, rng)[:size]
    return found


def contents(type_: str, size: int, largest: int, rng: np.random.Generator) -> bytes:
    """Bytes of elements of a type; half of them are small, so that comparisons see both sides."""
    if type_ in _REALS:
        return rng.normal(0.0, 4.0, size // 4).astype(_REALS[type_]).tobytes()[:size]
    bits = max(int(type_[1:]), 8) if re.fullmatch(r"i\d+", type_) else 8
    count = -(-size // (bits // 8))
    if type_ == "i1" or type_.startswith(("%", "{", "ptr")):
        largest = 1 if type_ == "i1" else largest
    half = 1 << (bits - 1)
    small = rng.integers(0, min(largest or 63, half - 1) + 1, count)
    wide = small if largest else rng.integers(-half, half, count, dtype=np.int64)
    return np.where(rng.random(count) < 0.5, small, wide).astype(f"<i{bits // 8}").tobytes()[:size]


def _number(argument: Argument, largest: int, rng: np.random.Generator) -> Any:
    """The value of an argument as the host has it: a single, a double, or an integer with its sign."""
    if argument.type in _REALS:
        return _REALS[argument.type](rng.normal(0.0, 4.0))
    bits = int(argument.type[1:])
    if bits == 1:
        return int(rng.integers(0, 2))
    half = 1 << (bits - 1)
    if not largest and rng.random() < 0.5:
        return int(rng.integers(-half, half, dtype=np.int64))
    return int(rng.integers(1, min(largest or 40, half - 1) + 1))
