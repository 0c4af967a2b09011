"""What ``gridloom map --split-lanes`` does: one loop over the SIMD lanes of an array, instead of one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridloom.archs.model import Arch
from gridloom.errors import DfgError, OptionError
from gridloom.flow.loops.alternatives import Alternative
from gridloom.flow.result import Result
from gridloom.flow.source.split import SplitReference
from gridloom.transform.lanes import split_over_lanes


def split_alternatives(rows: Sequence[Alternative], arch: Arch) -> list[Alternative]:
    """Return the graphs that each lane runs; those of a loop's graphs that cannot be split are left out.

    OptionError for an array with one lane; DfgError with the reason where no graph can be split.
    """
    lanes = arch.simd_lanes()
    if lanes == 1:
        raise OptionError(f"array {arch.name!r} has one SIMD lane; give it a width (simd=512)", where="--split-lanes")
    found: list[Alternative] = []
    refused: DfgError | None = None
    for row in rows:
        try:
            split = split_over_lanes(row.dfg, lanes)
        except DfgError as error:
            refused = refused or error
            continue
        kept = None if row.reference is None else SplitReference(row.reference, row.dfg, lanes)
        found.append(replace(row, dfg=split, reference=kept))
    if not found and refused is not None:
        raise refused
    return found


def told_of_split(result: Result) -> Result:
    """Return the result of a graph that was split, whose metrics say so; the graph itself is that of one lane."""
    if "simd" not in result.metrics:
        return result
    simd = {**result.metrics["simd"], "split": True, "split_refused": None}
    return replace(result, metrics={**result.metrics, "simd": simd})
