"""What is translated: one loop, or the two innermost levels of a nest run as one loop.

A region is the loop's blocks without the edges that go back or leave. In a flattened nest an iteration of the
region is an iteration of the inner loop; the code around the inner loop runs in its first (``fresh``) and last one.

Only loops whose number of iterations is known when they start are taken: one exit, whose condition compares a counter
with a bound that the loop does not change. The array runs a fixed number of iterations, so that an exit which depends
on data could not be obeyed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.analysis.loops import NaturalLoop, reach
from gridloom.compiler.analysis.trips import LoopCounter, Test, counted_root, last_visit
from gridloom.compiler.c.source.names import iterations
from gridloom.compiler.ir.ir import BasicBlock, Constant, Instruction, Value
from gridloom.errors import SourceError


@dataclass(frozen=True)
class LoopRegion:
    """The blocks of one iteration. ``inner`` is set for a flattened nest; ``loop`` is then the outer one."""

    loop: NaturalLoop
    inner: NaturalLoop | None
    blocks: dict[str, BasicBlock]
    edges: dict[str, list[str]]
    #: The block whose branch leaves the loop when it is done.
    exiting: str
    #: Blocks that run after that branch, so that they are missing in the loop's last visit.
    after_exit: frozenset[str]

    @property
    def loops(self) -> list[NaturalLoop]:
        """The loops whose header phis are carried, innermost first."""
        return [self.inner, self.loop] if self.inner else [self.loop]

    def owner(self, phi: Instruction) -> NaturalLoop | None:
        """The loop that carries a phi; None for the phi of a join."""
        return next((loop for loop in self.loops if phi.opcode == "phi" and phi.block == loop.header), None)

    def contains(self, value: Value) -> bool:
        """True for an instruction of the region."""
        return isinstance(value, Instruction) and value.block in self.blocks

    @property
    def instructions(self) -> list[Instruction]:
        """All instructions in program order."""
        return [item for block in self.blocks.values() for item in block.instructions]

    def initial(self, phi: Instruction) -> Value | None:
        """What a header phi starts from."""
        loop = self.owner(phi)
        return loop.initial(phi) if loop else None

    def following(self, phi: Instruction) -> Value:
        """What an iteration leaves in a header phi."""
        loop = self.owner(phi)
        return loop.following(phi) if loop else phi

    def before_inner(self, name: str) -> bool:
        """True for a block of the outer loop that runs before the inner one.

        Its values are computed anew in every iteration of the inner loop, or held.
        """
        if self.inner is None or name in self.inner.blocks:
            return False
        order = list(self.blocks)
        return order.index(name) < order.index(self.inner.header) and self.inner.header in reach(self.edges, [name])

    def is_covered(self, blocks: Collection[str], start: str = "") -> bool:
        """True when every way through an iteration, or on from a block of it, passes one of some blocks."""
        return all(self.edges[name] for name in reach(self.edges, [start or self.loop.header], blocks))

    def enters_by(self, is_fixed: Callable[[Value], bool]) -> bool:
        """True where whether an iteration of a nest enters the inner loop only depends on values that are fixed."""
        assert self.inner is not None
        # A branch of which one way leaves the nest does not decide it: an iteration goes the other way.
        before = [block for name, block in self.blocks.items() if len(self.edges[name]) > 1 and self.before_inner(name)]
        return all(is_fixed(value) for block in before for value in block.terminator.operands)


def single(loop: NaturalLoop, file: str) -> LoopRegion:
    """The region of an innermost loop. SourceError where it has an inner loop, or leaves early."""
    if loop.children:
        raise SourceError(
            "has a loop inside; name the inner one (--loop), or run both as one (--flatten)", where=at(loop, file)
        )
    return _region(loop, None, file)


def flatten_nest(loop: NaturalLoop, file: str) -> LoopRegion:
    """The region of a loop and the one loop inside it.

    SourceError where there is not exactly one loop inside, or where that one has loops of its own.
    """
    if len(loop.children) != 1 or loop.children[0].children:
        raise SourceError(
            f"has {len(loop.children)} loops inside"
            + (" and more inside them" if any(child.children for child in loop.children) else "")
            + "; flattening takes a loop with one loop in it",
            where=at(loop, file),
        )
    return _region(loop, loop.children[0], file)


def at(loop: NaturalLoop, file: str) -> str:
    """Where a loop stands, for a message."""
    return f"{file}:{loop.span.start}: loop in {loop.function.name!r}"


def _region(loop: NaturalLoop, inner: NaturalLoop | None, file: str) -> LoopRegion:
    """The region of a loop, or of a nest of two. SourceError for control that is not structured or not counted."""
    blocks = {name: loop.function.blocks[name] for name in loop.blocks}
    backward = {(loop.latches[0], loop.header)}
    if inner:
        backward.add((inner.latches[0], inner.header))
    edges = {
        name: [t for t in block.successors if t in blocks and (name, t) not in backward]
        for name, block in blocks.items()
    }
    order = _topological(edges, loop.header)
    if order is None or len(order) != len(blocks):
        raise SourceError(
            "is entered at more than one place (goto?); only structured loops are taken", where=at(loop, file)
        )
    exiting = _exiting_block(loop, file)
    region = LoopRegion(
        loop, inner, {name: blocks[name] for name in order}, edges, exiting, frozenset(reach(edges, edges[exiting]))
    )
    _check_counted(region, file)
    return region


def _topological(edges: dict[str, list[str]], header: str) -> list[str] | None:
    """The blocks in topological order, ties in their old order; None where the header can be reached from inside."""
    degree = dict.fromkeys(edges, 0)
    for targets in edges.values():
        for target in targets:
            degree[target] += 1
    if degree[header]:
        return None
    rank = {name: k for k, name in enumerate(edges)}
    ready, order = [header], []
    while ready:
        ready.sort(key=lambda name: -rank[name])
        name = ready.pop()
        order.append(name)
        for target in edges[name]:
            degree[target] -= 1
            if degree[target] == 0:
                ready.append(target)
    return order


def _exiting_block(loop: NaturalLoop, file: str) -> str:
    """The one block that leaves the loop; a SourceError tells how to rewrite a loop that leaves from several."""
    exits = loop.exits
    if not exits:
        raise SourceError("never ends; give it a number of iterations", where=at(loop, file))
    # Several edges of one switch may leave together; several blocks mean early exits.
    if len({source for source, _ in exits}) > 1:
        lines = sorted({loop.function.blocks[source].terminator.line for source, _ in exits} - {0})
        if loop.parent and any(target == loop.parent.header or target in loop.parent.blocks for _, target in exits):
            # A loop that starts on the line of the loop around it was one loop in the source.
            if not loop.parent.span.start or loop.parent.span.start == loop.span.start:
                raise SourceError(
                    "was split into two loops by clang, at a 'continue' of a while loop; write if (...) { ... } around "
                    "the rest of the body, or a for loop",
                    where=at(loop, file),
                )
        raise SourceError(
            f"has {len(exits)} ways out (lines {', '.join(map(str, lines)) or 'unknown'}): early exits (break, return, "
            "&& in the condition) are not taken; run all iterations and keep the result of the one that counts",
            where=at(loop, file),
        )
    return exits[0][0]


def _check_counted(region: LoopRegion, file: str) -> None:
    """Raise SourceError unless the number of iterations is known when the loop starts.

    A loop that leaves in the middle of its body is taken only if nothing is stored before the exit, or nothing is
    done after it: in its last visit only the first part runs, which the array cannot do.
    """
    terminator = region.blocks[region.exiting].terminator
    condition = terminator.operands[0] if terminator.operands else None
    if not (isinstance(condition, Instruction) and _is_counted(region, condition)):
        raise SourceError(
            "ends when a value that it computes says so; only loops whose number of iterations is known when they "
            "start are taken: count to a bound",
            where=at(region.loop, file),
        )
    late = [
        item for name, block in region.blocks.items() if name not in region.after_exit
        for item in block.instructions if item.opcode == "store"
    ]  # fmt: skip
    if late and leaves_early(region):
        raise SourceError(
            "leaves in the middle of its body, after a store; test at the top or at the bottom",
            where=f"{at(region.loop, file)}, line {late[0].line}",
        )


def _is_counted(region: LoopRegion, condition: Instruction) -> bool:
    """True for a comparison of a counter with a bound that the loop does not change."""
    if condition.opcode != "icmp":
        return False
    a, b = condition.operands
    return any(
        not region.contains(bound) and counter_of(region, value) is not None for value, bound in ((a, b), (b, a))
    )


def counter_of(region: LoopRegion, value: Value) -> Instruction | None:
    """The header phi that a value counts with: the phi, or it plus something fixed, cut or extended.

    Where a counter of fewer bits than its bound wraps around before it gets there, C's loop never ends.
    """
    if not region.contains(value):
        return None
    root = counted_root(value, region.contains)
    is_header = isinstance(root, Instruction) and root.opcode == "phi" and root.block == region.loop.header
    return root if is_header and _steps(region, root) else None  # type: ignore[arg-type, return-value]


def _steps(region: LoopRegion, phi: Instruction) -> bool:
    """True for a phi that an iteration moves by an amount that the loop does not change."""
    following = region.following(phi)
    return following is not phi and counted_root(following, region.contains) is phi


@dataclass(frozen=True, slots=True)
class Trip:
    """What decides the number of iterations: a counter from ``start`` to ``bound`` by ``step``.

    ``step`` is 0 for a counter that is cut to fewer bits than it has; then ``constant`` alone is known. ``extra`` is
    added to the distance before it is divided; ``exact`` says that the counter meets its bound. Both describe a counter
    that does not wrap around before; ``constant`` is right for one that does.
    """

    start: Value
    bound: Value
    step: int
    extra: int
    exact: bool
    #: The number of iterations; None where the ends are no numbers, or the loop does not end.
    constant: int | None

    @property
    def is_word(self) -> bool:
        """True where the counter and both ends are words, whose differences wrap around as those of the counter do."""
        return self.start.type == self.bound.type == "i32"


def trip_parts(region: LoopRegion) -> Trip | None:
    """What decides a loop's number of iterations; None where it is not a counter with a constant step."""
    condition = region.blocks[region.exiting].terminator.operands[0]
    if not isinstance(condition, Instruction):
        return None
    a, b = condition.operands
    bound, value = (b, a) if not region.contains(b) else (a, b)
    phi = counter_of(region, value)
    if phi is None:
        return None
    start, step, ahead = region.initial(phi), Evolution(region.loop).step_of(phi), _ahead(value, phi)
    if start is None:
        return None
    # The loop goes on while the test holds (or stops at it): the iteration whose test ends it is the last one.
    stops = region.blocks[region.exiting].terminator.targets[0] not in region.loop.blocks
    partial = leaves_early(region)
    constant = None
    if isinstance(start, Constant) and isinstance(bound, Constant):
        test = Test(condition.predicate, swapped=value is b, stops=stops)
        visit = last_visit(test, LoopCounter(phi, start, region.following(phi), value, step), bound)
        constant = None if visit is None else visit + (0 if partial else 1)
    if not step or ahead is None:
        return None if constant is None else Trip(start, bound, 0, 0, False, constant)
    exact = condition.predicate in ("eq", "ne")
    inclusive = 0 if exact else _inclusive(condition.predicate, stops)
    extra = ((0 if partial else step) - ahead) * (1 if step > 0 else -1) + inclusive
    return Trip(start, bound, step, extra, exact, constant)


