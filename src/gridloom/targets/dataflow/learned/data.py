"""The data set of the cost model: decisions of randomised annealing over building blocks, labelled by the simulator.

A job is one graph and one seed. Its annealing chains begin at random or by wirelength; they run for a random number of
moves at random temperatures, guided by a rule that is drawn too; random exchanges perturb them, and the simulator
measures the placements they end with. A row holds places and labels; routes follow from places. All graphs are training
steps: the backward pass is in them. Jobs run through executor and store: a killed run continues where it was.

An *era* is a state of the tool chain: ``present``, others that differ in one thing (`ERAS`), or the text of the user's
array. Graphs of the user are in the parameters of their jobs (family ``own``).

Labels are deterministic: a job's random numbers come from its seed and a hash of its graph, and annealing is counted in
moves. Random guides and random exchanges spread the qualities, because a model that has only
seen good placements cannot tell a search what to avoid.

A cost model that guides searches meets placements that searches by other rules do not reach. With data from one rule
alone it would have to guess there; therefore every job draws a guide: the hand-written rule, or round trips with random
weights.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom import registry
from gridloom.dfg import json_format
from gridloom.errors import GridloomError
from gridloom.learn.labels import array_of
from gridloom.run import ExecutorSpec, Job, Store, ask, canonical_json, run_stored
from gridloom.run.work import WorkFolder
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.costs.formulas import Heuristic
from gridloom.targets.dataflow.costs.load import CostModel, Decisions, Floats, Ints, Pipeline
from gridloom.targets.dataflow.costs.load import pipeline as build_pipeline
from gridloom.targets.dataflow.learned.features import FULL_SPEED
from gridloom.targets.dataflow.learned.inference import full_speed
from gridloom.targets.dataflow.lowering.lower import alike, lower
from gridloom.targets.dataflow.lowering.stages import Merge
from gridloom.targets.dataflow.machine.measure import Meter
from gridloom.targets.dataflow.mappers.route import route
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig
from gridloom.targets.dataflow.program import model as program

#: ``present``, another name of `ERAS`, or the text of an array.
Era = str
#: A graph: its family, and the parameters that it is built with, or the graph itself (``dfg``, JSON text).
Listed = tuple[str, dict[str, Any]]

#: Version of generator and row. After a change of it, rows stored before no longer count.
VERSION: Final = "6"
STORE_NAME: Final = "cost-model.sqlite"
#: The name under which decisions are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.learn.cost_model_data.sample"
ARRAY: Final = "rdu:16x8"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A state of the tool chain: array, how lowering fills it and merges stages, routes and turns of links."""

    arch: str = ARRAY
    fill: float = 0.95
    #: Operations that lowering merges into stages.
    merge: Merge = "vectors"
    #: Routes avoid loaded links.
    aware: bool = True
    #: Links serve flows in turn.
    fair: bool = True


#: The present tool chain, and what it is like after one change: lowering that leaves units free, products merged
#: with the operation behind them, smaller packets, routes that do not see loads, an array with two links between
#: switches, links that serve the first flow that waits.
ERAS: Final[dict[Era, Stack]] = {
    "present": Stack(),
    "lowering": Stack(fill=0.7),
    "merging": Stack(merge="products"),
    "packet": Stack(arch=f"{ARRAY},packet=2"),
    "router": Stack(aware=False),
    "array": Stack(arch=f"{ARRAY},channels=2"),
    "arbiter": Stack(fair=False),
}
#: The networks; their positions go into the seeds. The model is trained on the first four only.
FAMILIES: Final = ("gemm", "mlp", "ffn", "mha", "bert_large", "gpt2_xl")

#: The family of the user's graphs.
OWN: Final = "own"

#: How many decisions a job makes.
CHAINS: Final = 16

