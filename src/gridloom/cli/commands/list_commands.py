"""``gridloom list`` lists the names that can be used, from the registry alone, so that it answers at once.

Nothing that a name stands for is imported, so that a missing extra does not keep a name from being listed.

``gridloom doctor`` says what this installation has: versions, extras, tools, caches, sandbox.
"""

from __future__ import annotations

import json
import os
from typing import Annotated, Any, Final

import typer

from gridloom import plugins, registry
from gridloom.cli.completion import offer_groups
from gridloom.cli.entry import one_line
from gridloom.cli.options import AsJson, Quiet

#: What the names of a group stand for.
_GROUPS: Final = {
    "archs": "families of arrays, for --arch",
    "mappers": "mapping algorithms, for --mapper",
    "kernels": "built-in kernels, as the source kernel:NAME",
    "networks": "built-in neural networks, as the source model:NAME",
    "costs": "cost models of the mapper dataflow",
    "readers": "formats of source files",
    "suites": "benchmarks, for gridloom bench",
    "models": "learned models, for gridloom train and gridloom eval",
    "plugins": "other packages that add to these lists",
}


def list_names(
    *,
    group: Annotated[
        str | None,
        typer.Argument(
            metavar="GROUP",
            help="One of archs, mappers, kernels, networks, costs, suites, models, readers and plugins; none lists the "
            "groups.",
            autocompletion=offer_groups,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """List the names of a group that can be used, each with one line about it; without a group, list the groups."""
    if group is None:
        return _list_groups(as_json)
    if group == "plugins":
        return _list_plugins(as_json)
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


def _list_groups(as_json: bool) -> int:
    """Print the groups with the number of their names."""
    rows = [{"name": name, "summary": _GROUPS[name], "names": len(registry.names(name))} for name in registry.GROUPS]
    rows.append({"name": "plugins", "summary": _GROUPS["plugins"], "names": len(plugins.find_plugins())})
    if as_json:
        print(json.dumps({"groups": rows}))
        return 0
    for row in rows:
        print(f"{row['name']:<8}  {row['summary']} ({row['names']} names)")
    return 0


def _list_plugins(as_json: bool) -> int:
    """Print the plug-ins: name, package and version, whether they are used and why not, and what they add."""
    found = plugins.find_plugins()
    if as_json:
        rows = [
            {
                "name": plugin.name,
                "package": plugin.package,
                "version": plugin.version,
                "state": plugin.state,
                "reason": plugin.reason or None,
                "adds": plugin.adds,
            }
            for plugin in found
        ]
        print(json.dumps({"plugins": rows}))
        return 0
    if not found:
        print("no plug-ins" if plugins.is_enabled() else "plug-ins are switched off")
    for plugin in found:
        state = plugin.state + (f": {one_line(plugin.reason)}" if plugin.reason else "")
        print(f"{plugin.name}  {plugin.package} {plugin.version}  {state}")
        for field, names in plugin.adds.items():
            print(f"  {field:<8}  {', '.join(names)}")
    return 0


def _takes(item: registry.Entry | registry.MapperEntry) -> dict[str, Any]:
    """What a mapper declares, as plain data; nothing for other entries.

    The declaration is the one that ``auto`` and the mappers' refusals use, so that the list cannot contradict them.
    """
    if not isinstance(item, registry.MapperEntry):
        return {}
    kinds = [{"style": kind.style, "traits": kind.traits, "domains": kind.domains} for kind in item.takes]
    return {"role": item.role, "takes": kinds}


def _for_arrays(item: registry.Entry | registry.MapperEntry) -> str:
    """The traits of the arrays that a mapper takes, before its summary."""
    if not isinstance(item, registry.MapperEntry):
        return ""
    return f"[{', '.join(trait for kind in item.takes for trait in kind.traits)}] "


def doctor(*, as_json: AsJson = False, quiet: Quiet = False) -> int:
    """Show versions, extras and how to install them, tools, caches, and what confines native code on this machine."""
    from gridloom.flow.doctor import examine

    found = examine(os.environ.get("NUMBA_CACHE_DIR"))
    print(json.dumps(found.to_dict()) if as_json else found.text)
    return 0
