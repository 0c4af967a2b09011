"""``gridloom estimate`` on modulo-scheduled arrays: which II a loop is likely to reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.search.choice import check_suits
from gridloom.targets.modulo.ii_estimate import BoundIi, IiEstimate, IiEstimator, check_modulo

check = check_modulo


def judge(name: str, dfg: Dfg, arch: Arch, weights: Path | None = None) -> IiEstimator:
    """Return the estimator of a name; ``auto`` is the learned one where it was trained."""
    check_suits("modulo", dfg, arch)
    model = registry.load("models", "initiation")
    counts = name == "bound" or (name == "auto" and weights is None and not model.trained)
    estimator: IiEstimator = BoundIi() if counts else model.estimator(weights)
    return estimator


def record(found: IiEstimate, dfg: Dfg, _arch: Arch) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    first = found.mii.total
    return {
        "dfg": {"name": dfg.name, "nodes": len(dfg.nodes), "edges": len(dfg.edges)},
        "mappable": found.ii is not None,
        "ii": found.ii,
        "mii": first,
        "res_mii": found.mii.res,
        "rec_mii": found.mii.rec,
        "confidence": None if found.confidence is None else round(found.confidence, 4),
        "reachable": {str(first + k): round(chance, 4) for k, chance in enumerate(found.reachable)},
        "reason": found.reason,
    }


def text(record: dict[str, Any], arch: Arch) -> str:
    """Return the likely II in a line or two, or why there is none."""
    name = record["dfg"]["name"]
    if not record["mappable"]:
        return f"{name} is not expected to map onto {arch.name}: {record['reason']}"
    if record["confidence"] is None:
        return f"{name} on {arch.name}: II {record['ii']} at least\n{record['reason']}"
    bounds = f"MII {record['mii']} (resources {record['res_mii']}, recurrences {record['rec_mii']})"
    chances = [f"II {ii} {chance:.2f}" for ii, chance in record["reachable"].items() if int(ii) <= record["ii"] + 1]
    line = f"{name} on {arch.name}: II {record['ii']} is likely, confidence {record['confidence']:.2f}"
    further = record["reason"].removeprefix("learned").removeprefix("; ")
    return f"{line}; {bounds}\nreachable: {', '.join(chances)}" + (f"\n{further}" if further else "")
