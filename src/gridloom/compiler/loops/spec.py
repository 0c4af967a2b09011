"""A loop of a file as a text names it: ``FILE.c:FUNCTION,key=value,...`` and ``FILE.py:FUNCTION,key=value,...``.

One spelling for the command line's SOURCE, for suites and for the command that a report repeats. What is not a part of
a C or Python file (another format, a built-in kernel) takes none of these options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from gridloom.compiler.ir.c_source import PLAIN, SourceOptions
from gridloom.compiler.loops.source_name import SourceName, split
from gridloom.errors import OptionError
from gridloom.text_file import shown

Memory = Literal["arrays", "streams"]

#: Copies of a body that one iteration may have.
MAX_UNROLL: Final = 64
#: Iterations of an outer loop that may run side by side.
MAX_JAM: Final = 16
#: As many copies as suit the array.
AUTO: Final = 0

_RANGE: Final = re.compile(r"(-?[0-9]{1,10})\.\.(-?[0-9]{1,10})")
_FLAGS: Final = {"true": True, "false": False}
_KEYS: Final = {
    "c": f"loop=N, flatten=true|false, unroll=1..{MAX_UNROLL}|auto, jam=1..{MAX_JAM}, interchange=true|false, "
    "reduced=true|false, distinct=true|false, memory=arrays|streams, "
    "size.ARRAY=N or range.NAME=LOW..HIGH",
    "mlir": f"loop=N, flatten=true|false, unroll=1..{MAX_UNROLL}|auto, jam=1..{MAX_JAM}, interchange=true|false, "
    "reduced=true|false, distinct=true|false, memory=arrays|streams, "
    "f64=f32, size.ARRAY=N or range.NAME=LOW..HIGH",
    "py": f"unroll=1..{MAX_UNROLL}|auto, reduced=true|false, memory=arrays|streams, size.ARRAY=N or "
    "range.NAME=LOW..HIGH",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSpec:
    """Which loop of which file, and how it is turned into a graph.

    ``loop`` and ``flatten`` are for C files only; a Python kernel has one loop.
    """

    path: Path
    function: str | None = None
    loop: int | None = None
    flatten: bool = False
    #: Copies of the body in one iteration, or AUTO.
    unroll: int = 1
    #: Iterations of the loop around that run side by side.
    jam: int = 1
    #: Exchange the loop with the one around it, which then runs inside.
    interchange: bool = False
    #: Whether the loop does less work in each iteration than is written; None: as suits the array.
    reduced: bool | None = None
    #: None: as the array needs it.
    memory: Memory | None = None
    #: Words of arrays, by name.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: What the user assumes of values: name of a stream, array, live-in or node -> the least and the greatest number.
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: Read every f64 of an MLIR file as f32.
    singles: bool = False
    #: Arrays of different parameters do not overlap.
    distinct: bool = False
    #: What the command line says about how a C file is compiled.
    options: SourceOptions = PLAIN


def is_loop(text: str | SourceName) -> bool:
    """True for a text that names a C or Python file, or a part of one."""
    return bool(split(text).ending)


def is_part(text: str | SourceName) -> bool:
    """True for a text that names a part of a file: ``fir.c:dot,unroll=2``, ``kernels.py:fir``."""
    return split(text).rest is not None and is_loop(text)


def parse(source: str | SourceName) -> LoopSpec:
    """The parts of a text. OptionError for an unknown key, a bad value, or a key that is given twice.

    >>> parse("fir.c:dot,unroll=2").function
    'dot'
    """
    name = split(source)
    text, kind = name.text, name.ending.removeprefix(".")
    if not kind:
        return LoopSpec(path=Path(text))
    parts = [part.strip() for part in (name.rest or "").split(",")]
    function = parts.pop(0) if parts[0] and "=" not in parts[0] else None
    if function is not None and not function.isidentifier():
        raise OptionError(f"{shown(text)}: {shown(function)} is no name of a function")
    given: dict[str, int | bool | str] = {}
    sizes: dict[str, int] = {}
    ranges: dict[str, tuple[int, int]] = {}
    for part in filter(None, parts):
        key, _, value = (word.strip() for word in part.partition("="))
        if key in given or f"{key}=" in {*(f"size.{name}=" for name in sizes), *(f"range.{name}=" for name in ranges)}:
            raise OptionError(f"{shown(text)}: {key} is given twice")
        if key.startswith("range.") and (limits := _limits(value)) is not None:
            ranges[key.removeprefix("range.")] = limits
            continue
        known = _value(key, value, kind)
        if known is None:
            raise OptionError(f"{shown(text)}: found {shown(part)}; expected {_KEYS[kind]}")
        if key.startswith("size."):
            sizes[key.removeprefix("size.")] = int(known)
        else:
            given["singles" if key == "f64" else key] = known
    return LoopSpec(path=name.path, function=function, sizes=sizes, ranges=ranges, options=name.options, **given)  # type: ignore[arg-type]


def _limits(value: str) -> tuple[int, int] | None:
    """The two numbers of a range; None where it is none.

    >>> _limits("-100..100"), _limits("7..3"), _limits("5")
    ((-100, 100), None, None)
    """
    match = _RANGE.fullmatch(value)
    low, high = (int(match[1]), int(match[2])) if match else (0, -1)
    return (low, high) if low <= high else None


def _value(key: str, value: str, kind: str) -> int | bool | str | None:
    """The value of a key; None where key or value is not taken."""
    count = int(value) if value.isascii() and value.isdigit() and len(value) <= 8 else None
    if key.startswith("size."):
        return count if count and key != "size." else None
    if key == "jam":
        return count if kind != "py" and count is not None and 1 <= count <= MAX_JAM else None
    if key == "reduced":
        return _FLAGS.get(value)
    if key == "unroll" and value == "auto":
        return AUTO
    if key == "unroll":
        return count if count is not None and 1 <= count <= MAX_UNROLL else None
    if key == "memory":
        return value if value in ("arrays", "streams") else None
    if kind == "mlir" and key == "f64":
        return True if value == "f32" else None
    if kind != "py" and key == "loop":
        return count
    return _FLAGS.get(value) if kind != "py" and key in ("flatten", "interchange", "distinct") else None


def with_options(
    text: str,
    *,
    function: str | None = None,
    loop: int | None = None,
    flatten: bool = False,
    unroll: int | str | None = None,
    sizes: Sequence[str] = (),
    ranges: Sequence[str] = (),
    distinct: bool = False,
) -> str:
    """The SOURCE that a text and the options of a command together stand for.

    >>> with_options("nest.c", function="f", flatten=True, sizes=["x=64"])
    'nest.c:f,flatten=true,size.x=64'
    """
    added = [f"loop={loop}"] if loop is not None else []
    added += ["flatten=true"] if flatten else []
    added += [f"unroll={unroll}"] if unroll is not None else []
    added += ["distinct=true"] if distinct else []
    for size in sizes:
        if "=" not in size:
            raise OptionError(f"expected ARRAY=WORDS, found {shown(size)}", where="--size")
        added.append(f"size.{size}")
    for limits in ranges:
        if "=" not in limits:
            raise OptionError(f"expected NAME=LOW..HIGH, found {shown(limits)}", where="--assume-range")
        added.append(f"range.{limits}")
    if function is None and not added:
        return text
    if not is_loop(text):
        options = "--function, --loop, --flatten, --unroll, --distinct, --size and --assume-range"
        raise OptionError(
            f"{shown(text)} takes none of {options}; they are for loops of *.c and *.mlir and kernels of *.py"
        )
    known = parse(text)
    if function is not None and known.function not in (None, function):
        raise OptionError(f"{shown(text)} names function {known.function!r} already", where="--function")
    file = str(known.path)
    before = [part for part in text.removeprefix(file).removeprefix(":").split(",") if part]
    if function is not None and known.function is None:
        before.insert(0, function)
    joined = f"{file}:{','.join([*before, *added])}"
    parse(joined)
    return joined
