"""``gridloom train`` and ``gridloom eval`` make, train and measure learned models.

A learned model is an object with ``make_data``, ``train`` and ``evaluate`` (:class:`gridloom.run.work.Model`), found by
its name in the registry; each takes its configuration and a ``WorkFolder`` with folder, limits and progress, and
returns a report of plain data. The commands add nothing but options and printing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom import registry
from gridloom.cli.options import AsJson, DataFolder, LabelStore, Model, Processes, Quiet, Seed, Settings, Weights
from gridloom.cli.outputs import check_folder, check_writable
from gridloom.cli.progress import display, first_interrupt_asks, note
from gridloom.errors import MissingExtra, OptionError, install_hint

if TYPE_CHECKING:
    from gridloom.run.work import Model as LearnedModel
    from gridloom.run.work import WorkFolder

ForArch = Annotated[
    str | None,
    typer.Option("--arch", metavar="ARCH", help="The array that is trained for; default: those of the package's data."),
]
Limit = Annotated[float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop after this many seconds.")]


def train(
    *,
    model: Model,
    make_data: Annotated[
        bool, typer.Option("--make-data", help="Only make the data set that the model learns from.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the weights to this .npz file.")
    ] = None,
    arch: ForArch = None,
    graphs: Annotated[
        list[str] | None,
        typer.Option(
            "--graphs",
            metavar="SOURCE|DIR|SUITE",
            help="Graphs of your own, beside drawn ones; needs --arch; may be repeated.",
        ),
    ] = None,
    labels: LabelStore = None,
    from_weights: Annotated[
        Path | None, typer.Option("--from-weights", metavar="FILE", help="Begin with these weights and adapt them.")
    ] = None,
    folder: DataFolder = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    seed: Seed = 0,
    time_limit: Limit = None,
    jobs: Processes = None,
    settings: Settings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Train a model, or make the data that it learns from.

    Ctrl-C ends the training and keeps what has been reached; --resume continues it.
    """
    check_writable([("--output", output)])
    call = "make_data" if make_data else "train"
    limits = {"resume": resume, "seed": seed, "time_limit": time_limit, "jobs": jobs, "weights": output,
              "labels": labels, "start": from_weights, **_asked(arch, graphs)}  # fmt: skip
    return _call(model, call, folder, limits, settings, as_json)


def _asked(arch: str | None, graphs: list[str] | None) -> dict[str, Any]:
    """The user's array, and graphs that are prepared for it."""
    from gridloom.flow.learning import arch_text, user_graphs

    if arch is None:
        if graphs:
            raise OptionError("needs the array that they are labelled on: --arch ARCH", where="--graphs")
        return {}
    return {"arch": arch_text(arch), "graphs": user_graphs(graphs or [], arch)}


def evaluate(
    *,
    model: Model,
    weights: Weights = None,
    arch: ForArch = None,
    labels: LabelStore = None,
    folder: DataFolder = None,
    seed: Seed = 0,
    time_limit: Limit = None,
    jobs: Processes = None,
    settings: Settings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Measure a model on data it has not seen."""
    limits = {"resume": True, "seed": seed, "time_limit": time_limit, "jobs": jobs, "weights": weights,
              "labels": labels, **_asked(arch, None)}  # fmt: skip
    return _call(model, "evaluate", folder, limits, settings, as_json)


def _call(
    name: str, call: str, folder: Path | None, limits: dict[str, Any], settings: list[str] | None, as_json: bool
) -> int:
    """Call one of a model's functions with the options of the command, and print its report.

    Returns 130 after Ctrl-C, when what was reached has been kept.
    """
    from gridloom.flow.learning import take_in
    from gridloom.flow.options import configure, parse_settings
    from gridloom.run import Store

    loaded = load_model(name)
    given = parse_settings(settings or [])
    config = configure(loaded.config, given, name, what="model")
    _refuse_unread(loaded.config, given, name, call)
    with _extra_of(name), display(1.0) as shown, first_interrupt_asks() as asked:
        work = _work(name, folder, limits, shown.update, asked.is_set)
        if work.labels is not None and work.labels.exists() and hasattr(loaded, "capacity_of"):
            with Store(work.labels) as store:
                take_in(store, loaded)
        report = getattr(loaded, call)(config, work)
    if asked.is_set():
        note(f"stopped early; what there is has been kept in {work.folder}")
    print(json.dumps(report) if as_json else "\n".join(lines(report)))
    return 130 if asked.is_set() else 0


def _refuse_unread(kind: type[Any], given: Mapping[str, Any], name: str, call: str) -> None:
    """Raise OptionError for a setting that only another of the model's functions reads."""
    commands = {"train": "train", "make_data": "train --make-data", "evaluate": "eval"}
    for other, names in getattr(kind, "read_by", {}).items():
        for key in given:
            if key in names and other != call:
                raise OptionError(
                    f"setting {key!r} of model {name!r} is for gridloom {commands[other]}; "
                    f"gridloom {commands[call]} does not read it",
                    where="--set",
                )


def load_model(name: str) -> LearnedModel:
    """The model of a name; MissingExtra when its libraries are not installed."""
    with _extra_of(name):
        model: LearnedModel = registry.entry("models", name).load()
    return model


@contextmanager
def _extra_of(name: str) -> Iterator[None]:
    """Raise MissingExtra for a library of a model that is missing within the block.

    An ImportError of gridloom's own modules is passed on: that would be a mistake of ours.
    """
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.startswith("gridloom"):
            raise
        hint = install_hint(registry.entry("models", name).extra)
        raise MissingExtra(f"model {name!r} needs {error.name}, which is not installed: {hint}") from None


def _work(name: str, folder: Path | None, limits: dict[str, Any], progress: Any, stopped: Any) -> WorkFolder:
    """The folder, limits and callbacks of a call; makes the folder. OptionError where it cannot be made."""
    from gridloom.run.work import WorkFolder

    place = Path.home() / ".cache" / "gridloom" / name if folder is None else folder
    check_folder(place, "--folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{place} cannot be made: {error.strerror}", where="--folder") from None
    return WorkFolder(folder=place, progress=progress, stopped=stopped, **limits)


def lines(report: dict[str, Any], indent: str = "") -> list[str]:
    """A report as lines of text: nested parts are indented, each row is a line."""
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
    """A value of a report as text, floats with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
