"""The partitioning flow: a graph that does not fit a static array, or uses it badly, becomes parts that fit it well.

1. split until every part is expected to map, and on while throughput improves (:mod:`gridloom.flow.partition.search`);
2. map the parts; where the mapper disagrees with the estimator it is believed, and the search goes on;
3. try with more effort what would pay: one more copy of a part, or a graph that was cut without need;
4. put floor(W / w) copies of each part side by side, check and simulate them;
5. run the parts one after the other on the simulated array: what one stores, later ones load. The whole has to give
   what the unsplit graph gives.

The flow follows Kojima et al. (mappability estimation for static CGRAs), with the mapper's answer taken back into the
search. A part that maps on w of W columns runs floor(W / w) iterations at a time, so that only widths at which another
copy fits make a difference. Throughput is the objective, or the execution time of a given number of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping as MappingABC
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, OptionError
from gridloom.flow.inputs import ArchLike, prepare, read_arch
from gridloom.flow.partition.mapping import PartMapper
from gridloom.flow.partition.result import MappedPart, PartitionResult
from gridloom.flow.partition.run import confirm_parts
from gridloom.flow.partition.search import Branch, PartitionSearch, PartPrice, Spent
from gridloom.flow.partition.unroll_columns import width_of
from gridloom.mapping.model import Failure, Mapping
from gridloom.partition import BisectionConfig, bisections, split
from gridloom.partition.width_estimate import (
    BoundEstimator,
    WidthEstimate,
    WidthEstimator,
    bound_estimate,
    check_columns,
)

if TYPE_CHECKING:
    from gridloom.flow.inputs import Source
    from gridloom.flow.loops.alternatives import Rewrite

EstimatorName = Literal["auto", "learned", "dgcnn", "bound", "mapper"]
#: What the estimator gives less than this is not tried, however much it would pay; what is in doubt is tried.
DOUBT: Final = 0.005
ESTIMATORS: Final = ("auto", "learned", "dgcnn", "bound", "mapper")
#: What the estimator gives at least this is searched for with more effort at once: the long starts of the last search
#: below follow a few short ones.
HOPE: Final = 0.5
_EAGER: Final = "eager"
#: Searches on a number of columns that would pay, one after the other: the same whichever estimator is asked, so that
#: one that leaves out no more than what is hopeless finds what counting alone finds.
_SEARCHES: Final = ("fit", "push")
#: Cycles of a part's pipeline that the price of a part has, before its mapping is known.
_LATENCY: Final = 1
METHODS: Final = ("auto", "kl", "multilevel")
BACKENDS: Final = ("width", "genetic")
#: The published system: DGCNN judges, Kernighan-Lin cuts, the genetic mapper maps each part once.
PUBLISHED: Final[MappingABC[str, Any]] = {
    "estimator": "dgcnn", "method": "kl", "backend": "genetic", "second_look": False, "patience": 0, "seeds": 20
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PartitionRequest:
    """What a user asks of the partitioning flow."""

    #: A graph, or a SOURCE.
    source: Source
    #: An array, or an ARCH.
    arch: ArchLike
    #: ``learned``, ``dgcnn`` (the published network), ``bound`` (counting alone), ``mapper`` (none: every graph is
    #: mapped); ``auto``: learned.
    estimator: EstimatorName = "auto"
    #: Weights of ``learned`` in place of the shipped ones.
    weights: Path | None = None
    #: How graphs are cut: ``multilevel``, ``kl`` as published, or ``auto``: multilevel where pymetis is installed.
    method: Literal["auto", "kl", "multilevel"] = "auto"
    #: The mapper of the parts: ``width``, or ``genetic`` as published.
    backend: Literal["width", "genetic"] = "width"
    #: ``genetic``: evaluations for each part.
    evaluations: int = 10_000
    #: Try with more effort what would pay once all parts are mapped; the published flow does not.
    second_look: bool = True
    #: Bisections per cut, each with a seed of its own.
    seeds: int = 6
    seed: int = 0
    #: Splits in a row that may fail to improve the throughput.
    patience: int = 1
    #: Mapping runs, with seeds of their own, before a part is given up on some columns.
    tries: int = 1
    #: Iterations of the loop, whose execution time is minimised; None: the throughput is maximised.
    loop_iterations: int | None = None
    #: Cycles to load a configuration; None: one for each PE and each constant register.
    reconfiguration: int | None = None
    #: Iterations that the simulation compares.
    iterations: int = 48

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise OptionError(f"expected one of {', '.join(ESTIMATORS)}; found {self.estimator!r}", where="--estimator")
        for name, known in (("method", METHODS), ("backend", BACKENDS)):
            if getattr(self, name) not in known:
                expected, found = ", ".join(known), getattr(self, name)
                raise OptionError(f"expected one of {expected}; found {found!r}", where=f"--{name}")
        least = {"seeds": 1, "patience": 0, "tries": 1, "loop_iterations": 1, "iterations": 1, "evaluations": 1}
        for name, at_least in least.items():
            if (found := getattr(self, name)) is not None and found < at_least:
                raise OptionError(f"{name}: expected at least {at_least}, found {found}")

    def reconfiguration_on(self, arch: Arch) -> int:
        """Return the cycles to load a configuration of an array."""
        if self.reconfiguration is not None:
            return self.reconfiguration
        return sum(tile.kind in ("pe", "const") for tile in arch.tiles)


def partition(request: PartitionRequest) -> PartitionResult:
    """Return the parts of a graph, mapped, unrolled and confirmed; or why there is no partition.

    OptionError for an array on which widths mean nothing. Costs a bisection (about 0.3 s) and an estimate for each
    graph looked at, and a mapping (about 1 s) for each part.
    """
    arch = read_arch(request.arch)
    check_columns(arch)
    prepared = prepare(request.source, arch)
    return _PartitionRun(request, prepared.dfg, arch, prepared.rewrite).result()


def estimator_of(name: EstimatorName, weights: Path | None = None) -> WidthEstimator:
    """Return the estimator of a name; ``auto`` is the learned one. OptionError where it was never trained."""
    if weights is not None and name not in ("auto", "learned"):
        raise OptionError(f"estimator {name!r} takes no weights; expected auto or learned", where="--estimator")
    if name == "bound":
        return BoundEstimator()
    model = registry.load("models", "mappability")
    estimator: WidthEstimator = model.published_estimator() if name == "dgcnn" else model.estimator(weights)
    return estimator


def cut_method(name: str) -> Literal["kl", "multilevel"]:
    """Return how graphs are cut: ``auto`` is multilevel where pymetis is installed, else Kernighan-Lin."""
    if name == "auto":
        return "multilevel" if find_spec("pymetis") is not None else "kl"
    return "kl" if name == "kl" else "multilevel"


@dataclass
class _PartitionRun:
    """One run of the flow: the search, the mapper and the estimator with what they have found so far.

    ``result`` is called once. Clocks start after the warm-up, so that compilation is not counted.
    """

    request: PartitionRequest
    dfg: Dfg
    arch: Arch
    #: The loop that the graph of 24-bit words stands for, where it comes from one.
    rewrite: Rewrite | None = None

    def __post_init__(self) -> None:
        request = self.request
        self.began = time.perf_counter()
        self.cpu = time.process_time()
        self.price = PartPrice(
            columns=self.arch.cols,
            iterations=request.loop_iterations,
            overhead=request.reconfiguration_on(self.arch) + _LATENCY,
        )
        self.mapper = PartMapper(
            arch=self.arch,
            price=self.price,
            seed=request.seed,
            tries=request.tries,
            backend=request.backend,
            evaluations=request.evaluations,
        )
        self.estimator = None if request.estimator == "mapper" else estimator_of(request.estimator, request.weights)
        self.cuts = BisectionConfig(method=cut_method(request.method), seeds=request.seeds, seed=request.seed)
        # Times are compared between estimators, and the first call of each would pay for compilation.
        self._warm_up()
        self.search = PartitionSearch(
            dfg=self.dfg,
            arch=self.arch,
            estimate=self._estimate,
            cuts=self.cuts,
            price=self.price,
            patience=request.patience,
        )

    def _warm_up(self) -> None:
        """Compile kernels and load what the stages need, with a graph of two ops, before the clock runs."""
        from gridloom.dfg.model import DfgBuilder

        b = DfgBuilder("warm_up", "cma24")
        x = b.input("x")
        b.output(b.add("xor", b.add("add", x, x), x), "y")
        tiny = b.build()
        with suppress(MissingExtra):  # a graph that fits is not cut
            bisections(tiny, self.cuts)
        mapping = self.mapper.run(tiny, 0, search=_SEARCHES[0], columns=1)
        if self.estimator is not None:
            self.estimator.estimate(tiny, self.arch)
        if isinstance(mapping, Mapping):
            confirm_parts(tiny, split(tiny, dict.fromkeys(_ops_of(tiny), 0)), [mapping], 1, 0)
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
            if not unmapped and not (self.request.second_look and self._second_look(root, leaves)):
                return self._confirmed(root, leaves)
            # One disagreement is enough to look for another partition before more is mapped.
            for leaf in unmapped:
                if self._map_leaf(leaf):
                    break

    def _map_leaf(self, leaf: Branch) -> bool:
        """Map a part on the columns that its expected copies leave it; True when it needs more than that."""
        columns = self.arch.cols
        # The published mapper minimises the width by itself and is asked once, for the whole array.
        alone = self.request.backend == "genetic"
        room = columns if alone else self.price.room_for(leaf.width or columns)
        search = _EAGER if not alone and self._promising(leaf, room) else _SEARCHES[0]
        if self.mapper.fits(leaf.ops, leaf.part.dfg, room, search):
            leaf.verdict, leaf.width = "mapped", width_of(self.mapper.best[leaf.ops])
            return False
        # What it needs is not known: the search goes on with the next number of copies, and may ask again.
        leaf.width = self.price.next_room(room)
        leaf.verdict = "refused" if leaf.width is None else "estimated"
        return True

    def _second_look(self, root: Branch, leaves: list[Branch]) -> bool:
        """Try with more effort what would pay: one more copy of a part, or a graph that was cut without need.

        For each graph on the way from the whole to the chosen parts, the columns are computed with which it would beat
        what its parts cost now. It is tried there with each search in turn. True when one succeeded: the partition is
        then looked for again.
        """
        for branch in _before(root, leaves):
            room = self.price.room_below(sum(leaf.cost(self.price) for leaf in leaves if leaf.ops <= branch.ops) - 1e-9)
            asked = any(self.mapper.asked(branch.ops, search, room) for search in (_SEARCHES[-1], _EAGER))
            if asked or room < branch.expected.bound:
                continue
            if any(self._found(branch, room, search) for search in _SEARCHES):
                branch.verdict, branch.width = "mapped", width_of(self.mapper.best[branch.ops])
                return True
        return False

    def _found(self, branch: Branch, columns: int, search: str) -> bool:
        """Return True when a graph is found to fit so many columns; what is doubtful is not tried."""
        return not self._doubtful(branch, columns) and self.mapper.fits(branch.ops, branch.part.dfg, columns, search)

    def _promising(self, leaf: Branch, columns: int) -> bool:
        """Return True where the estimator expects a part to fit so many columns, and its own parts would cost more.

        A short search that fails would be followed by a longer one then, since that pays; so the longer one is made at
        once. Where the parts cost the same, a failure of the short search is the end of it.
        """
        price = self.price
        if leaf.children is None or sum(child.cost(price) for child in leaf.children) <= leaf.cost(price):
            return False
        probability = self._probability(leaf, columns)
        return probability is not None and probability >= HOPE

    def _doubtful(self, branch: Branch, columns: int) -> bool:
        """Return True where the estimator all but excludes that a graph fits so many columns, or counting does."""
        if bound_estimate(branch.part.dfg, self.arch).width is None:
            return True
        probability = self._probability(branch, columns)
        return probability is not None and probability < DOUBT

    def _probability(self, branch: Branch, columns: int) -> float | None:
        """Return the estimator's probability that a graph fits so many columns; None: it has no opinion."""
        if self.estimator is None:
            return None
        began = time.process_time()
        probability = self.estimator.probability(branch.part.dfg, self.arch, columns)
        self.search.spent.estimate += time.process_time() - began
        return probability

    def _estimate(self, part: Dfg) -> WidthEstimate:
        """Return the width that the estimator expects; without an estimator, the width of a mapping."""
        if self.estimator is not None:
            return self.estimator.estimate(part, self.arch)
        counted = bound_estimate(part, self.arch)
        if counted.width is None:
            return counted
        ops = _ops_of(part)
        width = self.mapper.narrowest(ops, part, counted.bound)
        reason = "mapped" if width else str(self.mapper.failures[ops])
        return WidthEstimate(width=width, bound=counted.bound, reason=reason)

    def _no_partition(self, leaf: Branch) -> Failure:
        """Return the Failure of a part that neither maps nor can be cut."""
        return Failure(
            constraint="parts",
            demand=f"{leaf.part.dfg.name!r}: {leaf.part.ops} ops, {leaf.part.constants} constants",
            bound=f"cannot be cut further and is not mappable: {leaf.expected.reason}",
            levers=("a larger array", "more tries", "--estimator mapper"),
        )

    # -- results ------------------------------------------------------------------------------------------------------

    def _confirmed(self, root: Branch, leaves: list[Branch]) -> PartitionResult:
        """Check and simulate the chosen parts and return the result."""
        mappings = []
        for leaf in leaves:
            mapping = self.mapper.best.get(leaf.ops)
            if mapping is None:  # a chosen leaf has a width, and so a mapping
                raise OptionError(f"part {leaf.part.dfg.name!r} was chosen without a mapping")
            mappings.append(mapping)
        began = time.process_time()
        parts = [leaf.part for leaf in leaves]
        confirmed = confirm_parts(self.dfg, parts, mappings, self.request.iterations, self.request.seed, self.rewrite)
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
        """Return the result, with what the flow looked at and how long it took."""
        for leaf in leaves:
            leaf.chosen = True
        spent: Spent = self.search.spent
        if self.estimator is None:
            spent.estimate = max(0.0, spent.estimate - self.mapper.seconds)
        spent.map, spent.in_vain = self.mapper.seconds, self.mapper.in_vain
        return PartitionResult(
            dfg=self.dfg,
            arch=self.arch,
            estimator="mapper" if self.estimator is None else self.estimator.name,
            method=self.cuts.method,
            request=self.request,
            root=root,
            leaves=tuple(leaves),
            parts=confirmed,
            failure=failure,
            explored=len(self.search.branches),
            attempts=self.mapper.attempts,
            spent=spent,
            confirm_seconds=confirm,
            seconds=time.perf_counter() - self.began,
            cpu_seconds=time.process_time() - self.cpu,
        )


def _before(root: Branch, leaves: list[Branch]) -> list[Branch]:
    """Return the chosen parts and all graphs that they were cut from, the larger first."""
    if root in leaves or root.children is None:
        return [root]
    return [root, *(branch for child in root.children for branch in _before(child, leaves))]


def _ops_of(part: Dfg) -> frozenset[str]:
    """Return the ops of a part, without its loads, stores and constants."""
    from gridloom.partition.split import is_op

    return frozenset(node.id for k, node in enumerate(part.nodes) if is_op(part, k))


def _refused(findings: tuple[str, ...]) -> Failure:
    """Return the Failure of parts that the checks refused: an error in gridloom."""
    return Failure(
        constraint="confirmation of the parts (an error in gridloom; please report it)",
        demand="no finding",
        bound=f"{len(findings)}: {'; '.join(findings[:5])}",
        levers=("another seed",),
    )
