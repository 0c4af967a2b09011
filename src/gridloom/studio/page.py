"""The page of the studio: style and script as its server sends them, or all of it in one file that opens offline.

The script is written as small modules and joined when it is first asked for: a browser that has to ask for forty files,
one import after the other, draws its first picture a third of a second later (measured on a loopback connection).

A shared page is a mapping with its run as one HTML file: it opens offline, steps through cycles and explains the II.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources
from typing import Any, Final

from gridloom.emit.picture.text import escape
from gridloom.emit.report.bundle import bundle, drawing_modules
from gridloom.emit.report.data import script_json
from gridloom.emit.report.template import fill_template, policy, style
from gridloom.sim.trace.clocked import ClockedTrace
from gridloom.studio.views import values
from gridloom.studio.views.values import StudioRun

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


#: Bytes of values that a shared file carries; a longer run is cut.
MOST_BYTES: Final = 8_000_000


def shared_page(scene: dict[str, Any], explanation: dict[str, Any], run: StudioRun | None, mapping: str) -> str:
    """The file as text. Without a run it shows the mapping and explains it."""
    data = {"scene": scene, "explanation": explanation, "run": None if run is None else _run(run), "mapping": mapping}
    return offline_page(escape(f"{scene['title']}: gridloom studio"), script_json(data))


def _run(run: StudioRun) -> dict[str, Any]:
    """The head of a run, and its words in base64, as many cycles as there is room for."""
    head = values.head(run)
    if not isinstance(run.trace, ClockedTrace):
        return {"head": head}
    cycles = min(run.trace.cycles, max(1, MOST_BYTES // (8 * max(1, len(head["rows"])))))
    head |= {"cycles": cycles, "cut": cycles < run.trace.cycles}
    kept = run.trace.values[:cycles]
    words = {part: values.words(run, part) for part in ("results", "memory", "stores")}
    words["values"] = bytes(kept.astype("<i8").tobytes())
    return {"head": head, "words": {part: base64.b64encode(data).decode("ascii") for part, data in words.items()}}
