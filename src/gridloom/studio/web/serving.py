"""Serving a session on the loopback address, on a port that is free."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from gridloom.errors import MissingExtra, OptionError, install_hint
from gridloom.studio.session import Session
from gridloom.studio.web.guard import new_token

LOOPBACK: Final = "127.0.0.1"
#: Connections at the same time. Far fewer requests are worked on: the others are told that the studio is busy.
_CONNECTIONS: Final = 2000


class StudioServer:
    """A server for one session: ``address`` is what the user opens."""

    def __init__(self, session: Session, port: int = 0) -> None:
        self._uvicorn = _libraries()
        from gridloom.studio.web.server import create_app

        self.session = session
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self.token = new_token()
        self.address = f"http://{LOOPBACK}:{self.port}/?token={self.token}"
        config = self._uvicorn.Config(
            create_app(session, token=self.token, port=self.port), log_level="error", access_log=False,
            limit_concurrency=_CONNECTIONS, timeout_keep_alive=5, ws="websockets-sansio", ws_max_size=65536,
            server_header=False, date_header=False, timeout_graceful_shutdown=2, lifespan="off",
        )  # fmt: skip
        self._server = self._uvicorn.Server(config)

    def run(self, ready: Callable[[str], None] = lambda _address: None) -> None:
        """Serve until Ctrl-C; ``ready`` hears the address once the server listens."""
        started = self._server.startup

        async def start(sockets: list[socket.socket] | None = None) -> None:
            await started(sockets=sockets)
            if self._server.started:
                ready(self.address)

        self._server.startup = start
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()
            self.session.close()

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        """Serve on a thread within the block, which gets the address."""
        thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        thread.start()
        while not self._server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield self.address
        finally:
            self._server.should_exit = True
            thread.join(timeout=10)
            self._socket.close()
            self.session.close()


def _bound(port: int) -> socket.socket:
    """A socket that listens on this machine only; OptionError for a port that is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
    except OSError as error:
        found.close()
        raise OptionError(f"port {port} cannot be used: {error.strerror}; leave --port out", where="--port") from None
    return found


def _libraries() -> Any:
    """The web server's library; MissingExtra where it is not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"the studio needs {error.name}, which is not installed: {install_hint('studio')}") from None
    return uvicorn
