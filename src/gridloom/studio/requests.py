"""What the page may ask, as records that check themselves: unknown keys and numbers out of range are refused."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from gridloom.studio.workspace import MOST_TEXT

_NAME: Final = 1000

Name = Annotated[str, Field(min_length=1, max_length=_NAME)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Id = Annotated[str, Field(min_length=1, max_length=64)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LoopsAsked(_Asked):
    """Which loops has this text?"""

    name: Name
    text: Text


class ArrayAsked(_Asked):
    """Draw this array: an ARCH, or a description in YAML."""

    arch: Annotated[str, Field(max_length=_NAME)] = ""
    yaml: Annotated[str, Field(max_length=4_000_000)] | None = None


class SearchLimits(_Asked):
    """What a search may cost."""

    mapper: Annotated[str, Field(max_length=60)] = "auto"
    ii: Annotated[int, Field(ge=1, le=500)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    time_limit: Annotated[float, Field(gt=0, le=3600)] | None = 20.0
    effort: Annotated[int, Field(ge=1, le=10**12)] | None = None
    settings: Annotated[dict[str, str], Field(max_length=100)] = Field(default_factory=dict)


class MapAsked(SearchLimits):
    """Map a source, or the text in the editor, onto an array."""

    source: Annotated[str, Field(max_length=_NAME)] = ""
    text: Text | None = None
    arch: ArrayAsked
    #: The user has said that this Python file may be executed.
    run_python: bool = False


class FinishAsked(SearchLimits):
    """Map the graph of a mapping again around the nodes that stay."""

    mapping: Id
    pins: Annotated[dict[str, str], Field(max_length=20_000)] = Field(default_factory=dict)
    #: Begin from where the nodes are.
    from_here: bool = True


class RunAsked(_Asked):
    """Run a mapping and keep its trace."""

    iterations: int = 16
    seed: int = 0
    data: dict[str, Any] | None = None


class ChangeAsked(_Asked):
    """Change a mapping by hand."""

    change: dict[str, Any]
    pins: Annotated[dict[str, str], Field(max_length=20_000)] = Field(default_factory=dict)


class SaveAsked(_Asked):
    """Write a file of the working folder."""

    name: Name
    text: Text | None = None
    mapping: Id | None = None


class ShareAsked(_Asked):
    """One file that opens offline."""

    mapping: Id
    run: Id | None = None
    name: Name | None = None


class RowAsked(_Asked):
    """Open a row of a store: its mapping, or the search that makes it again."""

    store: Name
    key: Id | Annotated[str, Field(max_length=128)]
    run_python: bool = False
