"""Pictures of graphs, arrays and mappings for notebooks, terminals and files, and results for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Mapping

if TYPE_CHECKING:
    from gridloom.flow.result import Result


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

    def _repr_html_(self) -> str:
        from gridloom.emit.picture.notebook import draw_box

        return draw_box(self.of)

    def __repr__(self) -> str:
        return f"<Picture of {self.of!r}>"

    def __str__(self) -> str:
        """The drawing for a terminal, without colours."""
        import io

        from rich.console import Console

        from gridloom.emit.terminal.drawing import terminal

        drawn = io.StringIO()
        Console(file=drawn, width=4000, highlight=False, no_color=True).print(terminal(self.of), soft_wrap=True)
        return drawn.getvalue().rstrip("\n")


def result_html(result: Result) -> str:
    """The result as HTML: what it is, what binds it, its main figures, and a picture. Linear in the mapping."""
    from gridloom.emit.picture.notebook import draw_box, table

    record = result.to_dict()
    title = f"{record['dfg']['name']} on {record['arch']['name']}: {record['status']}"
    why = result.why(search=False).verdict
    picture = draw_box(result.dfg if result.mapping is None else result.mapping)
    return f"<div><strong>{escape(title)}</strong><p>{escape(why)}</p>{table(_facts(record))}{picture}</div>"


def _facts(record: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the rows of the table: name and value, without those that have no value for this array."""
    failure = record["failure"]
    facts = [("mapper", record["mapper"]), ("seed", record["seed"]), ("II", record["ii"]), ("MII", record["mii"])]
    if failure is None:
        buffers = record["buffers"] or {}
        facts += [("latency", record["latency"]), ("period", record["period"]), ("wirelength", record["wirelength"])]
        facts += [("buffers", buffers.get("total")), ("tiles", f"{record['tiles_used']} of {record['arch']['tiles']}")]
    else:
        facts += [
            ("constraint", failure["constraint"]),
            ("it needs", failure["demand"]),
            ("there is", failure["bound"]),
        ]
        facts += [("would help", ", ".join(failure["levers"]))]
    return [(name, value) for name, value in facts if value not in (None, "")]
