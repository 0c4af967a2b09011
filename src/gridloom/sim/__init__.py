"""Simulation: runs a configured array cycle by cycle and compares what it computes with the reference interpreter.

Simulators read a :class:`~gridloom.mapping.configuration.Configuration` only, never the mapper's routes, so that they
judge what the hardware would be set to. Static and modulo arrays run on one clock (``slot_code`` compiles the slots,
``kernel`` runs them, ``execute`` sets a run up, ``lanes`` runs SIMD lanes, ``compare`` judges it); elastic arrays run
token by token (``elastic``, and ``elastic_measure`` for throughput alone); programs of several flows run in
``together``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom.sim.compare import simulate
    from gridloom.sim.execute import run
    from gridloom.sim.lanes import run_lanes
    from gridloom.sim.stimulus import stimulus_for
    from gridloom.sim.verdict import Mismatch, UnitUse, Verdict

__all__ = ["Mismatch", "UnitUse", "Verdict", "run", "run_lanes", "simulate", "stimulus_for"]

_HOME = {
    "Mismatch": "verdict",
    "UnitUse": "verdict",
    "Verdict": "verdict",
    "run": "execute",
    "run_lanes": "lanes",
    "simulate": "compare",
    "stimulus_for": "stimulus",
}


def __getattr__(name: str) -> Any:
    """Import a name of the package when it is first asked for."""
    # The simulators import numba, which costs most of a second: whoever only names the package does not pay for it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
