"""Stages of a tensor program: what becomes a group of units together, and what it costs for a block of rows.

A matrix product is a stage; vector operations that follow each other with nothing between them are one, as long as
none of their values is read elsewhere. Rows stream through the array in blocks, so everything is counted for a block.

A stage is the unit of balancing: it gets a number of compute units, and the slowest stage sets the period. Three kinds
exist. ``gemm`` multiplies a stream of rows by weights, or by a value that is held until a whole sample of it is there
(attention). ``weight_grad`` multiplies two streams over their rows and keeps the sums in memory. ``vector`` does
elementwise steps, reductions and norms, as many per pass as a compute unit has pipeline stages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

from gridloom.archs.model import Arch
from gridloom.archs.spec import parameters
from gridloom.errors import SourceError
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.program.costs import REDUCTIONS, WINDOWED, contraction, flops, steps
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram
from gridloom.targets.dataflow.program.parameters import parameters_of

#: Links of a near way: out of a unit, between two switches or three, and into another.
_NEAR = 4

#: An operand: the results of stages (or inputs) side by side; more than one where a product was cut by columns.
Operand = tuple[str, ...]
#: Operations that are merged into stages: runs of vector operations, or also products with what follows them.
Merge = Literal["vectors", "products"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFabric:
    """What lowering needs to know of an array.

    All capacities are counted in vectors of ``lanes`` elements, the unit of transfer between units. ``ports`` are the
    vectors per cycle of a memory unit, and ``dram_cycles`` the cycles per vector of a DRAM interface.
    """

    #: Units of each kind; :mod:`gridloom.targets.dataflow.lowering.units` looks them up by the name of the kind.
    compute: int
    memory: int
    dram: int
    #: Vectors of an input FIFO, of a memory unit.
    fifo: int
    capacity: int
    operands: int
    lanes: int
    stages: int
    block_rows: int
    ports: int
    dram_cycles: int
    #: Vectors that travel together.
    packet: int
    #: DRAM interfaces of a stream at the most, where an operation does not fit otherwise and rather waits for DRAM;
    #: 0: as many as keep up with it.
    most_interfaces: int = 0

    @classmethod
    def of(cls, arch: Arch) -> UnitFabric:
        """Return the fabric of an array of units between switches; SourceError for any other array."""
        if not arch.has("switches"):
            raise SourceError(f"array {arch.name!r} is not an rdu: tensor programs run on those")
        p = parameters(RduParameters, arch.spec)
        kinds = [tile.kind for tile in arch.tiles]
        return cls(
            compute=kinds.count("cu"), memory=kinds.count("mu"), dram=kinds.count("dram"), fifo=p.fifo,
            capacity=p.memory_bytes // p.vector_bytes, operands=p.operands, lanes=p.lanes, stages=p.stages,
            block_rows=p.block_rows, ports=p.memory_ports,
            # What an interface can count on: its share of its channel, as if all interfaces were busy.
            dram_cycles=p.dram_cycles * -(-kinds.count("dram") // p.dram_channels),
            packet=p.packet or chosen_packet(p.fifo, p.switch_buffer),
        )  # fmt: skip

    def vectors(self, elements: int) -> int:
        """Return how many vectors hold so many elements; the last one may be partly empty."""
        return -(-elements // self.lanes)


def chosen_packet(fifo: int, switch_buffer: int) -> int:
    """Return the largest packet with which a stream over a near way keeps up a vector in each cycle.

    A packet of p vectors is made in p cycles, sent in p cycles over h links, and its credit comes back over as many:
    the consumer's FIFO has to last for 2 p + 2 h cycles. A buffer behind a link holds two packets, so that one leaves
    while the next comes.

    >>> chosen_packet(16, 8)
    4
    """
    return max(1, min((fifo - 2 * _NEAR) // 2, switch_buffer // 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One group of units. All counts are for one block of rows, but ``flops``, which is for a sample.

    ``inputs`` has one operand per input of the operation; livein weights and constants are no inputs. ``vectors`` is
    the size of the result, and ``cycles`` what balancing divides by the number of units.
    """

    id: str
    kind: Literal["gemm", "vector", "weight_grad"]
    inputs: tuple[Operand, ...]
    #: Operations of the program that it does.
    ops: tuple[str, ...]
    #: Vectors of its result.
    vectors: int
    #: Floating-point operations of a sample, of all its ops.
    flops: int
    #: Products: independent ones (heads), what each sums over and its columns.
    batch: int = 1
    inner: int = 0
    columns: int = 0
    #: Products: vectors of weights that it keeps.
    weights: int = 0
    #: Products: the right operand is a value, too, kept in memory units until a whole sample of it is there.
    held: bool = False
    #: Vector stages: floating-point operations per element, and the vectors that they are taken for where the result
    #: is smaller (a reduction).
    steps: int = 0
    streamed: int = 0
    #: Rows of a sample that it streams over.
    rows: int = 1
    #: Convolutions and pooling: vectors of operand 0 that must be there at once, beside the blocks that stream.
    window: int = 0
    #: Vector stages: inputs that every unit reads whole, since they are narrower than the result (a number per row).
    shared: tuple[bool, ...] = ()
    #: For each input the part of it that is read, as (name of the view, vectors per sample); None: all of it.
    views: tuple[tuple[str, int] | None, ...] = ()
    #: Products that were cut into parts of their batch: which part, of how many. They read that part of their operands.
    part: int = 0
    parts: int = 1

    def cycles(self, fabric: UnitFabric) -> int:
        """Return the cycles that one unit takes for a block.

        A product takes one cycle per vector of weights and row; a vector stage passes each vector through the pipeline
        as often as its steps need.
        """
        if self.kind == "vector":
            return max(self.vectors, self.streamed) * -(-self.steps // fabric.stages)
        return self.batch * fabric.vectors(self.inner) * self.columns * fabric.block_rows


@dataclass(frozen=True, kw_only=True)
class TensorStages:
    """The stages of a tensor program in order, its inputs and outputs with their vectors per block.

    Stages are in topological order, so that every operand is an input or an earlier stage. ``outputs`` maps each output
    to the results that it consists of, several where a product was cut. Stages may differ in the rows that they stream
    over (pictures become smaller from layer to layer); ``rows`` has those of each input and stage.
    """

    name: str
    stages: tuple[Stage, ...]
    inputs: dict[str, int]
    outputs: dict[str, Operand]
    rows: dict[str, int]
    block_rows: int

    def blocks(self, name: str) -> int:
        """Return the blocks of a sample that an input or a stage has."""
        return -(-self.rows[name] // self.block_rows)

    def block_vectors(self, name: str, blocks: int) -> int:
        """Return the vectors that each of so many blocks reads of an input or a stage: an equal share of a sample."""
        own = self.blocks(name)
        return self.sizes[name] if own == blocks else -(-self.sizes[name] * own // blocks)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The vectors per block of each input or stage."""
        return {**self.inputs, **{stage.id: stage.vectors for stage in self.stages}}

    @cached_property
    def readers(self) -> dict[str, set[str]]:
        """The stages and outputs that read each input or stage."""
        readers_of: dict[str, set[str]] = {}
        for stage in self.stages:
            for operand in stage.inputs:
                for name in operand:
                    readers_of.setdefault(name, set()).add(stage.id)
        for output, operand in self.outputs.items():
            for name in operand:
                readers_of.setdefault(name, set()).add(f"output {output}")
        return readers_of


def stages_of(dfg: TensorProgram, fabric: UnitFabric, *, merge: Merge = "vectors") -> TensorStages:
    """Return the stages of a tensor graph. SourceError where there is nothing to compute.

    ``merge`` says what is one stage: vector operations that follow each other, or with ``products`` also a product and
    the elementwise operation of one operand behind it, which its units then do on their results.

    ``transpose`` and ``buffer`` are no work of their own: who reads them reads what they read. Values that depend on
    weights alone are weights. Inputs that nothing reads are dropped. Linear in nodes and edges.
    """
    return _Grouping(dfg, fabric, merge).result()


class _Grouping:
    """Groups the operations of one graph into stages, in topological order."""

    def __init__(self, dfg: TensorProgram, fabric: UnitFabric, merge: Merge) -> None:
        self.dfg, self.fabric, self.merge = dfg, fabric, merge
        self.static = static_nodes(dfg)
        self.rows = stream_rows(dfg, self.static)
        self.made: dict[str, Stage] = {}
        #: Operation -> the stages or inputs that hold its value; and the operations that read each, through views.
        self.owner: dict[str, Operand] = {}
        self.readers = _readers(dfg, self.static)
        self.inputs: dict[str, int] = {}

    def result(self) -> TensorStages:
        """Return the stages."""
        outputs: dict[str, Operand] = {}
        for k in self.dfg.topological:
            node = self.dfg.nodes[k]
            if node.id in self.static:
                continue
            read = [other for other in self.dfg.operands(node) if other.id not in self.static]
            if node.op == "input" or is_lookup(self.dfg, node, self.static):
                self.owner[node.id] = (node.id,)
                self.inputs[node.id] = _block_vectors(node, self.rows[node.id], self.fabric)
            elif node.op == "output":
                outputs[node.id] = self.owner[read[0].id]
            elif node.op == "gemm":
                self.made[node.id] = self._product(node, read)
                self.owner[node.id] = (node.id,)
            elif node.op in ("transpose", "buffer"):
                self.owner[node.id] = tuple(dict.fromkeys(name for other in read for name in self.owner[other.id]))
            else:
                self._vector(node, read)
        if not self.made:
            raise SourceError(
                "has no operation that computes anything from its inputs", where=f"graph {self.dfg.name!r}"
            )
        stages = _grouped_by_rows(list(self.made.values()))
        used = {name for stage in stages for operand in stage.inputs for name in operand}
        used |= {name for operand in outputs.values() for name in operand}
        inputs = {name: count for name, count in self.inputs.items() if name in used}
        rows = {**{name: self.rows[name] for name in inputs}, **{stage.id: stage.rows for stage in stages}}
        return TensorStages(
            name=self.dfg.name, stages=tuple(stages), inputs=inputs, outputs=outputs, rows=rows,
            block_rows=self.fabric.block_rows,
        )  # fmt: skip

    def _product(self, node: TensorOperation, read: list[TensorOperation]) -> Stage:
        """Return the stage of a matrix product, or of the gradient of its weights.

        A gradient is complete only after the last block; its result is counted as if an equal share went out with each
        block. The columns of a product are rounded up to whole vectors, which the lanes compute anyway. Where the left
        operand is the weight, the product is that of the transposed ones.
        """
        dfg, fabric = self.dfg, self.fabric
        inner = contraction(dfg, node)
        inputs = tuple(self.owner[other.id] for other in read)
        rows = self.rows[node.id]
        if node.label == "weight_grad":
            blocks = -(-rows // fabric.block_rows)
            vectors = -(-prod(node.shape[:-1]) * fabric.vectors(node.shape[-1]) // blocks)
            return Stage(
                id=node.id, kind="weight_grad", inputs=inputs, ops=(node.id,), vectors=vectors, rows=rows,
                flops=flops(dfg, node), inner=prod(node.shape[:-1]), columns=node.shape[-1],
            )  # fmt: skip
        width = node.shape[-2 if dfg.operands(node)[0].id in self.static else -1]
        batch = max(1, prod(node.shape) // (rows * width))
        return Stage(
            id=node.id, kind="gemm", inputs=inputs, ops=(node.id,), rows=rows, flops=flops(dfg, node), batch=batch,
            vectors=batch * fabric.block_rows * fabric.vectors(width), inner=inner,
            columns=fabric.vectors(width) * fabric.lanes, held=len(read) > 1, window=self._window(read[0]),
            views=tuple(self._view(other) for other in read),
            weights=0 if len(read) > 1 else batch * fabric.vectors(inner) * fabric.vectors(width) * fabric.lanes,
        )  # fmt: skip

    def _view(self, node: TensorOperation) -> tuple[str, int] | None:
        """Return which part of a value an operand is, by its name and its vectors per sample; None for all of it."""
        names = self.owner[node.id]
        if node.op != "transpose" or len(names) > 1:
            return None
        stage = self.made.get(names[0])
        vectors = stage.vectors if stage else self.inputs[names[0]]
        rows = stage.rows if stage else self.rows[names[0]]
        read = (prod(node.shape[:-1]) or 1) * self.fabric.vectors(node.shape[-1])
        return (node.id, read) if read < vectors * -(-rows // self.fabric.block_rows) else None

    def _window(self, node: TensorOperation) -> int:
        """Return the vectors that an operation holds to see whole windows of its operand: 0 where it looks at none."""
        if node.label != "windows" and node.label not in WINDOWED:
            return 0
        p = {key: [int(value) for value in values] for key, values in parameters_of(node).items()}
        channels = self.dfg.operands(node)[0].shape[-1]
        reach = sum(
            (kernel - 1) * dilation * prod(p["sizes"][k + 1 :])
            for k, (kernel, dilation) in enumerate(zip(p["kernel"], p["dilation"]))
        )
        return reach * self.fabric.vectors(channels)

    def _vector(self, node: TensorOperation, read: list[TensorOperation]) -> None:
        """Join a vector operation to the vector stage before it if nothing else reads that, or make a stage of it.

        An operation can join when its other operands are read by the stage anyway; the stage keeps its inputs and its
        id.
        """
        if self.merge == "products" and self._joins_product(node, read):
            return
        rows = self.rows[node.id]
        vectors, streamed = self._vector_sizes(node, rows)
        before = self._before(node, read)
        fresh = {self.owner[other.id]: other for other in sorted(read, key=lambda other: prod(other.shape))}
        inputs = before.inputs if before else tuple(dict.fromkeys(self.owner[other.id] for other in read))
        width = max(streamed, before.streamed if before else 0)
        total = steps(node) * streamed + (before.steps * before.streamed if before else 0)
        stage = Stage(
            id=before.id if before else node.id, kind="vector", inputs=inputs,
            ops=(*(before.ops if before else ()), node.id), vectors=vectors, rows=rows,
            flops=flops(self.dfg, node) + (before.flops if before else 0), steps=-(-total // width), streamed=width,
            window=before.window if before else self._window(node),
            shared=before.shared if before else tuple(self._narrow(other, vectors) for other in inputs),
            views=before.views if before else tuple(self._view(fresh[operand]) for operand in inputs),
        )  # fmt: skip
        self.made[stage.id] = stage
        self.owner[node.id] = (stage.id,)

    def _joins_product(self, node: TensorOperation, read: list[TensorOperation]) -> bool:
        """Join an elementwise operation to the product whose only reader it is; return whether that was possible.

        The pipeline of a compute unit has room for a few steps behind the sums, so that it takes no further cycles.
        """
        if node.op != "elementwise" or len(read) != 1 or self.owner[read[0].id] != (read[0].id,):
            return False
        stage = self.made.get(read[0].id)
        if stage is None or stage.kind != "gemm" or self.readers.get(read[0].id) != {node.id}:
            return False
        if node.label in WINDOWED or stage.rows != self.rows[node.id] or node.shape != read[0].shape:
            return False
        self.made[stage.id] = replace(stage, ops=(*stage.ops, node.id), flops=stage.flops + flops(self.dfg, node))
        self.owner[node.id] = (stage.id,)
        return True

    def _vector_sizes(self, node: TensorOperation, rows: int) -> tuple[int, int]:
        """Return the vectors per block of a vector operation's result, and those that it takes its steps for."""
        blocks = -(-rows // self.fabric.block_rows)
        if prod(node.shape[:-1]) % rows == 0:
            vectors = _block_vectors(node, rows, self.fabric)
        else:
            vectors = -(-prod(node.shape[:-1]) * self.fabric.vectors(node.shape[-1]) // blocks)
        if node.op != "reduce" or node.label not in REDUCTIONS:
            return vectors, vectors
        read = max(self.dfg.operands(node), key=lambda other: prod(other.shape))
        whole = prod(read.shape[:-1]) * self.fabric.vectors(read.shape[-1])
        return vectors, max(vectors, -(-whole // blocks))

    def _before(self, node: TensorOperation, read: list[TensorOperation]) -> Stage | None:
        """Return the vector stage that an operation joins; None for none."""
        owners = [self.owner[other.id] for other in read]
        last = [operand[0] for operand in owners if len(operand) == 1 and operand[0] in self.made]
        candidates = [self.made[name] for name in dict.fromkeys(last) if self.made[name].kind == "vector"]
        for stage in candidates:
            sole = self.readers.get(stage.ops[-1]) == {node.id}
            others = [operand for operand in owners if operand != (stage.id,)]
            fits = stage.rows == self.rows[node.id] and node.label not in WINDOWED
            if sole and fits and all(operand in stage.inputs for operand in others):
                return stage
        return None

    def _narrow(self, operand: Operand, vectors: int) -> bool:
        """Return whether an operand has so few vectors that every unit needs all of them."""
        known = {**self.inputs, **{name: stage.vectors for name, stage in self.made.items()}}
        return 2 * sum(known[name] for name in operand) <= vectors


def static_nodes(dfg: TensorProgram) -> set[str]:
    """Return the nodes that do not depend on an input: weights, numbers, and what is computed from those alone."""
    found: set[str] = set()
    for k in dfg.topological:
        node = dfg.nodes[k]
        read = dfg.operands(node)
        if node.op in ("livein", "const") or (read and all(other.id in found for other in read)):
            found.add(node.id)
    return found


def is_lookup(dfg: TensorProgram, node: TensorOperation, static: set[str]) -> bool:
    """Return whether a node takes rows of a stored table: they come from DRAM, as an input does."""
    return node.label == "gather" and dfg.operands(node)[0].id in static


def _readers(dfg: TensorProgram, static: set[str]) -> dict[str, set[str]]:
    """Return the operations (and outputs) that read each computed value, directly or through views."""
    found: dict[str, set[str]] = {}
    base: dict[str, set[str]] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        read = {name for other in dfg.operands(node) if other.id not in static for name in base[other.id]}
        if node.op in ("transpose", "buffer") and not is_lookup(dfg, node, static):
            base[node.id] = read
            continue
        base[node.id] = {node.id}
        for name in read:
            found.setdefault(name, set()).add(node.id)
    return found


def stream_rows(dfg: TensorProgram, static: set[str]) -> dict[str, int]:
    """Return how many rows of a sample stream through the array for each value that is computed.

    A product with weights streams the rows of its result; one of two values (attention) those of its left operand, so
    that the heads lie side by side. A reduction streams what it reads. Everything else streams as its largest operand
    does, where that divides its rows.
    """
    rows: dict[str, int] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        if node.id in static:
            continue
        all_read = dfg.operands(node)
        read = [other for other in all_read if other.id not in static]
        leading = prod(node.shape[:-1]) or 1
        if node.op == "input" or is_lookup(dfg, node, static):
            rows[node.id] = leading
        elif node.op == "gemm" and len(read) < 2:
            rows[node.id] = _weight_rows(dfg, node, all_read, static)
        elif node.label == "weight_grad" or (node.op == "reduce" and node.label in REDUCTIONS):
            rows[node.id] = rows[read[0].id]
        else:
            widest = read[0] if node.op == "gemm" else max(read, key=lambda other: prod(other.shape))
            rows[node.id] = _follow(rows[widest.id], leading, prod(widest.shape[:-1]) or 1)
    return rows


def _weight_rows(dfg: TensorProgram, node: TensorOperation, read: list[TensorOperation], static: set[str]) -> int:
    """Return the rows of a product with weights: those of its result, for each of as many matrices as there are."""
    turned = read[0].id in static
    width = node.shape[-2] if turned else node.shape[-1]
    matrices = prod(read[0 if turned else 1].shape) // (contraction(dfg, node) * width) or 1
    rows, rest = divmod(prod(node.shape) // width, matrices)
    return prod(node.shape) // width if rest else rows


def _follow(rows: int, leading: int, before: int) -> int:
    """Return the rows of a value that is made from one with ``rows``: the same where they divide its own.

    A single row that becomes many is no stream of one row.
    """
    if rows == 1 and leading != before:
        return leading
    return rows if leading % rows == 0 else leading


def _block_vectors(node: TensorOperation, rows: int, fabric: UnitFabric) -> int:
    """Return the vectors of a value in a block: whole vectors in each row of each of its parts."""
    parts = prod(node.shape[:-1]) // rows or 1
    return parts * fabric.block_rows * fabric.vectors(node.shape[-1])


def _grouped_by_rows(stages: list[Stage]) -> list[Stage]:
    """Return the stages in an order that keeps those with equal rows together where their operands allow it.

    Where all have the same rows the order stays. Of the stages that are ready, the first one with the rows of the
    last is next, or else the first one.
    """
    if len({stage.rows for stage in stages}) == 1:
        return stages
    waiting, done, ordered = list(stages), set[str](), list[Stage]()
    pending = {stage.id for stage in stages}
    while waiting:
        ready = [stage for stage in waiting if not any(n in pending - done for o in stage.inputs for n in o)]
        chosen = next((stage for stage in ready if ordered and stage.rows == ordered[-1].rows), ready[0])
        waiting.remove(chosen)
        done.add(chosen.id)
        ordered.append(chosen)
    return ordered


def split_columns(whole: TensorStages, fabric: UnitFabric, share: float = 0.55) -> TensorStages:
    """Return the stages with large products cut into parts of columns.

    A product is large when it needs more than ``share`` of the memory units. The parts are stages of their own, called
    ``id[0]``, ``id[1]``, which may lie in different sections; what read the product reads all of them side by side.
    Batched products (the heads of attention) are cut into parts of the batch instead.
    """
    parts_of: dict[str, Operand] = {}
    stages: list[Stage] = []
    rows = dict(whole.rows)
    for stage in whole.stages:
        inputs = tuple(tuple(p for name in operand for p in parts_of.get(name, (name,))) for operand in stage.inputs)
        stage = replace(stage, inputs=inputs)
        count = _parts(stage, fabric, share)
        if count == 1:
            stages.append(stage)
            continue
        parts_of[stage.id] = tuple(f"{stage.id}[{k}]" for k in range(count))
        small = replace(
            stage, vectors=stage.vectors // count, flops=stage.flops // count, weights=stage.weights // count
        )
        for k, name in enumerate(parts_of[stage.id]):
            if stage.batch == 1:
                stages.append(replace(small, id=name, columns=stage.columns // count))
            else:
                stages.append(replace(small, id=name, batch=stage.batch // count, part=k, parts=count))
            rows[name] = stage.rows
    outputs = {
        name: tuple(p for source in operand for p in parts_of.get(source, (source,)))
        for name, operand in whole.outputs.items()
    }
    return replace(whole, stages=tuple(stages), outputs=outputs, rows=rows)


def _parts(stage: Stage, fabric: UnitFabric, share: float) -> int:
    """Return into how many parts of columns (or of the batch) a product is cut so that it fits."""
    if stage.kind == "vector":
        return 1
    needed = memory_vectors(stage, fabric)
    limit = max(1.0, share * fabric.memory) * fabric.capacity
    tiles = stage.columns // fabric.lanes if stage.batch == 1 else stage.batch
    return next((n for n in divisors(tiles) if needed <= n * limit), tiles)


def memory_vectors(stage: Stage, fabric: UnitFabric) -> int:
    """Return how many vectors a stage keeps in memory units: weights, or a held operand in a double buffer."""
    if stage.kind == "vector":
        return 0
    return stage.batch * fabric.vectors(stage.inner) * stage.columns * (2 if stage.held else 1)


def divisors(number: int) -> Iterable[int]:
    """Return the divisors of a number, smallest first. Costs the square root of the number.

    >>> list(divisors(12))
    [1, 2, 3, 4, 6, 12]
    """
    low = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return low + [number // k for k in reversed(low) if k * k != number]
