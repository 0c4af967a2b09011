"""When the studio says that it is there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from gridloom.studio.session import Session
from gridloom.studio.web.serving import LOOPBACK, StudioServer


def test_the_address_is_told_once_a_client_can_connect(tmp_path: Path) -> None:
    server = StudioServer(Session(tmp_path, store=tmp_path / "history.sqlite", workers=1))
    told: list[tuple[str, int]] = []

    def ready(address: str) -> None:
        with socket.socket() as client:
            told.append((address, client.connect_ex((LOOPBACK, server.port))))
        server._server.should_exit = True

    server.run(ready)
    assert told == [(server.address, 0)]
