"""``gridloom emit`` writes a mapping as a program for a machine of another group.

Formats are declared by targets. A mapping is checked and simulated first, and the emitter of a format tries its program
before it returns any file.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gridloom.cli.options import AsJson, MappingFile, OutputFolder, Quiet, Seed
from gridloom.cli.outputs import check_folder, write_all
from gridloom.errors import MappingError, OptionError


def emit(
    *,
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="The machine: openedge.")],
    mapping: MappingFile,
    output: OutputFolder,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Write a saved mapping as a program for another machine into a folder.

    The exit status is 1 when the mapping is wrong, or the machine cannot run it; the reasons are printed.
    """
    from gridloom import registry
    from gridloom.flow.confirmation import find_faults
    from gridloom.flow.files import load_mapping

    emitter = registry.hook("emitters", form)
    if emitter is None:
        known = ", ".join(registry.hook_keys("emitters"))
        raise OptionError(f"there is no format {form!r}; known: {known}", where="FORMAT")
    check_folder(output, "-o")
    loaded = load_mapping(mapping)
    refused = find_faults(loaded)
    files, facts = {}, {}
    if not refused:
        try:
            files, facts = emitter(loaded, seed)
        except MappingError as error:
            refused = [str(error)]
    if refused:
        print(json.dumps({"status": "refused", "findings": refused}) if as_json else "\n".join(refused))
        return 1
    output.mkdir(parents=True, exist_ok=True)
    write_all({output / name: text for name, text in files.items()})
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if name != "name")
    record = {"status": "written", **facts, "files": sorted(files)}
    print(json.dumps(record) if as_json else f"{facts['name']} for {form} in {output}: {told}")
    return 0
