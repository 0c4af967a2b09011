"""``key=value`` settings against a mapper's configuration: the dataclass is the list of options.

Field names are the keys, type hints say how text is converted, defaults are shown in the help. A mapper therefore adds
an option by adding a field.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Config:
...     moves: int = 10
...     limit: float | None = None
>>> configure(Config, parse_settings(["moves=20", "limit=none"]), "demo")
Config(moves=20, limit=None)

What a user gives arrives in two ways, as ``--set key=value`` and as options of their own (``--ii``, ``--pin``); both
end as fields of that dataclass, and a mapper that does not have the field does not take the option.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from gridloom.archs.model import Arch
from gridloom.errors import OptionError
from gridloom.limits import GREATEST
from gridloom.search.choice import MapperFunction, default_mapper, kind_for
from gridloom.text_file import shown

_NONE_WORDS = ("none", "null")


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """``["a=1", "b=x"]`` as a dictionary; OptionError for a pair without ``=`` or a key that is given twice."""
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise OptionError(f"expected key=value, found {pair!r}", where="--set")
        if key in settings:
            raise OptionError(f"{key!r} is given twice", where="--set")
        settings[key] = value
    return settings


def configure(kind: type[Any], settings: Mapping[str, Any], name: str, *, what: str = "mapper") -> Any:
    """An instance of a configuration class with these settings; text is converted to the fields' types.

    ``what`` and ``name`` say in messages whose configuration it is.

    An unknown key is an OptionError that lists the fields, a wrong value one that says what the field takes.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = get_type_hints(kind)
    owner = f"{what} {name!r}"
    for key in settings:
        if key not in fields:
            raise OptionError(_unknown(key, fields, owner), where="--set")
    values = {key: _convert(key, value, hints[key], owner) for key, value in settings.items()}
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:
        raise OptionError(f"{owner} does not take these settings: {error}", where="--set") from None


def describe(kind: type[Any]) -> list[tuple[str, str, Any]]:
    """Name, type in words and default of each field of a configuration class."""
    hints = get_type_hints(kind)
    return [(field.name, type_words(hints[field.name]), _default(field)) for field in dataclasses.fields(kind)]


def type_words(hint: Any) -> str:
    """A type as a user reads it: ``whole number``, ``one of a, b``, ``number or none``.

    >>> type_words(int | None)
    'a whole number or none'
    """
    simple = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(type_words(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return "a list such as a+b+c"
    return getattr(hint, "__name__", str(hint))


def _unknown(key: str, fields: Mapping[str, Any], owner: str) -> str:
    """Return the message for a key that no field has, with the nearest field name as a suggestion."""
    near = difflib.get_close_matches(key, fields, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{key}: {owner} has no such setting; {hint}it has: {', '.join(sorted(fields)) or 'none'}"


def _default(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; None where it has none."""
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else None


def _convert(key: str, value: Any, hint: Any, owner: str) -> Any:
    """Return a value as the field's type.

    Text may say ``none`` where the field takes None, and ``a+b+c`` where it takes a tuple; pydantic converts the rest.
    OptionError says what the field takes, with pydantic's reason where the type alone does not explain it.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    if isinstance(value, str):
        if value.lower() in _NONE_WORDS and _takes_none(hint):
            return None
        if get_origin(hint) is tuple:
            value = [part for part in value.split("+") if part]
    # For these types the words of the message say it all, and pydantic's reason would only repeat them.
    plain = dataclasses.is_dataclass(hint) or hint in (int, float, bool, str)
    config = None if dataclasses.is_dataclass(hint) else ConfigDict(arbitrary_types_allowed=True)
    try:
        found = TypeAdapter(hint, config=config).validate_python(value, strict=False)
    except ValidationError as error:
        reason = "" if plain else f" ({error.errors(include_url=False)[0]['msg']})"
        raise OptionError(
            f"{key}: {owner} takes {type_words(hint)} here, found {value!r}{reason}", where="--set"
        ) from None
    if isinstance(found, int | float) and abs(found) > GREATEST and found not in (math.inf, -math.inf):
        raise OptionError(f"{key}: expected at most 2^62, found {shown(str(found))}", where="--set")
    return found


def _takes_none(hint: Any) -> bool:
    """Return whether a type hint allows None."""
    return type(None) in get_args(hint)


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
