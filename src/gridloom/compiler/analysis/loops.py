"""Natural loops of a function: back edges over dominators, exits, and which loop the user means.

A back edge goes to a block that dominates its source; the blocks of a loop are those that reach the source without
passing the target. Dominators are computed with the iteration of Cooper, Harvey and Kennedy. They are loops of the
records of :mod:`gridloom.compiler.ir.ir`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gridloom.compiler.analysis.evolution import Evolution, Form, linear_form
from gridloom.compiler.ir.ir import BasicBlock, Constant, Function, Instruction, IrModule, LoopSpan, Value


@dataclass(slots=True, eq=False)
class NaturalLoop:
    """A natural loop. ``blocks`` are in an order in which only back edges go backwards.

    ``latches`` are the blocks whose branch goes back to ``header``; :func:`find_loops` leaves one. ``span`` gives the
    lines of the source. Loops of one function form a forest by ``parent`` and ``children``.
    """

    function: Function
    header: str
    blocks: list[str]
    latches: list[str]
    span: LoopSpan
    parent: NaturalLoop | None = None
    children: list[NaturalLoop] = field(default_factory=list)

    @property
    def exits(self) -> list[tuple[str, str]]:
        """(block inside, block outside) of every edge that leaves the loop."""
        inside = set(self.blocks)
        blocks = self.function.blocks
        return [(name, target) for name in self.blocks for target in blocks[name].successors if target not in inside]

    @property
    def instructions(self) -> list[Instruction]:
        """All instructions, block by block."""
        return [item for name in self.blocks for item in self.function.blocks[name].instructions]

    @property
    def phis(self) -> list[Instruction]:
        """The phis of the header: the values that the loop carries."""
        return [item for item in self.function.blocks[self.header].instructions if item.opcode == "phi"]

    def contains(self, value: Value) -> bool:
        """True for an instruction of the loop."""
        return isinstance(value, Instruction) and value.block in self.blocks

    def initial(self, phi: Instruction) -> Value | None:
        """What a header phi holds at first; None when it comes from several places."""
        outside = [phi.operands[k] for k, source in enumerate(phi.incoming) if source not in self.blocks]
        first = outside[0]
        return first if all(value is first or _equal(value, first) for value in outside) else None

    def following(self, phi: Instruction) -> Value:
        """What an iteration leaves in a header phi for the next one."""
        return phi.operands[phi.incoming.index(self.latches[0])]


def predecessors(function: Function) -> dict[str, list[str]]:
    """Block -> the blocks that lead to it."""
    before: dict[str, list[str]] = {name: [] for name in function.blocks}
    for name, block in function.blocks.items():
        for target in block.successors:
            before[target].append(name)
    return before


def reach(edges: Mapping[str, Sequence[str]], starts: Iterable[str], stops: Collection[str] = ()) -> set[str]:
    """The blocks that are reached from some blocks, themselves included, without passing others."""
    seen: set[str] = set()
    work = list(starts)
    while work:
        name = work.pop()
        if name not in seen and name not in stops:
            seen.add(name)
            work += edges[name]
    return seen


def reverse_postorder(function: Function) -> list[str]:
    """Blocks that are reached, each before those it leads to, back edges aside.

    The walk is depth first with a stack of its own, since the depth is that of the source.
    """
    order: list[str] = []
    seen = {function.entry}
    stack = [(function.entry, iter(function.blocks[function.entry].successors))]
    while stack:
        name, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(function.blocks[target].successors)))
                break
        else:
            order.append(name)
            stack.pop()
    return order[::-1]


def immediate_dominators(order: list[str], before: dict[str, list[str]]) -> dict[str, str]:
    """Block -> its immediate dominator (the entry is its own).

    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): walk up the tree so far from two
    predecessors until they meet, and repeat until nothing changes. ``order`` has to be a reverse postorder; with it,
    two or three passes are usual.
    """
    rank = {name: k for k, name in enumerate(order)}
    dominator = {order[0]: order[0]}

    def meet(a: str, b: str) -> str:
        while a != b:
            while rank[a] > rank[b]:
                a = dominator[a]
            while rank[b] > rank[a]:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for name in order[1:]:
            ready = [p for p in before[name] if p in dominator]
            best = ready[0]
            for other in ready[1:]:
                best = meet(best, other)
            if dominator.get(name) != best:
                dominator[name] = best
                changed = True
    return dominator


def dominates(dominator: str, name: str, immediate: dict[str, str]) -> bool:
    """True when every way to ``name`` passes ``dominator``."""
    while name != dominator:
        above = immediate[name]
        if above == name:
            return False
        name = above
    return True


def find_loops(module: IrModule, function: Function) -> list[NaturalLoop]:
    """The loops of a function by where they start in the source, outer before inner.

    A header that several latches return to gets one latch, so that a phi has one value that is carried. The
    function's records are changed by this and by the folding of lagging counters: call it once per function.
    """
    order = reverse_postorder(function)
    before = predecessors(function)
    immediate = immediate_dominators(order, before)
    latches: dict[str, list[str]] = {}
    for name in order:
        for target in function.blocks[name].successors:
            if dominates(target, name, immediate):
                latches.setdefault(target, []).append(name)
    headers = []
    for header, sources in latches.items():
        span = next((module.spans[function.blocks[s].terminator] for s in sources
                     if function.blocks[s].terminator in module.spans), None)  # fmt: skip
        # The span was looked up first: the merged latch has no metadata of its own.
        if len(sources) > 1:
            sources = [_merge_latches(function, header, sources)]
            before = predecessors(function)
            order = reverse_postorder(function)
        headers.append((header, sources, span))
    loops = _nested(function, headers)
    for loop in loops:
        _fold_lagging(loop)
    return loops


def _nested(function: Function, headers: list[tuple[str, list[str], LoopSpan | None]]) -> list[NaturalLoop]:
    """The loops as records, sorted by where they start, each with its parent and children."""
    before, order = predecessors(function), reverse_postorder(function)
    loops = []
    for header, sources, span in headers:
        inside = _members(header, sources, before)
        line = next(
            (i.line for name in order if name in inside for i in function.blocks[name].instructions if i.line), 0
        )
        blocks = [name for name in order if name in inside]
        # MLIR notes no lines of loops, but the branch back has the line of the loop's own op.
        back = function.blocks[sources[0]].terminator.line
        line = min(line, back) if line and back else line or back
        loops.append(NaturalLoop(function, header, blocks, sources, span or LoopSpan(line, line)))
    # Loops that start on one line are sorted from the outside in.
    loops.sort(key=lambda loop: (loop.span.start, -len(loop.blocks)))
    for loop in loops:
        around = [other for other in loops if other is not loop and loop.header in other.blocks]
        loop.parent = min(around, key=lambda other: len(other.blocks), default=None)
        if loop.parent:
            loop.parent.children.append(loop)
    return loops


def _members(header: str, latches: list[str], before: dict[str, list[str]]) -> set[str]:
    """The blocks of a natural loop: everything that reaches a latch without passing the header."""
    return {header} | reach(before, latches, {header})


def _merge_latches(function: Function, header: str, latches: list[str]) -> str:
    """Add a block that all latches go to, with a phi for each header phi; returns its name.

    A ``continue`` gives a loop a second latch. LLVM's own loop-simplify pass does the same.
    """
    name = f"{header}.latch"
    merged: list[Instruction] = []
    for phi in function.blocks[header].instructions:
        if phi.opcode != "phi":
            break
        inside = [k for k, source in enumerate(phi.incoming) if source in latches]
        joint = Instruction(f"{phi.name}.latch", phi.type, "phi", phi.text, name, phi.line)
        joint.operands = [phi.operands[k] for k in inside]
        joint.incoming = [phi.incoming[k] for k in inside]
        merged.append(joint)
        phi.operands = [o for k, o in enumerate(phi.operands) if k not in inside] + [joint]
        phi.incoming = [b for k, b in enumerate(phi.incoming) if k not in inside] + [name]
    jump = Instruction(f"{name}.br", "void", "br", f"  br label %{header}", name)
    jump.targets = [header]
    for latch in latches:
        terminator = function.blocks[latch].terminator
        terminator.targets = [name if target == header else target for target in terminator.targets]
    function.blocks[name] = BasicBlock(name, [*merged, jump])
    return name


def _fold_lagging(loop: NaturalLoop) -> None:
    """Replace a phi that is one step behind a counter by the counter less its step, as in loops that count down.

    clang keeps ``i`` and ``i - 1`` as two carried values there; one of them is enough, and indices over both become
    forms over one symbol, whose distances can be proved.
    """
    for phi in loop.phis:
        counter = loop.following(phi)
        if not (isinstance(counter, Instruction) and counter in loop.phis and counter is not phi):
            continue
        step = Evolution(loop).step_of(counter) if counter.type != "ptr" else None
        first, lagging = loop.initial(counter), loop.initial(phi)
        if not step or first is None or lagging is None or not _is_ahead(first, lagging, step):
            continue
        behind = Instruction(phi.name, phi.type, "add", phi.text, phi.block, phi.line)
        behind.operands = [counter, Constant(phi.type, -step)]
        block = loop.function.blocks[loop.header]
        kept = [item for item in block.instructions if item is not phi]
        place = sum(item.opcode == "phi" for item in kept)
        block.instructions = [*kept[:place], behind, *kept[place:]]
        for other in loop.function.blocks.values():
            for item in other.instructions:
                item.operands = [behind if operand is phi else operand for operand in item.operands]


def _is_ahead(first: Value, lagging: Value, step: int) -> bool:
    """True when ``first`` is ``lagging`` plus the step."""
    return linear_form(first).minus(linear_form(lagging)) == Form(step)


def _equal(a: Value, b: Value) -> bool:
    """True for two constants of the same type and value."""
    return isinstance(a, Constant) and isinstance(b, Constant) and (a.type, a.value) == (b.type, b.value)
