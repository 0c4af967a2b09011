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

from gridloom.archs.families.rdu import RduParameters
from gridloom.archs.model import Arch
from gridloom.archs.spec import parameters
from gridloom.dfg.model import Dfg, Node
from gridloom.dfg.tensors import contraction, flops, operands, steps
from gridloom.errors import SourceError

#: An operand: the results of stages (or inputs) side by side; more than one where a product was cut by columns.
Operand = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What lowering needs to know of an array.

    All capacities are counted in vectors of ``lanes`` elements, the unit of transfer between units. ``ports`` are the
    vectors per cycle of a memory unit, and ``dram_cycles`` the cycles per vector of a DRAM interface.
    """

    #: Units of each kind; :mod:`gridloom.transform.lower_tensor_units` looks them up by the name of the kind.
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

    @classmethod
    def of(cls, arch: Arch) -> Fabric:
        """Return the fabric of an array of units between switches; SourceError for any other array."""
        if not arch.has("switches"):
            raise SourceError(f"array {arch.name!r} is not an rdu: tensor programs run on those")
        p = parameters(RduParameters, arch.spec)
        kinds = [tile.kind for tile in arch.tiles]
        return cls(
            compute=kinds.count("cu"), memory=kinds.count("mu"), dram=kinds.count("dram"), fifo=p.fifo,
            capacity=p.memory_bytes // p.vector_bytes, operands=p.operands, lanes=p.lanes, stages=p.stages,
            block_rows=p.block_rows, ports=p.memory_ports, dram_cycles=p.dram_cycles,
        )  # fmt: skip

    def vectors(self, elements: int) -> int:
        """Return how many vectors hold so many elements; the last one may be partly empty."""
        return -(-elements // self.lanes)

    @property
    def packet(self) -> int:
        """Vectors that travel together: half a FIFO, so that the next packet comes while one is used."""
        return max(1, self.fifo // 2)


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
    #: Products: the right operand is a value, too, kept in memory units until a whole sample of it is there.
    held: bool = False
    #: Vector stages: floating-point operations per element.
    steps: int = 0
    #: Products that were cut into parts of their batch: which part, of how many. They read that part of their operands.
    part: int = 0
    parts: int = 1

    def cycles(self, fabric: Fabric) -> int:
        """Return the cycles that one unit takes for a block.

        A product takes one cycle per vector of weights and row; a vector stage passes each vector through the pipeline
        as often as its steps need.
        """
        if self.kind == "vector":
            return self.vectors * -(-self.steps // fabric.stages)
        return self.batch * fabric.vectors(self.inner) * self.columns * fabric.block_rows


@dataclass(frozen=True, kw_only=True)
class TensorStages:
    """The stages of a tensor program in order, its inputs and outputs with their vectors per block.

    Stages are in topological order, so that every operand is an input or an earlier stage. ``outputs`` maps each output
    to the results that it consists of, several where a product was cut.
    """

    name: str
    stages: tuple[Stage, ...]
    inputs: dict[str, int]
    outputs: dict[str, Operand]
    #: Blocks of a sample.
    blocks: int

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


def stages_of(dfg: Dfg, fabric: Fabric) -> TensorStages:
    """Return the stages of a tensor graph. SourceError where its operations do not share their rows.

    ``transpose`` and ``buffer`` are no work of their own: who reads them reads what they read. Inputs that nothing
    reads are dropped. Linear in nodes and edges.
    """
    rows = _rows(dfg)
    blocks = -(-rows // fabric.block_rows)
    made: dict[str, Stage] = {}
    owner: dict[str, str] = {}
    inputs: dict[str, int] = {}
    outputs: dict[str, Operand] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        read = [other for other in operands(dfg, node) if other.op not in ("livein", "const")]
        if node.op == "input":
            owner[node.id] = node.id
            inputs[node.id] = _block_vectors(node, rows, fabric)
        elif node.op == "output":
            outputs[node.id] = (owner[read[0].id],)
        elif node.op == "gemm":
            made[node.id] = _product(dfg, node, read, owner, rows, fabric)
            owner[node.id] = node.id
        elif node.op in ("transpose", "buffer"):
            owner[node.id] = owner[read[0].id]
        elif node.op not in ("livein", "const"):
            _vector(dfg, node, read, owner, made, rows, fabric)
    used = {name for stage in made.values() for operand in stage.inputs for name in operand}
    used |= {name for operand in outputs.values() for name in operand}
    return TensorStages(
        name=dfg.name,
        stages=tuple(made.values()),
        inputs={name: count for name, count in inputs.items() if name in used},
        outputs=outputs,
        blocks=blocks,
    )


def _rows(dfg: Dfg) -> int:
    """Return the rows of a sample: the second last dimension of every value but weight gradients.

    Rows are what streams through the array, so that all values of one program must have the same number of them.
    """
    rows = {
        node.shape[-2] if len(node.shape) > 1 else 1
        for node in dfg.nodes
        if node.op not in ("livein", "const") and not _sums_over_rows(dfg, node)
    }
    if len(rows) != 1:
        raise SourceError(
            f"its values have {', '.join(map(str, sorted(rows)))} rows; expected one number of rows for all",
            where=f"graph {dfg.name!r}",
        )
    return rows.pop()


def _sums_over_rows(dfg: Dfg, node: Node) -> bool:
    """Return whether a value is a weight gradient, or the output of one: it has no rows of the sample."""
    if node.op == "output":
        return _sums_over_rows(dfg, operands(dfg, node)[0])
    return node.label == "weight_grad"


def _block_vectors(node: Node, rows: int, fabric: Fabric) -> int:
    """Return the vectors of a value in a block: whole vectors in each row of each of its parts."""
    parts = prod(node.shape[:-1]) // rows or 1
    return parts * fabric.block_rows * fabric.vectors(node.shape[-1])


def _product(dfg: Dfg, node: Node, read: list[Node], owner: dict[str, str], rows: int, fabric: Fabric) -> Stage:
    """Return the stage of a matrix product, or of the gradient of its weights.

    A gradient is complete only after the last block; its result is counted as if an equal share went out with each
    block. The columns of a product are rounded up to whole vectors, which the lanes compute anyway.
    """
    inner = contraction(dfg, node)
    inputs = tuple((owner[other.id],) for other in read)
    if node.label == "weight_grad":
        blocks = -(-rows // fabric.block_rows)
        vectors = -(-prod(node.shape[:-1]) * fabric.vectors(node.shape[-1]) // blocks)
        return Stage(
            id=node.id, kind="weight_grad", inputs=inputs, ops=(node.id,), vectors=vectors, flops=flops(dfg, node),
            inner=prod(node.shape[:-1]), columns=node.shape[-1],
        )  # fmt: skip
    lanes = fabric.lanes
    return Stage(
        id=node.id, kind="gemm", inputs=inputs, ops=(node.id,), vectors=_block_vectors(node, rows, fabric),
        flops=flops(dfg, node), batch=prod(node.shape[:-2]), inner=inner,
        columns=fabric.vectors(node.shape[-1]) * lanes, held=len(read) > 1,
    )  # fmt: skip


def _vector(
    dfg: Dfg, node: Node, read: list[Node], owner: dict[str, str], made: dict[str, Stage], rows: int, fabric: Fabric
) -> None:
    """Join a vector operation to the vector stage before it if that is its only reader, or make a stage of it.

    Only operations with one operand that is no weight can join: the stage keeps its inputs, its id and the size of its
    result.
    """
    before = made.get(owner[read[0].id]) if len(read) == 1 else None
    if before is not None and before.kind == "vector" and len(dfg.out_edges[dfg.index[read[0].id]]) == 1:
        made[before.id] = replace(
            before,
            ops=(*before.ops, node.id),
            steps=before.steps + steps(node),
            flops=before.flops + flops(dfg, node),
        )
        owner[node.id] = before.id
        return
    inputs = tuple((owner[other.id],) for other in read)
    made[node.id] = Stage(
        id=node.id, kind="vector", inputs=inputs, ops=(node.id,), vectors=_block_vectors(node, rows, fabric),
        flops=flops(dfg, node), steps=steps(node),
    )  # fmt: skip
    owner[node.id] = node.id


def split_columns(whole: TensorStages, fabric: Fabric, share: float = 0.55) -> TensorStages:
    """Return the stages with large products cut into parts of columns.

    A product is large when it needs more than ``share`` of the memory units. The parts are stages of their own, called
    ``id[0]``, ``id[1]``, which may lie in different sections; what read the product reads all of them side by side.
    Batched products (the heads of attention) are cut into parts of the batch instead.
    """
    parts_of: dict[str, Operand] = {}
    stages: list[Stage] = []
    for stage in whole.stages:
        inputs = tuple(tuple(p for name in operand for p in parts_of.get(name, (name,))) for operand in stage.inputs)
        stage = replace(stage, inputs=inputs)
        count = _parts(stage, fabric, share)
        if count == 1:
            stages.append(stage)
            continue
        parts_of[stage.id] = tuple(f"{stage.id}[{k}]" for k in range(count))
        small = replace(stage, vectors=stage.vectors // count, flops=stage.flops // count)
        for k, name in enumerate(parts_of[stage.id]):
            if stage.batch == 1:
                stages.append(replace(small, id=name, columns=stage.columns // count))
            else:
                stages.append(replace(small, id=name, batch=stage.batch // count, part=k, parts=count))
    outputs = {
        name: tuple(p for source in operand for p in parts_of.get(source, (source,)))
        for name, operand in whole.outputs.items()
    }
    return replace(whole, stages=tuple(stages), outputs=outputs)


def _parts(stage: Stage, fabric: Fabric, share: float) -> int:
    """Return into how many parts of columns (or of the batch) a product is cut so that it fits."""
    if stage.kind == "vector":
        return 1
    needed = memory_vectors(stage, fabric)
    limit = max(1.0, share * fabric.memory) * fabric.capacity
    tiles = stage.columns // fabric.lanes if stage.batch == 1 else stage.batch
    return next((n for n in divisors(tiles) if needed <= n * limit), tiles)


def memory_vectors(stage: Stage, fabric: Fabric) -> int:
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
