"""The processor that loops on an array are compared with, and on which loops run that no mapper maps.

It is a model in the manner of a simulator of an in-order core, and not a measurement of one. What it assumes, one by
one, each a field of :class:`Processor`:

- *Issue*: one instruction per cycle, in the order of the program (``width`` says how many).
- *Waiting*: an instruction waits until its operands are there, and results are forwarded; others after it wait, too.
  With ``blocking`` each instruction waits until the one before it has its result, as in the simplest simulators.
- *Latencies*, in cycles from issue to the first reader's issue: ``alu`` 1, ``mul`` 3, ``div`` 9, ``fp`` 4, ``fp_div``
  15, ``load`` 3 (one for the address, two for a hit in the first cache), ``store`` 1 (into a write buffer).
- *Pipelining*: all units take an instruction in each cycle, but for the two dividers, which finish one at a time.
- *Cache*: every access hits. ``misses`` is the share of loads that do not, and ``miss`` what such a load takes more.
- *Branches*: an iteration has a comparison and ends with a branch, which is predicted (``control`` instructions).
- *Addresses*: base, index and scale are part of the access; the address and data halves of one access that some graphs
  have as two nodes are one instruction.
- *Registers*: constants are immediate, and live-ins and all values of an iteration are in registers: nothing spills.
- *Compiler*: instructions are in the order of a list schedule for these latencies, longest path first. It does not
  unroll, and does not pipeline iterations in software.

The cycles of an iteration are those between the ends of two iterations once they repeat.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError

# Iterations that are run to find how many cycles each takes, and of them those at the end that are counted.
_ITERATIONS: Final = 48
_COUNTED: Final = 24


@dataclass(frozen=True, kw_only=True)
class Processor:
    """What the processor is assumed to be; OptionError for a value that no processor has."""

    width: int = 1
    blocking: bool = False
    alu: int = 1
    mul: int = 3
    div: int = 9
    fp: int = 4
    fp_div: int = 15
    load: int = 3
    store: int = 1
    misses: float = 0.0
    miss: int = 20
    control: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < (0 if field.name in ("misses", "miss", "control", "blocking") else 1):
                raise OptionError(f"the processor's {field.name} is {value}, which is too low")
        if self.misses > 1:
            raise OptionError(f"the processor's misses are a share of all loads, at most 1, not {self.misses}")


@dataclass(frozen=True, slots=True)
class ProcessorInstruction:
    """An instruction of the loop: what it takes, and the earlier instructions whose results it reads."""

    #: Cycles from its issue to the issue of the first that reads its result.
    latency: float
    #: The unit that takes no other instruction meanwhile; empty: all units are pipelined.
    unit: str = ""
    #: Positions of the instructions that it reads, with the iteration distance.
    reads: tuple[tuple[int, int], ...] = ()


def sequential_cycles(dfg: Dfg, processor: Processor | None = None) -> float:
    """Return the cycles of an iteration on the processor, to two digits.

    >>> from gridloom.compiler.source import load_source
    >>> sequential_cycles(load_source("kernel:dot_product"))
    8.0
    >>> sequential_cycles(load_source("kernel:dot_product"), Processor(blocking=True))
    9.0
    """
    chosen = processor or Processor()
    return round(_cycles(program(dfg, chosen), chosen), 2)


def program(dfg: Dfg, processor: Processor) -> list[ProcessorInstruction]:
    """Return the instructions of an iteration in the order of a list schedule, longest path first.

    Operands that are constants or live-ins are left out. The comparison goes wherever the schedule waits, the branch
    ends it.
    """
    nodes = [n for n, op in enumerate(dfg.ops) if not op.timeless and op.name != "load_data"]
    number = {n: k for k, n in enumerate(nodes)}
    for edge in dfg.edges:
        if dfg.ops[dfg.index[edge.target]].name == "load_data" and edge.kind == "data":
            # What reads the data half of a load reads the load.
            number[dfg.index[edge.target]] = number[dfg.index[edge.source]]
    reads: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for edge in dfg.edges:
        source, target = (number.get(dfg.index[end]) for end in (edge.source, edge.target))
        within = source == target and edge.distance == 0
        if source is not None and target is not None and not within and edge.kind != "async":
            reads[target].append((source, edge.distance))
    work = [_instruction(dfg, n, processor) for n in nodes]
    for _ in range(processor.control - 1):
        work.append(ProcessorInstruction(float(processor.alu)))
        reads.append([])
    order = _list_schedule(work, reads)
    place = {k: position for position, k in enumerate(order)}
    made = [
        ProcessorInstruction(work[k].latency, work[k].unit, tuple((place[source], d) for source, d in reads[k]))
        for k in order
    ]
    return made + [ProcessorInstruction(1.0)] * min(1, processor.control)


def _instruction(dfg: Dfg, node: int, processor: Processor) -> ProcessorInstruction:
    """What a node takes, without its operands. The data half of a store takes nothing: it is one with the other."""
    op, name = dfg.ops[node], dfg.op_class(dfg.nodes[node].id)
    if name == "mem_data":
        return ProcessorInstruction(0.0)
    if name == "mem":
        loads = (op.result and op.name != "store_address") or op.name == "load_address"
        return ProcessorInstruction(
            processor.load + processor.misses * processor.miss if loads else float(processor.store)
        )
    if name == "fp":
        divides = op.name in ("fdiv", "fsqrt", "div", "sqrt")
        return ProcessorInstruction(float(processor.fp_div if divides else processor.fp), "fp_div" if divides else "")
    if name == "div":
        return ProcessorInstruction(float(processor.div), "div")
    return ProcessorInstruction(float(processor.mul if name == "mul" else processor.alu))


def _list_schedule(work: Sequence[ProcessorInstruction], reads: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """Return the order in which one instruction per cycle issues: of those ready, the one with the most after it."""
    readers: list[list[int]] = [[] for _ in work]
    waiting = [0] * len(work)
    for k, sources in enumerate(reads):
        for source, distance in sources:
            if distance == 0:
                readers[source].append(k)
                waiting[k] += 1
    height = _heights(work, readers, waiting)
    ready_at, left = [0.0] * len(work), list(waiting)
    later = [(0.0, k) for k in range(len(work)) if not left[k]]
    heapq.heapify(later)
    now: list[tuple[float, int]] = []
    order: list[int] = []
    clock = 0.0
    while later or now:
        while later and later[0][0] <= clock:
            k = heapq.heappop(later)[1]
            heapq.heappush(now, (-height[k], k))
        if not now:
            clock = later[0][0]
            continue
        k = heapq.heappop(now)[1]
        order.append(k)
        for reader in readers[k]:
            ready_at[reader] = max(ready_at[reader], clock + work[k].latency)
            left[reader] -= 1
            if not left[reader]:
                heapq.heappush(later, (ready_at[reader], reader))
        clock += 1.0
    return order


def _heights(
    work: Sequence[ProcessorInstruction], readers: Sequence[Sequence[int]], waiting: Sequence[int]
) -> list[float]:
    """Return for each instruction the longest chain of latencies from its issue on."""
    left, order = list(waiting), [k for k in range(len(work)) if not waiting[k]]
    for k in order:
        for reader in readers[k]:
            left[reader] -= 1
            if not left[reader]:
                order.append(reader)
    height = [0.0] * len(work)
    for k in reversed(order):
        height[k] = work[k].latency + max((height[reader] for reader in readers[k]), default=0.0)
    return height


def _cycles(instructions: Sequence[ProcessorInstruction], processor: Processor) -> float:
    """Return the mean cycles of the last of some iterations that run one after the other."""
    if processor.blocking:
        # The data half of an access takes no cycle of its own.
        return sum(one.latency for one in instructions)
    done: list[list[float]] = []
    free: dict[str, float] = {}
    clock, issued = 0.0, 0
    ends: list[float] = []
    for iteration in range(_ITERATIONS):
        done.append([0.0] * len(instructions))
        for k, one in enumerate(instructions):
            at = max([clock, free.get(one.unit, 0.0)] + [
                done[iteration - d][source] for source, d in one.reads if d <= iteration
            ])  # fmt: skip
            if at > clock:
                clock, issued = at, 0
            done[iteration][k] = clock + one.latency
            if one.unit:
                free[one.unit] = clock + one.latency
            issued += one.latency > 0
            if issued >= processor.width:
                clock, issued = clock + 1.0, 0
        ends.append(clock)
    return (ends[-1] - ends[-1 - _COUNTED]) / _COUNTED
