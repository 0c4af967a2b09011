"""The names of what learned models see of a flow and of a decision; the kernels compute them and say what each is."""

from __future__ import annotations

from typing import Final

#: Features of a flow at full speed, in order; and those at the speed that the formula `queueing` expects.
FULL_SPEED: Final = ("length", "load", "sharers", "packet", "rate", "wait", "window", "peaks")
AT_SPEED: Final = (
    "pace", "used", "saturated", "trip", "tight", "met", "delay", "queue", "late", "able", "ablest", "slack",
    "squeezed", "stuck",
)  # fmt: skip
EDGE_FEATURES: Final = (*FULL_SPEED, *AT_SPEED)

#: What trees see of a decision beside its flows: the speed that `queueing` expects, and the logarithm of what the waits
#: cost.
WHOLE: Final = ("speed", "waits")
#: How a feature is pooled over the flows: its largest value, its mean, its second, fourth, eighth and sixteenth value.
POOLS: Final = ("largest", "mean", "2nd", "4th", "8th", "16th")
RANKS: Final = (1, 3, 7, 15)
#: Flows whose features are all seen: those with the largest value of these.
CRITICAL: Final = ("late", "stuck", "saturated")
#: Sets of flows: those of which a feature is above a limit. `late` is a sixth power.
SETS: Final = (
    ("used", 0.85), ("used", 0.95), ("used", 0.99), ("late", 0.85**6), ("late", 0.95**6), ("late", 0.99**6),
)  # fmt: skip
#: Of each set the number of flows is seen, and the largest value and the mean of these features in it.
IN_SETS: Final = (
    "length", "sharers", "pace", "used", "trip", "met", "delay", "queue", "late", "able", "squeezed",
)  # fmt: skip

#: The columns that trees see, as (how it is pooled, feature).
POOLED: Final[tuple[tuple[str, str], ...]] = (
    *(("whole", name) for name in WHOLE),
    *((pool, name) for name in EDGE_FEATURES for pool in POOLS),
    *((f"most {of}", name) for of in CRITICAL for name in EDGE_FEATURES),
    *(
        (f"{of} above {limit:.2f}", column)
        for of, limit in SETS
        for column in ("count", *(f"{pool} {name}" for name in IN_SETS for pool in ("largest", "mean")))
    ),
)
