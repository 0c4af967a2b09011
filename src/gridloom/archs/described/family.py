"""``array``: an array that is described tile by tile, by its links, its tiles and what they share.

A description says the style and the size, or which array it ``extends``, and then what is different. All keys are read
in a fixed order: first the array that is extended, then links, tiles, register files and memory, each entry after the
ones before it. What is left out has the default of the style, which is what the ``mesh`` and ``torus`` families have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from gridloom.archs.described.assembly import assemble
from gridloom.archs.described.draft import ArrayDraft, empty_draft
from gridloom.archs.described.keys import join_keys, mapping_at, number_at, word_at
from gridloom.archs.described.links import add_links
from gridloom.archs.described.sharing import read_buses, read_bypass, read_files, read_memory
from gridloom.archs.described.tile_entries import refine_tiles
from gridloom.archs.model import Arch
from gridloom.errors import ArchError

#: What the size of an array may be.
MAX_SIDE: Final = 128
#: Loops around a launched one that a controller may restart it for.
MAX_LEVELS: Final = 8

#: The keys with readers of their own, in the order in which they are read.
_READERS: Final = {"buses": read_buses, "tiles": refine_tiles, "files": read_files, "memory": read_memory}
KEYS: Final = (
    "extends", "style", "rows", "cols", "links", "buses", "tiles", "files", "memory", "inputs", "live_ins", "word",
    "bypass", "loop_levels", "graph",
)  # fmt: skip


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description says; ArchError names the key that is wrong. Linear in the arcs."""
    data = mapping_at({k: v for k, v in spec.items() if k != "family"}, KEYS, "", "an array")
    if "graph" in data:
        from gridloom.archs.described.graph_form import build_graph

        return build_graph(data, spec)
    draft = _draft(data, "")
    return assemble(draft, f"array:{draft.rows}x{draft.cols}", spec)


def _draft(data: dict[str, Any], key: str) -> ArrayDraft:
    """Return the draft that a description makes, on top of the array that it extends."""
    draft = _extended(data, key) if "extends" in data else _fresh(data, key)
    if "links" in data:
        add_links(draft, data["links"], join_keys(key, "links"))
    elif "extends" not in data:
        add_links(draft, "mesh", join_keys(key, "links"))
    if "inputs" in data:
        known = ("aligned", "skewed") if draft.style == "static" else ("free",)
        draft.inputs = cast(
            Literal["aligned", "skewed", "free"], word_at(data["inputs"], join_keys(key, "inputs"), known)
        )
    if "live_ins" in data:
        known = ("immediate",) if draft.style == "static" else ("immediate", "registers")
        word = word_at(data["live_ins"], join_keys(key, "live_ins"), known)
        draft.live_ins = cast(Literal["immediate", "registers"], word)
    if "word" in data:
        draft.word = number_at(data["word"], join_keys(key, "word"), 2, 32)
    if "loop_levels" in data:
        draft.loop_levels = number_at(data["loop_levels"], join_keys(key, "loop_levels"), 0, MAX_LEVELS)
    if "bypass" in data:
        read_bypass(draft, data["bypass"], join_keys(key, "bypass"))
    for name, reader in _READERS.items():
        if name in data:
            reader(draft, data[name], join_keys(key, name))
    return draft


def _fresh(data: dict[str, Any], key: str) -> ArrayDraft:
    """Return an empty draft of the style and the size that a description says."""
    style = word_at(data.get("style", "modulo"), join_keys(key, "style"), ("static", "modulo"))
    for side in ("rows", "cols"):
        if side not in data:
            raise ArchError(f"{join_keys(key, side)}: an array needs this key, or the array that it extends")
    rows, cols = (number_at(data[side], join_keys(key, side), 1, MAX_SIDE) for side in ("rows", "cols"))
    return empty_draft(cast(Literal["static", "modulo"], style), rows, cols)


def _extended(data: dict[str, Any], key: str) -> ArrayDraft:
    """Return the draft of the array that a description extends; ArchError where the two contradict each other."""
    from gridloom.archs.described.writing import describe_by_tile
    from gridloom.archs.spec import build_spec, parse_string

    at, base = join_keys(key, "extends"), data["extends"]
    if not isinstance(base, str | Mapping):
        raise ArchError(f"{at}: expected an ARCH such as torus:4x4, or a YAML file, found {base!r}")
    try:
        arch = build_spec(parse_string(base) if isinstance(base, str) else dict(base), at)
    except ArchError as error:
        raise ArchError(f"{at}: {error.message}") from None
    described = describe_by_tile(arch)
    if described is None:
        raise ArchError(
            f"{at}: {arch.name!r} is not made of tiles with links alone; its description by resources, which "
            f"'gridloom show {arch.name} --yaml' writes, can be changed instead"
        )
    draft = _draft({k: v for k, v in described.items() if k != "family"}, "")
    for name, found in (("style", draft.style), ("rows", draft.rows), ("cols", draft.cols)):
        if name in data and data[name] != found:
            raise ArchError(f"{join_keys(key, name)}: {arch.name!r}, which is extended, has {found!r}; leave it out")
    return draft