#: Sizes of the building blocks. None is a part of the large networks, whose widths are 1,024 and 1,600.
_GEMM: Final = (
    (128, 128), (128, 512), (256, 256), (256, 512), (512, 128), (512, 256), (512, 512), (384, 384), (768, 256),
    (256, 768), (1024, 256), (1536, 256), (896, 896), (1280, 512), (2560, 640),
)  # fmt: skip
_MLP: Final = (
    (128, 2, 0), (128, 3, 0), (128, 5, 0), (192, 4, 0), (256, 2, 0), (256, 3, 0), (256, 4, 0), (384, 2, 0), (384, 3, 0),
    (128, 2, 256), (256, 2, 512), (512, 2, 128), (640, 4, 0), (768, 3, 0), (896, 3, 0), (768, 2, 1536),
)  # fmt: skip
#: Width, hidden features, section.
_FFN: Final = (
    (64, 256, 0), (96, 384, 0), (128, 512, 0), (128, 384, 0), (160, 640, 0), (192, 768, 0), (256, 512, 0),
    (256, 1024, 0), (320, 640, 0), (384, 768, 0), (192, 384, 0), (640, 2560, 0), (896, 3584, 1), (768, 2304, 1),
    (1280, 5120, 0), (1280, 5120, 4), (1280, 5120, 7), (1152, 4608, 2), (1152, 4608, 5),
)  # fmt: skip
#: Width, heads, rows, section.
_MHA: Final = (
    (64, 4, 32, 0), (128, 4, 32, 0), (128, 8, 64, 0), (192, 4, 64, 0), (256, 8, 32, 0), (256, 4, 64, 0),
    (128, 2, 64, 0), (256, 16, 64, 0), (256, 8, 128, 0), (384, 8, 64, 0), (384, 4, 32, 0), (192, 3, 32, 0),
    (320, 10, 96, 0), (576, 9, 64, 0), (640, 10, 128, 0), (896, 14, 256, 0), (896, 14, 256, 1), (1280, 20, 384, 2),
    (1280, 20, 384, 3), (768, 24, 512, 0), (768, 24, 512, 1), (1280, 20, 1024, 3), (960, 15, 768, 1), (640, 20, 768, 0),
    (640, 20, 768, 1), (1152, 36, 384, 1),
)  # fmt: skip


def graphs() -> list[Listed]:
    """Return family and parameters of every graph of the data set."""
    listed: list[Listed] = [("gemm", {"inner": a, "columns": b}) for a, b in _GEMM]
    for width, layers, hidden in _MLP:
        listed.append(("mlp", {"width": width, "layers": layers, **({"hidden": hidden} if hidden else {})}))
    for width, hidden, section in _FFN:
        listed.append(("ffn", {"width": width, "hidden": hidden, **({"section": section} if section else {})}))
    for width, heads, rows, section in _MHA:
        sized = {"width": width, "heads": heads, "rows": rows}
        listed.append(("mha", {**sized, **({"section": section} if section else {})}))
    return listed


def held_out_graphs() -> list[Listed]:
    """Return graphs of the same families in other sizes, which no training sees."""
    listed: list[Listed] = [("gemm", {"inner": 640, "columns": 320})]
    listed += [("gemm", {"inner": 320, "columns": 640}), ("mlp", {"width": 320, "layers": 3})]
    listed += [("mlp", {"width": 192, "layers": 5}), ("ffn", {"width": 224, "hidden": 896})]
    listed += [("ffn", {"width": 144, "hidden": 576}), ("mha", {"width": 320, "heads": 4, "rows": 64})]
    return [*listed, ("mha", {"width": 192, "heads": 6, "rows": 96})]


def large_graphs() -> list[Listed]:
    """Return sections of one block of each of two large networks, one of each size, which no training sees either."""
    bert = [("bert_large", {"layers": 1, "section": k}) for k in (0, 1, 2, 3, 5)]
    return [*bert, *(("gpt2_xl", {"layers": 1, "section": k}) for k in (0, 2, 3, 4, 6))]


def stack_of(era: Era) -> Stack:
    """Return the tool chain of an era.

    >>> stack_of("rdu:8x8,lanes=64").arch
    'rdu:8x8,lanes=64'
    """
    return ERAS[era] if era in ERAS else Stack(arch=era)


@lru_cache(maxsize=256)
def unit_graph(family: str, parameters: tuple[tuple[str, Any], ...], era: Era) -> program.UnitGraph:
    """Return the unit graph of a section of a network's training step: the first of those that differ, or ``section``.

    Cached, since many jobs of one worker are on the same graph.
    """
    settings = dict(parameters)
    if "dfg" in settings:
        return program.unit_graph(json_format.from_dict(json.loads(settings["dfg"]), family))
    section = settings.pop("section", 0)
    network = registry.load("networks", family).build(**settings, training=True)
    stack = stack_of(era)
    groups = alike(lower(network, array_of(stack.arch), fill=stack.fill, merge=stack.merge).sections)
    found: program.UnitGraph = groups[section % len(groups)][0].dfg
    return found


@lru_cache(maxsize=256)
def graph_pipeline(family: str, parameters: tuple[tuple[str, Any], ...], era: Era) -> Pipeline:
    """Return the pipeline of a section of a network."""
    return build_pipeline(unit_graph(family, parameters, era), array_of(stack_of(era).arch))


def route_places(pipeline: Pipeline, places: Ints, era: Era) -> Decisions:
    """Return decisions from places, as the tool chain of an era routes them."""
    return route(pipeline, places, aware=stack_of(era).aware)


