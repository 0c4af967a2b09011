"""``legal``: every rule, applied to a mapping.

The checker shares nothing with mappers, the simulator or the derivation of configurations: it reads the mapping, the
graph and the unrolled array, and recomputes the rest. What it does not check: that the values are right (``sim`` does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from gridloom import registry
from gridloom.mapping.model import Mapping
from gridloom.verify import array_rules, banks, combinational, conflicts, memory, placement, routes, stores, timing
from gridloom.verify.subject import Subject
from gridloom.verify.violation import Violation

Rule = Callable[[Subject], Iterator[Violation]]

#: Rules that hold for every style.
_EVERYWHERE: Final[tuple[Rule, ...]] = (
    placement.check_nodes,
    placement.check_places,
    routes.check_presence,
    routes.check_paths,
)
_TIMED: Final[tuple[Rule, ...]] = (
    placement.check_contexts,
    placement.check_cycles,
    timing.check_arrivals,
    timing.check_delays,
    timing.check_order,
    timing.check_pairs,
    conflicts.check_resources,
    conflicts.check_pools,
    memory.check_data_memory,
    banks.check_banks,
    stores.check_stores,
    combinational.check_cycles,
    combinational.check_links_per_cycle,
    array_rules.check_rules,
)


def legal(mapping: Mapping) -> list[Violation]:
    """Return everything that is wrong with a mapping; an empty list means that it is legal.

    Never raises for a Mapping whose fields have the right types. Costs one unrolling of the array and time linear in
    the hops; elastic arrays also play one iteration of the token game. The order is fixed: names that do not resolve
    first, then rule by rule. Where the array cannot be unrolled at this II, only rules that need no time are applied.
    """
    subject = Subject(mapping)
    violations = list(subject.findings)
    for rule in _EVERYWHERE:
        violations += rule(subject)
    if subject.graph is not None:
        for rule in (_TIMED if subject.timed else ()) + _declared(subject):
            violations += rule(subject)
    return violations


def _declared(subject: Subject) -> tuple[Rule, ...]:
    """The rules that targets declare for the style and the traits of the array.

    Arrays without cycles have no other rules of time, so that without any a mapping is not known to be legal.
    """
    rules = tuple(rule for declared in registry.hooks_for("rules", subject.arch) for rule in declared)
    return rules or (() if subject.timed else (_unjudged,))


def _unjudged(subject: Subject) -> Iterator[Violation]:
    """Say that nothing judges such arrays."""
    yield Violation("unknown-rule", "the array", f"style {subject.mapping.arch.style}", "styles with rules of time")
