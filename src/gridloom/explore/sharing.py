"""Several graphs on one array: which tiles need a FIFO, a multiplier or an I/O port if one graph runs at a time.

Every graph is mapped alone; the array needs the union of what they use. The union shrinks when a graph is mapped again
onto the array that the others need anyway. Where that succeeds, what this graph alone had used is no longer needed;
where it fails, it is tried with a part of that. The search is greedy and runs a few hundred mappings; each is confirmed
like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from gridloom import plugins
from gridloom._version import __version__
from gridloom.explore.space import Space
from gridloom.flow.bench.run import graph_hash, plugin_versions
from gridloom.flow.inputs import memory_of, read_arch
from gridloom.mapping import json_format
from gridloom.run import ExecutorSpec, Job, Store, ask, canonical_json, run_stored
from gridloom.verify import legal

#: The name under which mappings are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.explore.sharing.run_usage"

Feature = Literal["fifo", "mul", "io"]
#: Tile -> how much of a feature it needs: FIFO cycles, or 1.
Needs = Mapping[str, int]


@dataclass(frozen=True)
class Shared:
    """What each graph needs of an array, and the array that all of them need.

    One graph runs at a time, so that the union takes the maximum per tile and not the sum. ``spec`` describes the rest
    of the array: what it says of the feature in question is replaced by the union (``restrict_feature``).
    """

    spec: Mapping[str, Any]
    #: Graph -> feature -> tile -> amount.
    uses: Mapping[str, Mapping[str, Needs]]
    mappings: int = 0

    def union(self, feature: Feature, without: str | None = None) -> dict[str, int]:
        """Return what all graphs, or all but one, need together: for each tile the most that one of them needs."""
        need: dict[str, int] = {}
        for source, used in self.uses.items():
            if source != without:
                for tile, amount in used[feature].items():
                    need[tile] = max(need.get(tile, 0), amount)
        return need

    def total(self, feature: Feature) -> int:
        """Return the sum of a feature's amounts over the tiles."""
        return sum(self.union(feature).values())

    def table(self, feature: Feature) -> list[list[int]]:
        """Return the amounts of a feature by row and column."""
        return layout(self.union(feature), self.spec)


@dataclass
class VariantMapper:
    """Maps graphs onto variants of an array and returns what they use; its rows are kept in the store.

    The mapping behind each answer is remembered until ``confirm`` has checked it on the final array. ``mappings``
    counts jobs, those answered from the store included.
    """

    space: Space
    sources: Sequence[str]
    store: Store
    executor: ExecutorSpec | Executor
    tell: Callable[[str], None] = lambda _text: None
    mappings: int = field(default=0, init=False)
    _mappings: dict[tuple[str, str], str] = field(default_factory=dict, init=False)

    def uses(self, specs: Mapping[str, Mapping[str, Any]], seed: int = 0) -> dict[str, Mapping[str, Needs] | None]:
        """Return graph -> what its mapping on its array uses; None where it has no mapping. Runs one job per graph."""
        jobs = {source: self._job(source, spec, seed) for source, spec in specs.items()}
        unique = list({job.key: job for job in jobs.values()}.values())
        run_stored(plugins.carry(run_usage), unique, self.store, executor=self.executor, resume=True)
        self.mappings += len(unique)
        uses: dict[str, Mapping[str, Needs] | None] = {}
        for source, job in jobs.items():
            row = self.store.get(job.key)
            value: Any = row.value if row is not None else None
            mapped = value is not None and value["status"] == "mapped"
            uses[source] = value["uses"] if mapped else None
            if mapped:
                self._mappings[canonical_json(value["uses"]), source] = value["mapping"]
        return uses

    def confirm(self, shared: Shared, spec: Mapping[str, Any]) -> None:
        """Check the mapping behind each graph's needs once more, on the array that came out of the search.

        RuntimeError for one that is not legal there, which would be an error of the search.
        """
        arch = read_arch(spec)
        for source, used in shared.uses.items():
            mapping = json_format.loads(self._mappings[canonical_json(used), source])
            violations = legal(replace(mapping, arch=arch))
            if violations:
                raise RuntimeError(f"{source} is not legal on the array found: {violations[0]}")

    def _job(self, source: str, spec: Mapping[str, Any], seed: int) -> Job[Any]:
        """The job that maps one graph onto one array."""
        budget = self.space.budget
        return ask(
            QUESTION,
            {
                "source": source,
                "graph": graph_hash(source, memory_of(read_arch(spec))),
                "arch": dict(spec),
                "mapper": self.space.mapper,
                **plugin_versions(str(self.space.mapper)),
                "settings": dict(self.space.settings),
                "seed": seed,
                "effort": budget.effort,
                "time_limit": budget.time_limit,
            },
            version=__version__,
        )


