"""A Mapping as JSON: ``{"format": "gridloom-mapping", "version": 1, dfg, arch, ii, settings, instances, routes, ...}``.

The array is embedded as its description together with a fingerprint of the resource graph it was built into: a file is
refused when today's family would build something else from the same description. Older versions are brought up to date
by one function for each version (``MIGRATIONS``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.archs.spec import build_spec
from gridloom.dfg import json_format as dfg_format
from gridloom.dfg.json_format import read_document, write_document
from gridloom.errors import ArchError, DfgError, MappingError
from gridloom.mapping.model import Instance, Mapping, Route

FORMAT: Final = "gridloom-mapping"
VERSION: Final = 1

#: Cycles, FIFO depths and numbers beyond this are damage: no array runs that deep, and a simulation would not end.
LARGEST: Final = 100_000


#: version -> the function that turns a file of that version into one of the next. A new version adds one here.
MIGRATIONS: Final[dict[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}


def to_dict(mapping: Mapping) -> dict[str, Any]:
    """A Mapping as plain JSON data.

    The graph is embedded whole, the array as its description and fingerprint. :func:`from_dict` gives an equal mapping
    back. Linear in nodes, edges and hops.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "dfg": dfg_format.to_dict(mapping.dfg),
        "arch": {"spec": dict(mapping.arch.spec), "fingerprint": mapping.arch.fingerprint},
        "ii": mapping.ii,
        "settings": dict(mapping.settings),
        "instances": [
            {"node": i.node, "place": i.place, "cycle": i.cycle, **({"copy": i.copy} if i.copy else {})}
            for i in mapping.instances
        ],
        "routes": [_route_record(route) for route in mapping.routes],
        "provenance": dict(mapping.provenance),
    }


def _route_record(route: Route) -> dict[str, Any]:
    """A route as JSON data; numbers that are 0 are left out."""
    record: dict[str, Any] = {"edge": route.edge, "hops": [list(hop) for hop in route.hops]}
    for name in ("fifo", "copy", "source_copy"):
        if getattr(route, name):
            record[name] = getattr(route, name)
    return record


def dumps(mapping: Mapping) -> str:
    """A Mapping as JSON text, with one instance or route per line."""
    graph = dfg_format.dumps(mapping.dfg).strip().replace("\n", "\n  ")
    return write_document(to_dict(mapping), {"dfg": graph})


def loads(text: str, where: str = "mapping") -> Mapping:
    """The Mapping in a JSON text of this or an older version; ``where`` names the text in errors.

    Raises MappingError for text that is no JSON and for all that :func:`from_dict` refuses.
    """
    return from_dict(read_document(text, where, "a mapping", MappingError), where)


def from_dict(data: Any, where: str = "mapping") -> Mapping:
    """The Mapping that plain JSON data describes; MappingError names the key, what was found, what was expected.

    Builds the array from its description. What is read may still be an illegal mapping: only names, types and sizes are
    checked here.
    """
    if not isinstance(data, dict):
        raise MappingError(f"expected a JSON object, found {type(data).__name__}", where=where)
    if data.get("format") != FORMAT:
        raise MappingError(f'expected "format": "{FORMAT}", found {data.get("format")!r}', where=where)
    data = _migrate(data, where)
    try:
        dfg = dfg_format.from_dict(data.get("dfg"), f"{where}: dfg")
        arch = _arch(data.get("arch"), where)
    except (DfgError, ArchError) as error:
        raise MappingError(error.message, where=error.where) from None
    return Mapping(
        dfg=dfg,
        arch=arch,
        ii=_integer(data, "ii", where),
        settings=_object(data, "settings", where),
        instances=tuple(
            _instance(row, f"{where}: instances.{k}") for k, row in enumerate(_rows(data, "instances", where))
        ),
        routes=tuple(_route(row, f"{where}: routes.{k}") for k, row in enumerate(_rows(data, "routes", where))),
        provenance=_object(data, "provenance", where),
    )


def schema() -> dict[str, Any]:
    """The JSON schema of the format; the graph's own is under ``properties.dfg``, its definitions under ``$defs``."""
    graph = dfg_format.schema()
    number, name = {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST}, {"type": "string"}
    hop = {"type": "array", "prefixItems": [name, number], "minItems": 2, "maxItems": 2}
    described = {"type": "object", "required": ["family"], "properties": {"family": name}}
    return {
        "$defs": graph.pop("$defs"),
        "type": "object",
        "required": ["format", "version", "dfg", "arch", "ii", "instances", "routes"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "dfg": graph,
            "arch": _closed(["spec"], spec=described, fingerprint={"type": ["string", "null"]}),
            "ii": number,
            "settings": {"type": "object"},
            "instances": _list(_closed(["node", "place", "cycle"], node=name, place=name, cycle=number, copy=number)),
            "routes": _list(
                _closed(["edge", "hops"], edge=number, hops=_list(hop), fifo=number, copy=number, source_copy=number)
            ),
            "provenance": {"type": "object"},
        },
    }


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items}


