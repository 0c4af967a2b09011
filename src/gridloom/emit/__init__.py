"""Pictures, terminal drawings and reports of graphs, arrays and mappings.

Nothing here judges a mapping: metrics and verdicts are handed in.
"""

from __future__ import annotations

from gridloom.emit.files import write_atomically
from gridloom.emit.report import html_report
from gridloom.emit.svg import svg
from gridloom.emit.svg_array import svg_arch, svg_mapping
from gridloom.emit.svg_graph import svg_dfg
from gridloom.emit.terminal import terminal

__all__ = [
    "html_report",
    "svg",
    "svg_arch",
    "svg_dfg",
    "svg_mapping",
    "terminal",
    "write_atomically",
]
