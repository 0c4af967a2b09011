"""The JSON schema of a description by tile, for editors that check YAML files while they are written."""

from __future__ import annotations

import json
from typing import Any, Final

from gridloom.archs.described.family import ArrayForm
from gridloom.archs.selectors import LAYOUTS

_SELECTOR: Final = {"$ref": "#/$defs/selector"}


def schema() -> dict[str, Any]:
    """Return the schema. It checks the form; that tiles exist and entries agree is checked when the array is built."""
    text = json.dumps(ArrayForm.model_json_schema()).replace('"oneOf"', '"anyOf"')
    # Pydantic takes no reference to a definition that it has not made itself.
    body: dict[str, Any] = json.loads(text.replace('"format": "selector"', '"$ref": "#/$defs/selector"'))
    body["$defs"]["selector"] = _selector()
    body["properties"] = {"family": {"const": "array"}, "name": {"type": "string"}, **body["properties"]}
    return body


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _selector() -> dict[str, Any]:
    """The schema of a selector of tiles."""
    place = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    index = {"type": "integer"}
    span = {"anyOf": [index, place]}
    forms = [
        _closed(["layout"], layout={"type": "array", "items": {"type": "string"}}),
        _closed(["region"], region=_closed([], rows=place, cols=place)),
        _closed(["tiles"], tiles={"type": "array", "items": place}),
        _closed([], rows=span, cols=span),
        _closed(["row"], row=index),
        _closed(["col"], col=index),
        _closed(["not"], **{"not": _SELECTOR}),
        _closed(["both"], both={"type": "array", "items": _SELECTOR}),
    ]
    return {"anyOf": [{"enum": [*LAYOUTS, "inner", "corners"]}, place, {"type": "array", "items": _SELECTOR}, *forms]}
