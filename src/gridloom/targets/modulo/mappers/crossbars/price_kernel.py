"""What a signal pays for a resource of a modulo-scheduled array, compiled: negotiated congestion as in PathFinder."""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.targets.modulo.mappers.state import SlotUsage

#: The price of what cannot be reached.
FAR = 1e18


@borrowing
def price(usage: SlotUsage, group: int, slot: int, base: float, present: float) -> float:
    """What one more signal pays for a group in a slot: more by ``present`` for each signal that is there already."""
    fee: float = (base + usage.history[group, slot]) * (1.0 + present * usage.used[group, slot])
    return fee
