"""From text to an Arch: ARCH strings (``mesh:8x8,inputs=skewed``), YAML files, plain dictionaries.

All three end as a dictionary with ``family`` and that family's parameters; the family's ``build`` makes it an Arch. A
description by tile (``gridloom.archs.described``) is the family ``array``, which may be left out. Any description may
have a ``name``, which stands in tables and reports.

``build`` is the only function that most callers need. The rest serves the families: ``parameters`` turns a dictionary
into the family's record with the errors that a user understands, ``check_*`` bound its numbers, and ``finish_array``
names the array after its description. An error raised below begins with the key that is wrong (``latency.mul: ...``);
``load_yaml`` looks that key up in the file and adds the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from gridloom import registry
from gridloom.archs.model import Arch, ArchBuilder
from gridloom.dfg.ops import OP_CLASSES
from gridloom.errors import ArchError, OptionError, SourceError
from gridloom.text_file import read_text
from gridloom.yaml_text import YamlProblem, parse_with_lines

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")
_YAML_LIMIT = 4_000_000
#: A description with one of these keys and without a family is one by tile.
_BY_TILE = frozenset({"extends", "style", "links", "tiles", "graph"})
#: So many files may extend one another.
_MOST_FILES = 16
P = TypeVar("P")


def build(description: str | Path | Mapping[str, Any]) -> Arch:
    """Return the array that an ARCH string, a YAML file or a dictionary describes.

    ArchError says where the description is wrong, what was found there and what was expected. GenMap's XML files are
    read by :func:`gridloom.targets.rows.families.genmap.read` instead. Costs time linear in the arcs of the array.

    >>> build("mesh:2x3").name
    'mesh:2x3'
    >>> build({"family": "torus", "rows": 2, "cols": 2, "regs": 8}).name
    'torus:2x2,regs=8'
    """
    if isinstance(description, Mapping):
        return build_spec(dict(description), "array")
    text = str(description)
    if text.endswith((".yaml", ".yml")):
        return load_yaml(Path(text))
    return build_spec(parse_string(text), f"array {text!r}")


def build_spec(spec: dict[str, Any], where: str) -> Arch:
    """Return the array of a dictionary with ``family`` and its parameters; errors are located at ``where``."""
    family = spec.get("family", "array" if _BY_TILE & spec.keys() else None)
    if not isinstance(family, str):
        raise ArchError(f"family: expected the name of a family, found {family!r}", where=where)
    try:
        builder = registry.load("archs", family)
    except OptionError as error:
        raise ArchError(error.message, where=where) from None
    try:
        arch: Arch = _named(builder, {"family": family, **spec})
    except ArchError as error:
        raise error.at(where) from None
    except RecursionError:
        raise ArchError("is nested too deeply to describe an array", where=where) from None
    return arch


def _named(builder: Callable[[Mapping[str, Any]], Arch], spec: dict[str, Any]) -> Arch:
    """Return the array that a family builds, under the ``name`` that its description gives it."""
    if "name" not in spec:
        return builder(spec)
    name = spec["name"]
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 100:
        raise ArchError(f"name: expected 1 to 100 printable characters, found {name!r}")
    arch = builder({key: value for key, value in spec.items() if key != "name"})
    return replace(arch, name=name, spec=spec)


def parse_string(text: str) -> dict[str, Any]:
    """Return ``family[:size][,key=value...]`` as a dictionary.

    A size of ``8x8`` becomes rows and cols, a lone number becomes tiles.

    ArchError for a key that is given twice and for a part without ``=`` that is no size. Whether the family exists and
    has these parameters is for :func:`build_spec` to say.

    >>> parse_string("torus:4x4,regs=8,bus=none")
    {'family': 'torus', 'rows': 4, 'cols': 4, 'regs': 8, 'bus': None}
    >>> parse_string("ramp-4,regs=2")
    {'family': 'ramp-4', 'regs': 2}
    """
    head, _, tail = text.partition(":")
    spec: dict[str, Any] = {"family": head}
    if "," in head:
        head, _, tail = text.partition(",")
        spec["family"] = head
    for k, part in enumerate(p for p in tail.split(",") if p):
        key, equals, value = part.partition("=")
        if not equals:
            size = _SIZE.fullmatch(part)
            if k == 0 and size:
                spec["rows"], spec["cols"] = int(size[1]), int(size[2])
            elif k == 0 and part.isdecimal() and len(part) < 6:
                spec["tiles"] = int(part)
            else:
                raise ArchError(f"expected key=value, found {part!r}", where=f"array {text!r}")
        elif key in spec:
            raise ArchError(f"{key!r} is given twice", where=f"array {text!r}")
        else:
            spec[key] = scalar(value)
    return spec


def scalar(text: str) -> Any:
    """Return a value of an ARCH string: a number, None, a truth value or a word.

    >>> [scalar(text) for text in ("12", "unbounded", "true", "skewed")]
    [12, None, True, 'skewed']
    """
    if text.lstrip("-").isdecimal() and len(text) < 12:
        return int(text)
    if text in ("none", "null") or text == "unbounded":
        return None
    if text in ("true", "false"):
        return text == "true"
    return text


def load_yaml(path: Path) -> Arch:
    """Return the array of a YAML file; errors name the file, the line and the key.

    Texts of more than 4 million characters, anchors and aliases are refused, so that the cost is linear in the file.
    """
    return _load(path, ())


def _load(path: Path, above: tuple[Path, ...]) -> Arch:
    """Return the array of a YAML file that the files ``above`` extend, one the next."""
    where = str(path)
    data = _read_marked(path)
    spec = plain(data)
    try:
        if isinstance(spec.get("extends"), str) and spec["extends"].endswith((".yaml", ".yml")):
            spec["extends"] = dict(_load(_extended_file(path, spec["extends"], above), (*above, path)).spec)
        return build_spec(spec, where)
    except ArchError as error:
        if error.where != where:
            raise
        raise ArchError(error.message, where=_line_of(data, error.message, where)) from None


def _extended_file(path: Path, named: str, above: tuple[Path, ...]) -> Path:
    """Return the file that another one extends, which stands beside it; ArchError where files extend each other."""
    target = path.parent / named
    if target.resolve() in [file.resolve() for file in (*above, path)]:
        raise ArchError(f"extends: {named!r} extends this file in turn; leave one of the two out", where=str(path))
    if len(above) >= _MOST_FILES:
        raise ArchError(f"extends: more than {_MOST_FILES} files extend one another", where=str(path))
    return target


def _read_marked(path: Path) -> Any:
    """Return the data of a YAML file with the lines of its keys; ArchError for a file that is none."""
    where = str(path)
    try:
        # A character has up to four bytes; how many characters there are is counted below.
        text = read_text(path, limit=4 * _YAML_LIMIT)
    except SourceError as error:
        raise ArchError(error.message, where=where) from None
    try:
        return parse_with_lines(text, _YAML_LIMIT)
    except YamlProblem as problem:
        raise ArchError(problem.message, where=f"{where}:{problem.line}" if problem.line else where) from None


def _line_of(data: Any, message: str, path: str) -> str:
    """Find the line of the key that a message starts with, as deep as the file has lines for it."""
    keys = message.partition(":")[0].split(".")
    line = None
    # What is missing has no line: the family, or the first key of a description by tile, stands for it.
    whole = "family" if "family" in data or not _BY_TILE & data.keys() else next(iter(data))
    for key in keys if keys[0] in data else [whole]:
        try:
            line, data = (data.lc.item(int(key)), data[int(key)]) if key.isdecimal() else (data.lc.key(key), data[key])
        except (AttributeError, IndexError, KeyError, TypeError):
            break
    return f"{path}:{line[0] + 1}" if line else path


def plain(data: Any) -> Any:
    """Return ruamel's containers and scalars as plain Python ones.

    The spec of an array ends up in saved mappings and in fingerprints of jobs, where a subclass of ``int`` that
    remembers its line would be in the way.
    """
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, bool) or data is None:
        return data
    if isinstance(data, int):
        return int(data)
    if isinstance(data, float):
        return float(data)
    return str(data)


def parameters(kind: type[P], spec: Mapping[str, Any]) -> P:
    """Return the parameter record of a family from a description; unknown keys and wrong types are ArchErrors.

    ``kind`` is a dataclass, whose field types pydantic checks; it is imported here since it is slow to load. Only the
    first of several problems is reported.
    """
    from pydantic import TypeAdapter, ValidationError

    fields = {key: value for key, value in spec.items() if key != "family"}
    known = set(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    for key in fields:
        if key not in known:
            has = ", ".join(sorted(known))
            raise ArchError(f"{key}: family {spec['family']!r} has no such parameter; it has: {has}")
    try:
        return TypeAdapter(kind).validate_python(fields)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in item["loc"])
        if item["type"] == "missing":
            family = spec["family"]
            # A file that gives one of the two has another form.
            form = "" if {"rows", "cols"} & set(fields) else f"; write the size after the family, as in {family}:4x4"
            raise ArchError(f"{path}: family {family!r} needs this parameter{form}") from None
        raise ArchError(f"{path}: {item['msg']}, found {item.get('input')!r}") from None


def array_name(spec: Mapping[str, Any]) -> str:
    """Return the ARCH string of a description, as far as its values are words and numbers.

    A value that no ARCH string can hold (a list, a dictionary) is shown as ``...``, so that such a name cannot be read
    back.

    >>> array_name({"family": "torus", "rows": 2, "cols": 2, "bus": None, "mul": {"tiles": [[0, 0]]}})
    'torus:2x2,bus=none,mul=...'
    >>> array_name({"family": "adres", "rows": 2})
    'adres:rows=2'
    """
    sized = {"rows", "cols"} if {"rows", "cols"} <= spec.keys() else set()
    rest = {key: value for key, value in spec.items() if key not in {"family", "tiles"} | sized}
    size = f"{spec['rows']}x{spec['cols']}" if sized else str(spec.get("tiles", ""))
    words = [size] if size else []
    for key, value in rest.items():
        text = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        words.append(f"{key}={text}" if isinstance(value, str | int) or value is None else f"{key}=...")
    return f"{spec['family']}:{','.join(words)}" if words else str(spec["family"])


def finish_array(builder: ArchBuilder, spec: Mapping[str, Any], *, size: tuple[int, int], **fields: Any) -> Arch:
    """Return the array that a family has put together, with its description and the name that follows from it."""
    rows, cols = size
    return builder.build(name=array_name(spec), rows=rows, cols=cols, spec=dict(spec), **fields)


def check_range(record: object, key: str, low: int, high: int) -> None:
    """Raise ArchError unless a number lies within bounds; a parameter that is None means no limit and always does."""
    value = getattr(record, key)
    if value is not None and not low <= value <= high:
        raise ArchError(f"{key}: expected {low} to {high}, found {value}")


def check_latency(latency: Mapping[str, int]) -> None:
    """Raise ArchError unless latencies are named by op class and leave room for the output register."""
    for name, cycles in latency.items():
        if name != "*" and name not in OP_CLASSES:
            raise ArchError(f"latency.{name}: no such op class; known: *, {', '.join(OP_CLASSES)}")
        if not 1 <= cycles <= 1024:
            raise ArchError(f"latency.{name}: expected 1 (the output register) to 1024, found {cycles}")


def check_size(rows: int, cols: int, limit: int = 128) -> None:
    """Raise ArchError unless the grid has a size that can be built."""
    for key, value in (("rows", rows), ("cols", cols)):
        if not 1 <= value <= limit:
            raise ArchError(f"{key}: expected 1 to {limit}, found {value}")


#: The least and the largest SIMD width in bits: one element of a graph, and 128 of them. A tile with a SIMD unit
#: computes with several words at a time, one per SIMD lane; all lanes do the same in every cycle.
WIDTHS: Final = (32, 4096)


def check_simd(simd: int | None, key: str = "simd") -> int | None:
    """Return a SIMD width that elements of 8, 16, 32 or 64 bits can share; ArchError for any other number.

    None stands for a single lane.

    >>> check_simd(512)
    512
    """
    low, high = WIDTHS
    if simd is not None and (not low <= simd <= high or simd & simd - 1):
        raise ArchError(f"{key}: expected a power of two from {low} to {high}, found {simd}")
    return simd
