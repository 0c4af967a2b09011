"""The FIFO map with the fewest registers with which each of several graphs maps onto one static grid.

It is compared with a uniform array, which has FIFOs of one depth on every tile: the least depth with which the same
mapper maps all graphs. The search takes what those mappings use and shrinks it (see ``sharing``).

An array that is made for known graphs needs FIFOs only where one of them waits: tile by tile, as deep as the longest
wait of any of the graphs there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gridloom.errors import OptionError
from gridloom.explore.sharing import Needs, Shared, VariantMapper, restrict_feature, shrink
from gridloom.explore.space import Space
from gridloom.flow.inputs import read_arch

GRIDS: Final = ("mesh", "onehop", "hex", "chess")
_DEEPEST: Final = 16


@dataclass(frozen=True)
class Buffers:
    """A FIFO map and the uniform array beside it."""

    spec: Mapping[str, Any]
    #: FIFO cycles by row and column.
    table: list[list[int]]
    #: How many operands a tile has.
    operands: int
    #: The depth of all FIFOs of the uniform array.
    uniform_depth: int
    #: Graph -> how many tiles of its own mapping have an active FIFO.
    active: Mapping[str, int]
    #: How many mappings the search ran.
    mappings: int

    @property
    def registers(self) -> int:
        """How many words the FIFOs of the array have; each operand of a tile has a FIFO."""
        return self.operands * sum(map(sum, self.table))

    @property
    def uniform_registers(self) -> int:
        """How many words the FIFOs of the uniform array have."""
        return self.operands * self.uniform_depth * len(self.table) * len(self.table[0])

    @property
    def saved(self) -> float | None:
        """The share of the uniform array's registers that is not needed; None when it has none."""
        return 1 - self.registers / self.uniform_registers if self.uniform_registers else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "array": dict(restrict_feature(self.spec, "fifo", {}), fifo={"layout": self.table}),
            "registers": self.registers,
            "uniform_depth": self.uniform_depth,
            "uniform_registers": self.uniform_registers,
            "saved": self.saved,
            "active": dict(self.active),
            "mappings": self.mappings,
        }


def find_buffers(space: Space, mapper: VariantMapper, *, rounds: int = 6) -> Buffers:
    """Search the FIFO map for the kernels of a space and return it.

    OptionError when the array is no grid, or a kernel does not map with the deepest FIFOs.

    ``rounds`` bounds the passes of shrinking. Costs a few hundred mappings; what is returned is confirmed by ``verify``
    for every graph on the final array.
    """
    arch = read_arch(space.point({}).array)
    spec = {key: value for key, value in arch.spec.items() if key != "fifo"}
    if not arch.has("grid"):
        raise OptionError(f"FIFO maps are searched on {', '.join(GRIDS)}, found {arch.family}", where="array")
    depth, alone = _uniform(spec, mapper)
    best = shrink(_together(alone, mapper), "fifo", mapper, rounds=rounds)
    # Each mapping was found on an array of its own; all of them have to be legal on the one that is returned.
    mapper.confirm(best, restrict_feature(spec, "fifo", best.union("fifo")))
    return Buffers(
        spec=spec,
        table=best.table("fifo"),
        operands=arch.tiles[0].operands,
        uniform_depth=depth,
        active={source: len(used["fifo"]) for source, used in best.uses.items()},
        mappings=mapper.mappings,
    )


def _together(alone: Shared, mapper: VariantMapper) -> Shared:
    """Map the graphs again one after the other, each onto what those before it need where that works.

    The graph that uses the most FIFO cycles comes first.
    """
    order = sorted(alone.uses, key=lambda source: -sum(alone.uses[source]["fifo"].values()))
    shared = Shared(alone.spec, {order[0]: alone.uses[order[0]]})
    for source in order[1:]:
        need = shared.union("fifo")
        again = mapper.uses({source: restrict_feature(alone.spec, "fifo", need)})[source]
        shared = Shared(alone.spec, {**shared.uses, source: again or alone.uses[source]})
    mapper.tell(f"fifo: {shared.total('fifo')} together, {alone.total('fifo')} each for itself")
    # Mapping onto the needs of others is a heuristic, and may come out worse.
    return min(shared, alone, key=lambda one: one.total("fifo"))


def _uniform(spec: Mapping[str, Any], mapper: VariantMapper) -> tuple[int, Shared]:
    """The least uniform depth with which every graph maps, and what its mappings use.

    Depths grow from 0 on. A graph that has mapped at some depth is not mapped again at a larger one.
    """
    uses: dict[str, Mapping[str, Needs]] = {}
    for depth in range(_DEEPEST + 1):
        left = [source for source in mapper.sources if source not in uses]
        tried = mapper.uses({source: {**spec, "fifo": depth} for source in left})
        uses |= {source: used for source, used in tried.items() if used is not None}
        mapper.tell(f"depth {depth}: {len(uses)} of {len(mapper.sources)} graphs map")
        if len(uses) == len(mapper.sources):
            return depth, Shared(spec, uses)
    missing = ", ".join(source for source in mapper.sources if source not in uses)
    raise OptionError(f"does not map with FIFOs of {_DEEPEST} cycles: {missing}; enlarge the array", where="kernels")
