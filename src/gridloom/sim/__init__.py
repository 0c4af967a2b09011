"""Simulation: runs a configured array cycle by cycle and compares what it computes with the reference interpreter.

``simulate`` (``compare``) is the entry for all styles. Static and modulo arrays: ``slot_code`` compiles a configuration
to straight-line code, ``execute`` runs it on a stimulus, ``kernel`` is the clock, ``flows`` says when parts of a graph
start that only asynchronous edges join, ``together`` runs several flows of a program. Elastic arrays: ``elastic`` and
``elastic_kernel`` run token by token with values, ``elastic_measure`` and its kernel packet by packet for the period
alone. Nothing here trusts the mapper: what is simulated is derived from the configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom.sim.compare import simulate
    from gridloom.sim.execute import run
    from gridloom.sim.stimulus import stimulus_for
    from gridloom.sim.verdict import Mismatch, UnitUse, Verdict

__all__ = ["Mismatch", "UnitUse", "Verdict", "run", "simulate", "stimulus_for"]

_HOME = {
    "Mismatch": "verdict",
    "UnitUse": "verdict",
    "Verdict": "verdict",
    "run": "execute",
    "simulate": "compare",
    "stimulus_for": "stimulus",
}


def __getattr__(name: str) -> Any:
    # The simulators import numba, which costs most of a second: whoever only names the package does not pay for it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
