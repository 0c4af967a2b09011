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
def located(where: str) -> Iterator[None]:
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
