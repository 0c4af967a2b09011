"""The flow from a source to a confirmed mapping, and suites of such flows."""

from __future__ import annotations

from gridloom.flow.confirmation import confirm
from gridloom.flow.request import Request
from gridloom.flow.result import Result, Verified
from gridloom.flow.run import run

__all__ = ["Request", "Result", "Verified", "confirm", "run"]
