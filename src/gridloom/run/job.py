"""A job, what it gives back, and the key that names it.

A job is one call ``function(argument)``. What was asked (the function's name and version and the parameters) is
written as canonical JSON and hashed; the hash is the job's key everywhere: in the store, in results, between processes.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from gridloom.errors import GridloomError

A = TypeVar("A")
R = TypeVar("R")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Status: TypeAlias = Literal["done", "error", "lost"]

# A job that fails ten thousand times must not fill the store with its own output.
_MESSAGE_LIMIT = 4_000
_TRACEBACK_LIMIT = 20_000


class RunError(GridloomError):
    """Jobs cannot be run as asked: a bad specification, a cluster that does not answer, workers that do not start."""


def canonical_json(value: object) -> str:
    """Return ``value`` as JSON text that is the same on every machine, run and Python version.

    Takes None, booleans, integers, finite floats, strings, sequences, mappings with string keys, dataclasses and NumPy
    scalars, nested as one likes. Raises `RunError` naming the key of anything else: a set has no order, a NaN is not
    equal to itself and ``{1: ...}`` would collide with ``{"1": ...}``.
    """
    return json.dumps(_plain(value, ""), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _plain(value: object, where: str) -> Json:
    """A value as JSON's own types; ``where`` names its place in messages."""
    # Subclasses of the built-in types (enumerations, NumPy's float64) are reduced to the type that JSON knows.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return _finite(float(value), where)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value)}
    if isinstance(value, Mapping):
        return {_text_key(key, where): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return _plain(value.item(), where)
    raise RunError(
        f"found a {type(value).__name__}, which JSON cannot hold; expected null, a boolean, a number, a string, "
        "a list or a mapping (convert it first)",
        where=where.lstrip(".") or None,
    )


def _finite(value: float, where: str) -> float:
    """A float that JSON can hold. RunError for infinities and NaN."""
    if math.isfinite(value):
        return value
    raise RunError(
        f"found {value}, which JSON cannot hold; expected a finite number (use null for 'none')",
        where=where.lstrip(".") or None,
    )


def _text_key(key: object, where: str) -> str:
    """The key of a mapping, which has to be text."""
    if isinstance(key, str):
        return str.__str__(key)
    raise RunError(
        f"found the {type(key).__name__} key {key!r}; expected a string, since JSON has no other keys",
        where=where.lstrip(".") or None,
    )


@dataclass(frozen=True, slots=True)
class Job(Generic[A]):
    """One call to make: ``function(argument)``.

    ``key`` names it and must be unique among the jobs of a run. ``asked`` is what the key was made from: recorded in
    the store beside the result, empty where nothing is stored.
    """

    key: str
    argument: A
    asked: Mapping[str, Json] = field(default_factory=dict)


def ask(
    function: Callable[..., object] | str, parameters: Mapping[str, Any], *, version: str = "1", argument: Any = None
) -> Job[Any]:
    """Return the job that calls ``function`` with ``parameters``, keyed by the content of the question.

    The key is the SHA-256 of the canonical JSON of function name, ``version`` and parameters: change ``version`` when
    the function's results change, and stored results no longer answer for it. ``argument`` is what the function is
    called with where that is not the parameters themselves (a loaded graph instead of its file name).
    """
    name = function if isinstance(function, str) else f"{_module_name(function)}.{function.__qualname__}"
    asked = {"function": name, "version": version, "parameters": _plain(parameters, "parameters")}
    key = hashlib.sha256(canonical_json(asked).encode("ascii")).hexdigest()
    return Job(key, asked["parameters"] if argument is None else argument, asked)


def _module_name(function: Callable[..., object]) -> str:
    """The module that a function is stored under."""
    # A script's functions keep their keys when the script is imported by another, and differ from other scripts'.
    if function.__module__ != "__main__":
        return function.__module__
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    file = getattr(main, "__file__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    return Path(file).stem if file else "__main__"


@dataclass(frozen=True, slots=True)
class JobError:
    """An exception as a value: it crosses processes and fits in a row of the store."""

    type: str
    message: str
    traceback: str = ""

    @classmethod
    def from_exception(cls, error: BaseException) -> JobError:
        """Return the exception's class, message and traceback as text, cut to what a row can hold."""
        # The first frame is the call below, which says nothing about the job.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
        return cls(type(error).__name__, _message(error)[:_MESSAGE_LIMIT], "".join(lines)[-_TRACEBACK_LIMIT:])


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"({type(error).__name__} whose message cannot be printed)"


@dataclass(frozen=True, slots=True)
class JobOutcome(Generic[R]):
    """What became of a job.

    ``status`` is ``done`` (``value`` holds the result), ``error`` (the function raised ``error``) or ``lost`` (its
    worker died with it, again and again). ``seconds`` is the time inside the function, ``worker`` is ``host:pid``.
    """

    key: str
    status: Status
    value: R | None = None
    error: JobError | None = None
    seconds: float = 0.0
    worker: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no value."""
        return self.status != "done"


def call(function: Callable[[A], R], key: str, argument: A) -> JobOutcome[R]:
    """Call ``function(argument)`` here and return its outcome; what it raises becomes a value.

    Only an interrupt from the keyboard passes through. A job that calls ``sys.exit`` has failed like any other.
    """
    worker = f"{socket.gethostname()}:{os.getpid()}"
    start = time.perf_counter()
    try:
        value = function(argument)
    except (Exception, SystemExit) as error:
        failure = JobError.from_exception(error)
        return JobOutcome(key, "error", None, failure, time.perf_counter() - start, worker)
    return JobOutcome(key, "done", value, None, time.perf_counter() - start, worker)


def in_order(outcomes: Iterable[JobOutcome[R]], keys: Iterable[str]) -> list[JobOutcome[R]]:
    """Return the outcomes in the order of ``keys``, not of arrival; keys without one are left out."""
    by_key = {outcome.key: outcome for outcome in outcomes}
    return [by_key[key] for key in keys if key in by_key]
