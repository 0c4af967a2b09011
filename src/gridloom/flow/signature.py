"""What a mapper returned, as the flow takes it: of the right type, for the graph and array that were given, and signed.

Built-in mappers write their own provenance. A function of the user's or a plug-in's may leave it out: the record is
completed here, so that every saved mapping names what made it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gridloom import registry
from gridloom._version import __version__
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.choice import MapperFunction, mapper_name
from gridloom.search.settings import changed_settings

if TYPE_CHECKING:
    from gridloom.search.budget import Budget


def sign_outcome(
    outcome: Any, mapper: str | MapperFunction, config: Any, budget: Budget, dfg: Dfg, arch: Arch
) -> Mapping | Failure:
    """Return the outcome of a mapper; a mapping has a complete provenance, which names a function that was given.

    OptionError for an outcome that is neither a Mapping nor a Failure, and for a mapping of another graph or array: the
    checks would confirm it, and it would answer another question.
    """
    if isinstance(outcome, Failure) or (isinstance(mapper, str) and not registry.is_added("mappers", mapper)):
        kept: Mapping | Failure = outcome
        return kept
    name = mapper_name(mapper)
    if not isinstance(outcome, Mapping):
        raise OptionError(f"mapper {name!r} returned a {type(outcome).__name__}; expected a Mapping or a Failure")
    if outcome.dfg is not dfg and outcome.dfg != dfg:
        raise OptionError(f"mapper {name!r} returned a mapping of another graph, {outcome.dfg.name!r}")
    if outcome.arch is not arch and outcome.arch.fingerprint != arch.fingerprint:
        raise OptionError(f"mapper {name!r} returned a mapping onto another array, {outcome.arch.name!r}")
    record = {"mapper": name, "config": changed_settings(config), "seed": budget.seed, "version": __version__}
    # A function may have called another mapper, which has signed with its own name and settings.
    told = {**record, **outcome.provenance} if isinstance(mapper, str) else {**outcome.provenance, **record}
    return replace(outcome, provenance=told)
