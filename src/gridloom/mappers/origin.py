"""Where a mapping comes from: the record that every mapper writes into ``Mapping.provenance``.

The record is written in one place, so that it is complete for every mapper: a reader of a saved mapping finds the
mapper, the settings that differ from its defaults, the seed, the moves made and the version of gridloom, and can make
the same mapping again.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom._version import __version__
from gridloom.mappers.budget import Clock
from gridloom.mappers.settings import changed_settings

#: The keys that every record has; ``seconds`` joins them when the run had a time limit.
KEYS: Final = ("mapper", "config", "seed", "moves", "version")


def origin(mapper: str, config: Any, clock: Clock, **more: Any) -> dict[str, Any]:
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
