"""docs/architecture.md: its table of hooks is that of the registry, and its code map has every package."""

from __future__ import annotations

import re
from importlib import import_module

from tests.target_pages import PACKAGE, REPOSITORY, section

from gridloom.registry import BUILT_IN, HOOKS

TEXT = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| `([\w/.]+)` \| ([^|]+) \|$", flags=re.MULTILINE)


def table(text: str) -> dict[str, dict[tuple[str, str], str]]:
    """Hook -> (target, key) -> the file that asks for it, from a table of hooks."""
    return {
        hook: dict.fromkeys(re.findall(r"(\w+) \(`([^`]+)`\)", declared), asked)
        for hook, asked, declared in ROW.findall(text)
    }


def declarations() -> dict[str, set[tuple[str, str]]]:
    """Hook -> (target, key) for every declaration of this package."""
    found: dict[str, set[tuple[str, str]]] = {hook: set() for hook in HOOKS}
    for target in (import_module(place).TARGET for place in BUILT_IN):
        for hook, places in target.hooks.items():
            found[hook] |= {(target.name, key) for key in places}
    return found


def unmapped(text: str) -> list[str]:
    """Packages and modules at the top of gridloom that no heading of the code map names."""
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^### (.*)$", text, flags=re.MULTILINE))))
    units = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return sorted(units - named - {"__init__"})


def test_the_table_of_hooks_is_that_of_the_registry() -> None:
    found = {hook: set(rows) for hook, rows in table(section(TEXT, "Hooks")).items()}
    assert found == declarations()
    assert list(found) == list(HOOKS)


def test_every_hook_is_asked_for_where_the_table_says() -> None:
    for hook, rows in table(section(TEXT, "Hooks")).items():
        for asked in set(rows.values()):
            assert f'"{hook}"' in (PACKAGE / asked).read_text(encoding="utf-8"), (hook, asked)


def test_the_code_map_has_every_package() -> None:
    assert unmapped(section(TEXT, "Code map")) == []


def test_every_invariant_names_the_test_that_keeps_it() -> None:
    rules = re.findall(
        r"^\*\*Invariant:\*\* (.*?)(?=\n\n)", section(TEXT, "Invariants"), flags=re.MULTILINE | re.DOTALL
    )
    assert len(rules) > 8
    assert [rule for rule in rules if "`tests/" not in rule] == []


def test_faults_of_the_page_are_found() -> None:
    row = "| `rules` | style | judges | `verify/legality.py` | dataflow (`elastic`), grid (`static`) |"
    assert table(row) == {
        "rules": {("dataflow", "elastic"): "verify/legality.py", ("grid", "static"): "verify/legality.py"}
    }
    assert "sim" in unmapped("### `verify`\n\n`sim` is in the text alone.\n")
