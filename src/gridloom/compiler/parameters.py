"""Parameters of built-in kernels and networks: how one is declared, read from text and checked.

A generator declares its parameters once, as a table from names to :class:`KernelParameter`. Defaults, ranges, the text
of error messages and the tables of the documentation all derive from that declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridloom.errors import OptionError
from gridloom.text_file import shown

#: The value of a parameter.
Setting = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParameter:
    """One parameter: a whole number between bounds, or one of ``choices``."""

    summary: str
    default: Setting
    minimum: int = 1
    maximum: int = 64
    choices: tuple[Setting, ...] = ()

    @property
    def allowed(self) -> str:
        """The accepted values as a message or a table shows them."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum} to {self.maximum}"

    def parse(self, value: object) -> Setting | None:
        """The setting that a value (a number, or text from a command line) stands for; None if it is not accepted."""
        by_text = {str(choice): choice for choice in self.choices}
        if self.choices:
            return by_text.get(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
        number = _whole(value)
        return number if number is not None and self.minimum <= number <= self.maximum else None


Parameters = Mapping[str, KernelParameter]
#: A rule over several parameters: called with all settings, it returns what is wrong and how to mend it, or None.
Rule = Callable[..., str | None]


def number(default: int, minimum: int, maximum: int, summary: str) -> KernelParameter:
    """A parameter that is a whole number from ``minimum`` to ``maximum``."""
    return KernelParameter(default=default, minimum=minimum, maximum=maximum, summary=summary)


def choice(default: Setting, choices: Sequence[Setting], summary: str) -> KernelParameter:
    """A parameter that is one of the given values."""
    return KernelParameter(default=default, choices=tuple(choices), summary=summary)


def check_settings(
    owner: str, declared: Parameters, given: Mapping[str, object], rule: Rule | None = None
) -> dict[str, Setting]:
    """The value of every declared parameter: the given one, or its default.

    ``owner`` names the kernel or network in messages. An OptionError names the first parameter that is unknown, of the
    wrong type or out of range, or says which ``rule`` the settings break together.
    """
    for name in given:
        if name not in declared:
            raise OptionError(f"{owner} has no parameter {name!r}; {_listed(declared)}")
    settings: dict[str, Setting] = {}
    for name, parameter in declared.items():
        value = parameter.parse(given.get(name, parameter.default))
        if value is None:
            expected = f"one of {parameter.allowed}" if parameter.choices else f"a whole number, {parameter.allowed}"
            raise OptionError(f"{owner}: {name} = {given[name]!r} is not taken; expected {expected}")
        settings[name] = value
    wrong = rule(**settings) if rule else None
    if wrong:
        raise OptionError(f"{owner}: {wrong}")
    return settings


def spec(name: str, declared: Parameters, settings: Mapping[str, Setting]) -> str:
    """The text that names a generator with its settings, defaults left out: ``kmeans,n=5``."""
    changed = [f"{key}={value}" for key, value in settings.items() if value != declared[key].default]
    return ",".join([name, *changed])


def parse_spec(text: str) -> tuple[str, dict[str, int | float | bool | str]]:
    """Name and parameters of ``NAME,key=value,...``; numbers and true/false are converted.

    >>> parse_spec("kmeans,k=4,n=5")
    ('kmeans', {'k': 4, 'n': 5})
    """
    name, *pairs = (part.strip() for part in text.split(","))
    if not name:
        raise OptionError(f"{shown('kernel:' + text)} names no kernel; expected kernel:NAME,key=value,...")
    parameters: dict[str, int | float | bool | str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key.isidentifier() or not value:
            raise OptionError(f"kernel {name}: found {shown(pair)}; expected key=value")
        if key in parameters:
            raise OptionError(f"kernel {name}: {key} is given twice")
        parameters[key] = _value(value)
    return name, parameters


def _value(text: str) -> int | float | bool | str:
    """A parameter's value: a number, true or false, or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    convert: Any
    for convert in (int, float):
        try:
            number: int | float = convert(text)
        except ValueError:
            continue
        return number
    return text


def _listed(declared: Parameters) -> str:
    rows = [f"{name} ({parameter.allowed}; default {parameter.default})" for name, parameter in declared.items()]
    return f"it takes {', '.join(rows)}" if rows else "it takes none"


def _whole(value: object) -> int | None:
    """The whole number that a value is or that its text spells; None for anything else, ``True`` among it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str):
        digits = value.removeprefix("-")
        # More than ten digits are out of every bound, and int() takes quadratic time on hostile ones.
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None
    return value
