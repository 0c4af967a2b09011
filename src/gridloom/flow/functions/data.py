"""Arguments of a run: numbers and arrays by name become objects of a memory and values of parameters.

Arrays that share memory in NumPy share an object, so that C sees the same overlap. What is not given is made up from
a seed where the caller asks for it, and is an error that says what to give otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.host import global_key
from gridloom.compiler.c.function.signature import FunctionParameter, Signature
from gridloom.errors import OptionError

#: Elements of an array that nobody gave, and the bound of a number that nobody gave.
RANDOM_ELEMENTS: Final = 1024
RANDOM_NUMBER: Final = 16


@dataclass(kw_only=True)
class Arguments:
    """What a run is given.

    ``objects`` are bytes by name; ``pointers`` say where each array parameter starts: object and byte; ``numbers`` are
    the values of the other parameters; ``shapes`` give back what belongs to an array.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    pointers: dict[str, tuple[str, int]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = field(default_factory=dict)


def read_arguments(
    signature: Signature, given: Mapping[str, Any], seed: int | None = None,
    elements: Mapping[str, int] = MappingProxyType({}),
) -> Arguments:  # fmt: skip
    """The arguments of a run. OptionError names what is missing, unknown or of a wrong type.

    With a ``seed``, missing numbers are 1 to 16 and missing arrays have random ``elements``, 1024 where that says none.
    What an element is does not depend on how many there are.
    """
    known = {parameter.name: parameter for parameter in signature.parameters}
    unknown = [name for name in given if name not in known and name not in signature.variables]
    if unknown:
        listed = ", ".join([*known, *signature.variables]) or "none"
        raise OptionError(f"{signature.name!r} has no parameter or variable {unknown[0]!r}; it has: {listed}")
    arguments = Arguments()
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for k, parameter in enumerate(signature.parameters):
        random = None if seed is None else np.random.default_rng((seed, k))
        if parameter.type.pointer:
            found = _array(signature, parameter, given, random, elements.get(parameter.name, RANDOM_ELEMENTS))
            if found is None:
                arguments.numbers[parameter.name] = 0
            else:
                arrays[parameter.name] = found
                arguments.shapes[parameter.name] = (found.dtype, found.shape)
        else:
            arguments.numbers[parameter.name] = _number(signature, parameter, given, random)
    _place(arguments, arrays)
    for name in given:
        if name in signature.variables and name not in known:
            _variable(arguments, signature, name, given[name])
    return arguments


def _place(arguments: Arguments, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Give each array an object; arrays that overlap get one together."""
    spans = {name: (array.__array_interface__["data"][0], array.nbytes) for name, array in arrays.items()}
    groups: list[tuple[int, int, list[str]]] = []
    for name, (start, size) in sorted(spans.items(), key=lambda item: item[1]):
        if groups and size and start < groups[-1][1]:
            low, high, names = groups[-1]
            groups[-1] = (low, max(high, start + size), [*names, name])
        else:
            groups.append((start, start + size, [name]))
    for low, high, names in groups:
        together = bytearray(high - low)
        for name in names:
            start, size = spans[name]
            together[start - low : start - low + size] = arrays[name].tobytes()
            arguments.pointers[name] = (names[0], start - low)
        arguments.objects[names[0]] = bytes(together)


def _array(
    signature: Signature, parameter: FunctionParameter, given: Mapping[str, Any], random: np.random.Generator | None,
    elements: int,
) -> np.ndarray[Any, Any] | None:  # fmt: skip
    """The array of a parameter; None for a null pointer."""
    kind, name = parameter.type, parameter.name
    if name not in given:
        if random is None:
            raise OptionError(
                f"{signature.name!r} needs an array for {name!r} ({kind.text}): give {name}=ARRAY, "
                f"--data {name}=FILE.npy or --random SEED"
            )
        return _random_array(parameter, random, elements)
    value = given[name]
    if value is None:
        return None
    if isinstance(value, bytes | bytearray):
        array: np.ndarray[Any, Any] = np.frombuffer(bytes(value), np.uint8)
    elif isinstance(value, np.ndarray):
        array = value
    else:
        try:
            array = np.asarray(value, dtype=kind.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise OptionError(f"{name!r} takes an array of {kind.dtype}: {error}") from None
    if array.ndim == 0:
        raise OptionError(f"{name!r} is a pointer ({kind.text}); expected an array, found {value!r}")
    if kind.dtype.itemsize == array.dtype.itemsize == 1:
        array = array.view(kind.dtype)
    if kind.scalar and array.dtype.kind in "iufb" and array.dtype != kind.dtype:
        raise OptionError(f"{name!r} takes {kind.dtype}, found an array of {array.dtype}; convert it with .astype")
    return np.ascontiguousarray(array)


def _random_array(parameter: FunctionParameter, random: np.random.Generator, elements: int) -> np.ndarray[Any, Any]:
    """Small numbers, so that sums and products stay in range and indices have a chance to."""
    kind = parameter.type
    shape = (elements,)
    if kind.dtype.kind == "f":
        return random.normal(0.0, 4.0, shape).astype(kind.dtype)
    if kind.text.startswith(("_Bool", "bool")):
        # Any other byte is no truth value, and C does not say what reading it gives.
        return random.integers(0, 2, shape).astype(kind.dtype)
    low = -8 if kind.dtype.kind == "i" and kind.dtype.itemsize > 1 else 0
    return random.integers(low, 64, shape).astype(kind.dtype)


def _number(
    signature: Signature, parameter: FunctionParameter, given: Mapping[str, Any], random: np.random.Generator | None
) -> Any:
    """The value of a parameter that is a number, in the range of its type."""
    kind, name = parameter.type, parameter.name
    if not kind.scalar:
        raise OptionError(f"{signature.name!r} takes {name!r} by value as {kind.text}; pass a pointer to it")
    if name not in given:
        if random is None:
            raise OptionError(
                f"{signature.name!r} needs a number for {name!r} ({kind.text}): give {name}=NUMBER, "
                f"--args {name}=NUMBER or --random SEED"
            )
        drawn = int(random.integers(1, RANDOM_NUMBER + 1))
        return kind.dtype.type(drawn)
    value = given[name]
    if kind.dtype.kind == "f":
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise OptionError(f"{name!r} takes a number ({kind.text}), found {value!r}")
        return kind.dtype.type(value)
    if not isinstance(value, int | np.integer | np.bool_):
        raise OptionError(f"{name!r} takes an integer ({kind.text}), found {value!r}")
    limits: Any = np.iinfo(kind.scalar)
    if not limits.min <= int(value) <= limits.max:
        raise OptionError(f"{name!r} is {value}; {kind.text} holds {limits.min} to {limits.max}")
    return kind.dtype.type(int(value))


def _variable(arguments: Arguments, signature: Signature, name: str, value: Any) -> None:
    """Other contents for a variable of the file."""
    kind = signature.variables[name]
    array = np.ascontiguousarray(np.asarray(value, dtype=kind.dtype))
    if array.nbytes != kind.bytes:
        raise OptionError(f"variable {name!r} has {kind.bytes} bytes, found {array.nbytes}")
    arguments.objects[global_key(name)] = array.tobytes()