def measure_decisions(pipeline: Pipeline, decisions: Decisions, era: Era) -> Floats:
    """Return the efficiencies that the simulator measures.

    Costs one simulation per decision.
    """
    meter = Meter(pipeline.dfg, pipeline.arch)
    fair = stack_of(era).fair
    return np.array([meter.measure(*decisions.routes(k), fair=fair).efficiency for k in range(len(decisions))])


def sample(parameters: dict[str, Any]) -> dict[str, Any]:
    """Run one job and return the places and labels of its chains.

    This is the function that the executor calls in its workers; ``parameters`` is plain data: family, graph, era, seed.
    """
    family, era = parameters["family"], parameters["era"]
    pipeline = graph_pipeline(family, tuple(sorted(parameters["graph"].items())), era)
    random = np.random.default_rng([parameters["seed"], _stream(family, parameters["graph"])])
    # Which temperature suits a graph is not known, so temperatures are drawn over orders of magnitude.
    hot = float(10 ** random.uniform(-3, -0.5))
    short = random.random() < 0.4
    config = DataflowConfig(
        cost="heuristic", chains=CHAINS, start="short" if short else "random",
        hot=hot, cold=min(hot, float(10 ** random.uniform(-4, -1.5))), aimed=float(random.random()),
        wire=float(10 ** random.uniform(-4, -1.5)), aware=stack_of(era).aware,
    )  # fmt: skip
    search = AnnealingChains(pipeline, config, int(random.integers(1 << 31)))
    search.model = random_guide(random)
    # From a random start it takes long until placements are good; those in between are what searches meet.
    steps = 2 ** random.uniform(0, 6 if short else 10)
    search.run(Budget(effort=int(CHAINS * steps), seed=0).start())
    _shake(search, random)
    labels = measure_decisions(pipeline, route_places(pipeline, search.places, era), era)
    return {"places": search.places.tolist(), "labels": [round(float(label), 6) for label in labels]}


def _stream(family: str, graph: dict[str, Any]) -> int:
    """Return the number of a graph's own stream of random numbers, which no other graph has."""
    return int.from_bytes(hashlib.sha256(canonical_json([family, graph]).encode()).digest()[:8], "big")


def _shake(search: AnnealingChains, random: np.random.Generator) -> None:
    """Exchange units at random, often in some chains and never in others, so that placements of all qualities occur."""
    pipeline, sites = search.pipeline, search.sites
    for chain in range(CHAINS):
        for _ in range(int(pipeline.units * random.random() ** 6)):
            unit = int(random.integers(pipeline.units))
            kind = pipeline.unit_kind[unit]
            tile = int(random.choice(sites.tiles[sites.tile_start[kind] : sites.tile_start[kind + 1]]))
            if tile != search.places[chain, unit]:
                search.exchange(chain, unit, tile)


def own_graphs(era: Era, own: Sequence[tuple[str, Any]]) -> list[Listed]:
    """Return the user's graphs, by name, and those of the data set that the array of an era takes."""

    def fits(family: str, parameters: dict[str, Any]) -> bool:
        try:
            return graph_pipeline(family, tuple(sorted(parameters.items())), era).flows > 0
        except GridloomError:
            return False

    mine = [(OWN, {"name": name, "dfg": canonical_json(json_format.to_dict(dfg))}) for name, dfg in own]
    return [*mine, *(pair for pair in graphs() if fits(*pair))]


def jobs(era: Era, decisions: int, listed: list[Listed] | None = None) -> Iterator[Job[dict[str, Any]]]:
    """Yield jobs for at least so many decisions, all graphs in turn; the first ones are of all families."""
    for family, graph, seed in _turns(graphs() if listed is None else listed, decisions):
        yield ask(QUESTION, {"family": family, "graph": graph, "era": era, "seed": seed}, version=VERSION)


