"""The folder that ``gridloom emit openedge`` writes: instructions in three forms, a C header, parameters, a trial.

Nothing is written before the program has left, on the interpreter and for several trip counts, what the graph means.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from gridloom.mapping.model import Mapping
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.program import TRIPS, Parameter, PeProgram
from gridloom.targets.modulo.export.openedge.trial import Trial, try_program
from gridloom.targets.modulo.export.openedge.words import encode, spell


def package(mapping: Mapping, seed: int = 0) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the files of a mapping's program by name, and facts about it.

    MappingError, with the reason, for a mapping that has no program or whose program leaves something wrong.
    """
    program = assemble(mapping)
    trials = try_program(program, mapping.dfg, seed=seed)
    facts = {
        "name": program.name,
        "ii": mapping.ii,
        "instructions": len(program.lines),
        "kernel": list(program.kernel),
        "least_trip_count": program.least,
        "loads_beyond": program.beyond,
        "clocks": {str(trial.trips): trial.clocks for trial in trials},
    }
    first = trials[0]
    files = {
        "instructions.csv": instructions_csv(program),
        "program.sat": program_sat(program),
        "words.txt": words_text(program),
        "program.h": header(program),
        "parameters.csv": parameters_csv(program),
        "memory.csv": memory_csv(first.before),
        "memory_out.csv": memory_csv(first.after),
        "README.md": readme(program, mapping.ii, trials),
    }
    return files, facts


def instructions_csv(program: PeProgram) -> str:
    """Return the program as the group's simulator reads it: a step number, then a row for each row of PEs."""
    rows: list[list[object]] = []
    for at, line in enumerate(program.lines):
        rows.append([at])
        texts = [spell(instruction) for instruction in line]
        rows += [texts[k : k + program.cols] for k in range(0, len(texts), program.cols)]  # type: ignore[misc]
    return _csv(rows)


def program_sat(program: PeProgram) -> str:
    """Return the program in the form of SAT-MapIt: ``T = k``, then the instructions of all PEs."""
    blocks = ("\n".join([f"T = {at}", *map(spell, line)]) for at, line in enumerate(program.lines))
    return "\n".join([*blocks, ""])


def words_text(program: PeProgram) -> str:
    """Return the instruction words of each PE, one line for a PE."""
    return "\n".join(
        " ".join(f"{encode(line[pe]):08x}" for line in program.lines) for pe in range(program.rows * program.cols)
    ) + "\n"  # fmt: skip


def parameters_csv(program: PeProgram) -> str:
    """Return what the host puts where each column begins to load, and finds where it begins to store."""
    rows: list[list[object]] = [["column", "direction", "byte", "array", "name", "factor", "number"]]
    for column, parameters in enumerate(program.reads):
        rows += [
            [column, "read", 4 * k, p.array or "", p.name or "", p.factor if p.name else "", p.number]
            for k, p in enumerate(parameters)
        ]
    for column, names in enumerate(program.writes):
        rows += [[column, "write", 4 * k, "", name, "", ""] for k, name in enumerate(names)]
    return _csv(rows)


def memory_csv(memory: dict[int, int]) -> str:
    """Return a memory as the group's simulator reads and writes it."""
    return _csv([["Address", "Data"], *([address, memory[address]] for address in sorted(memory))])


def _csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as text with commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


# -- C ----------------------------------------------------------------------------------------------------------------


def header(program: PeProgram) -> str:
    """Return a C header with the words, and a function that fills what the columns load."""
    stem = _identifier(program.name)
    used = [p for column in program.reads for p in column]
    arrays = sorted({p.array for p in used if p.array is not None})
    names = sorted({p.name for p in used if p.name not in (None, TRIPS)} - {None})
    arguments = ["int32_t trips", *(f"int32_t at_{_identifier(a)}" for a in arrays)]
    arguments += [f"int32_t value_{_identifier(str(n))}" for n in names]
    lines = [
        f"/* {stem}: a loop for OpenEdgeCGRA. README.md says how to start it. */",
        f"#ifndef GRIDLOOM_{stem.upper()}_H",
        f"#define GRIDLOOM_{stem.upper()}_H",
        "#include <stdint.h>",
        "",
        f"#define {stem.upper()}_LENGTH {len(program.lines)}",
        f"#define {stem.upper()}_LEAST_TRIPS {program.least}",
        "",
        f"static const uint32_t {stem}_words[{program.rows * program.cols}][{len(program.lines)}] = {{",
    ]
    for pe in range(program.rows * program.cols):
        lines.append("    {" + ", ".join(f"0x{encode(line[pe]):08x}u" for line in program.lines) + "},")
    lines += ["};", ""]
    for column, names_out in enumerate(program.writes):
        lines += [f"/* Column {column} stores: {', '.join(names_out)}. */"] if names_out else []
    lines += [
        f"/* Fills what column c loads, {max(map(len, program.reads))} words at most; at_* are byte addresses. */",
        f"static inline void {stem}_fill(int32_t *const columns[{program.cols}], {', '.join(arguments)}) {{",
    ]
    for column, parameters in enumerate(program.reads):
        lines += [f"    columns[{column}][{k}] = {_expression(p)};" for k, p in enumerate(parameters)]
    return "\n".join([*lines, "}", "", "#endif", ""])


def _identifier(text: str) -> str:
    """Return a name that C takes."""
    return re.sub(r"\W", "_", text, flags=re.ASCII)


def _expression(parameter: Parameter) -> str:
    """Return a parameter as a C expression; products and sums wrap around."""
    parts = [f"(uint32_t)at_{_identifier(parameter.array)}"] if parameter.array is not None else []
    if parameter.name is not None:
        name = "trips" if parameter.name == TRIPS else f"value_{_identifier(parameter.name)}"
        parts.append(f"{parameter.factor}u * (uint32_t){name}")
    parts += [f"{parameter.number % (1 << 32)}u"] if parameter.number or not parts else []
    return f"(int32_t)({' + '.join(parts)})"


def readme(program: PeProgram, ii: int, trials: Sequence[Trial]) -> str:
    """Return the text that says what the files are and how the program is started."""
    first = trials[0]
    beyond = (
        f"It loads up to {program.beyond} elements beyond those that its iterations name, and does not use them. "
        if program.beyond
        else ""
    )
    clocks = ", ".join(f"{trial.clocks} for {trial.trips} iterations" for trial in trials)
    return f"""# {program.name} on OpenEdgeCGRA

{len(program.lines)} instructions for {program.rows} x {program.cols} PEs; lines {program.kernel[0]} to \
{program.kernel[1] - 1} repeat (II {ii}). The trip count is a parameter of at least {program.least}. {beyond}Clocks by \
the model, with a free bus: {clocks}.

| file | content |
| --- | --- |
| `instructions.csv` | the program for the Python simulator of the group |
| `program.sat` | the same in the form of SAT-MapIt |
| `words.txt` | 32-bit words in hexadecimal, a line for each PE, row by row |
| `program.h` | the words as C arrays, and a function that fills the parameters |
| `parameters.csv` | what each column loads and stores by LWD and SWD, in order |
| `memory.csv`, `memory_out.csv` | a run of {first.trips} iterations on random data: memory before and after |

Every element of an array is a 32-bit word, also where the C type is shorter. Before each start, set the read and the
write pointer of every column to its parameters and to room for its live-outs. For `memory.csv` the read pointers are
{list(first.reads)}, and the write pointers are {list(first.writes)}.
"""
