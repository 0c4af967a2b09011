"""gridloom: dataflow graphs onto coarse-grained reconfigurable arrays, each mapping checked and simulated."""

from __future__ import annotations

from gridloom._version import __version__

__all__ = ["__version__"]
