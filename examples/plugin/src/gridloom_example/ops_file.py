"""The reader of ``*.ops`` files: one operation in a line.

    input x
    before = delay x 1        the value of x one iteration ago
    sum = add x before
    output sum

An operand is a name or a whole number. Words after ``#`` are a comment.
"""

from __future__ import annotations

from pathlib import Path

from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import DfgError, SourceError
from gridloom.text_file import read_text


def read(path: Path) -> Dfg:
    """The graph of a file; SourceError names the line that is wrong."""
    builder = DfgBuilder(path.stem)
    #: Name -> the node that has the value, and how many iterations ago.
    known: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.partition("#")[0].split()
        try:
            _read_line(words, builder, known)
        except (DfgError, ValueError) as error:
            raise SourceError(str(error), where=f"{path}:{number}") from None
    try:
        return builder.build()
    except DfgError as error:
        raise SourceError(str(error), where=str(path)) from None


def _read_line(words: list[str], builder: DfgBuilder, known: dict[str, tuple[str, int]]) -> None:
    """Add what one line says to the graph; ValueError for a line that says something else."""
    match words:
        case []:
            return
        case ["input", name]:
            _define(name, (builder.input(name), 0), known)
        case ["output", name]:
            _add("output", [name], builder, known, id=f"{name}_out", variable=name)
        case [name, "=", "delay", source, count] if count.isdecimal():
            node, before = _value(source, builder, known)
            _define(name, (node, before + int(count)), known)
        case [name, "=", op, *operands] if operands:
            _define(name, (_add(op, operands, builder, known, id=name), 0), known)
        case _:
            raise ValueError(f"expected input NAME, NAME = OP OPERAND ... or output NAME, found {' '.join(words)!r}")


def _define(name: str, value: tuple[str, int], known: dict[str, tuple[str, int]]) -> None:
    if name in known:
        raise ValueError(f"{name!r} is defined twice")
    known[name] = value


def _value(word: str, builder: DfgBuilder, known: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """The node of an operand, and how many iterations ago its value was made."""
    if word.lstrip("-").isdecimal():
        return builder.const(int(word)), 0
    if word not in known:
        raise ValueError(f"{word!r} is not defined above")
    return known[word]


def _add(op: str, words: list[str], builder: DfgBuilder, known: dict[str, tuple[str, int]], **attributes: str) -> str:
    """Add a node with its operands; values of earlier iterations are 0 before the first."""
    operands = [_value(word, builder, known) for word in words]
    node = builder.add(op, **attributes)
    for k, (source, distance) in enumerate(operands):
        builder.carry(source, node, operand=k, distance=distance, initial=[0] * distance)
    return node
