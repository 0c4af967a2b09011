"""A Dfg as JSON: ``{"format": "gridloom-dfg", "version": 1, name, domain, nodes, edges, arrays, notes}``.

Fields that hold their default are left out when written. Validation is pydantic's over the same records that the
package uses, so that a field stands in one place; its errors come back as one message with path, found and expected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

from gridloom.dfg.checks import MAX_EDGES, MAX_NODES
from gridloom.dfg.model import Dfg, Edge, MemoryArray, Node, graph_type, graph_types
from gridloom.errors import DfgError, GridloomError
from gridloom.text_file import read_text


def write_document(data: Mapping[str, Any], rendered: Mapping[str, str] | None = None) -> str:
    """An object as JSON text, with each row of a list on a line of its own.

    ``rendered`` holds the text of values that are JSON text already, by key.
    """
    texts = rendered or {}
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            rows = ",\n".join(f"    {json.dumps(row)}" for row in value)
            parts.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {json.dumps(key)}: {texts.get(key) or json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_document(text: str, where: str, what: str, error: type[GridloomError]) -> Any:
    """The value of a JSON text; raises ``error`` with the line and column where it is not one.

    ``what`` says what the text should hold ("a graph"), for texts that are nested too deeply for it.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}"
        raise error(f"is not JSON: {fault.msg} at {place}", where=where) from None
    except RecursionError:
        raise error(f"is nested too deeply to be {what}", where=where) from None
    except ValueError:
        # Python's own bound on the digits of an integer.
        raise error("holds a number of more digits than any value has", where=where) from None


FORMAT: Final = "gridloom-dfg"
VERSION: Final = 1


def to_dict(dfg: Dfg) -> dict[str, Any]:
    """A Dfg as plain JSON data.

    Fields that hold their default are left out; :func:`from_dict` gives an equal graph back. Linear in its size.
    """
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": dfg.name, "domain": dfg.domain}
    if dfg.notes:
        data["notes"] = dfg.notes
    if dfg.trip_count is not None:
        data["trip_count"] = dfg.trip_count
    if dfg.assumed:
        data["assumed"] = list(dfg.assumed)
    data["nodes"] = [_record(node) for node in dfg.nodes]
    data["edges"] = [_record(edge) for edge in dfg.edges]
    if dfg.arrays:
        data["arrays"] = [_record(array) for array in dfg.arrays]
    return data


def from_dict(data: Any, where: str = "graph") -> Dfg:
    """The Dfg that plain JSON data describes; a DfgError names the path, what was found and what was expected.

    ``where`` names the document in errors. Needs pydantic, which is imported here. Linear in the data; documents with
    more nodes or edges than a graph may have are refused before they are validated.
    """
    from pydantic import ValidationError

    if not isinstance(data, dict):
        raise DfgError(f"expected a JSON object, found {type(data).__name__}", where=where)
    if data.get("format") != FORMAT:
        raise DfgError(f'expected "format": "{FORMAT}", found {data.get("format")!r}', where=where)
    if data.get("version") != VERSION:
        raise DfgError(f"version {data.get('version')!r} is not known; this gridloom reads {VERSION}", where=where)
    for key, most in (("nodes", MAX_NODES), ("edges", MAX_EDGES)):
        # Before validation, which would take ten times the memory.
        if isinstance(data.get(key), list) and len(data[key]) > most:
            raise DfgError(f"has {len(data[key])} {key}; at most {most} are taken", where=where)
    document = {key: value for key, value in data.items() if key not in ("format", "version")}
    nodes = data["nodes"] if isinstance(data.get("nodes"), list) else []
    kind = graph_type(str(data.get("domain")), {key for node in nodes if isinstance(node, dict) for key in node})
    try:
        document = _adapter((kind.node_type,), (kind.edge_type,)).validate_python(document)
    except ValidationError as error:
        raise DfgError(first_error(error), where=where) from None
    try:
        return kind(
            name=document["name"],
            domain=document["domain"],
            nodes=tuple(document["nodes"]),
            edges=tuple(document["edges"]),
            arrays=tuple(document.get("arrays", ())),
            notes=document.get("notes", ""),
            trip_count=document.get("trip_count"),
            assumed=tuple(document.get("assumed", ())),
        )
    except DfgError as error:
        raise error.at(where) from None


def dumps(dfg: Dfg) -> str:
    """A Dfg as JSON text, with one node or edge per line."""
    return write_document(to_dict(dfg))


def read(path: Path) -> Dfg:
    """The graph of a JSON file."""
    return loads(read_text(path), str(path))


def loads(text: str, where: str = "graph") -> Dfg:
    """The Dfg in a JSON text; ``where`` names the text in errors, which are DfgErrors."""
    return from_dict(read_document(text, where, "a graph", DfgError), where)


def schema() -> dict[str, Any]:
    """The JSON schema of the format, with the fields that domains declare."""
    kinds = graph_types()
    body: dict[str, Any] = _adapter(
        tuple(dict.fromkeys(kind.node_type for kind in kinds)), tuple(dict.fromkeys(kind.edge_type for kind in kinds))
    ).json_schema()
    body["required"] = ["format", "version", *body["required"]]
    body["properties"] = {"format": {"const": FORMAT}, "version": {"const": VERSION}, **body["properties"]}
    return body


def first_error(error: Any) -> str:
    """The first of pydantic's errors as one message: path, what is wrong, what was found."""
    item = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in item["loc"]) or "top level"
    value = json.dumps(item.get("input"), default=str)
    return f"{path}: {item['msg']}, found {value if len(value) < 80 else value[:77] + '...'}"


def _record(record: Node | Edge | MemoryArray) -> dict[str, Any]:
    """The fields of a record that differ from their defaults."""
    values = [(field, getattr(record, field.name)) for field in fields(record)]
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field, value in values
        if value != field.default
    }


@cache
def _adapter(node_types: tuple[type, ...], edge_types: tuple[type, ...]) -> Any:
    """Pydantic's validator of a document with such nodes and edges, built when the first one is read."""
    from typing import Annotated, NotRequired

    from pydantic import ConfigDict, Field, TypeAdapter
    from typing_extensions import TypedDict

    node, edge = reduce(or_, node_types), reduce(or_, edge_types)

    class Document(TypedDict):
        __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
        name: str
        domain: str
        nodes: list[node]  # type: ignore[valid-type]
        edges: list[edge]  # type: ignore[valid-type]
        arrays: NotRequired[list[MemoryArray]]
        notes: NotRequired[str]
        trip_count: NotRequired[Annotated[int, Field(ge=1)]]
        assumed: NotRequired[list[str]]

    return TypeAdapter(Document)
