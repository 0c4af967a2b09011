"""``array``: an array that is described tile by tile, by its links, its tiles and what they share.

A description says the style and the size, or which array it ``extends``, and then what is different. All keys are read
in a fixed order: first the array that is extended, then links, tiles, register files and memory, each entry after the
ones before it. What is left out has the default of the style, which is what the ``mesh`` and ``torus`` families have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ValidationInfo

from gridloom.archs.described.assembly import assemble
from gridloom.archs.described.draft import ArrayDraft, empty_draft
from gridloom.archs.described.graph_form import GraphForm, build_graph
from gridloom.archs.described.keys import UNSET, Clause, Expected, Several, Whole, check_keys, explain, refuse
from gridloom.archs.described.links import Links, change_links
from gridloom.archs.described.sharing import Buses, Bypass, Files, Memory, set_buses, set_bypass, set_memory
from gridloom.archs.described.tile_entries import TileEntry, refine_tiles
from gridloom.archs.model import Arch
from gridloom.errors import ArchError

#: What the size of an array may be.
MAX_SIDE: Final = 128
#: Loops around a launched one that a controller may restart it for.
MAX_LEVELS: Final = 8


def _known(static: tuple[str, ...], modulo: tuple[str, ...]) -> BeforeValidator:
    """Return the validator of a word that arrays of one style take others for than those of the other."""

    def check(value: Any, info: ValidationInfo[ArrayDraft]) -> Any:
        known = static if info.context.style == "static" else modulo
        if value not in known:
            raise refuse(f"expected one of {', '.join(known)}, found {value!r}")
        return value

    return BeforeValidator(check)


class Start(Clause, what="an array"):
    """What a description starts from: another array, or tiles of a style and a size."""

    extends: Annotated[str | dict[str, Any], Expected("an ARCH such as torus:4x4, or a YAML file")] = UNSET
    style: Literal["static", "modulo"] = "modulo"
    rows: Annotated[int, Whole(1, MAX_SIDE)] = UNSET
    cols: Annotated[int, Whole(1, MAX_SIDE)] = UNSET


class ArrayForm(Start, what="an array"):
    """The description of an array by tile."""

    links: Links = []
    buses: Buses = None
    tiles: Several[TileEntry] = []
    files: Files = []
    memory: Memory = UNSET
    inputs: Annotated[Literal["aligned", "skewed", "free"], _known(("aligned", "skewed"), ("free",))] = UNSET
    live_ins: Annotated[Literal["immediate", "registers"], _known(("immediate",), ("immediate", "registers"))] = UNSET
    word: Annotated[int, Whole(2, 32)] = UNSET
    bypass: Bypass = None
    loop_levels: Annotated[int, Whole(0, MAX_LEVELS)] = UNSET
    graph: GraphForm = UNSET


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description says; ArchError names the key that is wrong. Linear in the arcs."""
    data = {key: value for key, value in spec.items() if key != "family"}
    with explain(data):
        check_keys(data, ArrayForm.keys(), ArrayForm.what)
        if "graph" in data:
            return build_graph(data, spec)
        draft = _draft(data)
    return assemble(draft, f"array:{draft.rows}x{draft.cols}", spec)


def _draft(data: dict[str, Any]) -> ArrayDraft:
    """Return the draft that a description makes, on top of the array that it extends."""
    draft = _start(data)
    form = ArrayForm.model_validate(data if "extends" in data else {"links": "mesh", **data}, context=draft)
    given = form.given()
    change_links(draft, form.links)
    for name in ("inputs", "live_ins", "word", "loop_levels", "files"):
        if name in given:
            setattr(draft, name, given[name])
    if "bypass" in given:
        set_bypass(draft, form.bypass)
    if "buses" in given:
        set_buses(draft, form.buses)
    refine_tiles(draft, form.tiles)
    if "memory" in given:
        set_memory(draft, form.memory)
    return draft


def _start(data: dict[str, Any]) -> ArrayDraft:
    """Return the draft of the array that is extended, or an empty one of the style and the size that are said."""
    start = Start.model_validate({key: value for key, value in data.items() if key in Start.model_fields})
    if "extends" in data:
        return _extended(start.extends, data)
    for side in ("rows", "cols"):
        if side not in data:
            raise refuse("an array needs this key, or the array that it extends", side)
    return empty_draft(start.style, start.rows, start.cols)


def _extended(base: str | dict[str, Any], data: dict[str, Any]) -> ArrayDraft:
    """Return the draft of the array that a description extends; refuse what contradicts it."""
    from gridloom.archs.described.writing import describe_by_tile
    from gridloom.archs.spec import build_spec, parse_string

    try:
        arch = build_spec(parse_string(base) if isinstance(base, str) else dict(base), "extends")
    except ArchError as error:
        raise refuse(error.message, "extends") from None
    described = describe_by_tile(arch)
    if described is None:
        raise refuse(
            f"{arch.name!r} is not made of tiles with links alone; its description by resources, which 'gridloom show "
            f"{arch.name} --yaml' writes, can be changed instead",
            "extends",
        )
    draft = _draft({key: value for key, value in described.items() if key != "family"})
    for name in ("style", "rows", "cols"):
        found = getattr(draft, name)
        if data.get(name, found) != found:
            raise refuse(f"{arch.name!r}, which is extended, has {found!r}; leave it out", name)
    return draft
