"""The partitioning flow: a graph that does not fit a static array, or wastes it, becomes parts that do not.

1. split until every part is expected to map, and on while throughput improves (:mod:`gridloom.flow.partition_search`);
2. map the parts; where the mapper disagrees with the estimator it is believed, and the search goes on;
3. try with more effort what would pay: one more copy of a part, or a graph that was cut without need;
4. put floor(W / w) copies of each part side by side, check and simulate them;
5. run the parts one after the other on the simulated array: what one stores, later ones load. The whole has to give
   what the unsplit graph gives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from gridloom import registry
from gridloom.arch.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.estimate.width_estimate import (
    BoundEstimator,
    WidthEstimate,
    WidthEstimator,
    bound_estimate,
    check_columns,
)
from gridloom.flow.mappers import config_type
from gridloom.flow.partition_result import MappedPart, PartitionResult
from gridloom.flow.partition_run import confirm_parts
from gridloom.flow.partition_search import Branch, PartitionSearch, Spent
from gridloom.flow.run import read_arch, read_source
from gridloom.flow.unroll_columns import width_of
from gridloom.mapping.model import Failure, Mapping
from gridloom.partition import BisectionConfig

EstimatorName = Literal["auto", "learned", "bound", "mapper"]
#: A graph that is said not to map with at least this probability of mapping is mapped where that would pay.
DOUBT: Final = 0.3
ESTIMATORS: Final = ("auto", "learned", "bound", "mapper")


@dataclass(frozen=True, kw_only=True)
class PartitionRequest:
    """What is asked of the flow."""

    #: A graph, or a SOURCE.
    source: Dfg | str | Path
    #: An array, or an ARCH.
    arch: Arch | MappingABC[str, Any] | str | Path
    #: ``learned``, ``bound`` (counting alone), ``mapper`` (none: every graph is mapped); ``auto``: the shipped model.
    estimator: EstimatorName = "auto"
    #: How graphs are cut: ``multilevel`` or ``kl`` as published.
    method: Literal["kl", "multilevel"] = "multilevel"
    #: Bisections with seeds of their own a cut.
    seeds: int = 6
    seed: int = 0
    #: Splits in a row that may fail to improve the throughput.
    patience: int = 1
    #: Mapping runs a part until its expected width is found.
    tries: int = 2
    #: Iterations of the loop, for the execution time.
    loop_iterations: int = 1024
    #: Cycles to load a configuration; None: one for each PE and each constant register.
    reconfiguration: int | None = None
    #: Iterations that the simulation compares.
    iterations: int = 48

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise OptionError(f"expected one of {', '.join(ESTIMATORS)}; found {self.estimator!r}", where="--estimator")
        least = {"seeds": 1, "patience": 0, "tries": 1, "loop_iterations": 1, "iterations": 1}
        for name, at_least in least.items():
            if getattr(self, name) < at_least:
                raise OptionError(f"{name}: expected at least {at_least}, found {getattr(self, name)}")


def partition(request: PartitionRequest) -> PartitionResult:
    """The parts of a graph, mapped, unrolled and confirmed; or why there is no partition.

    OptionError for an array on which widths mean nothing. Costs a bisection (about 0.3 s) and an estimate for each
    graph looked at, and a mapping (about 1 s) for each part.
    """
    arch = read_arch(request.arch)
    check_columns(arch)
    dfg = read_source(request.source)
    return _Flow(request, dfg, arch).result()


def estimator_of(name: EstimatorName) -> WidthEstimator:
    """The estimator of a name; ``auto`` is the learned one. OptionError where it was never trained."""
    if name == "bound":
        return BoundEstimator()
    estimator: WidthEstimator = registry.load("models", "mappability").estimator()
    return estimator


@dataclass(kw_only=True)
class _Mapped:
    """What mapping a graph gave."""

    mapping: Mapping | None
    failure: Failure | None


@dataclass
class _Flow:
    request: PartitionRequest
    dfg: Dfg
    arch: Arch
    mapped: dict[frozenset[str], _Mapped] = field(default_factory=dict)

    def __post_init__(self) -> None:
        request = self.request
        self.began = time.perf_counter()
        self.cpu = time.process_time()
        self.pushed: set[tuple[frozenset[str], int]] = set()
        self.estimator = None if request.estimator == "mapper" else estimator_of(request.estimator)
        self._warm_up()
        self.search = PartitionSearch(
            dfg=self.dfg,
            arch=self.arch,
            estimate=self._estimate,
            cuts=BisectionConfig(method=request.method, seeds=request.seeds, seed=request.seed),
            patience=request.patience,
        )

    def _warm_up(self) -> None:
        """Compile kernels and load the model before the clock runs."""
        from gridloom.dfg.model import DfgBuilder

        b = DfgBuilder("warm_up", self.dfg.domain)
        b.output(b.input("x"), "y")
        tiny = b.build()
        self._map(tiny, None)
        if self.estimator is not None:
            self.estimator.estimate(tiny, self.arch)
        self.began, self.cpu = time.perf_counter(), time.process_time()

    # -- figure 4 -----------------------------------------------------------------------------------------------------

    def result(self) -> PartitionResult:
        """Search, map, search again where the mapper disagrees; then confirm."""
        root = self.search.root()
        while True:
            self.search.grow(root)
            leaves = self.search.leaves(root)
            stuck = [leaf for leaf in leaves if leaf.width is None]
            if stuck:
                return self._result(root, leaves, failure=self._no_partition(stuck[0]))
            unmapped = [leaf for leaf in leaves if leaf.verdict == "estimated"]
            if not unmapped and not self._second_look(root, leaves):
                return self._confirmed(root, leaves)
            # One disagreement is enough to look for another partition before more is mapped.
            for leaf in unmapped:
                if self._map_leaf(leaf):
                    break

    def _map_leaf(self, leaf: Branch) -> bool:
        """Map a part; True when it costs more than expected, so that the search has to go on."""
        found = self.mapped.get(leaf.ops)
        if found is None:
            began = time.process_time()
            found = self._map(leaf.part.dfg, leaf.expected.width)
            self.search.spent.map += time.process_time() - began
            self.mapped[leaf.ops] = found
        before = leaf.cost(self.arch.cols)
        leaf.verdict = "refused" if found.mapping is None else "mapped"
        leaf.width = None if found.mapping is None else width_of(found.mapping)
        return leaf.cost(self.arch.cols) > before + 1e-9

    def _second_look(self, root: Branch, leaves: list[Branch]) -> bool:
        """Try with more effort what would pay: one more copy of a part, or a graph that was cut without need."""
        columns = self.arch.cols
        for branch in _before(root, leaves):
            if _hopeless(branch):
                continue
            now = sum(leaf.cost(columns) for leaf in leaves if leaf.ops <= branch.ops)
            room = columns // (math.floor(1 / now + 1e-9) + 1)
            # A ladder that ends two columns short has never been pushed there.
            near = branch.verdict != "mapped" or (branch.width or 0) <= room + 1
            if near and room >= branch.expected.bound and (branch.ops, room) not in self.pushed:
                self.pushed.add((branch.ops, room))
                if self._push(branch, room):
                    return True
        return False

    def _push(self, branch: Branch, columns: int) -> bool:
        """Map a graph on fewer columns with more effort; True when that was found."""
        began = time.process_time()
        found = self._mapper(branch.part.dfg, 0, search="push", columns=columns)
        self.search.spent.map += time.process_time() - began
        if isinstance(found, Failure):
            self.mapped.setdefault(branch.ops, _Mapped(mapping=None, failure=found))
            return False
        self.mapped[branch.ops] = _Mapped(mapping=found, failure=None)
        branch.verdict, branch.width = "mapped", width_of(found)
        return True

    def _mapper(self, part: Dfg, k: int, **settings: Any) -> Mapping | Failure:
        from gridloom.map.budget import Budget

        mapper = registry.load("mappers", "width")
        config = config_type(mapper)(polish=False, **settings)
        found: Mapping | Failure = mapper(part, self.arch, config, Budget(seed=self.request.seed + k))
        return found

    def _estimate(self, part: Dfg) -> WidthEstimate:
        """The estimator's word; without one, what mapping the graph shows."""
        if self.estimator is not None:
            return self.estimator.estimate(part, self.arch)
        counted = bound_estimate(part, self.arch)
        if counted.width is None:
            return counted
        began = time.process_time()
        found = self._map(part, None)
        self.search.spent.map += time.process_time() - began
        self.mapped[_ops_of(part)] = found
        width = None if found.mapping is None else width_of(found.mapping)
        return WidthEstimate(width=width, bound=counted.bound, reason="mapped" if width else str(found.failure))

    def _map(self, part: Dfg, expected: int | None) -> _Mapped:
        """The narrowest of a few runs; the first that is as narrow as expected (or as the bound) ends them."""
        enough = expected or bound_estimate(part, self.arch).bound
        best: Mapping | None = None
        failure: Failure | None = None
        for k in range(self.request.tries):
            found = self._mapper(part, k, search="ladder")
            if isinstance(found, Failure):
                failure = found
                continue
            if best is None or width_of(found) < width_of(best):
                best = found
            if width_of(best) <= enough:
                break
        return _Mapped(mapping=best, failure=failure)

    def _no_partition(self, leaf: Branch) -> Failure:
        return Failure(
            constraint="parts",
            demand=f"{leaf.part.dfg.name!r}: {leaf.part.ops} ops, {leaf.part.constants} constants",
            bound=f"cannot be cut further and is not mappable: {leaf.expected.reason}",
            levers=("a larger array", "more tries", "--estimator mapper"),
        )

    # -- results ------------------------------------------------------------------------------------------------------

    def _confirmed(self, root: Branch, leaves: list[Branch]) -> PartitionResult:
        mappings = []
        for leaf in leaves:
            mapping = self.mapped[leaf.ops].mapping
            if mapping is None:  # a chosen leaf has a width, and so a mapping
                raise OptionError(f"part {leaf.part.dfg.name!r} was chosen without a mapping")
            mappings.append(mapping)
        began = time.process_time()
        parts = [leaf.part for leaf in leaves]
        confirmed = confirm_parts(self.dfg, parts, mappings, self.request.iterations, self.request.seed)
        seconds = time.process_time() - began
        failure = None if not confirmed.findings else _refused(confirmed.findings)
        return self._result(root, leaves, failure=failure, confirm=seconds, confirmed=confirmed.parts)

    def _result(
        self,
        root: Branch,
        leaves: list[Branch],
        *,
        failure: Failure | None,
        confirm: float = 0.0,
        confirmed: tuple[MappedPart, ...] = (),
    ) -> PartitionResult:
        for leaf in leaves:
            leaf.chosen = True
        spent: Spent = self.search.spent
        if self.estimator is None:
            spent.estimate = max(0.0, spent.estimate - spent.map)
        return PartitionResult(
            dfg=self.dfg,
            arch=self.arch,
            estimator="mapper" if self.estimator is None else self.estimator.name,
            request=self.request,
            root=root,
            leaves=tuple(leaves),
            parts=confirmed,
            failure=failure,
            explored=len(self.search.branches),
            attempts=len(self.mapped),
            spent=spent,
            confirm_seconds=confirm,
            seconds=time.perf_counter() - self.began,
            cpu_seconds=time.process_time() - self.cpu,
        )


def _hopeless(branch: Branch) -> bool:
    """True for what the estimator all but excludes; where it is in doubt, a mapper may still be asked."""
    if branch.verdict == "mapped" or branch.expected.width is not None:
        return False
    return (branch.expected.probability or 0.0) < DOUBT


def _before(root: Branch, leaves: list[Branch]) -> list[Branch]:
    """The chosen parts and all graphs that they were cut from, the larger first."""
    if root in leaves or root.children is None:
        return [root]
    return [root, *(branch for child in root.children for branch in _before(child, leaves))]


def _ops_of(part: Dfg) -> frozenset[str]:
    from gridloom.partition.split import is_op

    return frozenset(node.id for k, node in enumerate(part.nodes) if is_op(part, k))


def _refused(findings: tuple[str, ...]) -> Failure:
    return Failure(
        constraint="confirmation of the parts (an error in gridloom; please report it)",
        demand="no finding",
        bound=f"{len(findings)}: {'; '.join(findings[:5])}",
        levers=("another seed",),
    )
