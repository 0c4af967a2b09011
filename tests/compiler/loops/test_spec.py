"""``FILE.c:FUNCTION,key=value,...``: what a text says, and what a command's options make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.compiler.loops.spec import LoopSpec, is_loop, is_part, parse, with_options
from gridloom.errors import OptionError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("a.c", LoopSpec(path=Path("a.c"))),
        ("a.c:f", LoopSpec(path=Path("a.c"), function="f")),
        ("d/a.c:", LoopSpec(path=Path("d/a.c"))),
        ("a.c:unroll=2", LoopSpec(path=Path("a.c"), unroll=2)),
        (
            "a.c:f, loop=1,flatten=true,memory=streams,size.x=9,size.y=4",
            LoopSpec(path=Path("a.c"), function="f", loop=1, flatten=True, memory="streams", sizes={"x": 9, "y": 4}),
        ),
        ("a.py:f,unroll=3,size.x=9", LoopSpec(path=Path("a.py"), function="f", unroll=3, sizes={"x": 9})),
        ("a.py:memory=arrays", LoopSpec(path=Path("a.py"), memory="arrays")),
    ],
)
def test_a_text_names_a_loop(text: str, spec: LoopSpec):
    assert parse(text) == spec


C_KEYS = (
    "expected loop=N, flatten=true|false, unroll=1..64|auto, jam=1..16, interchange=true|false, reduced=true|false, "
    "distinct=true|false, memory=arrays|streams, size.ARRAY=N or range.NAME=LOW..HIGH"
)
PY_KEYS = "expected unroll=1..64|auto, reduced=true|false, memory=arrays|streams, size.ARRAY=N or range.NAME=LOW..HIGH"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.c:f,unrol=2", f"'a.c:f,unrol=2': found 'unrol=2'; {C_KEYS}"),
        ("a.c:f,unroll=0", f"'a.c:f,unroll=0': found 'unroll=0'; {C_KEYS}"),
        ("a.c:f,unroll=65", f"'a.c:f,unroll=65': found 'unroll=65'; {C_KEYS}"),
        ("a.c:f,loop=-1", f"'a.c:f,loop=-1': found 'loop=-1'; {C_KEYS}"),
        ("a.c:f,g", f"'a.c:f,g': found 'g'; {C_KEYS}"),
        ("a.c:size.=3", f"'a.c:size.=3': found 'size.=3'; {C_KEYS}"),
        ("a.c:size.x=0", f"'a.c:size.x=0': found 'size.x=0'; {C_KEYS}"),
        ("a.c:loop=1,loop=2", "'a.c:loop=1,loop=2': loop is given twice"),
        ("a.c:size.x=1,size.x=2", "'a.c:size.x=1,size.x=2': size.x is given twice"),
        ("a.c:1f", "'a.c:1f': '1f' is no name of a function"),
        ("a.py:f,loop=1", f"'a.py:f,loop=1': found 'loop=1'; {PY_KEYS}"),
        ("a.py:f,flatten=true", f"'a.py:f,flatten=true': found 'flatten=true'; {PY_KEYS}"),
    ],
)
def test_wrong_texts(text: str, message: str):
    with pytest.raises(OptionError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_a_file_whose_name_has_a_colon_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("b.c:f.c").write_text("")
    assert parse("b.c:f.c") == LoopSpec(path=Path("b.c:f.c"))
    assert is_loop("b.c:f.c") and not is_part("b.c:f.c")
    assert is_part("b.c:f") and not is_part("b.c") and not is_loop("kernel:fir")


def test_options_join_the_text():
    assert with_options("a.dot") == "a.dot"
    assert with_options("a.c:g,unroll=2") == "a.c:g,unroll=2"
    assert with_options("a.c:unroll=2", function="f", loop=0) == "a.c:f,unroll=2,loop=0"
    assert with_options("a.c:f", function="f", flatten=True, unroll=4, sizes=["x=2"]) == (
        "a.c:f,flatten=true,unroll=4,size.x=2"
    )
    assert with_options("a.py", function="f") == "a.py:f"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "kernel:fir",
            {"unroll": 2},
            "'kernel:fir' takes none of --function, --loop, --flatten, --unroll, --distinct, --size and "
            "--assume-range; they are for loops of *.c and *.mlir and kernels of *.py",
        ),
        ("a.c:g", {"function": "f"}, "--function: 'a.c:g' names function 'g' already"),
        ("a.c:unroll=2", {"unroll": 2}, "'a.c:unroll=2,unroll=2': unroll is given twice"),
        ("a.c", {"sizes": ["x"]}, "--size: expected ARRAY=WORDS, found 'x'"),
        ("a.c", {"sizes": ["x=y"]}, f"'a.c:size.x=y': found 'size.x=y'; {C_KEYS}"),
        ("a.c", {"function": "f,loop=1"}, "'a.c:f,loop=1,loop=0': loop is given twice"),
        ("a.py", {"flatten": True}, f"'a.py:flatten=true': found 'flatten=true'; {PY_KEYS}"),
    ],
)
def test_options_that_do_not_fit(text: str, options: dict, message: str):
    with pytest.raises(OptionError) as caught:
        with_options(text, **({"loop": 0} if options.get("function") == "f,loop=1" else {}), **options)
    assert str(caught.value) == message


def test_ranges_of_values_are_part_of_the_text() -> None:
    text = with_options("f.c:loop=1", ranges=["x=-5..5", "*=0..9"])
    assert text == "f.c:loop=1,range.x=-5..5,range.*=0..9"
    assert parse(text).ranges == {"x": (-5, 5), "*": (0, 9)}
    with pytest.raises(OptionError, match=r"range\.x is given twice"):
        parse("f.c:range.x=1..2,range.x=1..3")