def leaves_early(region: LoopRegion) -> bool:
    """True for a loop whose last visit does only the part of an iteration that stands before the exit."""
    after = (item for name in region.after_exit for item in region.blocks[name].instructions)
    return any(item.opcode not in ("br", "switch", "phi") for item in after)


def trip_count(region: LoopRegion) -> str:
    """The number of iterations as a number, or as the source would say it.

    Empty where the source does not say it simply. It is a text for people: nothing in the graph depends on it.
    """
    parts = trip_parts(region)
    if parts is None:
        return ""
    if parts.constant is not None:
        return str(parts.constant)
    return iterations(parts.start, parts.bound, parts.step, parts.extra, exact=parts.exact)


def _ahead(value: Value, phi: Instruction) -> int | None:
    """What a tested value adds to its counter; None where that is not a number."""
    if value is phi:
        return 0
    if isinstance(value, Instruction) and value.opcode in ("sext", "zext"):
        return _ahead(value.operands[0], phi)
    if not (
        isinstance(value, Instruction) and value.opcode in ("add", "sub") and isinstance(value.operands[1], Constant)
    ):
        return None
    inner = _ahead(value.operands[0], phi)
    added = value.operands[1].value * (1 if value.opcode == "add" else -1)
    return None if inner is None else inner + added


def _inclusive(predicate: str, stops: bool) -> int:
    """1 where a counter that has reached its bound still runs an iteration, else 0."""
    includes = predicate in ("sle", "ule", "sge", "uge")
    return int(includes != stops)
