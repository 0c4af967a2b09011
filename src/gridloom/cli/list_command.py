"""``gridloom list``: the names that can be used, from the registry alone, so that it answers at once."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from gridloom import registry
from gridloom.cli.completion import offer_groups
from gridloom.cli.options import AsJson, Quiet


def list_names(
    *,
    group: Annotated[
        str,
        typer.Argument(
            metavar="GROUP",
            help="One of archs, mappers, kernels, networks, costs, suites, models and readers.",
            autocompletion=offer_groups,
        ),
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """List the names of a group that can be used, each with one line about it."""
    entries = {name: registry.entry(group, name) for name in registry.names(group)}
    if as_json:
        rows = [
            {"name": name, "summary": item.summary, "extra": item.extra, **_takes(item)}
            for name, item in entries.items()
        ]
        print(json.dumps({group: rows}))
        return 0
    width = max((len(name) for name in entries), default=0)
    for name, item in entries.items():
        extra = f" (needs the extra {item.extra!r})" if item.extra else ""
        print(f"{name:<{width}}  {_for_arrays(item)}{item.summary}{extra}")
    if not entries:
        print(f"no {group} yet")
    return 0


def _takes(item: registry.Entry | registry.Mapper) -> dict[str, Any]:
    """What a mapper declares, as plain data; nothing for other entries."""
    if not isinstance(item, registry.Mapper):
        return {}
    kinds = [{"style": kind.style, "traits": kind.traits, "domains": kind.domains} for kind in item.takes]
    return {"role": item.role, "takes": kinds}


def _for_arrays(item: registry.Entry | registry.Mapper) -> str:
    """The traits of the arrays that a mapper takes, before its summary."""
    if not isinstance(item, registry.Mapper):
        return ""
    return f"[{', '.join(trait for kind in item.takes for trait in kind.traits)}] "
