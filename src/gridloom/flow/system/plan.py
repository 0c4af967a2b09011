"""Which loops of a compiled function a system launches, and the hardware and images for them.

Launches are weighed against what the core takes for blocks of IR. VexRiscv folds addresses into loads and stores and
extensions into what reads them, multiplies in a cycle, and loses some at every branch that is taken; minima, maxima and
selects are branches. The cycles were fitted to eleven functions and three rewritten ones that it ran alone, which they
give within a quarter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.compiler.c.function.program import LoopPlan
from gridloom.compiler.ir.ir import BasicBlock, Function, Instruction
from gridloom.errors import GridloomError, MappingError
from gridloom.flow.functions.compile import LEFT_OVER, Compiled, CompiledLoop, finish_function
from gridloom.flow.functions.data import Arguments
from gridloom.flow.functions.launching.launcher import Launcher
from gridloom.flow.functions.launching.schedule import NEVER, LaunchRow, saved_cycles, schedule
from gridloom.flow.functions.run import LIMIT, _values, _words
from gridloom.flow.system.host_access import HostAccess, host_access, roots
from gridloom.flow.system.launch_c import LaunchedLoop
from gridloom.hardware.bitstream.encode import fit_parameters
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.system.image import image_of
from gridloom.hardware.system.parameters import System, SystemParameters
from gridloom.mapping.configuration import configure

#: Cycles of the driver for a launch with its data in place, and for one whose arrays the core works on as well: what
#: the schedule reckons with. Both were measured; the second is mostly the core's cache, which has to be emptied.
LAUNCH_CYCLES: Final = 200
SHARED_CYCLES: Final = 1000
#: Cycles of the driver for a launch with streams, measured.
STREAM_CYCLES: Final = 150
#: Those to empty the core's cache behind such a launch, where the core reads what it wrote, and to fill it again.
REFRESH_CYCLES: Final = 300
#: Those for each value that a launch leaves, and for the first launch of a loop, whose image and code come first.
LIVEOUT_CYCLES: Final = 20
FIRST_CYCLES: Final = 900
#: The same where the driver has to find places in the data memory first.
PLACED_CYCLES: Final = 2000
#: How often the choice of loops is made again for what was chosen.
_ROUNDS: Final = 3


@dataclass(frozen=True, kw_only=True)
class SystemPlan:
    """A function with the loops that are launched, and the system that runs them."""

    compiled: Compiled
    system: System
    loops: tuple[LaunchedLoop, ...]
    #: One line for each loop of the function that is not launched.
    reasons: tuple[str, ...]


def launched_singly(compiled: Compiled) -> Compiled:
    """The function without launches side by side, exchanged loops and a loop controller, which the driver has not."""
    loops = [loop for loop in compiled.loops
             if loop.plan.jam == 1 and loop.plan.interchange is None and not loop.plan.controls]  # fmt: skip
    made = finish_function(compiled.program, compiled.signature, compiled.arch, loops)
    made.native = compiled.native
    return made


def plan_launches(compiled: Compiled, arguments: Arguments | None, *, always: bool = False) -> SystemPlan:
    """The launches of a function. With ``arguments`` a run on them decides which loops are worth a launch.

    Without, every mapped loop is launched, and with ``always`` every innermost one. MappingError where no loop is on
    the array.
    """
    reasons = [loop.text for loop in compiled.loops if loop.mapping is None and not loop.plan.loop.children]
    mapped = [loop for loop in compiled.loops if loop.mapping is not None]
    # Nobody knows how long launches are; those of a nest are longer than those of the loop inside.
    thresholds = [0] * len(mapped)
    words = 0
    streams = any(loop.plan.graph is not None and loop.plan.graph.streams for loop in mapped)
    if streams:
        thresholds = [0 if always else stream_threshold(loop, mapped) for loop in mapped]
        if not always and arguments is not None and _stream_gain(compiled, arguments, mapped) <= 0:
            thresholds = [NEVER] * len(mapped)
    elif arguments is not None:
        thresholds, words = _thresholds(compiled, arguments, always)
    chosen = [(loop, t) for loop, t in zip(mapped, thresholds) if t < NEVER]
    nests = [set(loop.plan.loop.blocks) for loop, _ in chosen if loop.plan.is_nest]
    chosen = [
        (loop, t) for loop, t in chosen
        if loop.plan.is_nest or not any(loop.plan.loop.header in nest for nest in nests)
    ]  # fmt: skip
    reasons += [f"{loop.plan.name}: the core is faster" for loop, t in zip(mapped, thresholds)
                if t >= NEVER and not loop.plan.is_nest]  # fmt: skip
    system, kept, refused = _system(compiled, [loop for loop, _ in chosen], words)
    loops: list[LaunchedLoop] = []
    for loop, threshold in chosen:
        if loop not in kept:
            continue
        function = loop.plan.loop.function
        access = host_access(function, _launched_blocks([*(k.plan for k in kept), *left_over(compiled)], function))
        try:
            image = image_of(configure(_mapping(loop)), system)
        except MappingError as error:
            refused.append(f"{loop.plan.name}: {error.message}")
            continue
        loops.append(LaunchedLoop(number=len(loops), plan=loop.plan, image=image, access=access, threshold=threshold))
    if not loops:
        raise MappingError(
            f"no loop of {compiled.name!r} is launched on {compiled.arch.name}: {'; '.join([*reasons, *refused])}"
        )
    return SystemPlan(compiled=compiled, system=system, loops=tuple(loops), reasons=(*reasons, *refused))


def left_over(compiled: Compiled) -> list[LoopPlan]:
    """The nests that run what is left over of jammed ones: all that launches left is in memory when one begins."""
    return [loop.plan for loop in compiled.loops if loop.plan.reason == LEFT_OVER and loop.plan.loop.children]


def stream_threshold(loop: CompiledLoop, loops: Sequence[CompiledLoop]) -> int:
    """The iterations from which on a loop with streams is launched: from where the core takes longer than the driver.

    Always where it works on what another launched loop writes, or writes what another reads: before the core could do
    it, all launches would have to end, and its cache to be emptied, which takes longer than the launch.
    """
    for other in loops:
        if other is not loop and (_share(loop, other) or _share(other, loop)):
            return 1
    body = sum(item.opcode != "phi" for item in loop.plan.loop.instructions)
    return -(-STREAM_CYCLES // max(1, body - (loop.ii or 1)))


def _stream_gain(compiled: Compiled, arguments: Arguments, loops: Sequence[CompiledLoop]) -> int:
    """The cycles that launches of loops with streams save in a run, as far as the constants say."""
    memory, counts = compiled.host.memory(arguments.objects), list[int]()
    values = _values(compiled, arguments, memory)
    compiled.host.run(memory, compiled.program.function, values, {}, LIMIT, counts)
    gain = 0
    for loop in loops:
        inner, function, graph = loop.plan.loop, loop.plan.loop.function, loop.plan.graph
        assert graph is not None
        ran = {name: counts[compiled.host.code.block_number(function, name)] for name in function.blocks}
        before = [n for n, b in function.blocks.items() if inner.header in b.successors and n not in inner.blocks]
        launches = min(sum(ran[name] for name in before), *(ran[target] for _, target in inner.exits))
        core = sum(core_cycles(function.blocks[name]) * ran[name] for name in inner.blocks)
        # One bus brings all streams; a launch that leaves values is waited for.
        rate = max(loop.ii or 1, sum(item.opcode == "load" for item in graph.streams.values()))
        driver = STREAM_CYCLES + LIVEOUT_CYCLES * (len(graph.liveouts) + bool(graph.liveouts))
        driver += REFRESH_CYCLES * _is_refreshed(loop, [*(other.plan for other in loops), *left_over(compiled)])
        gain += core - rate * ran[inner.header] - driver * launches - FIRST_CYCLES
    return gain


def _is_refreshed(loop: CompiledLoop, plans: Sequence[LoopPlan]) -> bool:
    """Whether the core reads what a loop with streams writes, if some loops are launched."""
    function = loop.plan.loop.function
    access = host_access(function, _launched_blocks(plans, function))
    stored = [item.operands[1] for item in loop.plan.loop.instructions if item.opcode == "store"]
    return any(access.reads_of(pointer) for pointer in stored)


def _share(loop: CompiledLoop, other: CompiledLoop) -> bool:
    """Whether one loop stores to what the other loads from or stores to, or may."""
    stored = [item.operands[1] for item in loop.plan.loop.instructions if item.opcode == "store"]
    touched = [item.operands[-1] for item in other.plan.loop.instructions if item.opcode in ("load", "store")]
    written = HostAccess(writes=set().union(*(roots(pointer) for pointer in stored)))
    return any(written.writes_of(pointer) for pointer in touched)


def _launched_blocks(loops: Sequence[LoopPlan], function: Function) -> set[str]:
    """The blocks of a function that some loops have."""
    return {block for plan in loops if plan.loop.function is function for block in plan.loop.blocks}


def _mapping(loop: CompiledLoop) -> Any:
    assert loop.mapping is not None
    return loop.mapping


def _thresholds(compiled: Compiled, arguments: Arguments, always: bool) -> tuple[list[int], int]:
    """The schedule of a run with what the driver costs; and the most words of data memory that a launch needs."""
    memory = compiled.host.memory(arguments.objects)
    launcher = Launcher(compiled, memory, 1)
    launcher.costs = [core_cycles(block) for f in compiled.program.functions for block in f.blocks.values()]
    values = _values(compiled, arguments, memory)
    compiled.host.run(memory, compiled.program.function, values, launcher.hooks(), LIMIT, launcher.counts)
    needs = [0] * len(launcher.mapped)
    for (k, *_), binding in launcher.bindings.items():
        needs[k] = max(needs[k], binding.words)
    words_in, words_out = _words(compiled, arguments)
    words: Mapping[str, int] = {n: words_in.get(n, 0) + words_out.get(n, 0) for n in {*words_in, *words_out}}
    costs = launcher.loop_costs()

    def charged(chosen: Sequence[CompiledLoop]) -> list[LaunchRow]:
        """The log with what the driver costs when some loops are launched: the core works on the arrays of others."""
        moved = [_moved(loop, chosen, left_over(compiled), needs[k]) for k, loop in enumerate(launcher.mapped)]
        return [replace(row, array=row.array + _driver(launcher.mapped[row.loop], row) + moved[row.loop])
                for row in launcher.rows]  # fmt: skip

    # What a launch moves depends on which others there are, so that the choice is made again for what was chosen.
    inner = [loop for loop in launcher.mapped if not loop.plan.is_nest]
    tried = [tuple(NEVER if loop.nest else 0 for loop in costs)]
    chosen = inner
    for _ in range(0 if always else _ROUNDS):
        # A launch that the core does itself needs all data back, so that no loop has a threshold.
        decided = schedule(charged(chosen), costs, compiled.loads, words, always=False, divided=False)
        tried.append(decided.thresholds)
        chosen = [loop for loop, threshold in zip(launcher.mapped, decided.thresholds) if threshold < NEVER]
        if not chosen:
            break

    def saved(thresholds: tuple[int, ...]) -> int:
        launched = [loop for loop, threshold in zip(launcher.mapped, thresholds) if threshold < NEVER]
        gain = saved_cycles(charged(launched), costs, compiled.loads, words, thresholds)
        return gain - PLACED_CYCLES * len(launched)

    best = tried[0] if always or not inner else max(tried, key=saved)
    if not always and saved(best) <= 0:
        best = (NEVER,) * len(costs)
    return list(best), max(needs, default=0)


def _driver(loop: CompiledLoop, row: LaunchRow) -> int:
    """Cycles of the driver for a launch."""
    left = LIVEOUT_CYCLES * len(loop.plan.left)
    return left + LAUNCH_CYCLES * (1 if loop.plan.pieces is None else max(1, row.iterations // 512 + 3))


def _moved(loop: CompiledLoop, loops: Sequence[CompiledLoop], rest: Sequence[LoopPlan], words: int) -> int:
    """Cycles of the transfers of each launch, where the core works on the same arrays, if some loops are launched."""
    graph = loop.plan.graph
    assert graph is not None
    function = loop.plan.loop.function
    plans = [loop.plan, *(other.plan for other in loops), *rest]
    access: HostAccess = host_access(function, _launched_blocks(plans, function))
    touched = [access.reads_of(base) or access.writes_of(base) for base in graph.bases.values()]
    share = sum(touched) / max(1, len(touched))
    return int(share * 2 * words) + SHARED_CYCLES * any(touched)


# Sizes are generous and rounded up, so that many functions share one hardware, which is built once.
def _system(compiled: Compiled, loops: list[CompiledLoop], words: int) -> tuple[System, list[CompiledLoop], list[str]]:
    """The hardware that all launched loops fit, the loops that it can have, and why not others."""
    kept: list[CompiledLoop] = []
    refused: list[str] = []
    chosen = HardwareParameters(width=compiled.arch.word, values=16, memory_words=16384, liveouts=True)
    for loop in loops:
        if _mapping(loop).dfg.domain != "i32":
            refused.append(f"{loop.plan.name}: the driver launches loops of integers")
            continue
        try:
            chosen = fit_parameters(configure(_mapping(loop)), chosen)
            kept.append(loop)
        except GridloomError as error:
            refused.append(f"{loop.plan.name}: {error}")
    chosen = chosen.at_least(memory_words=_power(words + 64), values=_power(chosen.values))
    banks = 8 if len(kept) <= 8 else 16
    system = System(Hardware(compiled.arch, replace(chosen, liveouts=True)), SystemParameters(banks=banks))
    try:
        for loop in kept:
            image_of(configure(_mapping(loop)), system)
    except MappingError:
        # Images of long loops need more rows than most systems have.
        system = replace(system, parameters=SystemParameters(banks=banks, rows=4096))
    return system, kept, refused


def _power(count: int) -> int:
    return 1 << max(count - 1, 0).bit_length()


#: Cycles of an instruction by opcode; 0.6 for those that are not listed.
CORE_CYCLES: Final[Mapping[str, float]] = {
    "phi": 0, "trunc": 0, "zext": 0, "sext": 0, "freeze": 0, "getelementptr": 0, "alloca": 0, "unreachable": 0,
    "load": 1, "store": 1.5, "mul": 1, "icmp": 2, "select": 3.5, "br": 5, "switch": 8, "call": 10, "ret": 5,
    "sdiv": 34, "srem": 34, "udiv": 34, "urem": 34, "fadd": 60, "fsub": 60, "fmul": 60, "fdiv": 200, "fcmp": 40,
}  # fmt: skip
_OTHER: Final = 0.6
_INTRINSIC: Final = 4.0


def core_cycles(block: BasicBlock) -> int:
    """Cycles that the core takes for one execution of a block, rounded."""
    return round(sum(map(_cycles, block.instructions)))


def _cycles(item: Instruction) -> float:
    if item.opcode == "call" and item.callee.startswith("llvm."):
        return 0.0 if item.callee.startswith(("llvm.assume", "llvm.lifetime", "llvm.dbg")) else _INTRINSIC
    return CORE_CYCLES.get(item.opcode, _OTHER)
