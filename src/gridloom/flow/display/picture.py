"""A picture of a graph, an array or a mapping that notebooks, terminals and files can show."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Mapping


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture of one thing; it is drawn when it is asked for. Linear in the size of the thing."""

    of: Mapping | Arch | Dfg

    @property
    def svg(self) -> str:
        """The text of an SVG file."""
        from gridloom.emit import svg

        return svg(self.of)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        """The drawing for a terminal, without colours."""
        import io

        from rich.console import Console

        from gridloom.emit.terminal.drawing import terminal

        drawn = io.StringIO()
        Console(file=drawn, width=4000, highlight=False, no_color=True).print(terminal(self.of), soft_wrap=True)
        return drawn.getvalue().rstrip("\n")
