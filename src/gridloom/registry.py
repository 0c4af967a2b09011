"""One registry for everything that is looked up by name: mappers, array families, kernels, readers, suites, models.

A target declares what it has as one :class:`Target`, which is pure data: names, one line about each, and the places of
the objects (``"package.module:attribute"``). The registry is filled from the declarations in :data:`BUILT_IN`. A
third-party package declares the same record (see :mod:`gridloom.plugins`), and :func:`register` adds one name at a time
from a notebook. A module is imported when its object is first asked for, so that listing names costs nothing.

Plug-ins are loaded when an answer may depend on them: a name, a kind or a hook that is not built in, and every listing.
No answer depends on what was asked before.

The line of a mapper also declares which kinds of arrays it takes. ``auto``, ``portfolio``, ``gridloom list mappers``,
the refusals and the conformance test all derive from that declaration (see :mod:`gridloom.search.choice`).

Shared code never names a target. Where it needs what only some arrays have, it asks for a hook by the style or a trait
of the array (:func:`hooks_for`), and a target declares the place of the function.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, Protocol

from gridloom.errors import OptionError

#: The declarations of this package; a target is one line.
BUILT_IN: Final = (
    "gridloom.targets.grid.target",
    "gridloom.targets.modulo.target",
    "gridloom.targets.rows.target",
    "gridloom.targets.streaming.target",
    "gridloom.targets.dataflow.target",
    "gridloom.builtin",
)

#: What is looked up by name.
GROUPS: Final = ("archs", "mappers", "kernels", "costs", "networks", "readers", "suites", "models")

#: What loads the plug-ins. It stands here by its place, since it imports this module.
_LOAD_PLUGINS: Final = "gridloom.plugins:load"
_REFUSE: Final = "gridloom.plugins:refuse_hook"
#: Hooks without which a mapping would be judged by fewer rules.
_JUDGING: Final = ("rules", "machines")

#: Hook -> what its key is, and what the object at its place does.
HOOKS: Final[Mapping[str, str]] = {
    "array_files": "suffix of a file: (text of ARCH) -> Arch, or None where the text is not of this form",
    "passes": "trait: (Dfg, Arch) -> the graph as such arrays take it",
    "rewrites": "trait: (Dfg, Arch) -> a Rewrite of a loop into other words, or None where there is nothing to do",
    "graphs": "domain of graphs: the types of graphs whose nodes or edges have further fields",
    "programs": "domain of graphs: (Dfg, Arch) -> a program with graphs to map and join, or None",
    "rules": "style or trait: rules that verify applies to such arrays",
    "machines": "style: (Configuration, iterations) -> Verdict of the target's own simulator",
    "traces": "style: (Configuration, iterations, moments) -> trace of a run, moment by moment",
    "pictures": "trait: (Details, slot, live) -> SVG text of a mapping",
    "wires": "trait: (layout, details, ...) -> the wires of a picture where the grid's own do not fit",
    "report_cards": "trait: (Result) -> HTML of a card of the report, or an empty text",
    "explanations": "trait: (Mapping) -> what bounds a mapping, as the studio shows it",
    "estimates": "style or trait: an object with check, judge, record and text that estimates what is reached",
    "python_modules": "package that a Python file imports: an object that reads and lists such files",
    "exports": "option of map: (Mapping) -> text of the file",
    "objectives": "trait: an object that counts clocks: clocks_of, takes_lane, lanes_of, expect, cost, MOST_II",
    "emitters": "format: (Mapping, seed) -> texts of files by name, and facts about the program of another machine",
    "importers": "format: (Path) -> the Mapping in a file of another tool, or MappingError with the reason",
    "cost_samples": "trait: () -> pipeline, decisions, and which of them is better and which worse, for cost models",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name stands for: the place of the object, or the object itself, and one line about it."""

    target: object
    summary: str
    extra: str | None = None

    def load(self) -> Any:
        """Import the module and return the object. Costs the import, once.

        ModuleNotFoundError where a package of the extra is missing.
        """
        return object_at(self.target, extra=self.extra is not None)


def entries(place: str, summaries: Mapping[str, str | tuple[str, str]]) -> dict[str, Entry]:
    """Return entries of one kind of place, in which ``{}`` stands for the name; a pair is a summary and an extra.

    >>> entries("package:suites/{}.yaml", {"small": "three graphs"})["small"].target
    'package:suites/small.yaml'
    """
    pairs = {name: (text,) if isinstance(text, str) else text for name, text in summaries.items()}
    return {name: Entry(place.format(name), *pair) for name, pair in pairs.items()}


