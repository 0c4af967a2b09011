"""The configuration of the mapper that runs, from what a request says.

A mapper is a function with a configuration dataclass. What a user gives arrives in two ways, as ``--set key=value`` and
as options of their own (``--ii``, ``--pin``); both end as fields of that dataclass, and a mapper that does not have the
field does not take the option.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.errors import OptionError
from gridloom.flow.options import configure
from gridloom.search.choice import MapperFunction, default_mapper, kind_for

#: Fields of a configuration that are options of their own on the command line.
OPTIONS: Final = ("ii", "place", "init", "pin", "prove")


def choose(mapper: str | MapperFunction, arch: Arch, *, prove: bool = False) -> str | MapperFunction:
    """The mapper to use; OptionError for one that does not take the array, or where ``auto`` finds none.

    With ``prove``, ``auto`` takes a mapper that can prove its result the best. A function stands for itself.
    """
    if not isinstance(mapper, str):
        if not callable(mapper):
            raise OptionError(f"mapper: expected a name or a function, found a {type(mapper).__name__}")
        return mapper
    if mapper == "auto":
        return default_mapper(arch, prove=prove)
    # It raises for a mapper that does not take arrays of this style.
    kind_for(mapper, arch)
    return mapper


def make_config(name: str, kind: type[Any], settings: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The configuration from the user's settings and from options that not every mapper has (``ii``, ``pin``, ...).

    OptionError for an option that the mapper does not have, and for an option that is given as a setting.
    """
    fields = {field.name for field in dataclasses.fields(kind)}
    for key in given:
        if key not in fields:
            raise OptionError(f"mapper {name!r} does not take it", where=f"--{key}")
    for key in settings:
        if key in OPTIONS:
            raise OptionError(f"{key} is not a setting; use --{key}", where="--set")
    return dataclasses.replace(configure(kind, settings, name), **given)
