"""Labelled graphs: what a search found for a graph on an array, in a store that any run adds to, or packed in a file.

A store has a row for each pair of a graph and an array, keyed by the question, so that nothing is labelled twice and a
run that is stopped goes on. The graph of a row is drawn again from its source, or is part of the row. A packed file
holds the features in place of graphs: the package has one for each model, so that models are trained and measured
without labelling.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg import json_format
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.learn import weights
from gridloom.run import ExecutorSpec, Job, JobOutcome, Store, ask, canonical_json, run_stored
from gridloom.run.work import WorkFolder

if TYPE_CHECKING:
    from gridloom.learn.reach import ReachQuestion

Doubles = NDArray[np.float64]

#: The name under which labels are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.learn.label"
#: How sure a label is: counting or a proof excludes the graph, a search found this capacity, or no search found any.
DECIDED: Final = ("bound", "proof", "found", "exhausted")


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """A graph on an array with its label."""

    source: str
    arch: str
    #: What models see of the pair, without the capacity.
    values: Doubles
    #: The least capacity that was found; None: none.
    found: int | None
    decided: str
    #: Whether the graph is the user's, and stored with the label.
    own: bool = False

    @property
    def is_open(self) -> bool:
        """Whether only a search could decide it."""
        return self.decided in ("found", "exhausted")


@lru_cache(maxsize=512)
def array_of(text: str) -> Arch:
    """Return the array of a description (JSON text, or an ARCH string), built once."""
    return build(json.loads(text) if text.startswith("{") else text)


def check_sum(dfg: Dfg) -> int:
    """Return a check sum of a graph, by which one that has changed since it was labelled is found."""
    index = dfg.index
    nodes = [[node.op, dfg.op_class(node.id)] for node in dfg.nodes]
    edges = [[index[e.source], index[e.target], e.operand, e.distance, e.kind] for e in dfg.edges]
    return zlib.crc32(canonical_json([nodes, edges]).encode()) & 0xFFFF


def ask_label(question: ReachQuestion, source: str, arch: str, graph: Dfg | None = None) -> Job[Any]:
    """Return the job that labels a graph on an array; ``graph`` for one that is not drawn from its source."""
    asked: dict[str, Any] = {"model": question.name, "source": source, "arch": arch}
    if graph is not None:
        asked["graph"] = json_format.to_dict(graph)
    return ask(QUESTION, asked, version=question.version)


def _graph(question: ReachQuestion, asked: dict[str, Any]) -> Dfg:
    """The graph of a question, as its array takes it."""
    if "graph" in asked:
        return json_format.from_dict(asked["graph"], str(asked["source"]))
    return question.read(str(asked["source"]), array_of(str(asked["arch"])))


def label(asked: dict[str, Any]) -> dict[str, Any]:
    """Search and return the label as plain data; a worker calls it. About a CPU second on average."""
    question: ReachQuestion = registry.load("models", asked["model"]).question
    dfg, arch = _graph(question, asked), array_of(str(asked["arch"]))
    began = time.process_time()
    found, decided = question.search(dfg, arch)
    spent = round(time.process_time() - began, 3)
    return {"found": found, "decided": decided, "check": check_sum(dfg), "cpu": spent}


def observe(question: ReachQuestion, store: Store, dfg: Dfg, arch: Arch, found: int | None) -> None:
    """Add what an ordinary run found for a graph; nothing where the store has a label of the pair."""
    job = ask_label(question, dfg.name, canonical_json(dict(arch.spec)), dfg)
    value = {"found": found, "decided": "found" if found else "exhausted", "check": check_sum(dfg), "cpu": 0.0}
    store.put(job, JobOutcome(job.key, "done", value))


def label_missing(
    question: ReachQuestion, jobs: Sequence[Job[Any]], path: Path, work: WorkFolder, known: Iterable[Labelled] = ()
) -> dict[str, int]:
    """Run the jobs that a store has no answer of until the work is over; returns how many were run and how many failed.

    ``work.jobs`` workers label in parallel. A new store begins with ``known``.
    """
    fresh = not path.exists()

    def report(progress: Any) -> None:
        work.progress(f"{progress.done} of {len(jobs)} graphs", progress.done / max(1, len(jobs)))

    with Store(path) as store:
        for item in known if fresh else ():
            job = ask_label(question, item.source, item.arch)
            value = {"found": item.found, "decided": item.decided, "check": None, "cpu": 0.0}
            store.put(job, JobOutcome(job.key, "done", value))
        until_over = takewhile(lambda _: not work.over(), jobs)
        done = run_stored(label, until_over, store, executor=ExecutorSpec.parse(jobs=work.jobs), progress=report)
    return {"computed": done.computed, "failed": done.failed}


def read_store(question: ReachQuestion, path: Path) -> list[Labelled]:
    """Return the labels of a store with their features, computed now: some milliseconds for each.

    Rows whose source is no longer the graph that was labelled are left out.
    """
    labels = []
    with Store(path, readonly=True) as store:
        rows: list[tuple[Any, Any]] = [(row.asked, row.value) for row in store.rows() if row.status == "done"]
    for asked, value in rows:
        parameters: Any = asked["parameters"]
        if (asked["function"], asked["version"]) != (QUESTION, question.version):
            continue
        if parameters["model"] != question.name or not isinstance(value, dict):
            continue
        try:
            dfg = _graph(question, parameters)
            seen = question.look(dfg, array_of(parameters["arch"]))
        except GridloomError:
            continue
        if value["check"] in (None, check_sum(dfg)) and (value["found"] or not question.always):
            kept = {name: parameters[name] for name in ("source", "arch")}
            answer = {name: value[name] for name in ("found", "decided")}
            labels.append(Labelled(**kept, **answer, values=seen.values, own="graph" in parameters))
    return sorted(labels, key=lambda item: (item.arch, item.source))


def pack(question: ReachQuestion, path: Path, labels: Sequence[Labelled]) -> None:
    """Write labels with their features to a file. Linear."""
    archs = sorted({item.arch for item in labels})
    number = {text: k for k, text in enumerate(archs)}
    arrays = {
        "values": np.array([item.values for item in labels], dtype=np.float32),
        "arch": np.array([number[item.arch] for item in labels], dtype=np.uint16),
        "found": np.array([item.found or 0 for item in labels], dtype=np.uint16),
        "decided": np.array([DECIDED.index(item.decided) for item in labels], dtype=np.uint8),
    }
    about = {"version": question.version, "archs": archs, "sources": [item.source for item in labels]}
    weights.save_model(path, f"{question.name}-labels", arrays, about, features=question.names)


def unpack(question: ReachQuestion, path: Path | None = None) -> list[Labelled]:
    """Return the labels of a file, by default the package's; OptionError for another file or other features."""
    arrays, about = weights.load_model(path, f"{question.name}-labels", features=question.names)
    columns = (arrays[name].tolist() for name in ("arch", "found", "decided"))
    return [
        Labelled(source=source, arch=about["archs"][arch], values=values, found=found or None, decided=DECIDED[decided])
        for source, values, arch, found, decided in zip(
            about["sources"], arrays["values"].astype(np.float64), *columns, strict=True
        )
    ]


