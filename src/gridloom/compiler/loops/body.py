"""The loop body under construction: operations over operands, folded and shared, and in the end a Dfg.

An operand is a constant, a live-in, the result of an operation of this iteration, or a carried value: what an operation
yielded in the iteration before. Carried values are named before they are known, as a loop's phis are; they become
edges with a distance when the graph is built. Beside each operand stands the range it is known to lie in, which
spares extensions of 8- and 16-bit values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from gridloom.compiler.loops.folding import WORD, fold_constants, range_of, simplify_operation, wrap
from gridloom.compiler.loops.operations import (
    TRUE,
    CarriedValue,
    Const,
    LiveIn,
    LoopOperation,
    Operand,
    OperationResult,
    Order,
    Recurrence,
    readable,
)
from gridloom.compiler.loops.reassociate import shorten
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import SourceError

#: Pairs of accesses that a loop may have to keep in order.
MAX_ORDERS: Final = 200_000

_KEPT: Final = frozenset({"store", "store_if", "output"})
_COMMUTE: Final = frozenset(
    {"add", "mul", "and", "or", "xor", "eq", "ne", "min", "max", "umin", "umax", "fadd", "fmul"}
)


@dataclass
class Body:
    """Collects operations; :meth:`build` makes the Dfg of what stores, live-outs and kept operations need."""

    name: str
    operations: dict[str, LoopOperation] = field(default_factory=dict)
    carried: dict[str, Recurrence] = field(default_factory=dict)
    ranges: dict[Operand, tuple[int, int]] = field(default_factory=dict)
    arrays: dict[str, int] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    liveouts: dict[str, Operand] = field(default_factory=dict)
    #: Live-ins that whoever starts the loop computes from others: name -> its operation, over live-ins and constants.
    prologue: dict[str, LoopOperation] = field(default_factory=dict)
    #: Names that no operation may have: live-ins.
    reserved: set[str] = field(default_factory=set)
    #: The line of the source that operations are made for.
    line: int = 0
    _shared: dict[tuple[str, tuple[Operand, ...]], Operand] = field(default_factory=dict)

    # -- making operations ------------------------------------------------------------------------------------------

    def fresh(self, hint: str) -> str:
        """A node id that is free: the hint, or the hint with a number."""
        stem = readable(hint)
        name, k = stem, 1
        while name in self.operations or name in self.reserved:
            k += 1
            name = f"{stem}_{k}"
        return name

    def emit(self, op: str, *operands: Operand, hint: str = "") -> Operand:
        """The operand that holds ``op`` of the operands: folded, an operation made before, or a new one.

        ``hint`` is a wish for the name of a new node. Operations are pure here: loads, stores and streams are made by
        :meth:`access` and :meth:`stream`.
        """
        # Constants go to the right, so that equal operations are found however they were written.
        if op in _COMMUTE and isinstance(operands[0], Const):
            operands = (operands[1], operands[0], *operands[2:])
        constants = [operand.value if isinstance(operand, Const) else None for operand in operands]
        value = fold_constants(op, constants)
        if value is not None:
            return Const(value)
        kept = simplify_operation(op, constants, operands)
        if kept is not None:
            return operands[kept] if kept >= 0 else Const(-1 - kept)
        if op == "and" and self._is_masked(operands):
            return operands[0]
        key = (op, operands)
        if key not in self._shared:
            self._shared[key] = made = OperationResult(self.fresh(hint or op))
            self.operations[made.id] = LoopOperation(op, operands, line=self.line)
            self.ranges[made] = range_of(op, [self.range(operand) for operand in operands])
        return self._shared[key]

    def _is_masked(self, operands: tuple[Operand, ...]) -> bool:
        """True when a mask of low bits clears nothing."""
        low, high = self.range(operands[0])
        mask = operands[1].value if isinstance(operands[1], Const) else -1
        return mask > 0 and mask & (mask + 1) == 0 and low >= 0 and high <= mask

    def access(self, op: str, array: str, *operands: Operand, hint: str) -> OperationResult:
        """A load or a store: never shared."""
        made = OperationResult(self.fresh(hint))
        self.operations[made.id] = LoopOperation(op, operands, array, line=self.line)
        return made

    def stream(self, op: str, variable: str, *operands: Operand, hint: str) -> OperationResult:
        """An input or an output."""
        made = OperationResult(self.fresh(hint))
        self.operations[made.id] = LoopOperation(op, operands, variable=variable, line=self.line)
        return made

    def range(self, operand: Operand) -> tuple[int, int]:
        """The signed range that an operand is known to lie in."""
        if isinstance(operand, Const):
            return operand.value, operand.value
        return self.ranges.get(operand, WORD)

    def extend(self, operand: Operand, bits: int, signed: bool) -> Operand:
        """The operand with everything above its low ``bits`` set by its sign, or cleared.

        Costs nothing where the operand is known to lie in that range already, one op for 8 and 16 bits, two for any
        other signed width.
        """
        if bits >= 32:
            return operand
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        known = self.range(operand)
        if low <= known[0] and known[1] <= high:
            return operand
        if isinstance(operand, Const):
            value = operand.value & ((1 << bits) - 1)
            return Const(value - (1 << bits) if signed and value > high else value)
        if bits in (8, 16):
            return self.emit(f"{'s' if signed else 'z'}ext{bits}", operand)
        if not signed:
            return self.emit("and", operand, Const((1 << bits) - 1))
        up = self.emit("shl", operand, Const(32 - bits))
        return self.emit("shr", up, Const(32 - bits))

    def inverse(self, predicate: Operand) -> Operand:
        """The negation of a 0-or-1 value; a comparison becomes its opposite.

        A negation of a negation is what it was.
        """
        if isinstance(predicate, OperationResult):
            made = self.operations[predicate.id]
            # Singles are left out: where one is NaN, neither a comparison nor its opposite holds.
            opposite = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}.get(made.op)
            if opposite:
                return self.emit(opposite, *made.operands)
            if made.op in ("ult", "ule"):
                return self.emit("ule" if made.op == "ult" else "ult", made.operands[1], made.operands[0])
            if made.op == "xor" and made.operands[1] == TRUE:
                return made.operands[0]
        return self.emit("xor", predicate, TRUE)

    def select(self, condition: Operand, yes: Operand, no: Operand, hint: str = "") -> Operand:
        """``yes`` where the condition holds, else ``no``."""
        if isinstance(condition, OperationResult):
            made = self.operations[condition.id]
            if made.op == "xor" and made.operands[1] == TRUE and self.range(made.operands[0]) == (0, 1):
                return self.select(made.operands[0], no, yes, hint)
        return self.emit("select", condition, yes, no, hint=hint)

    def recur(self, name: str, initial: int | LiveIn) -> CarriedValue:
        """Announce a carried value; :attr:`carried` takes what the next iteration sees."""
        stem = free = readable(name)
        while free in self.carried:
            free = f"{stem}_{len(self.carried)}"
        self.carried[free] = Recurrence(initial.name if isinstance(initial, LiveIn) else wrap(initial))
        return CarriedValue(free)

    def started(self) -> Operand:
        """0 in the first iteration, 1 from then on."""
        flag = CarriedValue("started")
        if "started" not in self.carried:
            # The source of a carried edge is an operation, and a move of 1 is the cheapest that is never 0.
            self.operations["one"] = LoopOperation("move", (TRUE,))
            self.carried["started"] = Recurrence(0, OperationResult("one"))
            self.ranges[flag] = (0, 1)
        return flag

    # -- the graph --------------------------------------------------------------------------------------------------

    def lines(self) -> dict[str, int]:
        """Node -> the line of the source that it was made for, where that is known."""
        return {id_: made.line for id_, made in self.operations.items() if made.line}

    def copy(self) -> Body:
        """A body of its own with the same operations, so that a graph can be built in two ways."""
        return replace(
            self,
            operations={id_: replace(made) for id_, made in self.operations.items()},
            carried={name: replace(value) for name, value in self.carried.items()},
            ranges=dict(self.ranges), orders=list(self.orders), liveouts=dict(self.liveouts),
            prologue=dict(self.prologue), reserved=set(self.reserved), _shared=dict(self._shared),
        )  # fmt: skip

    def add_order(self, order: Order) -> None:
        """Add an order edge. SourceError for a loop with more than :data:`MAX_ORDERS`, which none has by intent."""
        if len(self.orders) >= MAX_ORDERS:
            raise SourceError(
                f"has more than {MAX_ORDERS:,} pairs of accesses to the same memory that have to stay in order; "
                "divide the loop"
            )
        self.orders.append(order)

    def build(self, notes: str = "") -> Dfg:
        """The Dfg. Operations that no store and no live-out needs are left out.

        Recurrences are shortened first (see :mod:`gridloom.compiler.loops.reassociate`). The body should not be changed
        afterwards. SourceError for a body that does nothing. Linear in operations and orders, but for the shortening.
        """
        # First, since it adds operations that have to be kept alive and named.
        shorten(self)
        self._pin_carried()
        names = self._name_liveouts()
        alive = self._alive(set(names))
        if not alive:
            raise SourceError("computes nothing: it stores nothing and changes no value that is used after it")
        builder = DfgBuilder(self.name, "i32", notes)
        for array, length in self.arrays.items():
            builder.array(array, length)
        for name in self._liveins(alive):
            builder.livein(name)
        for id_, made in self.operations.items():
            if id_ in alive:
                # Nodes first, then edges: constants are made as edges need them, behind the operations.
                builder.add(made.op, id=id_, array=made.array, variable=made.variable, liveout=names.get(id_))
        for id_, made in self.operations.items():
            if id_ in alive:
                self._connect(builder, id_, made)
        for order in self.orders:
            if order.source in alive and order.target in alive:
                builder.order(order.source, order.target, delay=order.delay, distance=order.distance)
        builder.ranges.update(self._known_ranges(alive))
        return builder.build()

    def _known_ranges(self, alive: set[str]) -> dict[str, tuple[int, int]]:
        """What types say of streams and live-ins, for transformations that need to know how wide values are."""
        ports = {id_ for id_ in alive if self.operations[id_].op in ("input", "output")}
        return {
            operand.name if isinstance(operand, LiveIn) else operand.id: known
            for operand, known in self.ranges.items()
            if isinstance(operand, LiveIn) or (isinstance(operand, OperationResult) and operand.id in ports)
        }

    def _connect(self, builder: DfgBuilder, id_: str, made: LoopOperation) -> None:
        """Add the edges into one node."""
        for k, operand in enumerate(made.operands):
            source, distance, initial = self.resolve(operand)
            if isinstance(source, Const):
                builder.carry(builder.const(source.value), id_, operand=k, distance=0)
            elif isinstance(source, LiveIn):
                builder.carry(source.name, id_, operand=k, distance=0)
            else:
                builder.carry(source.id, id_, operand=k, distance=distance, initial=initial)

    def resolve(self, operand: Operand) -> tuple[Const | LiveIn | OperationResult, int, tuple[int | str, ...]]:
        """(what yields an operand, how many iterations ago, what the first iterations read instead).

        A carried value that is itself carried adds to the distance.
        """
        distance = 0
        initial: tuple[int | str, ...] = ()
        while isinstance(operand, CarriedValue):
            recurrence = self.carried[operand.name]
            if recurrence.next is None:
                first = recurrence.initial
                return LiveIn(first) if isinstance(first, str) else Const(first), 0, ()
            distance, initial = distance + 1, (*initial, recurrence.initial)
            operand = recurrence.next
        # Collected from the outermost delay inwards, which is the order in which iterations read them.
        return operand, distance, initial

    def _pin_carried(self) -> None:
        """A carried edge leaves an operation: constants, live-ins and values that only change places pass a move."""
        for own, recurrence in self.carried.items():
            source = recurrence.next
            seen = {own}
            while isinstance(source, CarriedValue) and source.name not in seen:
                seen.add(source.name)
                source = self.carried[source.name].next
            if source == CarriedValue(own) or isinstance(source, Const | LiveIn):
                name = self.fresh("move")
                self.operations[name] = LoopOperation("move", (recurrence.next or source,))
                recurrence.next = OperationResult(name)

    def _name_liveouts(self) -> dict[str, str]:
        """Node id -> live-out name; a second name, or what this iteration does not compute, gets a move."""
        names: dict[str, str] = {}
        for name, operand in self.liveouts.items():
            if not isinstance(operand, OperationResult) or operand.id in names:
                id_ = self.fresh(f"{readable(name)}_out")
                self.operations[id_] = LoopOperation("move", (operand,))
                operand = OperationResult(id_)
            names[operand.id] = name
        return names

    def needed(self) -> set[str]:
        """The operations that stores and live-outs need."""
        self._pin_carried()
        sources = (self.resolve(operand)[0] for operand in self.liveouts.values())
        return self._alive({source.id for source in sources if isinstance(source, OperationResult)})

    def _alive(self, roots: set[str]) -> set[str]:
        """Everything that the roots, stores and outputs read, directly or not."""
        work = [*roots, *(id_ for id_, made in self.operations.items() if made.op in _KEPT)]
        alive: set[str] = set()
        while work:
            id_ = work.pop()
            if id_ not in alive:
                alive.add(id_)
                sources = (self.resolve(operand)[0] for operand in self.operations[id_].operands)
                work += [source.id for source in sources if isinstance(source, OperationResult)]
        return alive

    def _liveins(self, alive: set[str]) -> list[str]:
        """The live-ins that operations of the graph read, in the order of their first use."""
        names: dict[str, None] = {}
        for id_, made in self.operations.items():
            if id_ in alive:
                sources = (self.resolve(operand)[0] for operand in made.operands)
                names.update((source.name, None) for source in sources if isinstance(source, LiveIn))
        return list(names)
