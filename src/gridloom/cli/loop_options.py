"""The options that pick a loop of a C or Python file: the same wherever a SOURCE is taken."""

from __future__ import annotations

from typing import Annotated

import typer

Function = Annotated[str | None, typer.Option("--function", help="C, Python: the function that holds the loop.")]
Loop = Annotated[int | None, typer.Option("--loop", min=0, help="C: which of its loops, from 0; gridloom show FILE.c.")]
Flatten = Annotated[bool, typer.Option("--flatten", help="C: run the two innermost levels of a nest as one loop.")]
Unroll = Annotated[int | None, typer.Option("--unroll", help="C, Python: copies of the body an iteration.")]
Size = Annotated[list[str] | None, typer.Option("--size", help="C, Python: ARRAY=N, words of an array.")]
