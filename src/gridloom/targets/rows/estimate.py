"""``gridloom estimate`` on rows of ALUs: how many columns a graph is expected to need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.partition.width_estimate import BoundEstimator, WidthEstimate, WidthEstimator, check_columns, demand

check = check_columns


def judge(name: str, _dfg: Dfg, _arch: Arch, weights: Path | None = None) -> WidthEstimator:
    """Return the estimator of a name; ``auto`` is the learned one. OptionError where it was never trained."""
    if name == "bound":
        return BoundEstimator()
    estimator: WidthEstimator = registry.load("models", "mappability").estimator(weights)
    return estimator


def record(found: WidthEstimate, dfg: Dfg, arch: Arch) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    need = demand(dfg, arch)
    return {
        "dfg": {"name": dfg.name, "ops": need.ops, "constants": need.constants, "loads": need.loads,
                "stores": need.stores},
        "mappable": found.mappable,
        "width": found.width,
        "bound": found.bound,
        "probability": None if found.probability is None else round(found.probability, 4),
        "unroll": arch.cols // found.width if found.width else 0,
        "utilisation": round(need.ops / (found.width * arch.rows), 4) if found.width else None,
        "reason": found.reason,
    }  # fmt: skip


def text(record: dict[str, Any], arch: Arch) -> str:
    """Return the estimate in a line or two: width, bound and copies, or why the graph is not expected to fit."""
    chance = "" if record["probability"] is None else f", probability {record['probability']:.3f}"
    if not record["mappable"]:
        return f"{record['dfg']['name']} is not expected to fit {arch.name}{chance}: {record['reason']}"
    # Without a probability the width was only counted: the reason is worth a line.
    counted = f"\n{record['reason']}" if record["probability"] is None else ""
    return (
        f"{record['dfg']['name']} on {arch.name}: {record['width']} columns (bound {record['bound']}{chance}), "
        f"{record['unroll']} copies, utilisation {record['utilisation']:.2f}{counted}"
    )
