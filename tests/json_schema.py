"""Enough of JSON Schema to hold a document against the schemas that the package writes."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "null": (type(None),), "boolean": (bool,),
}  # fmt: skip
_KNOWN = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum", "items", "maxItems",
    "maximum", "minItems", "minimum", "prefixItems", "properties", "propertyNames", "required", "title", "type",
}  # fmt: skip


def problems(data: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, path: str = "$") -> list[str]:
    """What a document breaks of a schema; a keyword that is not known here is a problem, too."""
    root = root or schema
    found = [f"{path}: keyword {key}" for key in schema.keys() - _KNOWN]
    if "$ref" in schema:
        return found + problems(data, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    if "anyOf" in schema and all(problems(data, option, root, path) for option in schema["anyOf"]):
        found.append(f"{path}: none of the alternatives")
    if "const" in schema and data != schema["const"]:
        found.append(f"{path}: not {schema['const']!r}")
    if "enum" in schema and data not in schema["enum"]:
        found.append(f"{path}: not one of {schema['enum']}")
    names = schema.get("type", list(_TYPES))
    kinds = tuple(kind for name in ([names] if isinstance(names, str) else names) for kind in _TYPES[name])
    if not isinstance(data, kinds) or (isinstance(data, bool) and bool not in kinds):
        return [*found, f"{path}: not of type {names}"]
    if "minimum" in schema and not schema["minimum"] <= data <= schema["maximum"]:
        found.append(f"{path}: out of range")
    if isinstance(data, dict):
        found += _object_problems(data, schema, root, path)
    if isinstance(data, list):
        found += _array_problems(data, schema, root, path)
    return found


def _object_problems(data: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> list[str]:
    properties = schema.get("properties", {})
    found = [f"{path}: lacks {key}" for key in schema.get("required", []) if key not in data]
    for key, value in data.items():
        found += problems(key, schema.get("propertyNames", {}), root, f"{path}.{key}")
        if key in properties:
            found += problems(value, properties[key], root, f"{path}.{key}")
        elif schema.get("additionalProperties") is False:
            found.append(f"{path}: has {key}")
    return found


def _array_problems(data: list[Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> list[str]:
    found = []
    if not schema.get("minItems", 0) <= len(data) <= schema.get("maxItems", len(data)):
        found.append(f"{path}: has {len(data)} items")
    options = schema.get("prefixItems", [])
    for k, value in enumerate(data):
        option = options[k] if k < len(options) else schema.get("items", {})
        found += problems(value, option, root, f"{path}.{k}")
    return found
