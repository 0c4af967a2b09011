"""All claims, from the modules of their subjects."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from benchmarks.claim import Claim

#: Modules with claims, in the order of the pages.
SUBJECTS = (
    "thesis", "ramp", "streaming", "learning", "vpcma", "dataflow", "peers", "openedge", "speed", "limits", "hardware",
    "studio", "install",
)  # fmt: skip


@cache
def all_claims() -> dict[str, Claim]:
    """Return name -> claim."""
    found = [claim for subject in SUBJECTS for claim in import_module(f"benchmarks.{subject}").CLAIMS]
    if len({claim.name for claim in found}) < len(found):
        raise ValueError("two claims have one name")
    return {claim.name: claim for claim in found}


def find_claim(name: str) -> Claim:
    """Return a claim by its name, or by the part of it behind the suite where that is unique."""
    claims = all_claims()
    ends = [claim for key, claim in claims.items() if key == name or key.partition("/")[2] == name]
    if len(ends) != 1:
        raise SystemExit(f"no claim is called {name!r}; python -m benchmarks list names them")
    return ends[0]
