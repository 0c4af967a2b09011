"""``gridloom check`` and ``gridloom simulate`` judge a saved mapping without the mapper that made it.

Both load the mapping as anyone's: nothing in the file is trusted but its format. The checks are in
:mod:`gridloom.verify`, the simulators in :mod:`gridloom.sim`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import AsJson, MappingFile, Quiet, Seed
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.mapping.model import Mapping

#: More findings than this say nothing new on a terminal; JSON has them all.
_SHOWN = 50


def check(
    *,
    mapping: MappingFile,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Check a saved mapping against every rule of its array, without the mapper that made it.

    The exit status is 1 when the mapping breaks a rule; each broken rule is printed.
    """
    from gridloom.flow.confirmation import illegalities, metrics
    from gridloom.flow.files import load_mapping
    from gridloom.flow.functions.files import is_function_file

    if is_function_file(Path(mapping)):
        return _check_function(Path(mapping), as_json)
    loaded = load_mapping(mapping)
    findings = illegalities(loaded)
    if as_json:
        measured = None if findings else metrics(loaded)
        print(json.dumps({"legal": not findings, "violations": findings, "metrics": measured}))
        return int(bool(findings))
    title = f"{loaded.dfg.name} on {loaded.arch.name} at II {loaded.ii}"
    if not findings:
        print(f"legal: {title}")
        return 0
    print(f"not legal: {title}: {len(findings)} violation{'s' if len(findings) > 1 else ''}")
    for finding in findings[:_SHOWN]:
        print(f"  {finding}")
    if len(findings) > _SHOWN:
        print(f"  and {len(findings) - _SHOWN} more (--json has them all)")
    return 1


def _check_function(path: Path, as_json: bool) -> int:
    """Check the mapping of every loop of a compiled function."""
    from gridloom.flow.confirmation import illegalities
    from gridloom.flow.functions.files import mappings

    found = [(name, mapping, illegalities(mapping)) for name, mapping in mappings(path)]
    wrong = any(violations for _, _, violations in found)
    if as_json:
        rows = [{"loop": name, "legal": not violations, "violations": violations} for name, _, violations in found]
        print(json.dumps({"legal": not wrong, "loops": rows}))
        return int(wrong)
    for name, mapping, violations in found:
        print(f"{'not legal' if violations else 'legal'}: loop {name} on {mapping.arch.name} at II {mapping.ii}")
        for violation in violations[:_SHOWN]:
            print(f"  {violation}")
    return int(wrong)


def simulate(
    *,
    mapping: MappingFile,
    iterations: Annotated[int, typer.Option("--iterations", metavar="N", help="How many iterations to compare.")] = 64,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Run a saved mapping cycle by cycle on random inputs and compare its values with those of the graph.

    A saved mapping has its graph and not its source; ``gridloom map`` compares the two. The exit status is 1 when a
    value differs.
    """
    from gridloom.flow.confirmation import run_simulation
    from gridloom.flow.files import load_mapping

    if iterations < 1:
        raise OptionError(f"expected at least 1, found {iterations}", where="--iterations")
    loaded = load_mapping(mapping)
    outcome = run_simulation(loaded, iterations=iterations, seed=seed)
    wrong = list(outcome.findings)
    if as_json:
        record: dict[str, Any] = {"simulated": not wrong, "compared_with": "graph", "iterations": outcome.iterations}
        record |= {"cycles": outcome.cycles, "seed": seed}
        more: dict[str, Any] = {"asked": outcome.asked, "trip_counts": list(outcome.trip_counts)}
        more |= {"lanes": outcome.lanes} if outcome.lanes > 1 else {}
        print(json.dumps({**record, **more, "mismatches": wrong, **outcome.rate}))
        return int(bool(wrong))
    count = f"{outcome.iterations} iteration{'s' if outcome.iterations != 1 else ''}"
    lanes = f" in each of {outcome.lanes} SIMD lanes" if outcome.lanes > 1 else ""
    length = f"{count}{lanes}, {outcome.cycles} cycles"
    title = f"{loaded.dfg.name} on {loaded.arch.name}, {length}, seed {seed}"
    what = "values" if loaded.arch.is_timed else "tokens"
    print(f"{f'different {what} than' if wrong else f'the same {what} as'} the graph: {title}")
    if outcome.iterations < outcome.asked:
        print(f"  of the {outcome.asked} iterations asked for: {_why_short(loaded, outcome.iterations)}")
    for finding in wrong:
        print(f"  {finding}")
    return int(bool(wrong))


def _why_short(mapping: Mapping, iterations: int) -> str:
    """Why a run has fewer iterations than were asked for."""
    if not mapping.arch.is_timed:
        return "a longer run of so large a graph would take minutes"
    if mapping.dfg.trip_count is not None and iterations == mapping.dfg.trip_count:
        return "the source's loop has no more"
    lengths = ", ".join(f"{array.name}: {array.length} words" for array in mapping.dfg.arrays)
    return f"a longer run would leave the graph's arrays ({lengths})"
