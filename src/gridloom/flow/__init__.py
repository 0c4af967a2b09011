"""The flow from a source to a confirmed mapping, and suites of such flows.

This is the layer in which the parts meet: front ends, mappers, checker, simulator and emitters do not know each other,
and ``flow`` calls them in order. ``run`` is one mapping from its source to its confirmation; ``api`` are the functions
of ``import gridloom``; ``bench``, ``partition``, ``functions`` and ``system`` are flows of many mappings. Nothing here
prints or reads the environment: the command line does.
"""

from __future__ import annotations

from gridloom.flow.confirmation import confirm
from gridloom.flow.request import Request
from gridloom.flow.result import Result, Verified
from gridloom.flow.run import run

__all__ = ["Request", "Result", "Verified", "confirm", "run"]