def read_labels(question: ReachQuestion, path: Path) -> list[Labelled]:
    """Return the labels of a store, or where there is none those of the package."""
    return read_store(question, path) if path.exists() else unpack(question)


def check_labels(question: ReachQuestion, labels: Iterable[Labelled], count: int, seed: int) -> dict[str, Any]:
    """Label a random sample of drawn graphs again; return how many features and labels differ."""
    drawn = [item for item in labels if item.is_open and question.is_drawn(item.source)]
    sample = random.Random(seed).sample(drawn, min(count, len(drawn)))
    differ = []
    for item in sample:
        arch = array_of(item.arch)
        dfg = question.read(item.source, arch)
        found, _ = question.search(dfg, arch)
        same = bool(np.allclose(question.look(dfg, arch).values, item.values, rtol=1e-5, atol=1e-5))
        if found != item.found or not same:
            row = {"source": item.source, "arch": item.arch, "label": item.found, "now": found}
            differ.append({**row, "same_features": same})
    return {"relabelled": len(sample), "disagree": len(differ), "rows": differ}


def summary(question: ReachQuestion, labels: Sequence[Labelled]) -> dict[str, Any]:
    """Return counts and the hash of a data set."""
    digest = hashlib.sha256()
    for item in labels:
        digest.update(canonical_json([item.source, item.arch, item.found, item.decided]).encode())
        digest.update(item.values.astype(np.float32).tobytes())
    some = [item for item in labels if item.is_open]
    if not labels:
        raise OptionError("the data set is empty")
    return {
        "version": question.version,
        "graphs": len(labels),
        "open": len(some),
        "found": sum(item.found is not None for item in some),
        "at_bound": sum(item.found == question.span(item.values)[0] for item in some),
        "families": len({question.family(item.source) for item in labels}),
        "arrays": len({item.arch for item in labels}),
        "sha256": digest.hexdigest(),
    }
