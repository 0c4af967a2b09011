"""Which mapper suits an array, and what it is called with: everything here derives from declarations in the registry.

A mapper's line in the registry says which kinds of arrays it takes (style, traits, domains of graphs) and what it is
for (search, proof, by name only). ``auto`` and ``portfolio`` ask here for mappers, and every mapper calls
:func:`check_suits` first, so that a refusal names the mapper that was asked, whoever called it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, get_args, get_type_hints

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.registry import ArrayKind, Role

#: ``(dfg, arch, config, budget)``; a function without a configuration may leave ``config`` out.
MapperFunction = Callable[..., "Mapping | Failure"]

_SHAPE: Final = "(dfg, arch, config, budget) or (dfg, arch, budget)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoConfig:
    """The configuration of a mapper that has none: there is nothing to set."""


def kind_for(name: str, arch: Arch) -> ArrayKind:
    """The kind of array, among those that a mapper takes, that an array is of; OptionError where it is of none."""
    for kind in _kinds(name, arch):
        return kind
    # A plug-in may have a mapper of this name for such arrays.
    registry.load_plugins()
    for kind in _kinds(name, arch):
        return kind
    raise OptionError(_refusal(name, arch))


def function_for(mapper: str | MapperFunction, arch: Arch) -> MapperFunction:
    """The function of a mapper for an array; OptionError for an array that it does not take.

    A function stands for itself, and takes any array.
    """
    if not isinstance(mapper, str):
        return mapper
    function: MapperFunction = registry.entry("mappers", mapper).load(kind_for(mapper, arch))
    return function


def mapper_name(mapper: str | MapperFunction) -> str:
    """What results and messages call a mapper: its name, or that of the function."""
    if isinstance(mapper, str):
        return mapper
    # A functools.partial has the name of its function.
    named = getattr(mapper, "func", mapper)
    return str(getattr(named, "__name__", type(named).__name__))


def call_mapper(mapper: str | MapperFunction, dfg: Dfg, arch: Arch, config: Any, budget: Any) -> Any:
    """Call a mapper with its configuration, or without where it has no parameter for it.

    What a mapper of a plug-in raises is a GridloomError that names the mapper. A function that was given raises as it
    likes: whoever gave it wants to see where.
    """
    function = function_for(mapper, arch)
    arguments = (dfg, arch, budget) if _size(function) == 3 else (dfg, arch, config, budget)
    if not isinstance(mapper, str) or not registry.is_added("mappers", mapper):
        return function(*arguments)
    try:
        return function(*arguments)
    except GridloomError:
        raise
    except Exception as error:
        raise GridloomError(f"mapper {mapper!r} failed: {type(error).__name__}: {error}") from error


def _size(mapper: MapperFunction) -> int:
    """How many arguments a mapper is called with: 3 or 4. OptionError for a function of another shape."""
    try:
        signature = inspect.signature(mapper)
    except (TypeError, ValueError):
        return 4
    for size in (4, 3):
        try:
            signature.bind(*range(size))
        except TypeError:
            continue
        return size
    raise OptionError(f"mapper {mapper_name(mapper)!r} has the parameters {signature}; expected {_SHAPE}")


def check_suits(name: str, dfg: Dfg, arch: Arch) -> None:
    """Raise an OptionError in the name of a mapper for an array or a domain that its declaration does not list."""
    kind = kind_for(name, arch)
    if dfg.domain not in kind.domains:
        raise OptionError(
            f"mapper {name!r} takes graphs of domain {_listed(kind.domains)} on {kind.words}; "
            f"graph {dfg.name!r} is of domain {dfg.domain}"
        )


def mappers_for(arch: Arch, *roles: Role) -> list[str]:
    """The mappers that take an array, in the registry's order; with roles, those that have one of them."""
    registry.load_plugins()
    return list(_find_suited(arch, *roles))


def _find_suited(arch: Arch, *roles: Role) -> Iterator[str]:
    """The mappers that take an array. Those of plug-ins come last, and are looked for only by who reads so far."""
    seen = set()
    for names in (registry.loaded_names("mappers"), None):
        for name in registry.names("mappers") if names is None else names:
            if name not in seen and _has_role(name, arch, roles):
                seen.add(name)
                yield name


def _has_role(name: str, arch: Arch, roles: tuple[Role, ...]) -> bool:
    """Whether a mapper takes an array, in one of these roles where some are given."""
    takes = registry.entry("mappers", name).takes
    return any(not roles or takes[kind].role in roles for kind in _kinds(name, arch))


def default_mapper(arch: Arch, *, prove: bool = False) -> str:
    """What ``auto`` stands for: the first mapper that searches on such arrays, or with ``prove`` the first that proves.

    OptionError where there is none.
    """
    for name in _find_suited(arch, "proof" if prove else "search"):
        return name
    others = mappers_for(arch)
    what = "proves" if prove else "searches"
    hint = f"; by name: {', '.join(others)}" if others else ""
    traits = ", ".join(sorted(arch.traits)) or "none"
    raise OptionError(f"no mapper {what} on arrays like {arch.name!r} (style {arch.style}, traits: {traits}){hint}")


def config_type(mapper: MapperFunction) -> type[Any]:
    """The configuration class of a mapper: what its parameter ``config`` is annotated with.

    NoConfig for a function without such a parameter, or without a word about its type. OptionError where the annotation
    is no dataclass.
    """
    function = _annotated(mapper)
    name = mapper_name(mapper)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    try:
        hint = get_type_hints(function, None if module is None else vars(module)).get("config")
    except NameError as error:
        raise OptionError(f"mapper {name!r}: the type of its config cannot be read ({error})") from None
    if hint is None or hint is Any:
        return NoConfig
    # A mapper may let its caller leave the configuration out: AnnealConfig | None.
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    if not kinds:
        raise OptionError(f"mapper {name!r}: its config is a {hint!r}; expected a dataclass")
    return kinds[0]


def _annotated(mapper: MapperFunction) -> Any:
    """What holds the annotations of a mapper: a function, or the method of an object that is called."""
    mapper = getattr(mapper, "func", mapper)
    return mapper if inspect.isroutine(mapper) else getattr(mapper, "__call__", mapper)  # noqa: B004


def _kinds(name: str, arch: Arch) -> list[ArrayKind]:
    """The kinds among those that a mapper takes that an array is of; none where it has a trait that keeps it out."""
    takes = registry.entry("mappers", name).takes
    return [
        kind
        for kind, declared in takes.items()
        if _is_of(arch, kind) and not any(arch.has(trait) for trait in declared.without)
    ]


def _is_of(arch: Arch, kind: ArrayKind) -> bool:
    """Whether an array is of a kind: the same style, and every trait that the kind names."""
    return arch.style == kind.style and all(arch.has(trait) for trait in kind.traits)


def _refusal(name: str, arch: Arch) -> str:
    """The sentence that refuses an array: what the mapper takes, and which mappers take this array instead."""
    takes = registry.entry("mappers", name).takes
    taken = _listed([kind.words for kind in takes])
    others = mappers_for(arch)
    hint = f"; mappers that take it: {', '.join(others)}" if others else ""
    for trait in [trait for kind, declared in takes.items() if _is_of(arch, kind) for trait in declared.without]:
        if arch.has(trait):
            return f"mapper {name!r} takes no arrays with trait {trait!r}, which array {arch.name!r} has{hint}"
    return f"mapper {name!r} takes {taken}; array {arch.name!r} is none of them{hint}"


def _listed(words: list[str] | tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