def _migrate(data: dict[str, Any], where: str) -> dict[str, Any]:
    """The data brought to this version. MappingError for a version that is not known.

    Each step knows only the version before it and the one after it, so that a new version adds one function and
    changes none.
    """
    version = data.get("version")
    while version != VERSION:
        if not isinstance(version, int) or version not in MIGRATIONS:
            known = ", ".join(str(v) for v in sorted([*MIGRATIONS, VERSION]))
            raise MappingError(f"version {version!r} is not known; this gridloom reads {known}", where=where)
        try:
            data = MIGRATIONS[version](data)
        except (KeyError, TypeError, AttributeError) as error:
            raise MappingError(f"is not a sound file of version {version}: {error!r}", where=where) from None
        version = data["version"]
    return data


def _arch(data: Any, where: str) -> Arch:
    """The array of the embedded description, if it is still built into the same resource graph.

    A file without a fingerprint is accepted: people write mappings by hand.
    """
    if not isinstance(data, dict) or not isinstance(data.get("spec"), dict):
        raise MappingError(f"arch.spec: expected the description of an array, found {data!r}", where=where)
    arch = build_spec(data["spec"], f"{where}: arch")
    if data.get("fingerprint") not in (None, arch.fingerprint):
        raise MappingError(
            f"arch: this gridloom builds another array from the same description "
            f"(fingerprint {arch.fingerprint}, file {data.get('fingerprint')}); map again",
            where=where,
        )
    return arch


def _integer(data: dict[str, Any], key: str, where: str, default: int | None = None) -> int:
    """A whole number under a key, within what any array runs."""
    value = data.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MappingError(f"{key}: expected a whole number, found {value!r}", where=where)
    if abs(value) > LARGEST:
        raise MappingError(f"{key}: expected a number up to {LARGEST}, found {value!r:.40}", where=where)
    return value


def _string(data: dict[str, Any], key: str, where: str) -> str:
    """A name under a key."""
    value = data.get(key)
    if not isinstance(value, str):
        raise MappingError(f"{key}: expected a name, found {value!r}", where=where)
    return value


def _object(data: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    """An object under a key; empty where the key is missing."""
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise MappingError(f"{key}: expected an object, found {value!r}", where=where)
    return value


def _rows(data: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """A list of objects under a key."""
    value = data.get(key)
    if not isinstance(value, list) or any(not isinstance(row, dict) for row in value):
        raise MappingError(f"{key}: expected a list of objects, found {type(value).__name__}", where=where)
    return value


def _instance(row: dict[str, Any], where: str) -> Instance:
    """The record of one instance."""
    _known(row, ("node", "place", "cycle", "copy"), where)
    return Instance(
        node=_string(row, "node", where),
        place=_string(row, "place", where),
        cycle=_integer(row, "cycle", where),
        copy=_integer(row, "copy", where, 0),
    )


def _route(row: dict[str, Any], where: str) -> Route:
    """The record of one route.

    Only the form is checked here. That the resources exist and are connected is found out by ``configure`` and
    ``verify``.
    """
    _known(row, ("edge", "hops", "fifo", "copy", "source_copy"), where)
    hops = row.get("hops")
    if not isinstance(hops, list) or any(
        not isinstance(hop, list)
        or len(hop) != 2
        or not isinstance(hop[0], str)
        or not isinstance(hop[1], int)
        or isinstance(hop[1], bool)
        or abs(hop[1]) > LARGEST
        for hop in hops
    ):
        raise MappingError(f"hops: expected a list of [resource, cycle], found {hops!r:.200}", where=where)
    return Route(
        edge=_integer(row, "edge", where),
        hops=tuple((hop[0], hop[1]) for hop in hops),
        fifo=_integer(row, "fifo", where, 0),
        copy=_integer(row, "copy", where, 0),
        source_copy=_integer(row, "source_copy", where, 0),
    )


def _known(row: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    """Refuse keys that the format does not have."""
    for key in row:
        if key not in keys:
            raise MappingError(f"{key}: not a known key; known: {', '.join(keys)}", where=where)
