"""``gridloom import`` turns a mapping that another tool made into one of ours, and judges it.

Formats are declared by targets. A file that is no mapping is refused with its reason. One that breaks a rule is written
all the same, so that ``check``, ``show`` and the studio show where.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gridloom.cli.options import AsJson, Quiet
from gridloom.cli.outputs import check_writable, write_all
from gridloom.errors import MappingError, OptionError


def import_mapping(
    *,
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="The tool: neura or satmapit.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What the tool wrote.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the mapping to this file.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Read a mapping that another tool made, check it against the rules of its array, and simulate it.

    The exit status is 1 when the mapping is wrong; the reasons are printed.
    """
    from gridloom import registry
    from gridloom.flow.confirmation import find_faults
    from gridloom.mapping.json_format import dumps

    importer = registry.hook("importers", form)
    if importer is None:
        known = ", ".join(registry.hook_keys("importers"))
        raise OptionError(f"there is no format {form!r}; known: {known}", where="FORMAT")
    check_writable([("-o", output)])
    try:
        mapping = importer(file)
    except MappingError as error:
        print(json.dumps({"status": "refused", "findings": [str(error)]}) if as_json else f"no mapping: {error}")
        return 1
    faults = find_faults(mapping)
    if output is not None:
        write_all({output: dumps(mapping)})
    record = {
        "status": "illegal" if faults else "legal", "dfg": mapping.dfg.name, "arch": mapping.arch.name,
        "ii": mapping.ii, "nodes": len(mapping.dfg.nodes), "edges": len(mapping.dfg.edges), "findings": faults,
    }  # fmt: skip
    if as_json:
        print(json.dumps(record))
        return int(bool(faults))
    size = f"{len(mapping.dfg.nodes)} nodes, {len(mapping.dfg.edges)} edges"
    print(f"{record['status']}: {mapping.dfg.name} on {mapping.arch.name} at II {mapping.ii}, {size}")
    for fault in faults:
        print(f"  {fault}")
    return int(bool(faults))
