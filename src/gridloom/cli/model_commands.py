"""``gridloom train`` and ``gridloom eval``: learned models, their data and their figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom import registry
from gridloom.cli.outputs import check_writable
from gridloom.cli.progress import display, first_interrupt_asks, note
from gridloom.errors import MissingExtra, OptionError

if TYPE_CHECKING:
    from gridloom.run.work import Model, Work

_MODEL = typer.Argument(metavar="MODEL", help="A model's name; `gridloom list models` shows them.")
_FOLDER = typer.Option("--folder", help="Data sets and checkpoints; default: ~/.cache/gridloom/MODEL.")
_SETTINGS = typer.Option("--set", help="A setting of the model, key=value; may be given several times.")
_JOBS = typer.Option("--jobs", help="Processes; default: one for each core.")
_LIMIT = typer.Option("--time-limit", help="Seconds.")


def train(
    model: Annotated[str, _MODEL],
    make_data: Annotated[bool, typer.Option("--make-data", help="Make the data set, do not train.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the weights here (.npz).")] = None,
    folder: Annotated[Path | None, _FOLDER] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    time_limit: Annotated[float | None, _LIMIT] = None,
    jobs: Annotated[int | None, _JOBS] = None,
    settings: Annotated[list[str] | None, _SETTINGS] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Train a model, or make the data it learns from. Ctrl-C keeps what there is; --resume goes on."""
    check_writable([("--output", output)])
    call = "make_data" if make_data else "train"
    limits = {"resume": resume, "seed": seed, "time_limit": time_limit, "jobs": jobs, "weights": output}
    return _call(model, call, folder, limits, settings, as_json)


def evaluate(
    model: Annotated[str, _MODEL],
    weights: Annotated[Path | None, typer.Option("--weights", help="Other weights than the shipped ones.")] = None,
    folder: Annotated[Path | None, _FOLDER] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    time_limit: Annotated[float | None, _LIMIT] = None,
    jobs: Annotated[int | None, _JOBS] = None,
    settings: Annotated[list[str] | None, _SETTINGS] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Measure a model on data it has not seen."""
    limits = {"resume": True, "seed": seed, "time_limit": time_limit, "jobs": jobs, "weights": weights}
    return _call(model, "evaluate", folder, limits, settings, as_json)


def _call(
    name: str, call: str, folder: Path | None, limits: dict[str, Any], settings: list[str] | None, as_json: bool
) -> int:
    from gridloom.flow.options import configure, parse_settings

    loaded = load_model(name)
    config = configure(loaded.config, parse_settings(settings or []), name, what="model")
    with display(1.0) as shown, first_interrupt_asks() as asked:
        work = _work(name, folder, limits, shown.update, asked.is_set)
        report = getattr(loaded, call)(config, work)
    if asked.is_set():
        note(f"stopped early; what there is has been kept in {work.folder}")
    print(json.dumps(report) if as_json else "\n".join(lines(report)))
    return 130 if asked.is_set() else 0


def load_model(name: str) -> Model:
    """The model of a name; MissingExtra when its libraries are not installed."""
    entry = registry.entry("models", name)
    try:
        model: Model = entry.load()
    except ImportError as error:
        if (error.name or "").startswith("gridloom"):
            raise
        raise MissingExtra(
            f"model {name!r} needs {error.name}, which is not installed: pip install 'gridloom[{entry.extra}]'"
        ) from None
    return model


def _work(name: str, folder: Path | None, limits: dict[str, Any], progress: Any, stopped: Any) -> Work:
    from gridloom.run.work import Work

    place = Path.home() / ".cache" / "gridloom" / name if folder is None else folder
    if place.exists() and not place.is_dir():
        raise OptionError(f"{place} is a file; expected a folder", where="--folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{place} cannot be made: {error.strerror}", where="--folder") from None
    return Work(folder=place, progress=progress, stopped=stopped, **limits)


def lines(report: dict[str, Any], indent: str = "") -> list[str]:
    """A report as lines of text: nested parts indented, rows as a line each."""
    text: list[str] = []
    for key, value in report.items():
        if isinstance(value, dict):
            text += [f"{indent}{key}:", *lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            text.append(f"{indent}{key}:")
            text += [indent + "  " + "  ".join(f"{k} {_word(v)}" for k, v in row.items()) for row in value]
        else:
            text.append(f"{indent}{key}: {_word(value)}")
    return text


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
