"""Nothing of the working folder is executed without consent: two hundred requests try, none succeeds."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import Studio

from gridloom.run import Job, JobOutcome, Store, ask

_RUN = 'from pathlib import Path\nPath(r"{}").touch()\n'
_KERNEL = (
    "import gridloom as gl\n@gl.kernel\ndef k(x: gl.Array[gl.int32], y: gl.Array[gl.int32], n: gl.int32):\n"
    "    for i in gl.loop(n):\n        y[i] = x[i]\n"
)
_MODULE = "import torch\ndef k():\n    return torch.nn.Linear(2, 2), (torch.zeros(1, 2),)\n"
_FILES = (
    "evil.py",
    "torch_evil.py",
    "sub/evil.py",
    "evil.py:k.c",
    "torch_evil.py:k.c",
    "evil.c.py",
    "link.c",
    "link.py",
)
_PARTS = ("", ":k", ":k.c", ":k,unroll=2", ":k.c:k", ":.c", ":k.py:k")
_FORMS = ("{}", "./{}", "sub/../{}", "{},x=1.c")
_EXTRAS: tuple[dict[str, Any], ...] = ({}, {"run_python": False}, {"text": "x = 1\n"}, {"text": _KERNEL})


@pytest.fixture
def marker(studio: Studio) -> Path:
    """A file that any of the Python files leaves behind when it is executed."""
    found = studio.folder / "executed"
    (studio.folder / "sub").mkdir(exist_ok=True)
    texts = {"evil.py": _KERNEL, "torch_evil.py": _MODULE, "sub/evil.py": _KERNEL, "evil.py:k.c": _MODULE,
             "torch_evil.py:k.c": _MODULE, "evil.c.py": _KERNEL}  # fmt: skip
    for name, text in texts.items():
        (studio.folder / name).write_text(_RUN.format(found) + text)
    for name in ("link.c", "link.py"):
        (studio.folder / name).unlink(missing_ok=True)
        (studio.folder / name).symlink_to(studio.folder / "evil.py")
    return found


def requests() -> list[dict[str, Any]]:
    """Requests that name Python in every way that the tests know, none with consent."""
    names = [form.format(f"{file}{part}") for file in _FILES for part in _PARTS for form in _FORMS]
    return [{"source": name, "arch": {"arch": "mesh:3x3"}, "effort": 1, **_EXTRAS[k % len(_EXTRAS)]}
            for k, name in enumerate(names)]  # fmt: skip


def test_two_hundred_requests_execute_nothing(studio: Studio, marker: Path) -> None:
    asked = requests()
    assert len(asked) >= 200
    for body in asked:
        answer = studio.ask("map", body)
        if "id" in answer:
            studio.ended(answer["id"])
        assert not marker.exists(), body


@pytest.mark.parametrize("source", ["evil.py", "torch_evil.py:k", "./evil.py:k", "torch_evil.py:k.c:k", "link.py"])
def test_a_row_of_a_hostile_store_executes_nothing(studio: Studio, marker: Path, source: str) -> None:
    path = studio.folder / "hostile.sqlite"
    path.unlink(missing_ok=True)
    question = ask("map", {"source": source, "arch": "mesh:3x3", "effort": 1})
    with Store(path) as store:
        key = _put(store, question)
    answer = studio.ask("row", {"store": path.name, "key": key})
    if "job" in answer:
        studio.ended(answer["job"]["id"])
    assert "error" in answer and not marker.exists()


@pytest.mark.parametrize(
    "field", [{"seed": "x"}, {"effort": -1}, {"time_limit": 1e9}, {"settings": [1]}, {"seed": 2**80}]
)
def test_a_damaged_row_is_refused_in_words(studio: Studio, field: dict[str, Any]) -> None:
    path = studio.folder / "damaged.sqlite"
    path.unlink(missing_ok=True)
    with Store(path) as store:
        key = _put(store, ask("map", {"source": "fir.c", "arch": "mesh:3x3", **field}))
    assert "the row is damaged" in studio.ask("row", {"store": path.name, "key": key})["error"]


def test_with_consent_the_file_is_executed(studio: Studio, marker: Path) -> None:
    """The planted fault: it is the missing consent that keeps the others from running."""
    answer = studio.ask("map", {"source": "evil.py:k", "arch": {"arch": "mesh:3x3"}, "effort": 1, "run_python": True})
    studio.ended(answer["id"])
    assert marker.exists()
    marker.unlink()


@pytest.mark.parametrize("name", ["Origin", "Host", "X-Gridloom-Token"])
def test_a_header_that_is_given_twice_is_refused(studio: Studio, name: str) -> None:
    port = studio.server.port
    own = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "X-Gridloom-Token": studio.server.token}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("GET", "/api/hello", skip_host=True)
    foreign = {"Origin": "http://evil.example", "Host": "evil.example"}.get(name, own[name])
    for key, value in [(name, foreign), *own.items()]:
        connection.putheader(key, value)
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


def _put(store: Store, question: Job[Any]) -> str:
    """Write a row that asks a question and has no mapping; returns its key."""
    store.put(question, JobOutcome(question.key, "done", value={"status": "mapped"}))
    return question.key
