"""Files that a flow reads and what each is: a mapping, an array or a source.

The command line takes one word for "something to show"; :func:`kind_of` tells by its form what it
is.
"""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import Literal

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.compiler.loops.source_name import KERNEL_PREFIX
from gridloom.compiler.loops.spec import is_part
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError, OptionError, SourceError
from gridloom.flow.inputs import read_arch, read_source
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping
from gridloom.text_file import is_file, read_text


def load_mapping(path: str | Path) -> Mapping:
    """Return the mapping in a JSON file; MappingError names the file, the key, what was found and what was expected."""
    try:
        text = read_text(Path(path))
    except SourceError as error:
        raise MappingError(error.message, where=error.where) from None
    return json_format.loads(text, str(path))


def check_names(mapping: Mapping) -> None:
    """Raise MappingError for the first name of a node, edge, tile or resource that graph or array does not have."""
    dfg, arch = mapping.dfg, mapping.arch
    for instance in mapping.instances:
        if instance.node not in dfg.index:
            raise MappingError(f"an instance of node {instance.node!r}, which graph {dfg.name!r} does not have")
        if instance.place not in arch.tile_index and instance.place not in arch.resource_index:
            raise MappingError(
                f"node {instance.node!r} sits on {instance.place!r}, which array {arch.name!r} does not have"
            )
    for route in mapping.routes:
        if not 0 <= route.edge < len(dfg.edges):
            raise MappingError(f"a route of edge {route.edge}; graph {dfg.name!r} has edges 0 to {len(dfg.edges) - 1}")
        for resource, _ in route.hops:
            if resource not in arch.resource_index:
                raise MappingError(f"edge {route.edge} goes through {resource!r}, which {arch.name!r} does not have")


def examples_folder() -> Path:
    """Return the folder of the C loops that come with gridloom; OptionError where they are not installed.

    It is beside the sources in a clone, and below ``share`` in an installation.
    """
    beside = Path(__file__).resolve().parents[3]
    installed = Path(sysconfig.get_path("data")) / "share" / "gridloom"
    for folder in (beside, installed):
        if (folder / "examples" / "kernels").is_dir():
            return folder / "examples" / "kernels"
    raise OptionError("the examples are not installed; name their folder with --folder")


def load_any(text: str) -> Mapping | Arch | Dfg:
    """Return what a MAPPING, ARCH or SOURCE stands for; a mapping that names what does not exist is a MappingError."""
    kind = kind_of(text)
    if kind == "mapping":
        mapping = load_mapping(text)
        try:
            check_names(mapping)
        except MappingError as error:
            raise error.at(text) from None
        return mapping
    return read_arch(text) if kind == "arch" else read_source(text)


def kind_of(text: str) -> Literal["mapping", "arch", "source"]:
    """Return whether a text names a mapping, an array or a source; OptionError when it is none of them.

    A JSON file is told by its ``format``, everything else by its ending or its first word.
    """
    if text.startswith(KERNEL_PREFIX) or is_part(text):
        return "source"
    if text.endswith((".yaml", ".yml")):
        return "arch"
    path = Path(text)
    if is_file(path):
        if path.suffix == ".json":
            return "mapping" if is_mapping_file(path) else "source"
        return "arch" if path.suffix == ".xml" and "<PEArray" in read_text(path)[:65536] else "source"
    if registry.has("archs", text.partition(":")[0].partition(",")[0]):
        return "arch"
    # It looks like a file: reading it gives the error that says why it is none.
    if path.suffix or "/" in text:
        read_text(path)
    raise OptionError(f"{text!r} is no file, no array family ({', '.join(registry.names('archs'))}) and no kernel:NAME")


def is_mapping_file(path: Path) -> bool:
    """Return True for a JSON file that says it is a mapping; its reader finds what else may be wrong with it."""
    if path.suffix != ".json":
        return False
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("format") == json_format.FORMAT
