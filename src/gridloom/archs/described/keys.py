"""The records of a description, and what is said of a value that does not fit: the key, what was expected and found.

A `Clause` is a part of a description: a pydantic model whose fields say what its keys take. The JSON schema comes from
the same models. A key is the way to a value through dictionaries and lists, joined by dots: ``tiles.2.latency.mul``.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Strict, ValidationError, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gridloom.errors import ArchError

T = TypeVar("T")


def refuse(text: str, *at: str | int) -> PydanticCustomError:
    """Return the error about a value, or about the part of it that the keys ``at`` lead to."""
    return PydanticCustomError("refused", "{text}", {"text": text, "at": at})


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return the end of a complaint about a name: the ones that are close to it, or all of them.

    >>> suggestion("regs", ["registers", "rows"])
    "did you mean 'registers'?"
    >>> suggestion("x", ["rows", "cols"])
    'known: rows, cols'
    """
    names = list(known)
    # A name that was cut short is further from the whole one than a slip of the hand is.
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.55)
    near = near or [whole for whole in names if whole.startswith(str(name)[:3]) and len(str(name)) > 2][:1]
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"


@contextlib.contextmanager
def explain(data: Any) -> Iterator[None]:
    """Raise the first error about a description as an ArchError that begins with the key."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        context, found = first.get("ctx", {}), f", found {first['input']!r}"
        text = first["msg"] + found
        if first["type"] == "refused":
            text = context["text"]
        elif first["type"] == "literal_error":
            text = "expected one of " + context["expected"].replace(" or ", ", ").replace("'", "") + found
        raise ArchError(f"{_key(first['loc'], context.get('at', ()), data)}: {text}") from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise ArchError(f"{_key((), context['at'], data)}: {context['text']}") from None


#: Keys that are named also where a value stands alone for them.
_NAMED = ("pattern", "hops")


def _key(way: Iterable[str | int], at: Iterable[str | int], data: Any) -> str:
    """Return the key of a value, without what the models add to the way to it; ``at`` leads on from there."""
    parts = []
    for part, said in [*((part, False) for part in way), *((part, True) for part in at)]:
        inside = isinstance(data, Mapping)
        if isinstance(part, int) and isinstance(data, list | tuple):
            data = data[part]
        elif isinstance(part, str) and part[0] not in "([" and (said or inside or part in _NAMED):
            data = data.get(part) if inside else None
        else:
            continue
        parts.append(str(part))
    return ".".join(parts)


def check_keys(data: Any, known: Iterable[str], what: str) -> None:
    """Refuse a value that is no dictionary, and the first key that is not known."""
    names = list(known)
    if not isinstance(data, Mapping):
        raise refuse(f"expected keys and values ({', '.join(names)}), found {data!r}")
    for name in data:
        if name not in names:
            raise refuse(f"{what} has no key {name!r}; {suggestion(name, names)}", str(name))


class Clause(BaseModel):
    """A part of a description that is written with keys."""

    model_config = ConfigDict(extra="forbid")
    #: What it describes, for complaints about its keys.
    what: ClassVar[str]

    def __init_subclass__(cls, *, what: str, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.what = what

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that there are."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any) -> Any:
        """Refuse unknown keys; what is needed and missing is complained about as null is."""
        check_keys(data, cls.keys(), cls.what)
        needed = [field.alias or name for name, field in cls.model_fields.items() if field.is_required()]
        return {**dict.fromkeys(needed), **data}

    def given(self) -> dict[str, Any]:
        """Return the fields that the description gives."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


class Expected(NamedTuple):
    """The words that stand for a type in a complaint."""

    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema of the type, whose complaints are these words."""
        return _worded(handler(source), self.words)


class Whole(NamedTuple):
    """A whole number within bounds; null is taken where ``null`` says what it means."""

    low: int
    high: int
    null: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema of the number."""
        number = core_schema.int_schema(strict=True, ge=self.low, le=self.high)
        words = f"a whole number from {self.low} to {self.high}"
        if self.null:
            return _worded(core_schema.nullable_schema(number), f"{words} or null ({self.null})")
        return _worded(number, words)


def _worded(schema: CoreSchema, words: str) -> CoreSchema:
    """Return a schema that says what was expected in these words."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise refuse(f"expected {words}, found {value!r}") from None

    return core_schema.no_info_wrap_validator_function(check, schema)


class Choice(NamedTuple):
    """Of a union of two types, the first takes the values that pass a test, the second all others."""

    test: Callable[[Any], bool]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Return the schema of the union."""
        first, second = (handler.generate_schema(option) for option in get_args(source))
        choices = {"(first)": first, "(second)": second}
        return core_schema.tagged_union_schema(choices, lambda value: "(first)" if self.test(value) else "(second)")


class Short(NamedTuple):
    """Keys and values, or a lone value for one of the keys."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema of the keys."""
        return core_schema.no_info_before_validator_function(
            lambda value: value if isinstance(value, Mapping) else {self.key: value}, handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Return the JSON schema of both."""
        keys = handler(schema)
        inner = handler.resolve_ref_schema(keys)
        return {"anyOf": [keys, inner.get("properties", {}).get(self.key) or inner["additionalProperties"]]}


class OneOf(NamedTuple):
    """A name of a list; a complaint about another one begins with ``text``."""

    names: tuple[str, ...]
    text: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Return the schema of the names."""

        def check(name: Any) -> Any:
            if not isinstance(name, str) or name not in self.names:
                raise refuse(f"{self.text.format(repr(name))}; {suggestion(name, self.names)}")
            return name

        return core_schema.no_info_before_validator_function(check, core_schema.literal_schema(list(self.names)))


class _Several:
    """A list of entries, or one entry without a list."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema of the list."""
        return core_schema.no_info_before_validator_function(
            lambda value: list(value) if isinstance(value, list | tuple) else [value], handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the JSON schema of an entry, and of a list of them."""
        entries = handler(schema)
        return {"anyOf": [entries["items"], entries]}


def _check_name(value: str) -> str:
    """Return a name that is neither empty nor of several lines."""
    if not value.strip() or not value.isprintable() or len(value) > 100:
        raise refuse("")
    return value


Several = Annotated[list[T], _Several()]
Name = Annotated[str, AfterValidator(_check_name), Expected("a name of 1 to 100 printable characters")]
Flag = Annotated[bool, Strict(), Expected("true or false")]
NO_LIMIT = "no limit"
#: The default of keys whose absence means that nothing changes.
UNSET: Any = None


def modulo_only(text: str) -> BeforeValidator:
    """Return the validator that refuses, with this text, what static arrays do not have."""

    def check(value: Any, info: Any) -> Any:
        if info.context.style != "modulo":
            raise refuse(text)
        return value

    return BeforeValidator(check)


def none_twice(what: str, *, default: str = "", shared: str = "") -> AfterValidator:
    """Return the validator of entries that have names of their own and, where ``shared`` says why, tiles of their own.

    An entry without a name takes ``default`` and its number.
    """

    def check(entries: list[Any]) -> list[Any]:
        names: set[str] = set()
        owners: dict[Any, str] = {}
        for k, entry in enumerate(entries):
            entry.name = entry.name or f"{default}{k}"
            if entry.name in names:
                raise refuse(f"two {what} are called {entry.name!r}", k, "name")
            names.add(entry.name)
            for cell in entry.where if shared else ():
                if owners.setdefault(cell, entry.name) != entry.name:
                    raise refuse(f"tile {list(cell)} {shared.format(owners[cell])}", k, "where")
        return entries

    return AfterValidator(check)
