"""A lowered tensor program with values: what its stages compute, unit by unit, from what their streams bring them.

This is for checking a lowering against the framework that a network comes from. A stage sees the results that its
inputs name and nothing else. Of a product, each compute unit computes the tiles of columns (of heads, of groups) that
the lowering gave it, and what no unit computes stays NaN. Vector stages compute all their operations and hand on the
last one. When and in which order values move is not modelled here: that is the business of the simulators.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from tests.targets.dataflow.tensor_values import node_value

from gridloom.errors import DfgError
from gridloom.targets.dataflow.lowering.lower import LoweredProgram
from gridloom.targets.dataflow.lowering.stages import Stage, is_lookup, static_nodes
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram
from gridloom.targets.dataflow.program.parameters import Tensor


def run_lowered_program(
    dfg: TensorProgram,
    lowered: LoweredProgram,
    inputs: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    *,
    lanes: int,
) -> dict[str, Tensor]:
    """Return the results of a lowered program by the ids of its outputs, section by section.

    ``dfg`` is the program that was lowered, ``lanes`` those of its array. DfgError where a stage reads a value that
    none of its inputs brings, and for a graph without values. Costs the operations of the program.
    """
    runner = _Runner(dfg, inputs, weights, lanes)
    for section in lowered.sections:
        for stage in section.stages:
            runner.run(stage, section.units[stage.id])
    return {node.id: runner.outside(dfg.operands(node)[0], None) for node in dfg.nodes if node.op == "output"}


class _Runner:
    """Runs stages one after the other; ``results`` has the last operation of each stage that is done."""

    def __init__(
        self, dfg: TensorProgram, inputs: Mapping[str, Tensor], weights: Mapping[str, Tensor], lanes: int
    ) -> None:
        self.dfg, self.inputs, self.weights, self.lanes = dfg, inputs, weights, lanes
        self.static = static_nodes(dfg)
        self.results: dict[str, Tensor] = {}
        self.stages_of: dict[str, list[str]] = {}

    def run(self, stage: Stage, units: int) -> None:
        """Compute a stage from what its inputs bring."""
        brought = {name for operand in stage.inputs for name in operand}
        local: dict[str, Tensor] = {}
        for name in stage.ops:
            node = self.dfg.node(name)
            read = [self._operand(other, brought, local) for other in self.dfg.operands(node)]
            if node.op == "gemm":
                local[name] = self._product(node, stage, units, read)
            else:
                local[name] = node_value(node, read, self.inputs, self.weights)
        last = stage.ops[-1]
        self.results[last] = local[last]
        self.stages_of.setdefault(last, []).append(stage.id)

    def _operand(self, node: TensorOperation, brought: set[str], local: dict[str, Tensor]) -> Tensor:
        """Return an operand: of the stage itself, from outside, or a view of one of those."""
        return local[node.id] if node.id in local else self.outside(node, brought, local)

    def outside(
        self, node: TensorOperation, brought: set[str] | None, local: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Return a value from outside a stage. DfgError for one that is not among those that are brought to it."""
        local = local or {}
        if node.id in local:
            return local[node.id]
        if node.id in self.results:
            self._check(node.id, self.stages_of[node.id], brought)
            return self.results[node.id]
        if node.op == "input" or is_lookup(self.dfg, node, self.static):
            self._check(node.id, [node.id], brought)
        elif node.id not in self.static and node.op not in ("transpose", "buffer"):
            raise DfgError("is read before it is computed", where=f"node {node.id!r}")
        if is_lookup(self.dfg, node, self.static):
            brought = None
        read = [self.outside(other, brought, local) for other in self.dfg.operands(node)]
        return node_value(node, read, self.inputs, self.weights)

    def _check(self, name: str, stages: list[str], brought: set[str] | None) -> None:
        """Raise DfgError unless a value is among those that a stage is brought."""
        missing = next((stage for stage in stages if brought is not None and stage not in brought), None)
        if missing is not None:
            raise DfgError(f"its stage reads {missing!r}, which none of its inputs brings", where=f"node {name!r}")

    def _product(self, node: TensorOperation, stage: Stage, units: int, read: list[Tensor]) -> Tensor:
        """Return a product so far: the columns of this stage's part, each unit its own tiles of them."""
        left, right = read
        if self.dfg.operands(node)[0].id in self.static:
            return node_value(node, read, self.inputs, self.weights)
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        rows, columns = left.shape[-2], right.shape[-1]
        count = prod(batch)
        a = np.broadcast_to(left, (*batch, *left.shape[-2:])).reshape(count, *left.shape[-2:])
        b = np.broadcast_to(right, (*batch, *right.shape[-2:])).reshape(count, *right.shape[-2:])
        shape = (*batch, rows, columns)
        made = self.results.get(node.id, np.full(shape, np.nan, dtype=np.float32)).reshape(count, rows, columns)
        groups = stage.batch * stage.parts
        if count % groups:
            # The members of the batch are parts of rows: one product is all that there is.
            return node_value(node, read, self.inputs, self.weights)
        first = 0 if stage.batch > 1 or stage.parts > 1 else self._column_part(stage)
        tiles = [
            (stage.part * stage.batch + group, first + tile)
            for group in range(stage.batch)
            for tile in range(stage.columns // self.lanes)
        ]
        each = len(tiles) // units
        for unit in range(units):
            for group, tile in tiles[unit * each : (unit + 1) * each]:
                low, high = tile * self.lanes, (tile + 1) * self.lanes
                made[group::groups, :, low:high] = np.matmul(a[group::groups], b[group::groups, :, low:high])
        return made.reshape(shape)

    def _column_part(self, stage: Stage) -> int:
        """Return the first tile of a product that was cut by columns; parts are called ``id[0]``, ``id[1]``."""
        _, bracket, number = stage.id.rpartition("[")
        cut = bool(bracket) and stage.id != stage.ops[-1]
        return int(number.rstrip("]")) * (stage.columns // self.lanes) if cut else 0
