"""What the pages of the report share: assets of the package, templates with slots, tables and the style.

Templates have slots ``{{name}}``. Values go in as HTML: whoever fills a slot with text has to escape it first.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from gridloom.emit.picture import palette
from gridloom.emit.picture.text import escape

_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")


def asset(name: str) -> str:
    """The text of a file that comes with the report."""
    return resources.files("gridloom.emit.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(heading: str, *, summary: str, badges: str, body: str, script: str = "", title: str | None = None) -> str:
    """A whole page: its head, a header with a heading, a line and badges (HTML), and the body (HTML).

    Only ``script`` may run in it. ``title`` is the window's, where it is not the heading.
    """
    fields = {
        "policy": policy(script),
        "title": escape(title or heading),
        "style": style(),
        "heading": escape(heading),
        "summary": escape(summary),
        "badges": badges,
        "body": body,
    }
    return fill_template(asset("page.html"), fields)


def badge(kind: str, mark: str, words: str) -> str:
    """One badge of the header: ``good``, ``bad`` or ``open``, with a mark and words."""
    return f'<li class="badge-{kind}"><span aria-hidden="true">{mark}</span> {escape(words)}</li>'


def fill_template(template: str, fields: MappingABC[str, str]) -> str:
    """The template with every slot filled in one pass: text that looks like a slot stays text.

    KeyError for a slot without a field.

    >>> fill_template("<p>{{a}}</p>{{b}}", {"a": "{{b}}", "b": "x"})
    '<p>{{b}}</p>x'
    """
    return _SLOT.sub(lambda match: fields[match[1]], template)


def policy(script: str) -> str:
    """The page's security policy as an attribute: no script runs but the one given, and nothing is fetched.

    A script is allowed by its SHA-256, which has to be that of the exact text between the tags.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'" if script else "script-src 'none'"
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", scripts, "base-uri 'none'", "form-action 'none'")
    return escape("; ".join(rules))


def style() -> str:
    """The style sheet for light and dark windows."""
    dark = palette.css_rules(dark=True)
    return (
        f"{asset('report.css')}\n{palette.css_rules(dark=False)}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
    )


def rows(facts: Sequence[tuple[str, str]]) -> str:
    """The rows of a table of (name, text) facts."""
    if not facts:
        return '<tr><td colspan="2">none given</td></tr>'
    return "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in facts)


def why_card(why: MappingABC[str, Any] | None) -> str:
    """The card that says what bounds a result and what would help; empty without an explanation as plain data."""
    if why is None:
        return ""
    binding = [
        reason["text"] for reason in why["reasons"] if reason["binding"] and reason["text"] not in why["verdict"]
    ]
    bound = "".join(f"<li>{escape(text)}</li>" for text in binding)
    levers = "".join(f"<li>{escape(lever['change'])}: {escape(lever['gain'])}</li>" for lever in why["levers"])
    parts = [f"<p>{escape(why['verdict'][:1].upper() + why['verdict'][1:])}</p>"]
    parts += [f"<h3>Also bound by</h3><ul>{bound}</ul>"] if bound else []
    parts += [f'<h3>What would help, tried</h3><ul id="levers">{levers}</ul>'] if levers else []
    return f'<section class="card why" aria-labelledby="h-why"><h2 id="h-why">Why</h2>{"".join(parts)}</section>'


def aspect(svg: str) -> float:
    """Width over height of a picture: a broad one gets the whole width of the page.

    It reads the size that ``text.document`` writes.

    >>> aspect('<svg width="300" height="200">')
    1.5
    """
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    return float(size[1]) / float(size[2]) if size else 1.0