@dataclass(frozen=True, slots=True)
class Reader(Entry):
    """A reader of source files: a function from a path to a Dfg, and the endings of the files that it reads.

    Of several endings that a file name has, the longest decides.
    """

    endings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line: its function, its line in the overview, an example and its heading there."""

    target: str
    summary: str
    #: What follows the command's name in the example that ends its help text.
    example: str = ""
    #: The task that is its heading in the overview.
    task: str = "Other commands"

    def load(self) -> Any:
        """Import the module and return the function."""
        return object_at(self.target)


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """A kind of array that mappers take: its style, and the traits that such an array has."""

    style: Literal["static", "modulo", "elastic"]
    traits: tuple[str, ...]
    #: What messages and listings call such arrays, in the plural.
    words: str
    #: Domains of the graphs that go onto such arrays.
    domains: tuple[str, ...] = ("i32", "f32", "cma24", "opaque")
    #: SOURCE and ARCH of a small problem that every mapper for such arrays solves; ``gridloom.testing`` maps it.
    problem: tuple[str, str] | None = None
    #: Op classes that a useful array of the kind has somewhere.
    classes: tuple[str, ...] = ()

    def describes(self, arch: _Array) -> bool:
        """Whether an array is of the kind."""
        return arch.style == self.style and set(self.traits) <= arch.traits


#: ``search``: ``auto`` takes the first one that suits the array. ``proof``: ``--prove`` takes it. ``named``: it runs
#: only where it is named. ``portfolio`` races the mappers that search and those that prove.
Role = Literal["search", "proof", "named"]
_ROLES: Final = ("search", "proof", "named")


@dataclass(frozen=True, slots=True)
class Mapper:
    """A mapper: for each kind of array that it takes, by name, the place of the function; and one line about it.

    The kind ``*`` stands for every kind that some target declares.
    """

    takes: Mapping[str, str | Callable[..., Any]]
    summary: str
    extra: str | None = None
    role: Role = "named"
    #: Traits of arrays that it does not take, whatever their kind.
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """What a target, or a third-party package, adds. Every field is data, and every object is named by its place."""

    name: str
    summary: str
    #: Trait -> what it says of an array, as one sentence; what all targets share is declared in ``gridloom.builtin``.
    traits: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, ArrayKind] = field(default_factory=dict)
    archs: Mapping[str, Entry] = field(default_factory=dict)
    mappers: Mapping[str, Mapper] = field(default_factory=dict)
    kernels: Mapping[str, Entry] = field(default_factory=dict)
    readers: Mapping[str, Reader] = field(default_factory=dict)
    costs: Mapping[str, Entry] = field(default_factory=dict)
    networks: Mapping[str, Entry] = field(default_factory=dict)
    models: Mapping[str, Entry] = field(default_factory=dict)
    #: The place of a suite is a package and a file in it: ``"package:suites/name.yaml"``.
    suites: Mapping[str, Entry] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    #: Hook -> key -> place of the object; :data:`HOOKS` says what each is.
    hooks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MapperEntry:
    """All that is declared under the name of one mapper: several targets may have it, for different kinds of arrays."""

    parts: tuple[Mapper, ...]

    @property
    def summary(self) -> str:
        """The line of the first declaration."""
        return self.parts[0].summary

    @property
    def extra(self) -> str | None:
        """The extra that the first declaration needs."""
        return self.parts[0].extra

    @property
    def role(self) -> Role:
        """What it is for on the arrays of the first declaration."""
        return self.parts[0].role

    @property
    def takes(self) -> dict[ArrayKind, Mapper]:
        """Kind of array -> the declaration that takes it, in the order of the declarations."""
        kinds = _registry().kinds
        found: dict[ArrayKind, Mapper] = {}
        for part in self.parts:
            for name in kinds if "*" in part.takes else part.takes:
                if name in kinds:
                    found.setdefault(kinds[name], part)
        return found

    def load(self, kind: ArrayKind | None = None) -> Any:
        """The function for a kind of array; without one, the function of a mapper that has just one."""
        kinds = _registry().kinds
        places = {
            place
            for part in self.parts
            for name, place in part.takes.items()
            if kind is None or name == "*" or kinds.get(name) == kind
        }
        if len(places) != 1:
            words = ", ".join(each.words for each in self.takes)
            raise LookupError(f"the mapper has a function for each of {words}; name one")
        return object_at(places.pop())


class _Array(Protocol):
    """What hooks are asked for with: an array, of which only style and traits are read."""

    @property
    def style(self) -> str: ...
    @property
    def traits(self) -> frozenset[str]: ...


#: Draws a graph, an array or a mapping as SVG text. Notebooks ask the nouns for their picture (``_repr_svg_``), and
#: the nouns may not import what draws them: they find it by this name, when they are asked.
PICTURE: Final = Entry("gridloom.emit.picture.pictures:svg", "the picture of a graph, an array or a mapping")
#: The same for notebooks: HTML with the picture in a box that scrolls.
NOTEBOOK: Final = Entry("gridloom.emit.picture.notebook:html", "a graph, an array or a mapping as HTML for notebooks")


def object_at(place: object, *, extra: bool = False) -> Any:
    """Import the module of a place and return its object, or the module itself; an object stands for itself.

    OptionError where a plug-in names a place that cannot be imported. Where the place needs an ``extra``, a missing
    package stays a ModuleNotFoundError: the caller says how to install it.
    """
    if not isinstance(place, str):
        return place
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute) if attribute else import_module(module)
    except Exception as error:
        if module.partition(".")[0] == "gridloom" or (extra and isinstance(error, ModuleNotFoundError)):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise OptionError(f"{place}, which a plug-in declares, cannot be loaded: {reason}") from error


class Clash(Exception):
    """A declaration that cannot be added.

    It gives a name, a kind or an ending that another one has already, a hook that does not exist, or what is no record.
    """


#: Field of a Target -> the record that its values are.
_RECORDS: Final[Mapping[str, type[Any]]] = {
    "kinds": ArrayKind, "mappers": Mapper, "readers": Reader, "commands": Command,
    **dict.fromkeys(("archs", "kernels", "costs", "networks", "models", "suites"), Entry),
}  # fmt: skip


@dataclass(slots=True)
class Registry:
    """Everything that is declared. ``owner`` says which declaration each name of a group comes from."""

    groups: dict[str, dict[str, Any]] = field(default_factory=lambda: {group: {} for group in GROUPS})
    kinds: dict[str, ArrayKind] = field(default_factory=dict)
    traits: dict[str, str] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    hooks: dict[str, dict[str, str]] = field(default_factory=lambda: {hook: {} for hook in HOOKS})
    owner: dict[tuple[str, str], str] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    #: Ending of file names -> the reader's name.
    endings: dict[str, str] = field(default_factory=dict)

    def declare(self, target: Target) -> None:
        """Add what a target declares, all of it or, where something clashes (Clash), nothing."""
        self._check(target)
        self.targets.append(target)
        self.kinds.update(target.kinds)
        self.traits.update(target.traits)
        self.commands.update(target.commands)
        for hook, places in target.hooks.items():
            self.hooks[hook].update(places)
        for group in GROUPS:
            for name, item in getattr(target, group).items():
                self.owner.setdefault((group, name), target.name)
                if isinstance(item, Mapper):
                    before = self.groups[group].get(name)
                    self.groups[group][name] = MapperEntry((*before.parts, item) if before else (item,))
                else:
                    self.groups[group][name] = item
        for name, reader in target.readers.items():
            self.endings.update(dict.fromkeys(reader.endings, name))

    def _check(self, target: Target) -> None:
        """Raise Clash for what is there already, for a hook that does not exist, and for what is no record."""
        _check_records(target)
        pairs: list[tuple[str, Mapping[str, Any], Iterable[str]]] = [
            ("kind", self.kinds, target.kinds),
            ("trait", self.traits, target.traits),
            ("command", self.commands, target.commands),
            ("ending", self.endings, [ending for reader in target.readers.values() for ending in reader.endings]),
        ]
        pairs += [(group.removesuffix("s"), self.groups[group], getattr(target, group))
                  for group in GROUPS if group != "mappers"]  # fmt: skip
        pairs += [(f"hook {hook}", self.hooks[hook], places) for hook, places in target.hooks.items()]
        for what, known, new in pairs:
            for name in new:
                if name in known:
                    raise Clash(f"{what} {name!r} is there already")
        for name, mapper in target.mappers.items():
            for part in self.groups["mappers"][name].parts if name in self.groups["mappers"] else ():
                for kind in mapper.takes:
                    if kind in part.takes or "*" in part.takes or kind == "*":
                        raise Clash(f"mapper {name!r} for arrays of kind {kind!r} is there already")


def _check_records(target: Target) -> None:
    """Raise Clash where a field of a declaration does not hold what it should, or where a hook does not exist."""
    for name in ("traits", "hooks", *_RECORDS):
        if not isinstance(getattr(target, name), Mapping):
            raise Clash(f"{name} is a {type(getattr(target, name)).__name__}; expected a dictionary")
    for name, record in _RECORDS.items():
        for key, item in getattr(target, name).items():
            if not isinstance(item, record):
                raise Clash(f"{name}: {key!r} is a {type(item).__name__}; expected a {record.__name__}")
    for hook, places in target.hooks.items():
        if hook not in HOOKS:
            raise Clash(f"there is no hook {hook!r}; known: {', '.join(HOOKS)}")
        if not isinstance(places, Mapping):
            raise Clash(f"hook {hook}: found a {type(places).__name__}; expected a dictionary of keys and places")


# -- the one registry -------------------------------------------------------------------------------------------------


_FILLED: list[Registry] = []
_LOCK: Final = threading.RLock()
#: What :func:`register` has added: (group, name) -> the record.
_REGISTERED: dict[tuple[str, str], Any] = {}
#: The declarations of plug-ins, in their order.
_PLUGINS: list[Target] = []


def _registry() -> Registry:
    """The registry; the first call fills it from the declarations, which import nothing else of this package."""
    with _LOCK:
        if not _FILLED:
            _FILLED.append(_fill())
        return _FILLED[0]


def _fill() -> Registry:
    """A new registry with what this package declares."""
    made = Registry()
    for place in BUILT_IN:
        made.declare(import_module(place).TARGET)
    return made


@cache
def _built_in() -> Registry:
    """What this package declares and nothing else."""
    return _fill()


def _whole() -> Registry:
    """The registry with the plug-ins."""
    object_at(_LOAD_PLUGINS)()
    return _registry()


def declare(target: Target) -> None:
    """Add the declaration of a plug-in; Clash where it does not go with what is there.

    An ending that a built-in reader takes already is a clash as well: built-in endings are tried first.
    """
    with _LOCK:
        for ending in [ending for reader in target.readers.values() for ending in getattr(reader, "endings", ())]:
            _check_shadowed(ending)
        _registry().declare(target)
        _PLUGINS.append(target)


def withdraw(targets: Iterable[Target]) -> None:
    """Take declarations of plug-ins back."""
    gone = {id(target) for target in targets}
    with _LOCK:
        _PLUGINS[:] = [target for target in _PLUGINS if id(target) not in gone]
        _refill()


def register(group: str, name: str, item: Entry | Mapper | Reader) -> None:
    """Add one name, in the place of an earlier one that :func:`register` has added.

    OptionError for a name that is built in or comes from a plug-in.
    """
    # Before the lock is taken: loading takes another one first.
    _whole()
    with _LOCK:
        before = dict(_REGISTERED)
        _REGISTERED.pop((group, name), None)
        _REGISTERED[group, name] = item
        try:
            for ending in item.endings if isinstance(item, Reader) else ():
                _check_shadowed(ending)
            _refill()
        except Clash as clash:
            _REGISTERED.clear()
            _REGISTERED.update(before)
            _refill()
            raise OptionError(f"{clash}; only names that were registered before can be registered again") from None


def registrations() -> dict[tuple[str, str], Any]:
    """What :func:`register` has added: (group, name) -> the record."""
    return dict(_REGISTERED)


def forget() -> None:
    """Take back everything that :func:`register` has added."""
    with _LOCK:
        _REGISTERED.clear()
        _refill()


def _refill() -> None:
    """Fill the registry again: what is built in, then plug-ins, then what is registered."""
    made = _fill()
    for target in _PLUGINS:
        made.declare(target)
    fields: dict[str, dict[str, Any]] = {}
    for (group, name), item in _REGISTERED.items():
        fields.setdefault(group, {})[name] = item
    if fields:
        made.declare(Target(name="registered", summary="what this program has registered", **fields))
    _FILLED[:] = [made]


def _check_shadowed(ending: str) -> None:
    """Raise Clash for an ending that is no ending, or that a built-in reader would take first."""
    if not isinstance(ending, str) or not ending.strip("."):
        raise Clash(f"ending {ending!r}: expected the end of a file name, such as .graph")
    for name in _built_in().endings:
        if ending.endswith(name):
            raise Clash(f"ending {ending!r}: files that end in {name!r} have a built-in reader")


# -- questions --------------------------------------------------------------------------------------------------------


def load_plugins() -> None:
    """Load the plug-ins, unless they are loaded or switched off."""
    _whole()


def groups() -> dict[str, dict[str, Any]]:
    """Group -> name -> Entry or MapperEntry, with the plug-ins if they are loaded."""
    return _registry().groups


def kinds() -> dict[str, ArrayKind]:
    """The kinds of arrays by name."""
    return _whole().kinds


def traits() -> dict[str, str]:
    """Trait -> what it says of an array, as one sentence."""
    return _registry().traits


def has_trait(name: str) -> bool:
    """Whether some declaration has a trait."""
    return name in _registry().traits or name in _whole().traits


def commands() -> dict[str, Command]:
    """The commands that are built in."""
    return _built_in().commands


def command(name: str) -> Command | None:
    """A command that a target or a plug-in declares; None where there is none of that name."""
    return _built_in().commands.get(name) or _whole().commands.get(name)


def plugin_commands() -> dict[str, Command]:
    """The commands that plug-ins declare."""
    return {name: item for name, item in _whole().commands.items() if name not in _built_in().commands}


def hook(name: str, key: str) -> Any:
    """The object of a hook, or None where no target declares one for the key."""
    if key not in _registry().hooks[name]:
        _whole()
    place = _registry().hooks[name].get(key)
    return None if place is None else _load_hook(name, key, place)


def hook_keys(name: str) -> list[str]:
    """The keys for which some target declares a hook, in the order of the declarations."""
    return list(_whole().hooks[name])


def hooks_for(name: str, arch: _Array) -> Iterator[Any]:
    """The objects of a hook for an array's style and traits, in the order of the declarations."""
    built_in = _built_in().hooks[name]
    for key, place in built_in.items():
        if key == arch.style or key in arch.traits:
            yield object_at(place)
    for key, place in list(_whole().hooks[name].items()):
        if key not in built_in and (key == arch.style or key in arch.traits):
            found = _load_hook(name, key, place)
            if found is not None:
                yield found


