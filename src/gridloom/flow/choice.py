"""Which mapper runs, with which configuration."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args, get_type_hints

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.flow.options import configure
from gridloom.mapping.model import Failure
from gridloom.mapping.model import Mapping as MappingResult

Mapper = Callable[[Dfg, Arch, Any, Any], "MappingResult | Failure"]

#: What ``auto`` stands for, by the style of the array; the first that is registered is taken.
PREFERRED: Final[Mapping[str, tuple[str, ...]]] = {
    "static": ("anneal",),
    "modulo": ("modulo",),
    "elastic": ("dataflow",),
}


#: Fields of a configuration that are options of their own on the command line.
OPTIONS: Final = ("ii", "place", "init", "pin", "prove")


def choose(name: str, arch: Arch) -> str:
    """The name of the mapper to use; OptionError when there is none for the array's style."""
    if name != "auto":
        registry.entry("mappers", name)
        return name
    known = registry.names("mappers")
    for candidate in _preferred(arch):
        if candidate in known:
            return candidate
    styles = [style for style, names in PREFERRED.items() if any(n in known for n in names)]
    raise OptionError(
        f"array {arch.name!r} is {arch.style}, and no mapper for that style is available yet; "
        f"mappers: {', '.join(known) or 'none'}" + (f" (for {' and '.join(styles)} arrays)" if styles else "")
    )


def _preferred(arch: Arch) -> tuple[str, ...]:
    """Mappers by style; static arrays with load and store ports are rows of ALUs, which have one of their own.

    ``modulo`` needs output registers without operand FIFOs: it does not take arrays whose operands wait.
    """
    if arch.style == "static" and any(tile.kind == "load" for tile in arch.tiles):
        return ("width",)
    if arch.style == "modulo" and any(tile.fifo != 0 for tile in arch.tiles):
        # Tiles with spokes: operands wait in delay registers.
        return ("anneal",) if "flow_starts_apart" in arch.rules else ()
    return PREFERRED[arch.style]


def config_type(mapper: Mapper) -> type[Any]:
    """The configuration class of a mapper: what its parameter ``config`` is annotated with."""
    hint = get_type_hints(mapper, vars(sys.modules[mapper.__module__]))["config"]
    # A mapper may let its caller leave the configuration out: AnnealConfig | None.
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    if not kinds:
        raise TypeError(f"{mapper.__qualname__}: its config has to be a dataclass")
    return kinds[0]


def make_config(name: str, kind: type[Any], settings: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The configuration from the user's settings and from options that not every mapper has (``ii``, ``pin``, ...)."""
    fields = {field.name for field in dataclasses.fields(kind)}
    for key in given:
        if key not in fields:
            raise OptionError(f"mapper {name!r} does not take it", where=f"--{key}")
    for key in settings:
        if key in OPTIONS:
            raise OptionError(f"{key} is not a setting; use --{key}", where="--set")
    return dataclasses.replace(configure(kind, settings, name), **given)
