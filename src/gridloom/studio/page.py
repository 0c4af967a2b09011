"""The page of the studio: style and script as its server sends them, or all of it in one file that opens offline.

The script is written as small modules and joined when it is first asked for: a browser that has to ask for forty files,
one import after the other, draws its first picture a third of a second later (measured on a loopback connection).
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from gridloom.emit.report.bundle import bundle, drawing_modules
from gridloom.emit.report.template import fill_template, policy, style

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


@cache
def script() -> str:
    """The script of the page that the server sends."""
    return bundle("main.js", {**drawing_modules(), **modules()})


def served_file(name: str) -> tuple[str, str] | None:
    """(text, type) of a file that the page loads by its name; None where there is none."""
    if name == "studio.css":
        return sheet(), TYPES[".css"]
    return (script(), TYPES[".js"]) if name == "studio.js" else None


def served_page() -> str:
    """The page as the server sends it."""
    fields = {
        "policy": "",
        "title": "gridloom studio",
        "style": '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/page/studio.css">',
        "data": "",
        "script": '<script type="module" src="/page/studio.js"></script>',
    }
    return fill_template(asset("index.html"), fields)


def offline_page(title: str, data: str) -> str:
    """The page as one file: style, script and data inside, and nothing that is fetched.

    ``title`` is escaped text, ``data`` JSON that may stand in a script element.
    """
    joined = bundle("shared.js", {**drawing_modules(), **modules()})
    fields = {
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy(joined)}">',
        "title": title,
        "style": f"<style>\n{sheet()}\n</style>",
        "data": f'<script type="application/json" id="data">{data}</script>',
        "script": f"<script>{joined}</script>",
    }
    return fill_template(asset("index.html"), fields)
