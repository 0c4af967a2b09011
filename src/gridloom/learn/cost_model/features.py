"""The names of what the network sees of a flow; `kernel` computes them and says what each is."""

from __future__ import annotations

from typing import Final

#: Features of a flow at full speed, in order; and those at the speed that the formula `queueing` expects.
FULL_SPEED: Final = ("length", "load", "sharers", "packet", "rate", "wait", "window", "peaks")
AT_SPEED: Final = (
    "pace", "used", "saturated", "trip", "tight", "met", "delay", "queue", "late", "able", "ablest", "slack",
    "squeezed", "stuck",
)  # fmt: skip
EDGE_FEATURES: Final = (*FULL_SPEED, *AT_SPEED)
