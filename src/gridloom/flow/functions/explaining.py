"""What passes made of each loop of a function, and which form of it the array runs: ``gridloom compile --explain``."""

from __future__ import annotations

from gridloom.flow.functions.compile import Compiled


def explain_text(compiled: Compiled) -> str:
    """The pass log of a compiled function, loop by loop, with lines of the source."""
    path = compiled.program.file
    lines = ["passes"]
    for plan in compiled.program.loops:
        for line, name, outcome in plan.log:
            lines.append(f"  {path}:{line}: {name}: {outcome}")
        for form in (loop for loop in compiled.loops if loop.plan.loop is plan.loop):
            what = "on the host" if form.ii is None else f"II {form.ii} on the array"
            bound = "" if form.bound is None else f", bound {form.bound}"
            reduced = "" if form.plan.reduced else ", as written"
            lines.append(f"  {path}:{plan.line}: {form.plan.name}{reduced}: {what}{bound}")
        for what in plan.graph.dfg.assumed if plan.graph is not None else ():
            lines.append(f"  {path}:{plan.line}: taken for granted: {what}")
    return "\n".join(lines)