def run_usage(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Map one graph and return which features of which tiles its mapping uses."""
    from gridloom.flow.request import Request
    from gridloom.flow.run import run

    names = ("source", "arch", "mapper", "settings", "seed", "effort", "time_limit")
    result = run(Request(**{name: parameters[name] for name in names}))
    if result.mapping is None:
        return {"status": "failed", "uses": None, "mapping": None}
    dfg = result.dfg
    fifo: dict[str, int] = {}
    places = {(one.node, one.copy): one.place for one in result.mapping.instances}
    for route in result.mapping.routes:
        tile = places[dfg.edges[route.edge].target, route.copy]
        if route.fifo:
            fifo[tile] = max(fifo.get(tile, 0), route.fifo)
    classes = {tile: dfg.op_class(node) for (node, _), tile in places.items()}
    return {
        "status": "mapped",
        "mapping": json_format.dumps(result.mapping),
        "uses": {
            "fifo": fifo,
            "mul": {tile: 1 for tile, name in sorted(classes.items()) if name == "mul"},
            "io": {tile: 1 for tile, name in sorted(classes.items()) if name in ("input", "output")},
        },
    }


def restrict_feature(spec: Mapping[str, Any], feature: Feature, need: Needs) -> dict[str, Any]:
    """Return the description of the array with exactly so much of a feature.

    >>> restrict_feature({"family": "mesh", "rows": 1, "cols": 2}, "fifo", {"pe_0_1": 3})
    {'family': 'mesh', 'rows': 1, 'cols': 2, 'fifo': {'layout': [[0, 3]]}}
    """
    if feature == "fifo":
        return {**spec, "fifo": {"layout": layout(need, spec)}}
    at = places(spec)
    return {**spec, feature: {"tiles": sorted(list(at[tile]) for tile in need)}}


def shrink(shared: Shared, feature: Feature, mapper: VariantMapper, *, rounds: int = 4) -> Shared:
    """Map graphs again, one by one, onto what the others need of a feature, as long as that makes the union smaller.

    The rest of the array stays as ``shared.spec`` says. There are at most ``rounds`` passes over all graphs, with up to
    two mappings for each. Returns the smallest union that was reached.
    """
    idle = 0
    for turn in range(rounds):
        before = shared.total(feature)
        order = sorted(shared.uses, key=lambda source: -_alone(shared, feature, source))
        for source in order:
            shared = _again(shared, feature, source, mapper, turn)
        mapper.tell(f"{feature}: {shared.total(feature)} after {turn + 1} of {rounds} rounds")
        # Every round has seeds of its own, so the next one may succeed where this one did not.
        idle = idle + 1 if shared.total(feature) == before else 0
        if idle == 2 or not shared.total(feature):
            break
    return replace(shared, mappings=mapper.mappings)


def _again(shared: Shared, feature: Feature, source: str, mapper: VariantMapper, turn: int) -> Shared:
    """Try a graph on what the others need, then on that and half of what it alone needs.

    The halves alternate from round to round. Only a smaller union is taken, so that the search never gets worse.
    """
    others = shared.union(feature, without=source)
    own = {tile: amount for tile, amount in shared.union(feature).items() if amount > others.get(tile, 0)}
    if not own:
        return shared
    kept = sorted(own)[:: 2 if turn % 2 == 0 else -2]
    for need in (others, {**others, **{tile: own[tile] for tile in kept}}):
        if need == shared.union(feature):
            continue
        uses = mapper.uses({source: restrict_feature(shared.spec, feature, need)}, seed=turn)[source]
        if uses is not None:
            better = replace(shared, uses={**shared.uses, source: uses})
            if better.total(feature) < shared.total(feature):
                return better
    return shared


def _alone(shared: Shared, feature: Feature, source: str) -> int:
    """Return how much of a feature a graph alone is the reason for."""
    return shared.total(feature) - sum(shared.union(feature, without=source).values())


def layout(need: Needs, spec: Mapping[str, Any]) -> list[list[int]]:
    """Return amounts by row and column of an array.

    >>> layout({"pe_0_1": 2, "pe_1_0": 1}, {"family": "mesh", "rows": 2, "cols": 2})
    [[0, 2], [1, 0]]
    """
    at = places(spec)
    table = [[0] * spec["cols"] for _ in range(spec["rows"])]
    for tile, amount in need.items():
        row, col = at[tile]
        table[row][col] = amount
    return table


def places(spec: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return row and column of each tile of an array, by the name of the tile.

    >>> places({"family": "mesh", "rows": 1, "cols": 2})
    {'pe_0_0': (0, 0), 'pe_0_1': (0, 1)}
    """
    return {tile.name: (tile.row, tile.col) for tile in read_arch(dict(spec)).tiles}
