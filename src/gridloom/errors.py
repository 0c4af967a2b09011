"""Every error that gridloom raises for a user's mistake.

    GridloomError
    ├── DfgError        a graph that is not one
    ├── ArchError       an array description that is not one
    ├── MappingError    a saved mapping, placement or configuration that cannot be read
    ├── SourceError     a source file that a front end cannot take
    ├── OptionError     a command-line option or configuration value
    ├── MissingExtra    an optional dependency that is not installed
    └── SimulationError a configuration that cannot be run at all

A message names where (file, line, key), what was found, what was expected and how to mend it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path


class GridloomError(Exception):
    """Base class. ``str(error)`` is one message that a user can act on."""

    def __init__(self, message: str, *, where: str | None = None) -> None:
        self.where = where
        self.message = message
        super().__init__(f"{where}: {message}" if where else message)

    def at(self, where: str) -> GridloomError:
        """Return the same error, located: ``where`` goes in front of what is known already."""
        inner = f"{where}: {self.where}" if self.where else where
        return type(self)(self.message, where=inner)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel back from worker processes; keyword-only arguments do not pickle by default.
        return (_rebuild, (type(self), self.message, self.where))


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Say where errors of the block happened, if they do not say so themselves."""
    try:
        yield
    except GridloomError as error:
        if error.where:
            raise
        raise error.at(where) from None


def _rebuild(kind: type[GridloomError], message: str, where: str | None) -> GridloomError:
    return kind(message, where=where)


class DfgError(GridloomError):
    """A graph breaks a rule of the Dfg model."""


class ArchError(GridloomError):
    """An array description breaks a rule of the Arch model."""


class MappingError(GridloomError):
    """A mapping refers to something its graph or array does not have, or its file cannot be read."""


class SourceError(GridloomError):
    """A source cannot be turned into a Dfg."""


class OptionError(GridloomError):
    """An option or configuration value is wrong."""


class MissingExtra(GridloomError):
    """A feature needs an extra that is not installed."""


class SimulationError(GridloomError):
    """A configuration cannot be simulated."""


def install_hint(extra: str) -> str:
    """Return the command that adds an extra to this installation: from a clone, from a wheel, or from an index.

    >>> install_hint("c")
    "pip install '.[c]'"
    """
    return f"pip install '{_requirement()}[{extra}]'"


@lru_cache(maxsize=1)
def _requirement() -> str:
    """What pip installs the package from: the folder of a clone, the file of a wheel, or the package's name."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    if (Path(__file__).resolve().parents[2] / "pyproject.toml").is_file():
        return "."
    try:
        origin = json.loads(distribution("gridloom").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if "dir_info" in origin:
        return "."
    return str(origin.get("url", "gridloom")).removeprefix("file://")
