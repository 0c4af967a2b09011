"""Which mapper suits an array: everything here derives from the declarations in the registry.

A mapper's line in the registry says which kinds of arrays it takes (style, traits, domains of graphs) and what it is
for (search, proof, by name only). ``auto`` and ``portfolio`` ask here for mappers, and every mapper calls
:func:`refuse_unsuited` first, so that a refusal names the mapper that was asked, whoever called it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.registry import ArrayKind, Role

MapperFunction = Callable[[Dfg, Arch, Any, Any], "Mapping | Failure"]


def kind_for(name: str, arch: Arch) -> ArrayKind:
    """The kind of array, among those that a mapper takes, that an array is of; OptionError where it is of none."""
    for kind in _kinds(name, arch):
        return kind
    raise OptionError(_refusal(name, arch))


def function_for(name: str, arch: Arch) -> MapperFunction:
    """The function of a mapper for an array; OptionError for an array that it does not take."""
    function: MapperFunction = registry.entry("mappers", name).load(kind_for(name, arch))
    return function


def refuse_unsuited(name: str, dfg: Dfg, arch: Arch) -> None:
    """Raise an OptionError in the name of a mapper for an array or a domain that its declaration does not list."""
    kind = kind_for(name, arch)
    if dfg.domain not in kind.domains:
        raise OptionError(
            f"mapper {name!r} takes graphs of domain {_listed(kind.domains)} on {kind.words}; "
            f"graph {dfg.name!r} is of domain {dfg.domain}"
        )


def mappers_for(arch: Arch, *roles: Role) -> list[str]:
    """The mappers that take an array, in the registry's order; with roles, those that have one of them."""
    suited = []
    for name in registry.names("mappers"):
        entry = registry.entry("mappers", name)
        if (not roles or entry.role in roles) and _kinds(name, arch):
            suited.append(name)
    return suited


def default_mapper(arch: Arch, *, prove: bool = False) -> str:
    """What ``auto`` stands for: the first mapper that searches on such arrays, or with ``prove`` the first that proves.

    OptionError where there is none.
    """
    suited = mappers_for(arch, "proof" if prove else "search")
    if suited:
        return suited[0]
    others = mappers_for(arch)
    what = "proves" if prove else "searches"
    hint = f"; by name: {', '.join(others)}" if others else ""
    traits = ", ".join(sorted(arch.traits)) or "none"
    raise OptionError(f"no mapper {what} on arrays like {arch.name!r} (style {arch.style}, traits: {traits}){hint}")


def config_type(mapper: MapperFunction) -> type[Any]:
    """The configuration class of a mapper: what its parameter ``config`` is annotated with."""
    hint = get_type_hints(mapper, vars(sys.modules[mapper.__module__]))["config"]
    # A mapper may let its caller leave the configuration out: AnnealConfig | None.
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    if not kinds:
        raise TypeError(f"{mapper.__qualname__}: its config has to be a dataclass")
    return kinds[0]


def _kinds(name: str, arch: Arch) -> list[ArrayKind]:
    """The kinds among those that a mapper takes that an array is of; none where it has a trait that keeps it out."""
    entry = registry.entry("mappers", name)
    if any(arch.has(trait) for trait in entry.without):
        return []
    return [kind for kind in entry.takes if _is_of(arch, kind)]


def _is_of(arch: Arch, kind: ArrayKind) -> bool:
    """Whether an array is of a kind: the same style, and every trait that the kind names."""
    return arch.style == kind.style and all(arch.has(trait) for trait in kind.traits)


def _refusal(name: str, arch: Arch) -> str:
    """The sentence that refuses an array: what the mapper takes, and which mappers take this array instead."""
    entry = registry.entry("mappers", name)
    taken = _listed([kind.words for kind in entry.takes])
    others = mappers_for(arch)
    hint = f"; mappers that take it: {', '.join(others)}" if others else ""
    for trait in entry.without:
        if arch.has(trait) and any(_is_of(arch, kind) for kind in entry.takes):
            return f"mapper {name!r} takes no arrays with trait {trait!r}, which array {arch.name!r} has{hint}"
    return f"mapper {name!r} takes {taken}; array {arch.name!r} is none of them{hint}"


def _listed(words: list[str] | tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
