"""If-conversion: under which condition each block of an acyclic region runs, as operands of the body.

The condition of a block is the disjunction over its incoming edges of the condition of the edge and that of its source.
A block that runs whenever its immediate dominator runs shares the dominator's condition, so that code after an ``if``
costs nothing. Conditions are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable

from gridloom.compiler.analysis.loops import immediate_dominators
from gridloom.compiler.ir.ir import BasicBlock, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import FALSE, TRUE, Operand


class Predicates:
    """Conditions of blocks and edges of a region whose back and exit edges are left out.

    ``blocks`` are in topological order; the first one is the root. Conditions are made when they are asked for, so a
    block that always runs costs nothing. ``value`` gives the operand of an IR value, ``equal`` compares
    two of one type.
    """

    def __init__(
        self,
        body: Body,
        blocks: dict[str, BasicBlock],
        edges: dict[str, list[str]],
        value: Callable[[Value], Operand],
        equal: Callable[[str, Value, Value], Operand],
        pausing: frozenset[str] = frozenset(),
    ) -> None:
        self.body, self.blocks, self.edges, self.value, self.equal = body, blocks, edges, value, equal
        #: Blocks from which an iteration may end although the region goes on: an inner loop that is not done.
        self.pausing = pausing
        self.order = list(blocks)
        self.before: dict[str, list[str]] = {name: [] for name in blocks}
        for name in self.order:
            for target in edges[name]:
                self.before[target].append(name)
        self.immediate = immediate_dominators(self.order, self.before)
        self.always_after = self._postdominators()
        self._known: dict[tuple[str, str], Operand] = {}

    def _postdominators(self) -> dict[str, set[str]]:
        """Block -> the blocks that run in every iteration in which it runs."""
        always: dict[str, set[str]] = {}
        for name in reversed(self.order):
            after = [always[target] for target in self.edges[name]]
            after += [set()] if name in self.pausing else []
            always[name] = {name} | (set.intersection(*after) if after else set())
        return always

    def edge(self, source: str, target: str) -> Operand:
        """The condition under which control goes from a block to a target, given that the block runs."""
        terminator = self.blocks[source].terminator
        if len(self.edges[source]) < 2 and source not in self.pausing:
            return TRUE
        if terminator.opcode == "switch":
            return self._case(source, target)
        condition = self.value(terminator.operands[0])
        return condition if terminator.targets[0] == target else self.body.inverse(condition)

    def _case(self, source: str, target: str) -> Operand:
        """The condition under which a switch goes to a target: the subject equals one of its cases.

        The default is the negation of all cases that lead elsewhere.
        """
        terminator = self.blocks[source].terminator
        subject, *cases = terminator.operands
        default, *targets = terminator.targets
        # An edge that leaves the loop was dropped; its cases do not happen in a full iteration.
        wanted = [c for c, t in zip(cases, targets) if (t != default if target == default else t == target)]
        matches: Operand = FALSE
        for case in wanted:
            matches = self.body.emit("or", self.equal("eq", subject, case), matches)
        return self.body.inverse(matches) if target == default else matches

    def reach(self, root: str, name: str) -> Operand:
        """The condition under which a block runs, given that a block that dominates it runs."""
        # What runs whenever the root runs has no condition: this keeps straight code free of predicates.
        if name == root or name in self.always_after[root]:
            return TRUE
        key = (root, name)
        if key not in self._known:
            self._known[key] = self._reach(root, name)
        return self._known[key]

    def _reach(self, root: str, name: str) -> Operand:
        """The condition of :meth:`reach`, computed anew from the blocks before."""
        above = self.immediate[name]
        if above != root and name in self.always_after[above]:
            return self.reach(root, above)
        condition: Operand = FALSE
        for p in self.before[name]:
            through = self.body.emit("and", self.edge(p, name), self.reach(root, p))
            condition = self.body.emit("or", through, condition)
        return condition

    def merge(self, name: str, incoming: list[tuple[str, Operand | None]], hint: str) -> Operand:
        """What a phi of a block holds; None stands for a value that does not matter.

        ``incoming`` are pairs of a block and the value that comes from it. Equal values need no select, and the last
        value needs no condition: it is what remains. Conditions are taken relative to the block's immediate
        dominator, which runs whenever the block does.
        """
        root = self.immediate[name]
        known = [(source, value) for source, value in incoming if value is not None]
        # A phi whose values are all undefined may hold anything.
        merged: Operand = known[-1][1] if known else FALSE
        for source, value in known[:-1]:
            if value == merged:
                continue
            condition = self.body.emit("and", self.edge(source, name), self.reach(root, source))
            merged = self.body.select(condition, value, merged, hint)
        return merged
