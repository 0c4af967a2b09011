"""``gridloom why`` explains a result: what bounds it, and what would help, tried before it is offered."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gridloom.cli.options import AsJson, Effort, Mapper, Quiet, Seed
from gridloom.cli.progress import display, first_interrupt_asks
from gridloom.errors import OptionError


def why(
    *,
    source: Annotated[str, typer.Argument(metavar="MAPPING|SOURCE", help="A mapping file, or a graph to be mapped.")],
    arch: Annotated[str | None, typer.Option("--arch", metavar="ARCH", help="The array, for a SOURCE.")] = None,
    mapper: Mapper = "auto",
    ii: Annotated[int | None, typer.Option("--ii", metavar="N", help="Explain what forbids this II.")] = None,
    seed: Seed = 0,
    effort: Effort = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Try by short searches what no bound can judge.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Say what bounds the II of a mapping, or forbids one, and what would change that.

    Each change that is listed was tried: by counting where a bound binds, else by a short search. A SOURCE is mapped
    first. The exit status is 1 when it has no mapping.
    """
    from gridloom.flow.files import kind_of, load_mapping
    from gridloom.flow.request import Request
    from gridloom.flow.run import run
    from gridloom.flow.why.explanation import explain

    saved = load_mapping(source) if kind_of(source) == "mapping" else None
    if (saved is None) == (arch is None):
        raise OptionError("a SOURCE needs one" if saved is None else "a mapping has its own", where="--arch")
    with display() as shown, first_interrupt_asks() as asked:
        request = Request(
            source=saved.dfg if saved else source,
            arch=saved.arch if saved else arch or "",
            mapper=mapper,
            ii=ii,
            seed=seed,
            effort=effort,
            progress=shown.search,
            interrupted=asked.is_set,
        )
        trial = request if search else None
        if saved is not None:
            told = explain(saved.dfg, saved.arch, saved, trial=trial)
        else:
            result = run(request)
            told = explain(
                result.dfg, result.arch, result.mapping, result.failure, ii=ii, lines=result.lines, trial=trial
            )
    print(json.dumps(told.to_dict()) if as_json else told)
    return 0 if saved is not None or told.is_mapped else 1
