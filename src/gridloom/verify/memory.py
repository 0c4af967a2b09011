"""The data memory: arrays, circular buffers of spilled values and live-ins share it.

A value that is spilled in every iteration and read t cycles later is in memory floor(t / II) + 1 times at once, since
new iterations start every II cycles. Its addresses form a circular buffer of that many words. Every word has four
bytes. What is not checked here is the bandwidth: spill loads and stores take issue slots and bus pools (``conflicts``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gridloom.archs.model import Kind
from gridloom.verify.subject import Subject
from gridloom.verify.violation import Violation

WORD_BYTES: Final = 4


def check_data_memory(subject: Subject) -> Iterator[Violation]:
    """Everything that a mapping keeps in the data memory fits into it.

    A spilled value that lives ``t`` cycles from its store to its last load is in memory floor(t / II) + 1 times.
    """
    limit = subject.arch.data_memory
    if limit is None:
        return
    arrays = sum(array.length for array in subject.dfg.arrays)
    spilled = sum(lifetime // subject.ii + 1 for lifetime in spill_lifetimes(subject).values())
    kept = sum(1 for p in subject.placed.values() if p.resource >= 0 and subject.kind(p.resource) == Kind.MEM)
    needed = WORD_BYTES * (arrays + spilled + kept)
    if needed > limit:
        yield Violation(
            "data-memory",
            "the data memory",
            f"{needed} bytes: {arrays} words of arrays, {spilled} of spilled values, {kept} of live-ins",
            f"{limit} bytes",
        )


def spill_lifetimes(subject: Subject) -> dict[tuple[str, int, int, int], int]:
    """Return the cycles from each store of a spilled value to its last load.

    The keys are the node, the copy, the resource of the store and its cycle.

    Routes of one value that share a store share an entry, which keeps the longest lifetime. A store that no load
    follows has lifetime 0.
    """
    lifetimes: dict[tuple[str, int, int, int], int] = {}
    for path in subject.paths:
        stored: tuple[str, int, int, int] | None = None
        for resource, cycle in path.hops:
            kind = subject.kind(resource)
            if kind == Kind.STORE:
                stored = (path.edge.source, path.route.source_copy, resource, cycle)
                lifetimes.setdefault(stored, 0)
            elif kind == Kind.LOAD and stored is not None:
                lifetimes[stored] = max(lifetimes[stored], cycle - stored[3])
                # A value that is loaded is in registers again; a further load needs a further store.
                stored = None
    return lifetimes