def _turns(listed: list[Listed], decisions: int) -> list[tuple[str, dict[str, Any], int]]:
    """Family, graph and seed of the jobs that so many decisions take."""
    sizes = Counter(family for family, _ in listed)
    seen: Counter[str] = Counter()
    place = []
    for family, _ in listed:
        seen[family] += 1
        # The user's graphs come first, so that a short run has them.
        place.append(0.0 if family == OWN else (seen[family] - 0.5) / sizes[family])
    order = sorted(range(len(listed)), key=lambda k: place[k])
    count = -(-decisions // CHAINS)
    return [(*listed[order[k % len(listed)]], k // len(listed)) for k in range(count)]


def store_path(work: WorkFolder) -> Path:
    """Return the file of the data set."""
    return work.labels or work.folder / STORE_NAME


def make(work: WorkFolder, *, era: Era, decisions: int, listed: list[Listed] | None = None) -> dict[str, Any]:
    """Compute what is missing of the data set, and return counts."""
    work.folder.mkdir(parents=True, exist_ok=True)
    total = sum(1 for _ in jobs(era, decisions, listed))

    def told(progress: Any) -> None:
        work.progress(f"{era}: {progress.done} of {total} jobs", progress.done / total)

    def until_over() -> Iterator[Job[dict[str, Any]]]:
        for job in jobs(era, decisions, listed):
            if work.over():
                return
            yield job

    with Store(store_path(work)) as store:
        run = run_stored(sample, until_over(), store, executor=ExecutorSpec.parse(jobs=work.jobs or 1), progress=told)
    return {"era": era, "computed": run.computed, "skipped": run.skipped, "failed": run.failed, "seconds": run.seconds}


@dataclass(frozen=True, kw_only=True)
class DecisionSample:
    """The decisions of one job.

    ``places`` is [decision, unit] -> tile, ``labels`` has an efficiency per decision. Routes are not stored: they
    follow from places and era.
    """

    family: str
    graph: tuple[tuple[str, Any], ...]
    era: Era
    places: Ints
    labels: Floats


def load(
    path: Path, era: Era, listed: list[Listed] | None = None, decisions: int | None = None
) -> list[DecisionSample]:
    """Return the stored samples of some graphs by seed, family and graph.

    By default they are those of the training set, and for a user's array all but those held out. With ``decisions``
    they are those of the jobs that so many decisions take.
    """
    spared = [*held_out_graphs(), *large_graphs()] if listed is None and era not in ERAS else []
    listed = graphs() if listed is None else listed
    wanted, held = ({(family, tuple(sorted(graph.items()))) for family, graph in some} for some in (listed, spared))
    asked_for = None if decisions is None else {
        (family, tuple(sorted(graph.items())), seed) for family, graph, seed in _turns(listed, decisions)
    }  # fmt: skip
    with Store(path, readonly=True) as store:
        rows: list[tuple[Any, Any]] = [
            (row.asked["parameters"], row.value) for row in store.rows() if _answers(row.asked, row.status)
        ]
    samples = [
        (
            asked["seed"],
            DecisionSample(
                family=asked["family"],
                graph=tuple(sorted(asked["graph"].items())),
                era=era,
                places=np.array(value["places"], dtype=np.int64),
                labels=np.array(value["labels"], dtype=np.float64),
            ),
        )
        for asked, value in rows
        if asked["era"] == era
        and ((key := (asked["family"], tuple(sorted(asked["graph"].items())))) in wanted or (held and key not in held))
    ]
    if asked_for is not None:
        samples = [(seed, item) for seed, item in samples if (item.family, item.graph, seed) in asked_for]
    return [item for _, item in sorted(samples, key=lambda pair: (pair[0], pair[1].family, pair[1].graph))]


def _answers(asked: Any, status: str) -> bool:
    return status == "done" and asked["version"] == VERSION and asked["function"] == QUESTION


def digest(samples: list[DecisionSample]) -> str:
    """Return a hash of a data set, for model cards."""
    state = hashlib.sha256()
    for item in samples:
        state.update(canonical_json([item.family, [list(p) for p in item.graph], item.era]).encode())
        state.update(item.places.tobytes())
        state.update(item.labels.tobytes())
    return state.hexdigest()[:16]


_WINDOW = FULL_SPEED.index("window")
_PEAKS = FULL_SPEED.index("peaks")


@dataclass(kw_only=True)
class RoundTripGuide:
    """A guide by round trips: how much of the FIFOs' time they take, as a power mean over the flows.

    It implements the protocol of cost models. The window feature of a flow is the share of its FIFO's time that a round
    trip takes; 1 and more means that the buffer is too short for the distance.
    """

    #: The power of the mean: 1 is the plain mean, large values are near the worst flow.
    power: float
    #: The weight of the peak rates on shared links beside the round trips.
    peaks: float
    name: str = "windows"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return a number of 0 to 1 per decision, higher is better; it only orders placements. Linear in the hops."""
        edges = full_speed(pipeline, decisions).astype(np.float64)
        taken = edges[:, :, _WINDOW] + self.peaks * edges[:, :, _PEAKS]
        mean: Floats = np.mean(taken**self.power, axis=1) ** (1.0 / self.power)
        return 1.0 / (1.0 + mean)


def random_guide(random: np.random.Generator) -> CostModel:
    """Return the guide of one job: the hand-written cost model, or round trips with random weights.

    >>> random_guide(np.random.default_rng(1)).name in ("heuristic", "windows")
    True
    """
    if random.random() < 0.5:
        return Heuristic()
    return RoundTripGuide(power=float(2 ** random.uniform(0, 4)), peaks=float(random.random()))