def hook_for(name: str, arch: _Array) -> Any:
    """The first object of a hook for an array's style and traits, or None."""
    return next(hooks_for(name, arch), None)


def _load_hook(name: str, key: str, place: str) -> Any:
    """The object of a hook; None where it cannot be imported, and then its plug-in is refused.

    What judges mappings is not left out: a place of such a hook that cannot be imported is an OptionError.
    """
    try:
        return object_at(place)
    except OptionError as error:
        if name in _JUDGING:
            raise
        object_at(_REFUSE)(name, key, str(error))
        return None


def names(group: str) -> list[str]:
    """The names of a group, in the order of the declarations; mappers are ordered by their roles."""
    _check_group(group)
    _whole()
    return loaded_names(group)


def loaded_names(group: str) -> list[str]:
    """The names of a group as :func:`names` orders them, with those of plug-ins only where they are loaded.

    Mappers that search stand before those that prove, then come those for every kind of array, then the others.
    """
    entries = _registry().groups[group]
    if group != "mappers":
        return list(entries)
    return sorted(entries, key=lambda name: (_ROLES.index(entries[name].role), "*" not in entries[name].parts[0].takes))


def has(group: str, name: str) -> bool:
    """Whether a group has a name."""
    _check_group(group)
    return name in _registry().groups[group] or name in _whole().groups[group]


