"""Pictures, terminal drawings and reports of graphs, arrays and mappings.

``details``    tables about a mapping that all drawings share: signals, uses of resources, waits
``picture/``   SVG of graphs, arrays and mappings; ``plots/``: charts of measured numbers
``terminal/``  the same things as text for a terminal
``report/``    HTML pages for a mapping, and for a search that failed
``waves/``     runs as VCD and Perfetto traces; ``files``: writing a file whole or not at all

Nothing here judges a mapping: metrics and verdicts are handed in. An illegal mapping is drawn as it is, since its
picture is what helps to find the mistake. All output is text that depends on its input alone, without dates or paths,
so the same mapping gives the same bytes and pictures can be compared as goldens.
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
