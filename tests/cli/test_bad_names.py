"""File names that no system takes are refused in words, wherever a command takes a name."""

from __future__ import annotations

import pytest

LONG = "a" * 300


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("map", f"{LONG}.c", "--arch", "torus:4x4"), f"{LONG}.c: cannot be read: File name too long"),
        (("check", f"{LONG}.json"), f"{LONG}.json: cannot be read: File name too long"),
        (
            ("map", "kernel:axpy", "--arch", "mesh:4x4", "-o", f"{LONG}.json"),
            f"--output: {LONG[:40]}… is longer than a file name may be; name another",
        ),
        (
            ("vpr", "kernel:axpy", "--arch", "mesh:4x4", "-o", LONG),
            f"-o: {LONG[:40]}… is longer than a file name may be; name another",
        ),
        (("rtl", "mesh:2x2", "-o", LONG), f"-o: {LONG[:40]}… is longer than a file name may be; name another"),
    ],
)
def test_name_that_is_too_long_is_refused_in_words(gridloom, command, said):
    result = gridloom(*command)
    assert result.status == 2
    assert said in result.err
