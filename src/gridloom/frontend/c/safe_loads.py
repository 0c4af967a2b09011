"""Whether a load may happen in an iteration in which the source does not do it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gridloom.frontend.c.arrays import Access
from gridloom.frontend.c.region import LoopRegion


def is_safe(
    access: Access, accesses: Collection[Access], region: LoopRegion, always_runs: Callable[[str], bool]
) -> bool:
    """True when the same element (or another member of its struct) is accessed anyway, or is one that exists.

    ``always_runs`` tells whether every iteration runs a block.
    """
    array = access.array
    assert array is not None
    if not access.place.terms:
        return 0 <= (access.place.constant - array.offset) // array.stride < array.length
    start = access.place.constant - array.offset
    same = [
        other.item.block
        for other in accesses
        if other.array is array
        and other.place.terms == access.place.terms
        and other.place.constant == access.place.constant
    ]
    # Every way through the body may have an access of its own, as the cases of a switch do.
    if region.inner is None and region.is_covered(same):
        return True
    return any(
        other is not access
        and other.address.base is access.address.base
        and other.array is not None
        and other.array.stride == array.stride
        and other.place.terms == access.place.terms
        and other.place.constant - other.array.offset == start
        and always_runs(other.item.block)
        for other in accesses
    )
