"""What is stable: public names with their parameters, commands with their options.

``python -m tests.public_api`` adds what is new to `tests/golden/public_api.json`. Nothing is taken out of it but by
hand, after a release that warned (docs/reference/stability.md).
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import gridloom
from gridloom.cli.app import COMMANDS, app

STORED = Path(__file__).resolve().parent / "golden" / "public_api.json"
Api = dict[str, list[str]]


def offered() -> Api:
    """Name of the API or of a command -> its parameters or options."""
    import typer

    group: Any = typer.main.get_command(app)
    found = {f"gl.{name}": parameters(getattr(gridloom, name)) for name in gridloom.__all__}
    for name, _ in COMMANDS:
        options = {text for each in group.get_command(None, name).params for text in (*each.opts, *each.secondary_opts)}
        found[f"gridloom {name}"] = sorted(text for text in options if text.startswith("-"))
    return found


def parameters(item: Any) -> list[str]:
    """The named parameters of a function; of a class, its public members."""
    if inspect.isclass(item):
        return sorted(name for name in dir(item) if not name.startswith("_"))
    return sorted(inspect.signature(item).parameters) if callable(item) else []


def lost(stored: Api, now: Api) -> list[str]:
    """What was stable and is gone."""
    gone = [name for name in stored if name not in now]
    return gone + [
        f"{name}: {part}" for name in stored if name in now for part in stored[name] if part not in now[name]
    ]


def main() -> None:
    stored: Api = json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}
    now = offered()
    merged = {name: sorted({*stored.get(name, ()), *now.get(name, ())}) for name in sorted({*stored, *now})}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(parts)}" for name, parts in merged.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
