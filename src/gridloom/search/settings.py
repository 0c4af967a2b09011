"""Ranges of settings, checked in one way by every configuration, and the record of a run and its settings.

A configuration calls :func:`check_settings` from its ``__post_init__``, so that a configuration that exists is sound
whoever made it: the command line, a suite or a program. A value out of its range is an OptionError that names the
setting, the range and what was found; a setting that is None means "no limit" or "the mapper's choice" and passes.

:func:`origin` is the record that every mapper writes into ``Mapping.provenance``. It is written in one place, so that
it is complete for every mapper: a reader of a saved mapping finds the mapper, the settings that differ from its
defaults, the seed, the moves made and the version of gridloom, and can make the same mapping again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from gridloom._version import __version__
from gridloom.errors import OptionError
from gridloom.search.budget import SearchClock

#: The keys that every record of a run has; ``seconds`` joins them when the run had a time limit.
KEYS: Final = ("mapper", "config", "seed", "moves", "version")


def check_settings(
    config: Any,
    *,
    at_least: Mapping[str, float] | None = None,
    positive: Collection[str] = (),
    shares: Collection[str] = (),
    one_of: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Raise an OptionError for the first setting of a configuration that is out of its range.

    ``at_least`` gives the least value of a setting, ``positive`` names those that are more than 0, ``shares`` those
    from 0 to 1, and ``one_of`` lists the words that a setting takes. Costs nothing worth counting.
    """
    for name, words in (one_of or {}).items():
        value = getattr(config, name)
        if value not in words:
            raise OptionError(f"{name}: expected {_listed(words)}, found {value!r}")
    for name, least in (at_least or {}).items():
        value = getattr(config, name)
        if value is not None and not value >= least:
            raise OptionError(f"{name}: expected at least {least}, found {value}")
    for name in positive:
        if not getattr(config, name) > 0:
            raise OptionError(f"{name}: expected more than 0, found {getattr(config, name)}")
    for name in shares:
        if not 0 <= getattr(config, name) <= 1:
            raise OptionError(f"{name}: expected 0 to 1, found {getattr(config, name)}")


def changed_settings(config: Any) -> dict[str, Any]:
    """The settings of a configuration that differ from its class's defaults, as plain data.

    Mappings become dictionaries and tuples become lists, so that the result can be written as JSON. The class of the
    configuration has to be one that can be made without arguments.
    """
    standard = type(config)()
    changed = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        plain = dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
        if value != getattr(standard, field.name):
            changed[field.name] = plain
    return changed


def origin(mapper: str, config: Any, clock: SearchClock, **more: Any) -> dict[str, Any]:
    """The record of a run that ends now; ``more`` is what the mapper proved or wants to say beside it.

    A run that ends by effort is the same byte for byte, so its record says nothing that depends on a clock.
    """
    record = {
        "mapper": mapper,
        "config": changed_settings(config),
        "seed": clock.budget.seed,
        "moves": clock.moves,
        **more,
        "version": __version__,
    }
    return record if clock.budget.time_limit is None else record | {"seconds": round(clock.seconds, 6)}


def _listed(words: Sequence[str]) -> str:
    """The words as a sentence has them: ``a``, ``a or b``, ``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
