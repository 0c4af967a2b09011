"""Reference pages that follow from the code: commands, Python names, ops, names of the registry, pictures of targets.

``python -m tests.reference_pages`` writes them; with ``--check`` it names those that differ and ends with 1.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import gridloom
from gridloom import registry
from gridloom.cli.app import COMMANDS, app
from gridloom.dfg.ops import ANY_ARITY, OP_TABLE

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"
#: Kind of array -> the array that its picture shows.
PICTURES = {
    "grid": "chess:3x3", "modulo": "torus:3x3", "rows": "vpcma:3x4", "streaming": "streaming-engine:8",
    "dataflow": "rdu:3x3",
}  # fmt: skip
_DOMAINS = {
    "i32": "32-bit integers", "f32": "singles; plain names are aliases of the float ops",
    "cma24": "24-bit words with carry", "tensor": "tensors",
}  # fmt: skip
_GROUPS = {
    "archs": "Arrays", "mappers": "Mappers", "readers": "Readers of files", "kernels": "Kernels",
    "networks": "Networks", "suites": "Suites", "models": "Learned models", "costs": "Cost models",
}  # fmt: skip


def cell(text: object) -> str:
    """A text as it stands in a cell of a table."""
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").replace("<", "&lt;").strip()


def page(title: str, intro: str, body: str) -> str:
    """A page with its mark, so that nobody edits it by hand."""
    mark = "<!-- Written by `python -m tests.reference_pages`. -->"
    return f"# {title}\n\n{mark}\n\n{intro}\n\n<!-- generated -->\n{body.strip()}\n<!-- end -->\n"


def commands_page() -> str:
    """Every command with its arguments, options, defaults and example."""
    import typer

    group: Any = typer.main.get_command(app)
    parts = []
    task = ""
    for name, declared in COMMANDS:
        if declared.task != task:
            task = declared.task
            parts.append(f"## {task}")
        command = group.get_command(None, name)
        rows = [option_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
        example = f"gridloom {name} {declared.example}".rstrip()
        table = "\n".join(["| argument or option | meaning | default |", "| --- | --- | --- |", *rows])
        parts.append(f"### gridloom {name}\n\n{inspect.cleandoc(command.help or '')}\n\n    {example}\n\n{table}")
    intro = (
        "[The command line](../cli.md) explains sources, arrays, exit statuses and JSON. "
        "`gridloom COMMAND -h` prints the same."
    )
    return page("Commands", intro, "\n\n".join(parts))


def option_row(parameter: Any) -> str:
    """The row of an argument or an option."""
    is_option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts)) if is_option else ""
    meta = parameter.metavar or (parameter.name.upper() if not is_option else "")
    shown = names or f"`{meta}`"
    if is_option and not parameter.is_flag and meta:
        shown += f" `{meta}`"
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    value = "needed" if parameter.required else f"`{default}`" if plain else ""
    return f"| {shown.replace('|', chr(92) + '|')} | {cell(getattr(parameter, 'help', '') or '')} | {value} |"


def python_page() -> str:
    """Every public name with its signature and docstring."""
    parts = []
    for name in gridloom.__all__:
        item = getattr(gridloom, name)
        if name == "__version__" or not (inspect.isclass(item) or callable(item)):
            continue
        text = inspect.cleandoc(inspect.getdoc(item) or "")
        members = methods(item) if inspect.isclass(item) else ""
        parts.append(f"## gl.{name}\n\n```text\n{signature(name, item)}\n\n{text}{members}\n```")
    intro = (
        "`import gridloom as gl`. [The Python API](../api.md) shows how they work together; "
        "[stability](stability.md) says what is kept."
    )
    return page("Python names", intro, "\n\n".join(parts))


def signature(name: str, item: Any) -> str:
    """The call of a function or of a class, without quotes around types and without addresses."""
    try:
        text = str(inspect.signature(item))
    except (TypeError, ValueError):
        return f"gl.{name}"
    text = re.sub(r" at 0x[0-9a-f]+", "", text).replace("'", "")
    # The order of a set differs from run to run.
    return f"gl.{name}" + re.sub(r"\{([\w, ]+)\}", lambda found: f"{{{', '.join(sorted(found[1].split(', ')))}}}", text)


def methods(item: type) -> str:
    """The public methods and properties of a class, one line each."""
    rows = []
    for name, member in sorted(vars(item).items()):
        doc = inspect.getdoc(member)
        if name.startswith("_") or not doc or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        call = (
            name
            if isinstance(member, property)
            else f"{name}{'()' if len(inspect.signature(member).parameters) < 2 else '(...)'}"
        )
        rows.append(f"\n  .{call}: {doc.splitlines()[0]}")
    return "\n" + "".join(rows) if rows else ""


def ops_page() -> str:
    """Every op of every domain: operands, class, result, whether hardware computes it."""
    parts = []
    for domain, words in _DOMAINS.items():
        rows = ["| op | operands | class | result | in hardware |", "| --- | --- | --- | --- | --- |"]
        for name, op in sorted(OP_TABLE[domain].items()):
            count = "any" if op.arity == ANY_ARITY else str(op.arity)
            result, hardware = ("yes" if fact else "no" for fact in (op.result, op.in_hardware))
            rows.append(f"| `{name}` | {count} | `{op.op_class}` | {result} | {hardware} |")
        parts.append(f"## {domain}\n\nValues: {words}.\n\n" + "\n".join(rows))
    intro = (
        "The class of an op says which tiles can run it and how long it takes ([arrays](../arrays.md)). "
        "An op that is not in hardware maps and simulates; `gridloom rtl` refuses it."
    )
    return page("Ops", intro, "\n\n".join(parts))


def names_page() -> str:
    """Every name of the registry with its line."""
    parts = []
    for group, title in _GROUPS.items():
        rows = [f"| `{name}` | {cell(registry.entry(group, name).summary)} |" for name in registry.names(group)]
        parts.append(f"## {title}\n\n" + "\n".join(["| name | what it is |", "| --- | --- |", *rows]))
    intro = "What `gridloom list GROUP` prints. [Plug-ins](../extending.md) add names."
    return page("Names", intro, "\n\n".join(parts))


def stability_page() -> str:
    """The page on stability with its list of public names."""
    text = (DOCUMENTS / "reference" / "stability.md").read_text(encoding="utf-8")
    listed = ", ".join(f"`{name}`" for name in gridloom.__all__)
    return re.sub(r"(<!-- generated -->\n).*?(<!-- end -->)", rf"\g<1>{listed}\n\g<2>", text, flags=re.DOTALL)


def texts() -> dict[Path, str]:
    """Path -> text of every page and picture."""
    pages = {
        "commands": commands_page(),
        "python": python_page(),
        "ops": ops_page(),
        "names": names_page(),
        "stability": stability_page(),
    }
    drawn = {kind: gridloom.show(arch).svg for kind, arch in PICTURES.items()}
    return {
        **{DOCUMENTS / "reference" / f"{name}.md": text for name, text in pages.items()},
        **{DOCUMENTS / "figures" / f"target-{kind}.svg": svg.rstrip("\n") + "\n" for kind, svg in drawn.items()},
    }


def differing() -> list[Path]:
    """The pages and pictures that are not what the code gives."""
    return [path for path, text in texts().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    changed = differing()
    for path in changed:
        if "--check" in sys.argv[1:]:
            print(f"differs: {path.relative_to(DOCUMENTS)}")
        else:
            path.write_text(texts()[path], encoding="utf-8")
    return int(bool(changed) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
