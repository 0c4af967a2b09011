"""A region into a Dfg: carried values, predicated blocks, memory accesses and their order, live-ins and live-outs.

The blocks of a region are visited in topological order, and each instruction becomes operations of a
:class:`~gridloom.frontend.loops.body.Body`. Control flow becomes data flow: phis of joins are selects, stores in
conditional blocks are conditional stores, loads in conditional blocks read an index that is always valid. Header phis
are carried values. What a loop does to memory must be translated; a value that cannot be computed is only an error
where a store, a live-out or a condition needs it.

In a flattened nest one carried flag, ``fresh``, says that the inner loop begins again in this iteration; values of the
outer loop stay as they are while the inner one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gridloom.errors import SourceError
from gridloom.frontend.c.address import Form, Pointers
from gridloom.frontend.c.arrays import Access, Arrays, CArray, find_accesses, may_overlap
from gridloom.frontend.c.c_loop import CLoop
from gridloom.frontend.c.dependences import advice, motion, orders
from gridloom.frontend.c.indexing import Indexing
from gridloom.frontend.c.llvm.ir import Argument, Constant, Instruction, Module, Value
from gridloom.frontend.c.llvm.layout import Layout
from gridloom.frontend.c.loops import Loop
from gridloom.frontend.c.lower import Lowering, width
from gridloom.frontend.c.predicates import Predicates
from gridloom.frontend.c.region import Region, at, constant_step, trip_count
from gridloom.frontend.loops.body import Body
from gridloom.frontend.loops.folding import wrap
from gridloom.frontend.loops.operations import TRUE, Carried, Const, LiveIn, Operand, Operation, Order, Result, readable

#: Iterations between two stores of a place from which on streams, each at its own time, keep their order.
FAR = 64


def translate(
    module: Module, region: Region, file: str, name: str, sizes: Mapping[str, int], *, streams: bool = False
) -> CLoop:
    """The graph of a region. SourceError with file and line for what the array cannot do.

    With ``streams``, loads and stores that move by a fixed step are input and output streams instead of accesses.
    """
    return _Translation(module, region, file, name, sizes, streams).run()


class _Translation:
    """One translation: the body under construction, and what is known of each IR value on the way.

    Blocks are visited in topological order. A value that the array cannot compute is an error only where something
    needs it: until then the error stands in its place in ``known``.
    """

    def __init__(
        self, module: Module, region: Region, file: str, name: str, sizes: Mapping[str, int], streams: bool
    ) -> None:
        self.module = module
        self.region = region
        self.file = file
        self.body = Body(name)
        #: Stream node -> the access that it stands for; None where memory stays memory.
        self.streams: dict[str, Instruction] | None = {} if streams else None
        #: Outputs that write back what they read where nothing is stored.
        self.rewritten: set[str] = set()
        self.layout = Layout(module.structs)
        self.pointers = Pointers(
            self.layout, region.contains, region.initial, region.following,
            lambda phi: region.owner(phi) is not None, self.where,
        )  # fmt: skip
        self.arrays = Arrays(self.layout, self.pointers, sizes, self.where)
        self.lowering = Lowering(self.body, self.value)
        pausing = frozenset({region.inner.latches[0]}) if region.inner else frozenset()
        self.predicates = Predicates(self.body, region.blocks, region.edges, self.value, pausing)
        self.indexing = Indexing(
            self.body, region, self.pointers, self.predicates, self.value, self._runs, lambda: self.fresh
        )
        self.known: dict[Value, Operand | SourceError] = {}
        self.liveins: dict[str, Value] = {}
        self.accesses: dict[Instruction, Access] = {}
        self.fresh: Operand = TRUE
        self.running: dict[str, Operand] = {}
        self.carried: dict[Instruction, Carried] = {}
        #: Sums that start from a live-in: the addition -> (the phi it adds to, the live-in).
        self.sum_steps: dict[Instruction, tuple[Instruction, Operand]] = {}
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
        users = _users(region.instructions)
        accesses = find_accesses(region.instructions, self.pointers, self.where)
        self.arrays.group(accesses, lambda item: users.get(item, []))
        self.accesses = {access.item: access for access in accesses}
        if self.streams is None:
            self.body.arrays = {array.name: array.length for array in self.arrays.declared.values()}
        if region.inner:
            self.fresh = self.body.recur("fresh", 1)
            self.body.ranges[self.fresh] = (0, 1)
        for phi in region.loop.phis:
            if phi.type != "ptr":
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
        # Orders name nodes, so that all accesses have to be translated before.
        kept, overlaps = orders(accesses, self._step_of, region.contains)
        if self.streams is None:
            self.body.orders = kept
        else:
            self._refuse_feedback(accesses, kept)
        self._refuse_poison()
        notes = [f"C loop of {region.loop.function.name}, line {region.loop.span.start}", *map(advice, overlaps)]
        dfg = self.body.build("\n".join(notes))
        return CLoop(
            dfg=dfg,
            function=region.loop.function.name,
            line=region.loop.span.start,
            arrays=tuple(self.arrays.declared.values()),
            bases=self.arrays.bases,
            accesses={access.item: access.node for access in accesses},
            streams=self.streams or {},
            liveins={name: value for name, value in self.liveins.items() if name in dfg.index},
            liveouts=outs,
            trip=trip_count(region) if not region.inner else "",
            overlaps=tuple(overlaps),
            lines=self.body.lines(),
            region=region,
            module=self.module,
        )

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
        if isinstance(value, Argument | Instruction):
            return self._livein(value)
        raise SourceError("it uses an address as a number")

    def _livein(self, value: Argument | Instruction) -> Operand:
        """The live-in that a value from outside the loop becomes, with the range that its type gives it."""
        bits = width(value.type)
        name = next((name for name, known in self.liveins.items() if known is value), None)
        if name is None:
            name = self._livein_name(value)
            self.liveins[name] = value
            self.body.reserved.add(name)
        livein = LiveIn(name)
        if bits < 32:
            unsigned = bits == 1 or (isinstance(value, Argument) and value.unsigned)
            self.body.ranges[livein] = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return livein

    def _livein_name(self, value: Argument | Instruction) -> str:
        """The parameter's name; for a value read before the loop the element it was read from: ``c_3``.

        Names have to be stable and readable, since users give values to live-ins by name.
        """
        if isinstance(value, Argument):
            return readable(value.name)
        stem = self._element(value) or readable(value.name)
        name, k = stem, 1
        while name in self.body.reserved or name in self.body.operations:
            k += 1
            name = f"{stem}_{k}"
        return name

    def _element(self, value: Value) -> str | None:
        """``array_index`` for a value that was loaded from a fixed element before the loop; None for any other."""
        while isinstance(value, Instruction) and value.opcode in ("sext", "zext", "trunc"):
            value = value.operands[0]
        if not (isinstance(value, Instruction) and value.opcode == "load"):
            return None
        try:
            place = self.pointers.resolve(value.operands[0])
            size = max(width(value.type), 8) // 8
        except SourceError:
            return None
        if place.bytes.terms or place.bytes.constant % size:
            return None
        return f"{readable(place.base.name)}_{place.bytes.constant // size}"

    def _attempt(self, item: Instruction, make: Callable[[Instruction], Operand]) -> None:
        """Compute the operand of an instruction; a SourceError is kept in its place, with the line."""
        try:
            self.known[item] = make(item)
        except SourceError as error:
            self.known[item] = error if error.where else SourceError(error.message, where=self.where(item))

    def _visit(self, item: Instruction) -> None:
        """Translate one instruction; phis of headers and pointers are translated elsewhere."""
        self.body.line = item.line or self.body.line
        if self.region.owner(item) is not None or item.type == "ptr":
            return
        if item.opcode == "phi":
            self._attempt(item, self._join)
        elif item in self.accesses:
            # What a loop does to memory is needed; an access that cannot be made stops the translation.
            self.known[item] = self._access(self.accesses[item])
        elif item in self.sum_steps:
            self._attempt(item, self._sum_step)
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

        A constant start is the initial value of the carried edge. Any other start is a live-in, which the edge cannot
        hold: a sum adds it outside the recurrence (see :meth:`_sum_step`), everything else selects it in the first
        iteration.
        """
        bits = width(phi.type)
        first = self.region.initial(phi)
        if isinstance(first, Constant):
            carried = self.body.recur(phi.name, first.value & 1 if bits == 1 else first.value)
            if bits == 1:
                self.body.ranges[carried] = (0, 1)
            self.carried[phi] = carried
            return carried
        start = self._livein(first) if isinstance(first, Argument | Instruction) else self._several(phi)
        step = self.region.following(phi)
        carried = self.carried[phi] = self.body.recur(phi.name, 0)
        if bits == 1:
            self.body.ranges[carried] = (0, 1)
        # In a nest the sum may start again from another value, so that the select stays there.
        if bits == 32 and not self.region.inner and isinstance(step, Instruction) and _adds_to(step, phi):
            self.sum_steps[step] = (phi, start)
            return self.body.emit("add", carried, start, hint=phi.name)
        return self.body.select(self.body.started(), carried, start, phi.name)

    def _several(self, phi: Instruction) -> Operand:
        """A phi that is entered from several places starts from a live-in of its own."""
        name = f"{readable(phi.name)}_start"
        while name in self.body.reserved:
            name += "_"
        self.liveins[name] = phi
        self.body.reserved.add(name)
        return LiveIn(name)

    def _sum_step(self, step: Instruction) -> Operand:
        """The step of a sum that starts from a live-in: the sum is carried from 0, and the live-in is added outside.

        The recurrence stays one op long, where a select between start and sum would make it two.
        """
        phi, start = self.sum_steps[step]
        carried = self.carried[phi]
        other = step.operands[1] if step.operands[0] is phi else step.operands[0]
        total = self.body.emit(step.opcode, carried, self.value(other), hint=step.name)
        self.body.carried[carried.name].next = total
        return self.body.emit("add", total, start, hint=step.name)

    def _enter_inner(self, inner: Loop) -> None:
        """Inner phis start again whenever the inner loop does."""
        for phi in inner.phis:
            if phi.type != "ptr":
                self._attempt(phi, self._restart)

    def _restart(self, phi: Instruction) -> Operand:
        """What a phi of the inner header holds: its start when the inner loop begins again, else what is carried."""
        bits = width(phi.type)
        carried = self.body.recur(phi.name, 0)
        if bits == 1:
            self.body.ranges[carried] = (0, 1)
        self.carried[phi] = carried
        first = self.region.initial(phi)
        start = self.value(first) if first is not None else self._several(phi)
        return self.body.select(self.fresh, start, carried, phi.name)

    def _close(self) -> None:
        """Tie every carried value to what the iteration leaves.

        This comes after all blocks, when the next values are known. In a nest, ``fresh`` is next what says that the
        outer loop goes on, that is, that the inner one has ended.
        """
        region = self.region
        if region.inner:
            advance = self._runs(region.loop.latches[0])
            self.body.carried["fresh"].next = advance
        for phi, carried in self.carried.items():
            recurrence = self.body.carried[carried.name]
            if recurrence.next is None:
                recurrence.next = self._following(phi)
        self.indexing.close()

    def _following(self, phi: Instruction) -> Operand:
        """What an iteration leaves in a phi; a value that cannot be computed is an operation that nothing may need."""
        region = self.region
        try:
            after = self.value(region.following(phi))
            # A value of the outer loop changes only when the outer loop goes on.
            if region.inner and phi.block == region.loop.header:
                return self.body.select(self._runs(region.loop.latches[0]), after, self.value(phi))
            return after
        except SourceError as error:
            poison = self.body.fresh("poison")
            self.body.operations[poison] = Operation("poison", (), line=phi.line)
            self.poisons[poison] = error if error.where else SourceError(error.message, where=self.where(phi))
            return Result(poison)

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
            return self.fresh
        if name == region.inner.header:
            entered = predicates.reach(region.loop.header, name)
            return TRUE if entered == TRUE else self.body.emit("or", self.body.inverse(self.fresh), entered)
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
            return self._stream(access, array)
        try:
            form = access.address.bytes if access.size == array.size else access.place
            index = self.indexing.linear(Form(form.constant - array.offset, form.terms), array.stride)
            if access.is_store:
                return self._store(access, array, index)
            return self._load(access, array, index)
        except SourceError as error:
            raise error if error.where else SourceError(error.message, where=self.where(item)) from None

    def _stream(self, access: Access, array: CArray) -> Operand:
        """The stream of an access that moves by a fixed step; a load that never moves is a live-in.

        The stream's ``variable`` says which elements it brings: ``x`` for those from the first on, ``x[2i+1]`` for
        others. SourceError for a place that the data decide, and for a store that never moves.
        """
        assert self.streams is not None
        item = access.item
        moves = motion(access.place, self._step_of, self.region.contains)
        if moves.varying or moves.step % array.stride or (access.is_store and not moves.step):
            what = "stays where it is" if not moves.varying else "goes where the data say"
            raise SourceError(
                f"an access of {array.name} {what}, so it is no stream; map the loop onto an array with memory units",
                where=self.where(item),
            )
        if not moves.step:
            name = self._livein_name(item)
            self.liveins[name] = item
            self.body.reserved.add(name)
            self.body.ranges[LiveIn(name)] = array.range
            return LiveIn(name)
        start = (moves.constant - array.offset) // array.stride
        variable = f"{array.name}[{moves.step // array.stride}i{start:+d}]" if start else array.name
        if access.is_store:
            value = self._stored(access, array)
            conditional = not self._always_runs(item.block)
            if conditional:
                # A stream writes in every iteration: where nothing is stored, what it wrote over comes back.
                value = self.body.select(self._runs(item.block), value, self._input(variable, array, item))
            made = self.body.stream("output", variable, value, hint=f"{array.name}_out")
            self.streams[made.id] = item
            self.rewritten |= {made.id} if conditional else set()
        else:
            made = self._input(variable, array, item)
        access.node = made.id
        return self.body.emit("and", made, TRUE) if item.type == "i1" else made

    def _input(self, variable: str, array: CArray, item: Instruction) -> Result:
        """The input stream that brings the elements of a load."""
        assert self.streams is not None
        made = self.body.stream("input", variable, hint=f"{array.name}_in")
        self.body.ranges[made] = array.range
        self.streams[made.id] = item
        return made

    def _refuse_feedback(self, accesses: Sequence[Access], kept: Sequence[Order]) -> None:
        """Streams are read ahead and written behind, each at its own time, so none may meet what another one wrote.

        Two stores that meet many iterations apart stay in order, which is kept as an edge that the checks look at.
        """
        written = {access.node for access in accesses if access.is_store}
        for order in (order for order in kept if order.source in written):
            far = order.distance >= FAR and not {order.source, order.target} & self.rewritten
            if order.target in written and far:
                self.body.orders.append(order)
                continue
            item = next(access.item for access in accesses if access.node == order.target)
            loads = "a load may read what an earlier iteration stored"
            what = "two stores may write the same element" if order.target in written else loads
            raise SourceError(
                f"{what}, so it is no stream; map the loop onto an array with memory units"
                + (f", or: {advice}" if (advice := self._advice()) else ""),
                where=self.where(item),
            )

    def _advice(self) -> str:
        """What the source could say so that fewer accesses may meet."""
        _, overlaps = orders(list(self.accesses.values()), self._step_of, self.region.contains)
        return "; ".join(advice(overlap) for overlap in overlaps)

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
        if runs != TRUE and not self._is_safe(access):
            # A load that should not happen may point anywhere: it reads element 0 instead, and nothing uses it.
            index = self.body.select(runs, index, Const(0))
        made = self.body.access("load", array.name, index, hint=f"load_{array.name}")
        access.node = made.id
        loaded: Operand = made
        self.body.ranges[made] = array.range
        if region.before_inner(item.block) and not repeats:
            held = self.body.recur(f"{item.name}_held", 0)
            loaded = self.body.select(self.fresh, made, held)
            self.body.carried[held.name].next = loaded
        if access.size < array.size:
            loaded = self.body.emit("lshr", loaded, Const(8 * access.part))
        return self.body.emit("and", loaded, TRUE) if item.type == "i1" else loaded

    def _is_written(self, access: Access) -> bool:
        """True when a store of the loop may touch the array of an access."""
        return any(
            other.is_store and (other.array is access.array or may_overlap(access, other))
            for other in self.accesses.values()
        )

    def _is_safe(self, access: Access) -> bool:
        """True when the same element (or another member of its struct) is accessed anyway, or is one that exists."""
        array = access.array
        assert array is not None
        if not access.place.terms:
            return 0 <= (access.place.constant - array.offset) // array.stride < array.length
        start = access.place.constant - array.offset
        return any(
            other is not access
            and other.address.base is access.address.base
            and other.array is not None
            and other.array.stride == array.stride
            and other.place.terms == access.place.terms
            and other.place.constant - other.array.offset == start
            and self._always_runs(other.item.block)
            for other in self.accesses.values()
        )

    def _always_runs(self, name: str) -> bool:
        """True for a block of every iteration; known before its condition can be computed."""
        region, after = self.region, self.predicates.always_after
        if region.inner is None:
            return name in after[region.loop.header]
        return region.inner.header in after[region.loop.header] and name in after[region.inner.header]

    # -- what leaves ------------------------------------------------------------------------------------------------

    def _step_of(self, symbol: Value) -> int | None:
        """What a symbol moves per iteration; None where that is not fixed.

        In a flattened nest nothing is fixed, since an iteration may be any of the inner loop's.
        """
        if not isinstance(symbol, Instruction) or self.region.owner(symbol) is None or self.region.inner:
            return None
        if symbol.type != "ptr":
            return constant_step(self.region, symbol)
        move = self.pointers.expand(self.pointers.moves(symbol)[0].minus(Form(0, {symbol: 1})))
        return move.constant if not move.terms else None

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
                operand = self._last(item)
            except SourceError as error:
                raise error if error.where else error.at(self.where(item)) from None
            if not isinstance(operand, Const | LiveIn):
                liveouts[name] = item
                self.body.liveouts[name] = operand
        return liveouts

    def _last(self, item: Instruction) -> Operand:
        """What a value is after the loop. SourceError where only a partial last iteration computes it.

        A loop that is tested at the top leaves its header phis as the iteration after the last would find them, which
        is what the last full iteration left in them.
        """
        region = self.region
        if item.type == "ptr":
            raise SourceError("a pointer that the loop moves is used after it; use an index", where=self.where(item))
        leaves_early = any(_does_work(i) for name in region.after_exit for i in region.blocks[name].instructions)
        if not leaves_early:
            return self.value(item)
        if region.owner(item) is region.loop:
            return self.value(region.following(item))
        raise SourceError(
            "a value that its last, partial iteration computes is used after it; test at the bottom (do ... while)",
            where=at(region.loop, self.file),
        )


def _does_work(item: Instruction) -> bool:
    """True for an instruction that computes or touches memory."""
    return item.opcode not in ("br", "switch", "phi")


def _adds_to(step: Instruction, phi: Instruction) -> bool:
    """True for a sum (or difference) of a phi and something else."""
    if step.opcode == "add":
        return (step.operands[0] is phi) != (step.operands[1] is phi)
    return step.opcode == "sub" and step.operands[0] is phi and step.operands[1] is not phi


def _users(items: Sequence[Instruction]) -> dict[Instruction, list[Instruction]]:
    """Instruction -> the instructions that read it."""
    users: dict[Instruction, list[Instruction]] = {}
    for item in items:
        for operand in item.operands:
            if isinstance(operand, Instruction):
                users.setdefault(operand, []).append(item)
    return users
