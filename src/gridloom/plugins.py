"""Plug-ins: what other installed packages add to the registry, found by the entry-point group ``gridloom.plugins``.

The entry point of a plug-in names a :class:`gridloom.registry.Target`, the same record that a built-in target declares:

    [project.entry-points."gridloom.plugins"]
    example = "gridloom_example.target:TARGET"

The registry calls :func:`load` when an answer may depend on plug-ins; importing gridloom or asking for its help does
not. A plug-in that cannot be imported, is no Target or clashes with what is there is refused as a whole, with a reason
in one line, and everything else works as if it were not installed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from gridloom import registry
from gridloom.registry import GROUPS, Clash, Target

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP: Final = "gridloom.plugins"

A = TypeVar("A")
R = TypeVar("R")


class PluginWarning(UserWarning):
    """A plug-in was refused."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plug-in that was found: its entry point and package, and whether it was taken."""

    #: The name of the entry point.
    name: str
    package: str
    version: str
    state: Literal["loaded", "refused"]
    #: Why it was refused, in one line; empty for one that is loaded.
    reason: str = ""
    target: Target | None = field(default=None, repr=False)

    @property
    def adds(self) -> dict[str, list[str]]:
        """What its declaration adds, by field, without the empty ones. A refused plug-in adds nothing."""
        if self.target is None or self.state == "refused":
            return {}
        fields = {name: list(getattr(self.target, name)) for name in ("kinds", "traits", *GROUPS, "commands")}
        fields["hooks"] = [f"{hook}:{key}" for hook, places in self.target.hooks.items() for key in places]
        return {name: names for name, names in fields.items() if names}

    def __str__(self) -> str:
        return f"plug-in {self.name!r} of {self.package} {self.version}"


def _warn(text: str) -> None:
    """What reports a refusal where nobody has said otherwise."""
    import warnings

    warnings.warn(text, PluginWarning, stacklevel=2)


class _State:
    """Whether plug-ins are used, which ones were found, and who hears of refusals. There is one in a process."""

    def __init__(self) -> None:
        self.enabled = True
        self.loading = False
        self.found: tuple[Plugin, ...] | None = None
        self.report: Callable[[str], None] = _warn


_STATE: Final = _State()
_LOCK: Final = threading.RLock()


def load() -> None:
    """Find and declare the plug-ins; does nothing where this was done before or where they are switched off.

    Costs a look at the metadata of every installed package, once, and the import of the modules that hold the records.
    """
    with _LOCK:
        # A plug-in that asks the registry while it is imported gets what is there by then.
        if not _STATE.enabled or _STATE.loading or _STATE.found is not None:
            return
        _STATE.loading = True
        try:
            points, unreadable = _entry_points()
            _STATE.found = (*unreadable, *map(_declare, points))
        finally:
            _STATE.loading = False
        refused = [plugin for plugin in _STATE.found if plugin.state == "refused"]
    for plugin in refused:
        _tell(plugin)


def find_plugins() -> tuple[Plugin, ...]:
    """The plug-ins that are installed, in the order in which they are declared; none where they are switched off."""
    load()
    return _STATE.found or ()


def switch(enabled: bool) -> None:
    """Use plug-ins from now on, or none: what loaded ones have declared is taken back."""
    with _LOCK:
        if not enabled and _STATE.found is not None:
            registry.withdraw([plugin.target for plugin in _STATE.found if plugin.target is not None])
            _STATE.found = None
        _STATE.enabled = enabled


def is_enabled() -> bool:
    """Whether plug-ins are used."""
    return _STATE.enabled


def report_to(report: Callable[[str], None] | None) -> None:
    """Call ``report`` with one line for each plug-in that is refused; None brings the warnings of Python back."""
    _STATE.report = report or _warn


def refuse_hook(hook: str, key: str, reason: str) -> None:
    """Refuse the plug-in whose object for a hook cannot be imported, and take back all that it has declared."""
    with _LOCK:
        for k, plugin in enumerate(_STATE.found or ()):
            if plugin.target is None or plugin.state == "refused" or key not in plugin.target.hooks.get(hook, ()):
                continue
            registry.withdraw([plugin.target])
            refused = replace(plugin, state="refused", reason=_one_line(f"hook {hook}: {reason}"))
            _STATE.found = (*(_STATE.found or ())[:k], refused, *(_STATE.found or ())[k + 1 :])
            _tell(refused)
            return


def packages_behind(mapper: str, *, calls_others: bool) -> list[str]:
    """The packages, with versions, of the plug-ins that the result of a mapper may depend on.

    They are those that declare the mapper or a hook and, where the mapper ``calls_others``, those that declare any
    mapper.
    """
    loaded = [
        (plugin, plugin.target) for plugin in find_plugins() if plugin.state == "loaded" and plugin.target is not None
    ]
    return [
        f"{plugin.package} {plugin.version}"
        for plugin, target in loaded
        if target.hooks or mapper in target.mappers or (calls_others and target.mappers)
    ]


