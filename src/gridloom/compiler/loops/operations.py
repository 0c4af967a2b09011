"""Operations and operands of a loop body before it is a graph: plain records that all front ends share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gridloom.dfg.checks import MAX_DISTANCE


@dataclass(frozen=True, slots=True)
class Const:
    """A 32-bit constant, signed.

    A float is the bit pattern of a single.
    """

    value: int


@dataclass(frozen=True, slots=True)
class LiveIn:
    """A scalar that is the same in every iteration."""

    name: str


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation of this iteration yields.

    ``id`` is the name of the operation in its :class:`Body`.
    """

    id: str


@dataclass(frozen=True, slots=True)
class CarriedValue:
    """What the carried value of that name is in this iteration: its initial value, or what came before."""

    name: str


Operand = Const | LiveIn | OperationResult | CarriedValue

TRUE: Final = Const(1)
FALSE: Final = Const(0)


@dataclass(slots=True)
class LoopOperation:
    """A node to be."""

    op: str
    operands: tuple[Operand, ...]
    array: str | None = None
    #: The stream of an input or output.
    variable: str | None = None
    line: int = 0


@dataclass(slots=True)
class Recurrence:
    """A carried value: what it starts from (a number, or the name of a live-in) and what an iteration leaves."""

    initial: int | str
    next: Operand | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """An order between two memory accesses."""

    source: str
    target: str
    distance: int
    delay: int


def order(source: str, target: str, distance: int, source_stores: bool) -> Order:
    """The order from one access to another; a store may follow a load in the same cycle, nothing else may."""
    return Order(source, target, min(distance, MAX_DISTANCE), 1 if source_stores else 0)


def readable(name: str) -> str:
    """A C-like name of an SSA value: ``i.022`` is ``i``, ``arrayidx5`` stays, a number gets a letter.

    >>> readable("i.022"), readable("17"), readable("s.0.lcssa")
    ('i', 't17', 's')
    """
    stem = re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"\.\d.*$|\.(?:lcssa|next|not|i|addr).*$", "", name))
    return f"t{stem}" if not stem or stem[0].isdigit() else stem
