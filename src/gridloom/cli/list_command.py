"""``gridloom list``: the names that can be used, from the registry alone, so that it answers at once."""

from __future__ import annotations

import json
from typing import Annotated

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
        rows = [{"name": name, "summary": item.summary, "extra": item.extra} for name, item in entries.items()]
        print(json.dumps({group: rows}))
        return 0
    width = max((len(name) for name in entries), default=0)
    for name, item in entries.items():
        extra = f" (needs the extra {item.extra!r})" if item.extra else ""
        print(f"{name:<{width}}  {item.summary}{extra}")
    if not entries:
        print(f"no {group} yet")
    return 0