def _tell(plugin: Plugin) -> None:
    _STATE.report(f"{plugin} is not used: {plugin.reason}")


def _entry_points() -> tuple[list[EntryPoint], list[Plugin]]:
    """The entry points of the group, and packages with a list of entry points that cannot be read.

    They are sorted by package and name, so that the order does not depend on the file system.
    """
    # Help and completion import this module, and have no use for what follows.
    from importlib import metadata

    points: list[EntryPoint] = []
    unreadable: list[Plugin] = []
    try:
        points = list(metadata.entry_points(group=GROUP))
    # One bad file among all installed packages; it may have nothing to do with us.
    except Exception:
        for package in metadata.distributions():
            try:
                points += [point for point in package.entry_points if point.group == GROUP]
            except Exception as error:
                if GROUP in (package.read_text("entry_points.txt") or ""):
                    unreadable.append(_unreadable(package, error))
    return sorted(points, key=lambda point: (_package(point.dist)[0].lower(), point.name)), unreadable


def _unreadable(package: Distribution, error: Exception) -> Plugin:
    """The plug-in of a package whose list of entry points cannot be read."""
    name, version = _package(package)
    reason = _one_line(f"its entry_points.txt cannot be read: {type(error).__name__}: {error}")
    return Plugin(name=name, package=name, version=version, state="refused", reason=reason)


def _package(package: Distribution | None) -> tuple[str, str]:
    """The name and the version of a package, as far as its metadata say them."""
    try:
        return ("?", "?") if package is None else (package.name or "?", package.version or "?")
    except Exception:
        return "?", "?"


def _declare(point: EntryPoint) -> Plugin:
    """Import and declare a plug-in; whatever goes wrong becomes its reason."""
    package, version = _package(point.dist)
    plugin = Plugin(name=point.name, package=package, version=version, state="refused")
    try:
        target = point.load()
    # A module may raise anything while it is imported, and may even exit.
    except (Exception, SystemExit) as error:
        return replace(plugin, reason=_one_line(f"it cannot be imported: {type(error).__name__}: {error}"))
    if not isinstance(target, Target):
        reason = f"{point.value} is a {type(target).__name__}; expected a gridloom.registry.Target"
        return replace(plugin, reason=_one_line(reason))
    try:
        registry.declare(target)
    except Clash as clash:
        return replace(plugin, reason=_one_line(str(clash)))
    except Exception as error:
        return replace(plugin, reason=_one_line(f"it cannot be declared: {type(error).__name__}: {error}"))
    return replace(plugin, state="loaded", target=target)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]


# -- other processes --------------------------------------------------------------------------------------------------


class JobFunction(Generic[A, R]):
    """The function of a job together with the switch and the registrations of this process.

    It is called in worker processes, which start with neither.
    """

    def __init__(self, function: Callable[[A], R], enabled: bool, registered: Mapping[tuple[str, str], Any]) -> None:
        self.function = function
        self.enabled = enabled
        self.registered = registered
        self.home = os.getpid()

    def __call__(self, argument: A) -> R:
        """Set up this process like the one that sent the job, and do the job."""
        if os.getpid() != self.home:
            # Refusals were reported where the job comes from.
            report_to(_ignore)
            if self.enabled != is_enabled():
                switch(self.enabled)
            if self.registered.keys() - registry.registrations().keys():
                for (group, name), item in self.registered.items():
                    registry.register(group, name, item)
        return self.function(argument)


def carry(function: Callable[[A], R]) -> Callable[[A], R]:
    """A job's function that finds the same plug-ins and registrations wherever it runs.

    It can be pickled where :func:`is_portable` holds.
    """
    return JobFunction(function, is_enabled(), registry.registrations())


def is_portable(*functions: object) -> bool:
    """Whether other processes can import these functions and everything that is registered."""
    return all(map(_is_importable, [*functions, *_registered_objects()]))


def _registered_objects() -> Iterator[object]:
    """The objects that registered records hold."""
    for item in registry.registrations().values():
        yield from item.takes.values() if isinstance(item, registry.Mapper) else (item.target,)


def _is_importable(item: object) -> bool:
    """Whether another process finds an object by its module and name."""
    import pickle

    try:
        # A notebook, a prompt and a script are all called __main__, and a worker has run none of them.
        return b"__main__" not in pickle.dumps(item)
    except Exception:
        return False


def _ignore(_text: str) -> None:
    """Say nothing."""
