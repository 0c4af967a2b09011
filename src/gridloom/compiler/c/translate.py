"""A region into a Dfg: carried values, predicated blocks, memory accesses and their order, live-ins and live-outs.

The blocks of a region are visited in topological order, and each instruction becomes operations of a
:class:`~gridloom.compiler.loops.body.Body`. Control flow becomes data flow: phis of joins are selects, stores in
conditional blocks are conditional stores, loads in conditional blocks read an index that is always valid. Header phis
are carried values. What a loop does to memory must be translated; a value that cannot be computed is only an error
where a store, a live-out or a condition needs it.

In a flattened nest one carried flag, ``fresh``, says that the inner loop begins again in this iteration; values of the
outer loop stay as they are while the inner one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, Arrays, CArray, find_accesses, readers_of
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.dependences import accesses_overlap, advice, distances_of, is_safe, orders
from gridloom.compiler.c.indexing import Indexing
from gridloom.compiler.c.lower import InstructionLowering, width
from gridloom.compiler.c.nest.jamming import moves_of
from gridloom.compiler.c.nest.values import Nest
from gridloom.compiler.c.predicates import Predicates
from gridloom.compiler.c.region import LoopRegion, at, leaves_early, trip_count, trip_parts
from gridloom.compiler.c.source.liveins import LiveIns
from gridloom.compiler.c.streams import Streams
from gridloom.compiler.c.wide_integers.elements import WideElements
from gridloom.compiler.c.wide_integers.pairs import WordPair
from gridloom.compiler.c.wide_integers.values import WideValues
from gridloom.compiler.ir.ir import Constant, Instruction, IrModule, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.jam import jam
from gridloom.compiler.loops.operations import (
    TRUE,
    CarriedValue,
    Const,
    LiveIn,
    LoopOperation,
    Operand,
    OperationResult,
    readable,
)
from gridloom.compiler.loops.prologue import select_operations
from gridloom.compiler.loops.reduction import reduce
from gridloom.errors import SourceError, locate_errors


def translate(
    module: IrModule,
    region: LoopRegion,
    file: str,
    name: str,
    sizes: Mapping[str, int],
    *,
    streams: bool = False,
    reduced: bool = True,
    jammed: int = 1,
    turns: int = 0,
) -> CLoop:
    """The graph of a region. SourceError with file and line for what the array cannot do.

    With ``streams``, loads and stores that move by a fixed step are input and output streams instead of accesses. With
    ``reduced``, what need not be computed in every iteration is not (:mod:`gridloom.compiler.loops.reduction`). With
    ``jammed`` above 1, so many iterations of the loop around run side by side. ``turns`` is how often the inner loop of
    a nest runs at least, whenever it is entered, where whoever starts the nest has seen to it.
    """
    return _Translation(module, region, file, name, sizes, streams, reduced, jammed, turns).run()


class _Translation:
    """One translation: the body under construction, and what is known of each IR value on the way.

    Blocks are visited in topological order. A value that the array cannot compute is an error only where something
    needs it: until then the error stands in its place in ``known``.
    """

    def __init__(
        self,
        module: IrModule,
        region: LoopRegion,
        file: str,
        name: str,
        sizes: Mapping[str, int],
        streams: bool,
        reduced: bool,
        jammed: int,
        turns: int,
    ) -> None:
        self.module = module
        self.region = region
        self.file = file
        self.body = Body(name)
        self.reduced = reduced
        self.jammed = jammed
        self.layout = DataLayout(module.structs)
        self.pointers = Pointers(
            self.layout, region.contains, region.initial, region.following,
            lambda phi: region.owner(phi) is not None, self.where,
        )  # fmt: skip
        self.arrays = Arrays(self.layout, self.pointers, sizes, self.where)
        self.liveins = LiveIns(self.body, self.pointers)
        self.lowering = InstructionLowering(self.body, self.value, self._problem, self._wide_livein)
        self.wide = self.lowering.wide
        pausing = frozenset({region.inner.latches[0]}) if region.inner else frozenset()
        self.predicates = Predicates(
            self.body, region.blocks, region.edges, self.value, self.lowering.equality, pausing
        )
        self.indexing = Indexing(
            self.body, region, self.pointers, self.predicates, self.value, self._runs,
            lambda: self.nest.fresh, lambda: self.nest.count(),
        )  # fmt: skip
        self.nest = Nest(self.body, region, self.pointers, self.value, self.liveins.of, turns)
        self.wide_values = WideValues(
            self.body, region, self.wide, self.predicates, self.nest, self.liveins, self._runs, self._poison
        )
        #: The streams; None where memory stays memory.
        self.streams = (
            Streams(
                self.body, region, self.liveins, self._step_of, self._stored, self._runs, self._always_runs, self.where
            )
            if streams
            else None
        )
        self.known: dict[Value, Operand | SourceError] = {}
        self.accesses: dict[Instruction, Access] = {}
        self.elements = WideElements(self.wide, self.known, lambda half: self._access(self.accesses[half]))
        self.running: dict[str, Operand] = {}
        self.carried: dict[Instruction, CarriedValue] = {}
        self.high_words: dict[str, str] = {}
        #: Carried values that cannot be computed, by the operation that stands for them.
        self.poisons: dict[str, SourceError] = {}
        self.body.reserved = {readable(argument.name) for argument in region.loop.function.arguments}

    def where(self, item: Instruction) -> str:
        """File and line of an instruction, or of its loop where it has none."""
        line = item.line or self.region.loop.span.start
        return f"{self.file}:{line}"

    def run(self) -> CLoop:
        """The loop, translated: accesses first, then blocks in order, carried values, live-outs and memory order."""
        region = self.region
        # A stream brings words; its 64-bit elements are refused where accesses are found.
        items = region.instructions if self.streams else self.elements.split(region.instructions)
        accesses = find_accesses(items, self.pointers, self.where)
        self.arrays.group(accesses, readers_of(region.instructions))
        self.accesses = {access.item: access for access in accesses}
        if self.streams is None:
            self.body.arrays = {array.name: array.length for array in self.arrays.declared.values()}
        if region.inner:
            fixed = region.enters_by(lambda value: not region.contains(value))
            entered = self.predicates.reach(region.loop.header, region.inner.header) if fixed else None
            self.nest.begin(self.file, reduced=self.reduced, entered=entered)
        for phi in region.loop.phis:
            if phi.type == "i64":
                self._attempt_wide(phi, self.wide_values.start)
            elif phi.type != "ptr":
                self._attempt(phi, self._start)
        for name, block in region.blocks.items():
            if region.inner and name == region.inner.header:
                self._enter_inner(region.inner)
            for item in block.instructions:
                self._visit(item)
        # What follows belongs to the loop as a whole and to none of its lines.
        self.body.line = region.loop.span.start
        self._close()
        outs = self._liveouts()
        if self.reduced:
            self.nest.run_along(self.indexing.counters)
        # Orders name nodes, so that all accesses have to be translated before.
        distances, asserted = distances_of(region, self.pointers), self._asserted()
        with locate_errors(at(region.loop, self.file)):
            kept, overlaps = orders(
                accesses, self._step_of, region.contains,
                self.nest.outer_steps if self.reduced else lambda access: None, self.nest.meetings, distances, asserted,
            )  # fmt: skip
        if self.streams is None:
            self.body.orders = kept
        else:
            self.streams.refuse_feedback(accesses, kept)
        self._refuse_poison()
        assumed = self._assumed(distances.relied_on, asserted)
        notes = [f"C loop of {region.loop.function.name}, line {region.loop.span.start}", *map(advice, overlaps)]
        if self.jammed > 1:
            self._jam(accesses)
        if self.reduced:
            reduce(self.body)
        with locate_errors(at(region.loop, self.file)):
            dfg = replace(self.body.build("\n".join(notes)), trip_count=self._trip_count(), assumed=assumed)
        prologue = select_operations(self.body.prologue, dfg.liveins)
        given = {*dfg.liveins, *(o.name for made in prologue.values() for o in made.operands if isinstance(o, LiveIn))}
        return CLoop(
            dfg=dfg,
            function=region.loop.function.name,
            line=region.loop.span.start,
            arrays=tuple(self.arrays.declared.values()),
            bases=self.arrays.bases,
            accesses={access.item: access.node for access in accesses},
            streams=self.streams.nodes if self.streams else {},
            liveins={
                name: value for name, value in self.liveins.values.items() if {name, *self.liveins.high(name)} & given
            },
            high_liveins=self.liveins.high_words,
            prologue=prologue,
            liveouts=outs,
            high_words=self.high_words,
            trip=trip_count(region) if not region.inner else "",
            overlaps=tuple(overlaps),
            lines=self.body.lines(),
            region=region,
            module=self.module,
        )

    def _asserted(self) -> str:
        """What the source says of the iterations of this loop; of a nest, where it says it of both loops."""
        said = self.module.asserted
        words = {said.get((loop.span.file, loop.span.start), "") for loop in self.region.loops}
        return words.pop() if len(words) == 1 else "ivdep" if "" not in words else ""

    def _assumed(self, relied_on: set[str], asserted: str) -> tuple[str, ...]:
        """What the graph takes for granted."""
        said = [f"line {loop.span.start} is said to be {asserted}" for loop in self.region.loops] if asserted else []
        function = self.region.loop.function
        distinct = [f"the arrays of {function.name} are said to be distinct"] if function.distinct else []
        return (*sorted(relied_on), *said, *distinct)

    def _trip_count(self) -> int | None:
        """How often the loop runs, where that is a number; None for a nest, whose iterations are those of two loops."""
        parts = None if self.region.inner else trip_parts(self.region)
        return parts.constant or None if parts else None

    def _jam(self, accesses: Sequence[Access]) -> None:
        """Put several iterations of the loop around into the body."""
        region = self.region
        known = {name: value for name, value in self.liveins.values.items() if not region.contains(value)}
        with locate_errors(at(region.loop, self.file)):
            if self.streams is not None or len(known) < len(self.liveins.values):
                raise SourceError("jam takes loads from arrays that are known before the loop")
            moves = moves_of(region, accesses, known, self.pointers)
            steps = {n: (form.constant, {self.value(v): c for v, c in form.terms.items()}) for n, form in moves.items()}
            jam(self.body, self.jammed, steps)  # type: ignore[arg-type]

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, value: Value) -> Operand:
        """The operand of an IR value; a problem met where it was computed is raised where it is needed."""
        if isinstance(value, Constant):
            width(value.type)
            return Const(wrap(value.value) if value.type != "i1" else value.value & 1)
        if isinstance(value, Instruction) and self.region.contains(value):
            operand = self.known[value]
            if isinstance(operand, SourceError):
                raise operand
            return operand
        if isinstance(value, IrParameter | Instruction):
            return self.liveins.of(value)
        raise SourceError("it uses an address as a number")

    def _attempt(self, item: Instruction, make: Callable[[Instruction], Operand]) -> None:
        """Compute the operand of an instruction; a SourceError is kept in its place, with the line."""
        try:
            self.known[item] = make(item)
        except SourceError as error:
            self.known[item] = error if error.where else SourceError(error.message, where=self.where(item))

    def _wide_livein(self, value: Value) -> tuple[LiveIn, LiveIn] | None:
        """The words of a 64-bit integer from before the loop; None for one of the loop."""
        outside = isinstance(value, IrParameter | Instruction) and not self.region.contains(value)
        return self.liveins.pair_of(value) if outside else None  # type: ignore[arg-type]

    def _problem(self, value: Value) -> SourceError | None:
        """Why a value of the loop could not be computed; None where it could, or comes from elsewhere."""
        known = self.known.get(value)
        return known if isinstance(known, SourceError) else None

    def _attempt_wide(self, item: Instruction, make: Callable[[Instruction], WordPair]) -> None:
        """Compute the pair of a 64-bit instruction; as a word it has none, which is what stands in its place."""
        self.known[item] = SourceError("it uses a 64-bit integer as a word", where=self.where(item))
        try:
            self.wide.pairs[item] = make(item)
        except SourceError as error:
            self.known[item] = error if error.where else SourceError(error.message, where=self.where(item))

    def _poison(self, phi: Instruction, error: SourceError) -> Operand:
        """An operation that nothing may need, for a carried value that cannot be computed."""
        poison = self.body.fresh("poison")
        self.body.operations[poison] = LoopOperation("poison", (), line=phi.line)
        self.poisons[poison] = error if error.where else SourceError(error.message, where=self.where(phi))
        return OperationResult(poison)

    def _visit(self, item: Instruction) -> None:
        """Translate one instruction; phis of headers and pointers are translated elsewhere."""
        self.body.line = item.line or self.body.line
        if self.region.owner(item) is not None or item.type == "ptr":
            return
        if item in self.elements.halves:
            self.elements.visit(item)
        elif item.type == "i64" and item not in self.accesses:
            self._attempt_wide(item, self.wide_values.join if item.opcode == "phi" else self.wide.lower)
        elif item.opcode == "phi":
            self._attempt(item, self._join)
        elif item in self.accesses:
            # What a loop does to memory is needed; an access that cannot be made stops the translation.
            self.known[item] = self._access(self.accesses[item])
        elif item in self.nest.sums:
            self._attempt(item, self.nest.running_sum)
        elif item.opcode == "call" and item.callee.startswith(("llvm.assume", "llvm.lifetime", "llvm.experimental")):
            return
        elif item.opcode not in ("br", "switch"):
            self._attempt(item, self.lowering.lower)
            self._refuse_effects(item)

    def _refuse_effects(self, item: Instruction) -> None:
        """A call may do more than compute its value, so that one which is not known stops the translation."""
        known = self.known[item]
        if item.opcode == "call" and isinstance(known, SourceError):
            raise known

    def _join(self, phi: Instruction) -> Operand:
        """The phi of a join: a chain of selects over the conditions of its incoming edges."""
        width(phi.type)
        incoming = []
        for source, value in zip(phi.incoming, phi.operands):
            known = None if isinstance(value, Constant) and value.undefined else self.value(value)
            incoming.append((source, known))
        return self.predicates.merge(phi.block, incoming, phi.name)

    # -- carried values ---------------------------------------------------------------------------------------------

    def _start(self, phi: Instruction) -> Operand:
        """What a header phi holds in an iteration, before its next value is known.

        What it starts from, a constant or a live-in, is the initial value of the carried edge.
        """
        bits = width(phi.type)
        first = self.region.initial(phi)
        if isinstance(first, Constant):
            carried = self.body.recur(phi.name, first.value & 1 if bits == 1 else first.value)
            if bits == 1:
                self.body.ranges[carried] = (0, 1)
            self.carried[phi] = carried
            return carried
        start = self.liveins.of(first) if isinstance(first, IrParameter | Instruction) else self.liveins.start_of(phi)
        carried = self.carried[phi] = self.body.recur(phi.name, start)
        if bits == 1:
            self.body.ranges[carried] = (0, 1)
        return carried

    def _enter_inner(self, inner: NaturalLoop) -> None:
        """Inner phis start again whenever the inner loop does."""
        for phi in inner.phis:
            if phi.type == "i64":
                self._attempt_wide(phi, self.wide_values.restart)
            elif phi.type != "ptr":
                self._attempt(phi, self._restart)

    def _restart(self, phi: Instruction) -> Operand:
        """What a phi of the inner header holds: its start when the inner loop begins again, else what is carried."""
        bits = width(phi.type)
        turned = self.nest.turned(phi)
        if turned is not None:
            return turned
        outer = self.nest.passed_through(phi)
        if outer is not None:
            known = self.body.carried[self.carried[outer].name].initial
            carried = self.carried[phi] = self.body.recur(phi.name, LiveIn(known) if isinstance(known, str) else known)
            self.body.ranges[carried] = self.body.range(self.carried[outer])
            return carried
        carried = self.body.recur(phi.name, 0)
        if bits == 1:
            self.body.ranges[carried] = (0, 1)
        self.carried[phi] = carried
        first = self.region.initial(phi)
        start = self.value(first) if first is not None else self.liveins.start_of(phi)
        return self.nest.begun(start, carried, phi.name)

    def _close(self) -> None:
        """Tie every carried value to what the iteration leaves.

        This comes after all blocks, when the next values are known. In a nest, ``fresh`` is next what says that the
        outer loop goes on, that is, that the inner one has ended.
        """
        region = self.region
        if region.inner:
            advance = self._runs(region.loop.latches[0])
            if isinstance(self.nest.fresh, CarriedValue):
                self.body.carried[self.nest.fresh.name].next = advance
        for phi, carried in self.carried.items():
            recurrence = self.body.carried[carried.name]
            if recurrence.next is None:
                recurrence.next = self._following(phi)
        self.wide_values.close()
        self.indexing.close()

    def _following(self, phi: Instruction) -> Operand:
        """What an iteration leaves in a phi; a value that cannot be computed is an operation that nothing may need."""
        region = self.region
        try:
            after = self.value(region.following(phi))
            # A value of the outer loop changes only when the outer loop goes on.
            if region.inner and phi.block == region.loop.header:
                step = self.pointers.evolution(region.loop).step_of(phi) if phi.type == "i32" else None
                if self.reduced and step:
                    # A select behind the addition would be part of the recurrence.
                    amount = self.body.select(self._runs(region.loop.latches[0]), Const(wrap(step)), Const(0))
                    self.nest.counters[self.carried[phi].name] = wrap(step)
                    return self.body.emit("add", self.value(phi), amount)
                return self.body.select(self._runs(region.loop.latches[0]), after, self.value(phi))
            return after
        except SourceError as error:
            return self._poison(phi, error)

    def _refuse_poison(self) -> None:
        """A carried value that cannot be computed only matters where something needs it."""
        for name in self.body.needed():
            if name in self.poisons:
                raise self.poisons[name]

    # -- control ----------------------------------------------------------------------------------------------------

    def _runs(self, name: str) -> Operand:
        """The condition under which a block runs in an iteration of the region."""
        if name not in self.running:
            self.running[name] = self._condition(name)
        return self.running[name]

    def _condition(self, name: str) -> Operand:
        """The condition of :meth:`_runs`, computed anew.

        In a nest the blocks of the outer loop before the inner one run when the inner loop is fresh; the inner header
        runs in every iteration in which it is entered or was not left; the others follow from the blocks before them.
        """
        region, predicates = self.region, self.predicates
        if region.inner is None:
            return predicates.reach(region.loop.header, name)
        if name == region.loop.header:
            return self.nest.fresh
        if name == region.inner.header:
            entered = predicates.reach(region.loop.header, name)
            return TRUE if entered == TRUE else self.body.emit("or", self.body.inverse(self.nest.fresh), entered)
        above = predicates.immediate[name]
        if name in predicates.always_after[above]:
            return self._runs(above)
        condition: Operand = Const(0)
        for p in predicates.before[name]:
            condition = self.body.emit("or", self.body.emit("and", predicates.edge(p, name), self._runs(p)), condition)
        return condition

    # -- memory -----------------------------------------------------------------------------------------------------

    def _access(self, access: Access) -> Operand:
        """The operand of a load, or the operation of a store, on memory or as a stream.

        The index is taken from the address as written, so that accesses share its operations, unless the access is a
        part of an element, whose place was aligned when the arrays were made.
        """
        array = access.array
        assert array is not None
        item = access.item
        if self.streams is not None:
            return self.streams.access(access, array)
        with locate_errors(self.where(item)):
            form = access.address.bytes if access.size == array.size else access.place
            index = self.indexing.linear(Form(form.constant - array.offset, form.terms), array.stride)
            if access.is_store:
                return self._store(access, array, index)
            return self._load(access, array, index)

    def _stored(self, access: Access, array: CArray) -> Operand:
        """The value of a store, cut to the element's bits."""
        value = self.value(access.item.operands[0])
        if array.size == 4:
            return value
        # A truth value is stored as a byte, of which only the lowest bit is defined.
        bits = 1 if access.item.operands[0].type == "i1" else 8 * array.size
        return self.body.extend(value, bits, array.signed)

    def _store(self, access: Access, array: CArray, index: Operand) -> Operand:
        """A store, conditional where its block does not always run."""
        item = access.item
        value = self._stored(access, array)
        runs = self._runs(item.block)
        hint = f"store_{array.name}"
        if runs == TRUE:
            made = self.body.access("store", array.name, index, value, hint=hint)
        else:
            made = self.body.access("store_if", array.name, index, value, runs, hint=hint)
        access.node = made.id
        return made

    def _load(self, access: Access, array: CArray, index: Operand) -> Operand:
        """A load; one before the inner loop of a nest is held for its iterations where the element may be written.

        Where nothing writes the array, loading it again in every iteration is as good and needs no carried value. A
        conditional load whose index may be invalid reads element 0 when it should not happen.
        """
        item, region = access.item, self.region
        repeats = region.before_inner(item.block) and not self._is_written(access)
        runs = self.predicates.reach(region.loop.header, item.block) if repeats else self._runs(item.block)
        if runs != TRUE and not is_safe(access, self.accesses.values(), region, self._always_runs):
            # A load that should not happen may point anywhere: it reads element 0 instead, and nothing uses it.
            index = self.body.select(runs, index, Const(0))
        made = self.body.access("load", array.name, index, hint=f"load_{array.name}")
        access.node = made.id
        loaded: Operand = made
        self.body.ranges[made] = array.range
        if region.before_inner(item.block) and not repeats:
            held = self.body.recur(f"{item.name}_held", 0)
            loaded = self.nest.begun(made, held)
            self.body.carried[held.name].next = loaded
        if access.size < array.size:
            loaded = self.body.emit("lshr", loaded, Const(8 * access.part))
        return self.body.emit("and", loaded, TRUE) if item.type == "i1" else loaded

    def _is_written(self, access: Access) -> bool:
        """True when a store of the loop may touch the array of an access."""
        return any(
            other.is_store and (other.array is access.array or accesses_overlap(access, other))
            for other in self.accesses.values()
        )

    def _always_runs(self, name: str) -> bool:
        """True for a block of every iteration; known before its condition can be computed."""
        region, after = self.region, self.predicates.always_after
        if region.inner is None:
            return name in after[region.loop.header]
        return region.inner.header in after[region.loop.header] and name in after[region.inner.header]

    # -- what leaves ------------------------------------------------------------------------------------------------

    def _step_of(self, symbol: Value) -> Form | None:
        """What a symbol moves per iteration; None where that is not fixed.

        In a flattened nest nothing is fixed, since an iteration may be any of the inner loop's.
        """
        if self.region.inner:
            return None
        return self.pointers.evolution(self.region.loop).word_step(symbol)

    def _liveouts(self) -> dict[str, Instruction]:
        """Values that the function uses after the loop.

        Returns the instruction of each live-out by name and announces the operands in the body. Values that are
        constants or live-ins are left out: whoever calls the loop has them.
        """
        region = self.region
        liveouts: dict[str, Instruction] = {}
        used: dict[Instruction, None] = {}
        for name, block in region.loop.function.blocks.items():
            if name not in region.blocks:
                for item in block.instructions:
                    used.update((o, None) for o in item.operands if isinstance(o, Instruction) and region.contains(o))
        for item in used:
            name = readable(item.name)
            while name in liveouts:
                name += "_"
            try:
                if item.type == "i64":
                    self._wide_liveout(name, item, liveouts)
                    continue
                operand = self._last(item)
            except SourceError as error:
                raise error if error.where else error.at(self.where(item)) from None
            if not isinstance(operand, Const | LiveIn):
                liveouts[name] = item
                self.body.liveouts[name] = operand
        return liveouts

    def _wide_liveout(self, name: str, item: Instruction, liveouts: dict[str, Instruction]) -> None:
        """Announce the two words of a 64-bit live-out."""
        self._refuse_partial(item)
        item_after = self.region.following(item) if leaves_early(self.region) else item
        pair = self.wide.pair(item_after)
        liveouts[name] = item
        self.high_words[name] = f"{name}_high"
        self.body.liveouts[name], self.body.liveouts[f"{name}_high"] = pair.low, pair.high

    def _last(self, item: Instruction) -> Operand:
        """What a value is after the loop. SourceError where only a partial last iteration computes it.

        A loop that is tested at the top leaves its header phis as the iteration after the last would find them, which
        is what the last full iteration left in them.
        """
        region = self.region
        if item.type == "ptr":
            raise SourceError(
                "an address that the loop computes is used after it, by the source or by a store that clang moved "
                "there; use an index, and store to a place that changes",
                where=self.where(item),
            )
        self._refuse_partial(item)
        return self.value(region.following(item) if leaves_early(self.region) else item)

    def _refuse_partial(self, item: Instruction) -> None:
        """SourceError for a value after the loop that only a partial last iteration computes."""
        if leaves_early(self.region) and self.region.owner(item) is not self.region.loop:
            raise SourceError(
                "a value that its last, partial iteration computes is used after it; test at the bottom (do ... while)",
                where=at(self.region.loop, self.file),
            )
