"""Pictures, terminal drawings and reports of graphs, arrays and mappings.

Nothing here judges a mapping: metrics and verdicts are handed in.
"""

from __future__ import annotations

from gridloom.emit.files import write_atomically
from gridloom.emit.picture.array import svg_arch, svg_mapping
from gridloom.emit.picture.graph import svg_dfg
from gridloom.emit.picture.pictures import svg
from gridloom.emit.report.failure_page import failure_report
from gridloom.emit.report.page import html_report
from gridloom.emit.terminal.drawing import terminal

__all__ = [
    "failure_report",
    "html_report",
    "svg",
    "svg_arch",
    "svg_dfg",
    "svg_mapping",
    "terminal",
    "write_atomically",
]
