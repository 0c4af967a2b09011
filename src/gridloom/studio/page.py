"""The page of the studio: its files, served one by one, or joined into one file that opens offline."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from gridloom.emit.report.bundle import bundle, drawing_modules
from gridloom.emit.report.template import filled, policy, style

#: Types of the files that the page is made of.
TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@cache
def modules() -> dict[str, str]:
    """The studio's own modules by file name."""
    found: dict[str, str] = {}
    folders = [resources.files("gridloom.studio").joinpath("assets")]
    for folder in folders:
        for item in folder.iterdir():
            if item.is_dir():
                folders.append(item)
            elif item.name.endswith(".js"):
                found[item.name] = item.read_text(encoding="utf-8")
    return found


@cache
def asset(name: str) -> str:
    """The text of a file beside the modules."""
    return resources.files("gridloom.studio").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def sheet() -> str:
    """The style sheet: the report's, and what the studio adds."""
    return style() + asset("studio.css")


def served_file(name: str) -> tuple[str, str] | None:
    """(text, type) of a file that the page loads by its name; None where there is none."""
    if name == "studio.css":
        return sheet(), TYPES[".css"]
    text = modules().get(name) or drawing_modules().get(name)
    return None if text is None else (text, TYPES[".js"])


def served_page() -> str:
    """The page as the server sends it: it imports its modules."""
    fields = {
        "policy": "",
        "title": "gridloom studio",
        "style": '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/page/studio.css">',
        "data": "",
        "script": '<script type="module" src="/page/main.js"></script>',
    }
    return filled(asset("index.html"), fields)


def offline_page(title: str, data: str) -> str:
    """The page as one file: style, script and data inside, and nothing that is fetched.

    ``title`` is escaped text, ``data`` JSON that may stand in a script element.
    """
    script = bundle("shared.js", {**drawing_modules(), **modules()})
    fields = {
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">',
        "title": title,
        "style": f"<style>\n{sheet()}\n</style>",
        "data": f'<script type="application/json" id="data">{data}</script>',
        "script": f"<script>{script}</script>",
    }
    return filled(asset("index.html"), fields)
