"""``gridloom count-ops SOURCE`` prints how often each operation occurs in a graph.

A command is a function whose parameters are typer's options. It returns the exit status, and raises a GridloomError for
a mistake of the user's.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer


def count_ops(source: Annotated[str, typer.Argument(metavar="SOURCE", help="A graph.")]) -> int:
    """Count the operations of a graph, the most frequent first."""
    # Heavy modules are imported here and not above, so that completion stays quick.
    from gridloom import load

    counts = Counter(node.op for node in load(source).nodes)
    for op, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
        typer.echo(f"{count:5} {op}")
    return 0