def is_added(group: str, name: str) -> bool:
    """Whether a name comes from a plug-in or was registered, and not from this package."""
    added = any(name in getattr(target, group) for target in _registry().targets[len(BUILT_IN) :])
    return added and name not in _built_in().groups[group]


def entry(group: str, name: str) -> Any:
    """The Entry (or MapperEntry) of a name; an unknown name is an OptionError that suggests the nearest ones."""
    _check_group(group)
    if name in _registry().groups[group]:
        return _registry().groups[group][name]
    entries = _whole().groups[group]
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(name, entries, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(entries) or 'none'}"
    raise OptionError(f"no {group.removesuffix('s')} is called {name!r}; {hint}")


def load(group: str, name: str) -> Any:
    """The object that a name stands for."""
    return entry(group, name).load()


def reader_for(file_name: str) -> str | None:
    """The name of the reader whose ending a file name has; None where no reader has it.

    Built-in endings come first, and among several the longest.
    """
    for endings in (_built_in().endings, None):
        known = _whole().endings if endings is None else endings
        fitting = [ending for ending in known if file_name.endswith(ending)]
        if fitting:
            return known[max(fitting, key=len)]
    return None


def added_endings() -> list[str]:
    """The endings of files that plug-ins and the user have readers for."""
    return [ending for ending in _whole().endings if ending not in _built_in().endings]


def _check_group(group: str) -> None:
    if group not in GROUPS:
        raise OptionError(f"there is no list of {group!r}; known: {', '.join((*GROUPS, 'plugins'))}")
