"""The functions, methods and properties of the model, who calls which of them, and how to plant a fault in one.

What a target knows of its graphs and arrays is a part of the model here: mappers and judges of the target may read it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, FrameType, FunctionType
from typing import Any

import gridloom
from gridloom import registry

MODEL = ("dfg", "archs", "mapping")
#: Parts of a target that are neither search nor judge: parameters of its arrays, rates of its graphs, its programs.
PARTS_OF_TARGETS = ("families", "rates", "program.model")


@dataclass(frozen=True)
class Member:
    """A public function of a module, or a method or property of a class, of the model."""

    name: str
    owner: Any
    attribute: str
    function: FunctionType
    #: How it is called: ``function`` (also a method), ``property`` or ``cached``.
    kind: str


@cache
def members() -> dict[str, Member]:
    """Every public member of the model by its dotted name without `gridloom.`."""
    found = {}
    for name in _modules():
        module = importlib.import_module(name)
        for owner in [module, *_classes(module)]:
            found.update({member.name: member for member in _members(owner, name)})
    return found


def _modules() -> Iterator[str]:
    """The modules of the model by their full names."""
    targets = {place.rpartition(".")[0] for place in registry.BUILT_IN if ".targets." in place}
    parts = [f"{target}.{part}" for target in sorted(targets) for part in PARTS_OF_TARGETS]
    for package in [*(f"gridloom.{name}" for name in MODEL), *parts]:
        if importlib.util.find_spec(package.rpartition(".")[0]) and importlib.util.find_spec(package):
            root = importlib.import_module(package)
            yield package
            yield from (info.name for info in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{package}."))


def _classes(module: Any) -> list[type]:
    return [value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__]


def _members(owner: Any, module: str) -> Iterator[Member]:
    prefix = module.removeprefix("gridloom.") + (f".{owner.__qualname__}" if inspect.isclass(owner) else "")
    for name, value in vars(owner).items():
        function, kind = _function(value)
        if not name.startswith("_") and function is not None and function.__module__ == module:
            yield Member(f"{prefix}.{name}", owner, name, function, kind)


def _function(value: Any) -> tuple[FunctionType | None, str]:
    if isinstance(value, FunctionType):
        return value, "function"
    if isinstance(value, property) and isinstance(value.fget, FunctionType):
        return value.fget, "property"
    if isinstance(value, cached_property) and isinstance(value.func, FunctionType):
        return value.func, "cached"
    return None, ""


@contextmanager
def recording() -> Iterator[set[str]]:
    """Collect the members that run inside the block, whoever calls them; properties count each time they are read."""
    by_code: dict[CodeType, str] = {member.function.__code__: name for name, member in members().items()}
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in by_code:
            seen.add(by_code[frame.f_code])

    cached = [member for member in members().values() if member.kind == "cached"]
    with _replacing({member.name: property(member.function) for member in cached}):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            yield seen
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


@contextmanager
def planted(name: str, damage: Callable[[Any], Any]) -> Iterator[None]:
    """Let a member return a damaged value inside the block, for every caller; it never raises by itself."""
    member = members()[name]
    kept: dict[int, tuple[Any, Any]] = {}

    def faulty(*args: Any, **keys: Any) -> Any:
        return damage(member.function(*args, **keys))

    def once(self: Any) -> Any:
        # What is derived once is damaged once; the object is kept, so that its number is not given to another one.
        if id(self) not in kept:
            kept[id(self)] = (self, faulty(self))
        return kept[id(self)][1]

    with _replacing({name: property(once) if member.kind == "cached" else
                     property(faulty) if member.kind == "property" else faulty}):  # fmt: skip
        yield


@contextmanager
def _replacing(values: dict[str, Any]) -> Iterator[None]:
    """Replace members, and the names under which other modules of gridloom have imported them."""
    undo: list[tuple[Any, str, Any]] = []
    for name, value in values.items():
        member = members()[name]
        homes = [member.owner]
        if not inspect.isclass(member.owner):
            homes += [m for key, m in list(sys.modules.items()) if key.startswith(gridloom.__name__) and m]
        for home in homes:
            for attribute, old in list(vars(home).items()):
                if _function(old)[0] is member.function:
                    undo.append((home, attribute, old))
                    setattr(home, attribute, value)
    try:
        yield
    finally:
        for home, attribute, old in reversed(undo):
            setattr(home, attribute, old)
