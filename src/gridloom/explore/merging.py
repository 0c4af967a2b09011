"""Dataflow merging: the smallest static grid that runs each of several graphs, with no more on it than they need.

First the size is found: grids of growing area are tried until every graph maps. Then multipliers, I/O ports and FIFOs
are removed where no graph needs them, one feature after the other (see ``sharing``).

The graphs share the array in time, one configuration each: merging is about what the array must have, not about running
two graphs at once. The result is an upper bound, since a mapper that fails proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gridloom.errors import OptionError
from gridloom.explore.buffers import GRIDS
from gridloom.explore.hardware import cost
from gridloom.explore.sharing import Feature, Shared, VariantMapper, restrict_feature, shrink
from gridloom.explore.space import Space
from gridloom.flow.inputs import prepare, read_arch

_FEATURES: Final[tuple[Feature, ...]] = ("mul", "io", "fifo")
#: Grids up to this much larger than the largest graph are tried.
_SLACK: Final = 2.0


@dataclass(frozen=True)
class Merged:
    """The array, and how much it has of each feature beside the full array of the same size."""

    spec: Mapping[str, Any]
    graphs: int
    #: How many tiles the largest graph needs: no array is smaller.
    bound: int
    #: Feature -> (how much is left, how much the full array has).
    kept: Mapping[str, tuple[int, int]]
    #: Areas of the array and of the full one by the fitted model; None: it has no hardware.
    area: float | None
    full_area: float | None
    #: How many mappings the search ran.
    mappings: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "array": dict(self.spec),
            "tiles": self.spec["rows"] * self.spec["cols"],
            "bound": self.bound,
            "graphs": self.graphs,
            "kept": {name: {"left": left, "full": full} for name, (left, full) in self.kept.items()},
            "area": self.area,
            "full_area": self.full_area,
            "mappings": self.mappings,
        }


def find_merged_array(space: Space, mapper: VariantMapper, *, rounds: int = 3) -> Merged:
    """Search the smallest array that runs every graph and return it.

    OptionError when the description is no grid, or no size up to twice the bound runs every graph.

    Features are removed in the order multipliers, I/O ports, FIFOs, each on the array that the one before left. Costs a
    few hundred mappings.
    """
    arch = read_arch(space.point({}).array)
    if not arch.has("grid"):
        raise OptionError(f"graphs are merged on {', '.join(GRIDS)}, found {arch.family}", where="array")
    bound = max(sum(not op.timeless for op in prepare(source, arch).dfg.ops) for source in mapper.sources)
    shared = _smallest({**arch.spec}, bound, mapper)
    tiles = shared.spec["rows"] * shared.spec["cols"]
    # Where no graph waits, the array to compare with still has FIFOs of one cycle.
    deepest = max([1, *shared.union("fifo").values()])
    full = {"mul": tiles, "io": tiles, "fifo": tiles * deepest}
    full_area = cost(read_arch({**shared.spec, "fifo": deepest}), width=space.width)
    spec = dict(shared.spec)
    for feature in _FEATURES:
        shared = shrink(shared, feature, mapper, rounds=rounds)
        spec = restrict_feature(spec, feature, shared.union(feature))
        shared = Shared(spec, shared.uses, shared.mappings)
    mapper.confirm(shared, spec)
    area = cost(read_arch(spec), width=space.width)
    return Merged(
        spec=spec,
        graphs=len(mapper.sources),
        bound=bound,
        kept={name: (shared.total(name), full[name]) for name in _FEATURES},
        area=None if area is None else area.area,
        full_area=None if full_area is None else full_area.area,
        mappings=mapper.mappings,
    )


def _smallest(spec: Mapping[str, Any], bound: int, mapper: VariantMapper) -> Shared:
    """The smallest grid that every graph maps onto, and what the mappings use."""
    for rows, cols in _sizes(bound):
        sized = {**spec, "rows": rows, "cols": cols}
        uses = mapper.uses(dict.fromkeys(mapper.sources, sized))
        mapper.tell(f"{rows}x{cols}: {sum(used is not None for used in uses.values())} of {len(uses)} graphs map")
        if all(used is not None for used in uses.values()):
            return Shared(sized, {source: used for source, used in uses.items() if used is not None})
    raise OptionError(
        f"no grid of up to {_SLACK:g} times the {bound} tiles of the largest graph runs every graph; raise the budget",
        where="kernels",
    )


def _sizes(bound: int) -> Iterator[tuple[int, int]]:
    """Rows and columns by growing area; there are no fewer columns than rows, and at most half as many more.

    >>> list(_sizes(4))
    [(2, 2), (2, 3)]
    """
    most = math.ceil(bound * _SLACK)
    side = math.isqrt(most) + 1
    sizes = [(rows, cols) for rows in range(1, side + 1) for cols in range(rows, (3 * rows + 1) // 2 + 1)]
    return iter(sorted((s for s in sizes if bound <= s[0] * s[1] <= most), key=lambda s: (s[0] * s[1], s[1] - s[0])))
