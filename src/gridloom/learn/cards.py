"""Model cards: a page beside each file of weights, written from the description that training leaves in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gridloom.learn import weights


def publish(
    path: Path, model: str, arrays: Mapping[str, Any], about: Mapping[str, Any], *, features: Sequence[str]
) -> dict[str, Any]:
    """Write weights and their model card, and return the report of the training: the description with the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    weights.save_model(path, model, arrays, about, features=features)
    write_card(path, model, about)
    return {"weights": str(path), "bytes": path.stat().st_size, **about}


def write_card(path: Path, model: str, about: Mapping[str, Any]) -> None:
    """Write ``NAME.md`` beside the weights ``NAME.npz``: what was trained, on what, for what, and how well it does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_card(Path(folder) / "w.npz", "test", {"seed": 0, "figures": {"bound": {"error": 1.5}}})
    ...     print((Path(folder) / "w.md").read_text())
    # test
    <BLANKLINE>
    - **seed**: 0
    - **figures**: bound (error 1.5)
    <BLANKLINE>
    """
    lines = [f"- **{key.replace('_', ' ')}**: {_words(value)}" for key, value in about.items()]
    path.with_suffix(".md").write_text("\n".join([f"# {model}", "", *lines, ""]), encoding="utf-8")


def _words(value: Any) -> str:
    """A value in a line; parts of parts stand in parentheses."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key} ({_words(item)})" if isinstance(item, Mapping) else f"{key} {_words(item)}"
            for key, item in value.items()
        )
    if isinstance(value, list | tuple):
        return " to ".join(map(_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
