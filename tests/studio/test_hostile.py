"""Hostile requests: foreign origins, path tricks, floods, bodies without end. The server stays up and says no."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from tests.studio.conftest import Studio

httpx = pytest.importorskip("httpx")
pytest.importorskip("websockets")

from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402


def status(studio: Studio, path: str = "/api/hello", **headers: str) -> int:
    given = {"X-Gridloom-Token": studio.server.token, **headers}
    return httpx.get(f"http://127.0.0.1:{studio.server.port}{path}", headers=given).status_code


def test_the_page_is_only_for_those_who_have_the_token(studio: Studio) -> None:
    base = f"http://127.0.0.1:{studio.server.port}"
    assert httpx.get(base + "/").status_code == 403
    assert httpx.get(base + "/?token=wrong").status_code == 403
    assert httpx.get(base + "/api/hello").status_code == 403
    assert httpx.get(studio.address).status_code == 200
    assert status(studio) == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_a_foreign_origin_is_refused_even_with_the_token(studio: Studio, origin: str) -> None:
    assert status(studio, Origin=origin) == 403


def test_a_name_that_was_made_to_point_here_is_refused(studio: Studio) -> None:
    assert status(studio, Host=f"evil.example:{studio.server.port}") == 421


@pytest.mark.parametrize(
    ("origin", "token", "taken"),
    [("own", True, True), ("own", False, False), ("http://evil.example", True, False), (None, True, False)],
)
def test_a_socket_needs_the_origin_and_the_token(studio: Studio, origin: str | None, token: bool, taken: bool) -> None:
    own = f"http://127.0.0.1:{studio.server.port}"
    address = f"ws://127.0.0.1:{studio.server.port}/api/events" + (f"?token={studio.server.token}" if token else "")
    try:
        with connect(address, origin=own if origin == "own" else origin, proxy=None):  # type: ignore[arg-type]
            opened = True
    except InvalidStatus:
        opened = False
    assert opened == taken


def test_the_server_listens_on_this_machine_only(studio: Studio) -> None:
    assert studio.server._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "/page/../../../../etc/passwd",
        "/page/%2e%2e/%2e%2e/session.py",
        "/drawing/..%2f..%2fpage.py",
        "/page/session.py",
    ],
)
def test_no_file_but_the_pages_own_is_served(studio: Studio, path: str) -> None:
    assert status(studio, path) in (403, 404)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "a\0b"])
def test_files_outside_the_folder_are_refused_in_words(studio: Studio, name: str) -> None:
    answer = studio.client.get("/api/file", params={"name": name})
    assert answer.status_code == 400 and "root:" not in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("loops", {"name": "../x.c", "text": "int x;"}),
        ("loops", {"name": "x.c"}),
        ("array", {"arch": "/etc/passwd"}),
        ("array", {"yaml": "a: &a [*a, *a]"}),
        ("array", {"arch": "torus:4x4", "more": 1}),
        ("map", {"source": "/etc/passwd", "arch": {"arch": "torus:4x4"}}),
        ("map", {"source": "kernels.py:scale", "arch": {"arch": "torus:4x4"}}),
        ("map", {"source": "fir.c", "arch": {"arch": "torus:4x4"}, "time_limit": 1e9}),
        ("map", {"source": "fir.c", "arch": {"arch": "torus:99999x99999"}}),
        ("save", {"name": "../../evil.json", "text": "{}"}),
        ("save", {"name": "evil.sh", "text": "rm -rf /"}),
        ("open", {"name": "../../etc/passwd"}),
        ("share", {"mapping": "nothing"}),
        ("change/nothing", {"change": {"kind": "move"}}),
        ("row", {"store": "/etc/passwd", "key": "x"}),
    ],
)
def test_bad_requests_are_refused_with_one_sentence(studio: Studio, path: str, body: Any) -> None:
    answer = studio.client.post(f"/api/{path}", json=body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"} and "Traceback" not in answer.text


def test_a_body_that_is_too_long_is_refused_before_it_is_read(studio: Studio) -> None:
    answer = studio.client.post("/api/loops", content=b"x" * (17 * 1024 * 1024))
    assert answer.status_code == 413


def test_a_body_without_end_is_cut_off(studio: Studio) -> None:
    with socket.create_connection(("127.0.0.1", studio.server.port)) as line:
        head = f"POST /api/loops HTTP/1.1\r\nHost: 127.0.0.1:{studio.server.port}\r\nTransfer-Encoding: chunked\r\n"
        line.sendall(f"{head}X-Gridloom-Token: {studio.server.token}\r\n\r\n".encode())
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(40):
                line.sendall(chunk)
            answer = line.recv(100)
        except OSError:
            answer = b"HTTP/1.1 413"
    assert b"413" in answer
    assert status(studio) == 200


def test_a_python_text_is_listed_without_running_it(studio: Studio) -> None:
    text = (studio.folder / "kernels.py").read_text(encoding="utf-8")
    rows = studio.ask("loops", {"name": "kernels.py", "text": text})
    assert [row["source"] for row in rows] == ["kernels.py:scale"]
    assert not (studio.folder / "kernels.ran").exists()


def test_a_thousand_requests_at_once_leave_the_server_up(studio: Studio) -> None:
    port = studio.server.port

    async def ask(k: int) -> int:
        path = "/api/file?name=fir.c" if k % 2 else "/api/file?name=../../etc/passwd"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Gridloom-Token: {studio.server.token}\r\n"
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"{head}Connection: close\r\n\r\n".encode())
            line = await asyncio.wait_for(reader.readline(), 60)
            writer.close()
            return int(line.split()[1])
        except OSError:
            return 0

    async def flood() -> list[int]:
        return await asyncio.gather(*(ask(k) for k in range(1000)))

    found = asyncio.run(flood())
    assert set(found) <= {200, 400, 503, 0}
    assert found.count(200) > 0 and found.count(400) > 0
    assert status(studio) == 200
