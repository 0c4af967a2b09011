"""A compiled function as a file: the mappings of its loops, and which function of which file they belong to.

The file does not hold the C source. When it is loaded, the source is compiled again, and each mapping must be of the
graph that its loop has now; every mapping is checked against the rules of its array, since nothing in a file is
trusted but its format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.c.function.program import LoopPlan, plan_as_written, read_program
from gridloom.compiler.c.function.signature import read_signature
from gridloom.compiler.ir.c_source import CSource, source_of
from gridloom.errors import MappingError, OptionError
from gridloom.flow.confirmation import illegalities
from gridloom.flow.functions.compile import Compiled, CompiledLoop, compiled_loop, finish_function
from gridloom.flow.functions.mlir import MlirFunction
from gridloom.mapping import json_format
from gridloom.mapping.mii import mii
from gridloom.text_file import is_file, read_text, shown

FORMAT: Final = "gridloom-function"
_VERSION: Final = 1
_LIMIT: Final = 256 * 1024 * 1024


def dumps(compiled: Compiled) -> str:
    """The text of the file."""
    record = {
        "format": FORMAT,
        "version": _VERSION,
        "source": str(Path(compiled.program.file).resolve()),
        "function": compiled.name,
        **({"f64": "f32"} if getattr(compiled.native, "singles", False) else {}),
        **({"unrolled": True} if compiled.program.unrolled else {}),
        **({"distinct": True} if _is_distinct(compiled) else {}),
        "loops": [
            {
                "name": loop.plan.name,
                "line": loop.plan.line,
                **({"jam": loop.plan.jam} if loop.plan.jam > 1 else {}),
                **({"exchanged": True} if loop.plan.interchange is not None else {}),
                **({} if loop.plan.reduced else {"reduced": False}),
                "reason": loop.reason,
                "mapping": None if loop.mapping is None else json.loads(json_format.dumps(loop.mapping)),
            }
            for loop in compiled.loops
            # What a loop controller does follows from the loops and the array.
            if not loop.plan.controls
        ],
    }
    return json.dumps(record) + "\n"


def _is_distinct(compiled: Compiled) -> bool:
    """Whether the user said that arrays of different parameters do not overlap."""
    return compiled.program.distinct or getattr(compiled.native, "distinct", False)


def is_function_file(path: Path) -> bool:
    """True for a file that :func:`dumps` wrote, by its first words."""
    if not is_file(path) or path.suffix != ".json":
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return FORMAT in file.read(64)


def load(path: Path, source: CSource | Path | None = None) -> Compiled:
    """The compiled function of a file. MappingError where the file is damaged, the source changed, or a rule is broken.

    ``source`` is the file that the function is compiled from; the name in the file is not followed without it, since
    whoever wrote the file chose it. Costs what compiling costs without the searches.
    """
    record = _record(path)
    if source is None:
        raise OptionError(
            f"{path} was compiled from {shown(record['source'])}; read that file and name it: --source FILE",
            where="--source",
        )
    judge, read = None, source_of(source)
    source, distinct = read.path, record.get("distinct") is True
    if source.suffix == ".mlir":
        singles = ",f64=f32" if record.get("f64") == "f32" else ""
        judge = MlirFunction(f"{source}:{record['function']}{singles}", distinct=distinct)
        program, signature = judge.program(), judge.signature()
    else:
        program = read_program(read, record["function"], unrolled=record.get("unrolled") is True, distinct=distinct)
        signature = read_signature(read, record["function"])
    rows = record["loops"]
    plain = [row for row in rows if row.get("jam", 1) == 1 and not row.get("exchanged")]
    if len(plain) != len(program.loops):
        raise MappingError(
            f"has {len(plain)} loops, but {source} has {len(program.loops)} now; compile it again", where=str(path)
        )
    plans = {plan.name: plan for loop in program.loops for plan in loop.variants}
    if lost := [row["name"] for row in rows if row["name"] not in plans]:
        raise MappingError(f"has a loop {lost[0]!r}, which {source} has not now; compile it again", where=str(path))
    loops = [_loop(path, plans[row["name"]], row, program.file) for row in rows]
    archs = [loop.mapping.arch for loop in loops if loop.mapping is not None]
    if not archs:
        raise MappingError("has no mapping; compile the function again", where=str(path))
    compiled = finish_function(program, signature, archs[0], loops)
    compiled.native = judge or compiled.native
    return compiled


def mappings(path: Path) -> list[tuple[str, Any]]:
    """(name of the loop, mapping) of every mapped loop of a file, without its source."""
    rows = _record(path)["loops"]
    return [(row["name"], json_format.loads(json.dumps(row["mapping"]))) for row in rows if row["mapping"] is not None]


def _record(path: Path) -> dict[str, Any]:
    """The record of a file; MappingError where it is none."""
    try:
        record = json.loads(read_text(path, limit=_LIMIT))
    except ValueError as error:
        raise MappingError(f"is no JSON: {error}", where=str(path)) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise MappingError("is no compiled function, as gridloom compile -o writes it", where=str(path))
    if record.get("version") != _VERSION:
        raise MappingError(f"has version {record.get('version')!r}; this gridloom reads {_VERSION}", where=str(path))
    rows = record.get("loops")
    fine = isinstance(record.get("source"), str) and isinstance(record.get("function"), str) and isinstance(rows, list)
    if not fine or not all(isinstance(row, dict) and {"name", "mapping", "reason"} <= row.keys() for row in rows or []):
        raise MappingError("is damaged: expected source, function and loops", where=str(path))
    return record


def _loop(path: Path, plan: LoopPlan, row: dict[str, Any], file: str) -> CompiledLoop:
    """A loop with the mapping of the file, checked."""
    if row["mapping"] is None:
        return CompiledLoop(plan=plan, reason=str(row["reason"]))
    mapping = json_format.loads(json.dumps(row["mapping"]))
    where = f"{path}: loop {plan.name}"
    if row.get("reduced") is False:
        plan = plan_as_written(plan, file) or plan
    if plan.graph is None or mapping.dfg != _fitted(plan, mapping.arch):
        raise MappingError("is mapped from another source than there is now; compile the function again", where=where)
    found = illegalities(mapping)
    if found:
        raise MappingError(f"breaks a rule of its array: {found[0]}", where=where)
    return compiled_loop(plan, mapping, mii(mapping.dfg, mapping.arch).total)


def _fitted(plan: LoopPlan, arch: Any) -> Any:
    from gridloom.flow.inputs import fit_graph

    assert plan.graph is not None
    return fit_graph(plan.graph.dfg, arch)
