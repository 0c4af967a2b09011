"""Tables of the documents that follow from the code: the fields of records with their ``#:`` comments, ops, presets,
traits.

``python -m tests.archs.record_tables`` writes them anew between the markers of docs/*.md, and the schemas beside them.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gridloom import registry
from gridloom.archs import build
from gridloom.archs.described import schema as described_schema
from gridloom.dfg import Edge, MemoryArray, Node
from gridloom.dfg import json_format as dfg_format
from gridloom.dfg.ops import ANY_ARITY, OP_TABLE
from gridloom.mapping import Instance, Route
from gridloom.mapping import json_format as mapping_format
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.program.model import TensorOperation, TokenEdge, UnitNode
from gridloom.targets.grid.families.mesh import MeshParameters
from gridloom.targets.modulo.families.hycube import HycubeParameters
from gridloom.targets.modulo.families.torus import PRESETS, TorusParameters
from gridloom.targets.rows.families.vpcma import VpcmaParameters
from gridloom.targets.streaming.families.streaming_engine import StreamingEngineParameters

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
SCHEMAS = {"dfg": dfg_format.schema, "mapping": mapping_format.schema, "arch": described_schema.schema}
PARAMETERS = {
    "mesh": MeshParameters,
    "torus": TorusParameters,
    "hycube": HycubeParameters,
    "vpcma": VpcmaParameters,
    "streaming-engine": StreamingEngineParameters,
    "rdu": RduParameters,
}
SIZED = ("mesh", "onehop", "hex", "chess", "torus", "hycube", "rdu")
SIZELESS = ("vpcma", "streaming-engine")
RECORDS = {
    "Node": Node,
    "Edge": Edge,
    "Array": MemoryArray,
    "Instance": Instance,
    "Route": Route,
    "TensorOperation": TensorOperation,
    "UnitNode": UnitNode,
    "TokenEdge": TokenEdge,
}


def comments(record: type) -> dict[str, str]:
    """Field -> the text of the ``#:`` lines right above it."""
    found: dict[str, str] = {}
    lines: list[str] = []
    bases = [kind for kind in reversed(record.__mro__) if dataclasses.is_dataclass(kind)]
    for line in (line for kind in bases for line in inspect.getsource(kind).splitlines()):
        if mark := re.match(r"\s+#: (.*)", line):
            lines.append(mark[1])
        else:
            if field := re.match(r"    (\w+): ", line):
                found[field[1]] = " ".join(lines).replace("``", "`")
            lines = []
    return found


def words(hint: Any) -> str:
    """A type as a reader of a file knows it."""
    simple = {
        int: "whole number", float: "number", bool: "true, false", str: "text", type(None): "null", Any: "selector",
    }  # fmt: skip
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return ", ".join(words(part) for part in get_args(hint))
    if get_origin(hint) is dict:
        return f"{words(get_args(hint)[1])} by op class"
    return "list" if get_origin(hint) is tuple else str(hint)


def default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    elif field.default is dataclasses.MISSING:
        return "needed"
    else:
        value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def further_fields(record: type) -> list[dataclasses.Field[Any]]:
    """The fields of a record; of a node or an edge of one domain, those that others do not have."""
    common = {f.name for base in (Node, Edge) if issubclass(record, base) and record is not base
              for f in dataclasses.fields(base)}  # fmt: skip
    return [field for field in dataclasses.fields(record) if field.name not in common]


def field_table(record: type, head: str) -> str:
    """One row for each field: name, type, default, comment."""
    texts, hints = comments(record), get_type_hints(record)
    rows = []
    for field in further_fields(record):
        meaning = texts[field.name]
        takes = "number map" if "a number map" in meaning else words(hints[field.name])
        rows.append(f"| `{field.name}` | {takes} | {default(field)} | {meaning} |")
    return "\n".join([f"| {head} | takes | default | meaning |", "| --- | --- | --- | --- |", *rows])


def op_table(domain: str) -> str:
    """One row for each op class: its ops with the number of their operands."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, op in OP_TABLE[domain].items():
        count = "any" if op.arity == ANY_ARITY else str(op.arity)
        rows.setdefault((op.op_class, count), []).append(f"`{name}`")
    lines = [f"| `{name}` | {count} | {' '.join(ops)} |" for (name, count), ops in sorted(rows.items())]
    return "\n".join(["| op class | operands | ops |", "| --- | --- | --- |", *lines])


def preset_table() -> str:
    """One row for each preset of the torus."""
    lines = [
        "| preset | PEs | register file | memory PEs (1-based, row by row) | bus |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, p in PRESETS.items():
        memory = p["memory"]
        shown = memory if memory == "all" else ", ".join(str(r * p["cols"] + c + 1) for r, c in memory["tiles"])
        file = f"{p['file']}, {p['regs']}" + (" registers" if p["file"] == "central" else " registers per PE")
        bus = "one per row" if p["bus"] == "row" else "one per memory PE"
        lines.append(f"| `{name}` | {p['rows']} x {p['cols']} | {file} | {shown} | {bus} |")
    return "\n".join(lines)


def trait_table() -> str:
    """One row for each trait: what it says, and the families whose default array has it."""
    arrays = {name: build(name if name in SIZELESS else f"{name}:4x4") for name in (*SIZELESS, *SIZED)}
    lines = ["| trait | what it says of an array | families |", "| --- | --- | --- |"]
    for trait, sentence in registry.traits().items():
        families = [f"`{name}`" for name, arch in arrays.items() if arch.has(trait)]
        lines.append(f"| `{trait}` | {sentence} | {', '.join(sorted(families))} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Marker -> the text that belongs below it."""
    found = {f"parameters {name}": field_table(record, "parameter") for name, record in PARAMETERS.items()}
    found |= {f"record {name}": field_table(record, "field") for name, record in RECORDS.items()}
    found |= {f"ops {domain}": op_table(domain) for domain in OP_TABLE if domain != "opaque"}
    return found | {"presets": preset_table(), "traits": trait_table()}


def settings_table(mapper: str, trait: str = "") -> str:
    """One row for each setting of a mapper, on the arrays with a trait where it has several configurations.

    What a command has an option for is left out.
    """
    from gridloom.search.choice import config_type

    entry = registry.entry("mappers", mapper)
    kind = next(kind for kind in entry.takes if not trait or trait in kind.traits)
    record = config_type(entry.load(kind))
    texts, rows, meaning = comments(record), [], ""
    for field in dataclasses.fields(record):
        meaning = (texts[field.name] or meaning).replace("None:", "none:")
        if field.name not in ("ii", "pin", "init", "place", "prove"):
            rows.append(f"| `{field.name}` | {default(field)} | {meaning} |")
    return "\n".join(["| setting | default | meaning |", "| --- | --- | --- |", *rows])


def filled(text: str) -> str:
    """A document with every marked table written anew."""
    known = tables()

    def table(mark: re.Match[str]) -> str:
        kind, *names = mark[1].split()
        rows = settings_table(*names) if kind == "settings" else known[mark[1]]
        return f"<!-- table: {mark[1]} -->\n{rows}\n<!-- end -->"

    return re.sub(r"<!-- table: (.*?) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def schema_text(name: str) -> str:
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


def main() -> None:
    for path in DOCUMENTS.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            path.write_text(filled(text), encoding="utf-8")
    for name in SCHEMAS:
        (DOCUMENTS / "schemas" / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
