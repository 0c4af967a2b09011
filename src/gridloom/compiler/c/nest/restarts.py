"""Which loops around an innermost one a loop controller can take over, so that the host starts the nest only once.

A controller starts the loop again for each iteration of the loops around it. Before each start it adds a fixed amount
to every live-in and to the start of every array, one amount for each level. So the loops around may hold nothing else:
no access, no value that is left behind, no number of iterations that changes; and what the innermost loop is given may
only move by fixed amounts.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.region import LoopRegion, trip_parts
from gridloom.compiler.ir.ir import Instruction, IrModule, Value
from gridloom.compiler.ir.layout import DataLayout
from gridloom.compiler.loops.operations import LiveIn, Operand
from gridloom.errors import SourceError

#: What a value may be computed by from one that moves by a fixed amount, so that it moves by one, too.
_LINEAR = frozenset({"add", "sub", "shl", "mul"})


def controlled_loops(module: IrModule, graph: CLoop, most: int) -> list[NaturalLoop]:
    """The loops around an innermost one that a controller of so many levels can take over, from the inside out.

    Costs a pass over the loops around for each level.
    """
    found: list[NaturalLoop] = []
    parts = trip_parts(graph.region)
    around = graph.region.loop.parent
    if parts is None or graph.liveouts:
        return found
    ends = [parts.start, parts.bound]
    while around is not None and len(found) < most:
        chain = [*found, around]
        pairs = zip(chain, [graph.region.loop, *found])
        alone = all(_holds_only(loop, inside, around) for loop, inside in pairs)
        if not (alone and _is_steady(around, chain, ends) and _moves(module, graph, chain)):
            break
        found.append(around)
        around = around.parent
    return found


def _holds_only(loop: NaturalLoop, inner: NaturalLoop, outer: NaturalLoop) -> bool:
    """True for a loop that computes counters and addresses besides the loop inside it.

    Nothing that ``outer``, the outermost loop, computes may decide whether that runs.
    """
    if len(loop.children) != 1:
        return False
    blocks = loop.function.blocks
    own = [item for name in loop.blocks if name not in inner.blocks for item in blocks[name].instructions]
    if any(item.opcode in ("load", "store", "call") and not item.callee.startswith("llvm.assume") for item in own):
        return False
    after = [item for name, block in blocks.items() if name not in loop.blocks for item in block.instructions]
    left = any(inner.contains(operand) for item in own for operand in item.operands)
    leaving = {source for source, _ in loop.exits}
    asked = [blocks[name].terminator.operands for name in loop.blocks if name not in {*inner.blocks, *leaving}]
    if any(outer.contains(operand) for operands in asked for operand in operands):
        return False
    return not left and not any(loop.contains(o) for item in after for o in item.operands)


def _is_steady(loop: NaturalLoop, chain: list[NaturalLoop], ends: list[Value]) -> bool:
    """True where neither this loop's number of iterations nor that of a loop inside changes in any of the chain."""
    exits = loop.exits
    if len(exits) != 1:
        return False
    blocks = {name: loop.function.blocks[name] for name in loop.blocks}
    region = LoopRegion(loop, None, blocks, {}, exits[0][0], frozenset())
    parts = trip_parts(region) if blocks[region.exiting].terminator.operands else None
    if parts is None:
        return False
    ends += [parts.start, parts.bound]
    return not any(around.contains(value) for around in chain for value in ends)


def _moves(module: IrModule, graph: CLoop, chain: list[NaturalLoop]) -> bool:
    """True where every loop of the chain moves what the innermost one is given by fixed amounts."""
    outer = chain[-1]

    def owner(phi: Instruction) -> NaturalLoop | None:
        return next((loop for loop in chain if phi.opcode == "phi" and phi.block == loop.header), None)

    def initial(phi: Instruction) -> Value | None:
        loop = owner(phi)
        return loop.initial(phi) if loop else None

    def following(phi: Instruction) -> Value:
        loop = owner(phi)
        return loop.following(phi) if loop else phi

    pointers = Pointers(
        DataLayout(module.structs),
        outer.contains,
        initial,
        following,
        lambda phi: owner(phi) is not None,
        lambda item: "",
    )
    try:
        forms = [pointers.integer(value) for value in graph.liveins.values() if _known(value, outer)]
        forms += [pointers.expand(pointers.resolve(base).bytes) for base in graph.bases.values()]
        steady = all(_is_linear(symbol, outer, chain, pointers) for form in forms for symbol in form.terms)
    except SourceError:
        return False
    moving = {name for name, value in graph.liveins.items() if outer.contains(value)}
    wide = {*graph.high_liveins, *graph.high_liveins.values()}
    return steady and not moving & wide and _prologue_is_linear(graph, moving)


def _known(value: Value, outer: NaturalLoop) -> bool:
    """True for a value that may move; others are the same in every iteration."""
    return outer.contains(value)


def _is_linear(symbol: Value, outer: NaturalLoop, chain: Iterable[NaturalLoop], pointers: Pointers) -> bool:
    """True for a symbol that is fixed, a counter with a fixed step, or such a counter times a fixed value."""
    if not isinstance(symbol, Instruction) or not outer.contains(symbol):
        return True
    for loop in chain:
        if symbol.opcode == "phi" and symbol.block == loop.header:
            return _steps(symbol, loop, pointers)
    if symbol.opcode != "mul" or symbol.type != "i32":
        return False
    for factor, fixed in (symbol.operands, list(reversed(symbol.operands))):
        if not outer.contains(fixed):
            return all(_is_linear(part, outer, chain, pointers) for part in pointers.integer(factor).terms)
    return False


def _steps(phi: Instruction, loop: NaturalLoop, pointers: Pointers) -> bool:
    """True for a phi that an iteration of its loop moves by a fixed amount, and that starts from a fixed value."""
    first = loop.initial(phi)
    if first is None or (loop.parent is not None and loop.parent.contains(first)):
        return False
    return phi.type in ("i32", "ptr") and pointers.evolution(loop).step_of(phi) is not None


def _prologue_is_linear(graph: CLoop, moving: set[str]) -> bool:
    """True where what is computed before a launch moves by fixed amounts, too, or does not move at all."""
    moved = set(moving)

    def is_moved(operand: Operand) -> bool:
        return isinstance(operand, LiveIn) and operand.name in moved

    for name, made in graph.prologue.items():
        which = [is_moved(operand) for operand in made.operands]
        if not any(which):
            continue
        several = sum(which) > 1 and made.op in ("mul", "shl")
        if made.op not in _LINEAR or several or (made.op == "shl" and which[-1]):
            return False
        moved.add(name)
    return True
