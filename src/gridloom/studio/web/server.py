"""The server of the studio: FastAPI on the loopback address, one page, a few questions, and a socket for events.

Routes are thin: each calls one method of the :class:`~gridloom.studio.session.Session`. A mistake of the user comes
back as status 400 with one sentence. Work runs on a few threads, so that the server answers while others wait; beyond
a number of waiting requests it says that it is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response

from gridloom.errors import GridloomError
from gridloom.studio.page import served_file, served_page
from gridloom.studio.requests import (
    ArrayAsked,
    ChangeAsked,
    FinishAsked,
    LoopsAsked,
    MapAsked,
    RowAsked,
    RunAsked,
    SaveAsked,
    ShareAsked,
)
from gridloom.studio.session import Session, plain_json
from gridloom.studio.views import values
from gridloom.studio.web.guard import Guard

T = TypeVar("T")

#: Requests that are worked on at the same time, and those that may wait for it.
_AT_ONCE: Final = 4
_WAITING: Final = 64
#: Seconds that a question may take before the page is told that it takes too long.
_SECONDS: Final = 60.0
#: Events that wait for a slow page; older frames make room for newer ones.
_EVENTS: Final = 200


class Busy(Exception):
    """Too many requests wait already."""


class Plain(JSONResponse):
    """JSON without infinities, which browsers do not read."""

    def render(self, content: Any) -> bytes:
        """Return the text of an answer."""
        return plain_json(content)


class WorkerThreads:
    """A few threads for questions that take time; what does not fit in is refused at once."""

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        """Run a function on a thread and return what it returns; Busy or TimeoutError where that is not possible."""
        if self._waiting >= _WAITING:
            raise Busy
        self._waiting += 1
        try:
            async with asyncio.timeout(_SECONDS):
                async with self._gate:
                    return await asyncio.to_thread(function)
        finally:
            self._waiting -= 1


class Events:
    """The pages that listen, each with a queue of its own."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[dict[str, Any]]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event to every page; called from any thread."""
        with self._lock:
            loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._spread, event)

    def _spread(self, event: dict[str, Any]) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[asyncio.Queue[dict[str, Any]]]:
        """A queue that hears of events within the block."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_EVENTS)
        with self._lock:
            self._loop = asyncio.get_running_loop()
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)


def create_app(session: Session, *, token: str, port: int) -> Guard:
    """The application: the routes of a session behind the guard."""
    app = FastAPI(
        title="gridloom studio", docs_url=None, redoc_url=None, openapi_url=None, default_response_class=Plain
    )
    work, events = WorkerThreads(), Events()
    session.tell = events.tell
    _refusals(app)
    _pages(app)
    _questions(app, session, work)
    _changes(app, session, work)
    _runs(app, session, work)
    _socket(app, events)
    return Guard(app, token=token, port=port)


def _refusals(app: FastAPI) -> None:
    """What goes wrong, as answers: one sentence under ``error``."""

    @app.exception_handler(GridloomError)
    async def mistaken(_request: Any, error: Exception) -> Response:
        return Plain({"error": str(error)}, status_code=400)

    @app.exception_handler(RequestValidationError)
    async def malformed(_request: Any, error: Exception) -> Response:
        first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return Plain({"error": f"{where or 'request'}: {first.get('msg', 'malformed')}"}, status_code=400)

    @app.exception_handler(Busy)
    async def busy(_request: Any, _error: Exception) -> Response:
        return Plain({"error": "the studio is busy; try again"}, status_code=503)

    @app.exception_handler(TimeoutError)
    async def late(_request: Any, _error: Exception) -> Response:
        return Plain(
            {"error": f"this takes more than {_SECONDS:.0f} seconds; the studio has given it up"}, status_code=503
        )


def _pages(app: FastAPI) -> None:
    """The page and its files."""

    @app.get("/")
    async def page() -> Response:
        return HTMLResponse(served_page())

    @app.get("/page/{name}")
    async def file(name: str) -> Response:
        found = served_file(name)
        return Response(status_code=404) if found is None else Response(found[0], media_type=found[1])


def _questions(app: FastAPI, session: Session, work: WorkerThreads) -> None:
    """What the page asks without changing anything."""

    @app.get("/api/hello")
    async def hello() -> Any:
        return await work(session.hello)

    @app.get("/api/files")
    async def files() -> Any:
        return await work(session.workspace.files)

    @app.get("/api/file")
    async def file(name: str) -> Any:
        return {"name": name, "text": await work(lambda: session.workspace.read(name))}

    @app.post("/api/loops")
    async def loops(asked: LoopsAsked) -> Any:
        return await work(lambda: session.loops(asked.name, asked.text))

    @app.post("/api/array")
    async def array(asked: ArrayAsked) -> Any:
        return await work(lambda: session.array(asked))

    @app.get("/api/scene/{key}")
    async def scene(key: str) -> Any:
        return Response(await work(lambda: session.scene_text(key)), media_type="application/json")

    @app.get("/api/explain/{key}")
    async def explain(key: str) -> Any:
        return await work(lambda: session.explanation(key))

    @app.get("/api/compare/{first}/{second}")
    async def compare(first: str, second: str) -> Any:
        return await work(lambda: session.comparison(first, second))

    @app.get("/api/store")
    async def store(name: str) -> Any:
        return await work(lambda: session.rows(name))

    @app.get("/api/jobs")
    async def jobs() -> Any:
        return session.jobs.listed()

    @app.get("/api/jobs/{name}/frames")
    async def frames(name: str) -> Any:
        return session.jobs.get(name).frames


def _changes(app: FastAPI, session: Session, work: WorkerThreads) -> None:
    """What the page does."""

    @app.post("/api/map")
    async def map_source(asked: MapAsked) -> Any:
        return (await work(lambda: session.map(asked))).to_dict()

    @app.post("/api/finish")
    async def finish(asked: FinishAsked) -> Any:
        return (await work(lambda: session.finish(asked))).to_dict()

    @app.post("/api/jobs/{name}/stop")
    async def stop(name: str) -> Any:
        session.jobs.stop(name)
        return {}

    @app.post("/api/open")
    async def open_file(asked: SaveAsked) -> Any:
        return await work(lambda: session.open_mapping(asked.name))

    @app.post("/api/change/{key}")
    async def change(key: str, asked: ChangeAsked) -> Any:
        return await work(lambda: session.change(key, asked.change, asked.pins))

    @app.post("/api/save")
    async def save(asked: SaveAsked) -> Any:
        return {"name": await work(lambda: session.save(asked.name, text=asked.text, key=asked.mapping))}

    @app.post("/api/share")
    async def share(asked: ShareAsked) -> Any:
        return HTMLResponse(await work(lambda: session.shared(asked.mapping, asked.run)))

    @app.post("/api/row")
    async def row(asked: RowAsked) -> Any:
        return await work(lambda: session.open_row(asked))


def _runs(app: FastAPI, session: Session, work: WorkerThreads) -> None:
    """Runs and their words."""

    @app.post("/api/run/{key}")
    async def run(key: str, asked: RunAsked) -> Any:
        return await work(lambda: Plain(values.head(session.run(key, asked.model_dump(exclude_none=True)))))

    @app.get("/api/run/{key}/words/{part}")
    async def words(key: str, part: str, first: int = 0, count: int = 64) -> Any:
        data = await work(lambda: values.words(session.runs.get(key), part, first, count))
        return Response(data, media_type="application/octet-stream")

    @app.get("/api/run/{key}/export/{form}")
    async def export(key: str, form: str) -> Any:
        text, name = await work(lambda: session.export(key, form))
        return Response(
            text, media_type="text/plain", headers={"content-disposition": f'attachment; filename="{name}"'}
        )


def _socket(app: FastAPI, events: Events) -> None:
    """The socket over which events reach the page."""

    @app.websocket("/api/events")
    async def listen(socket: WebSocket) -> None:
        async with events.listening() as queue:
            # The page asks for what it has missed as soon as it is accepted, so it has to be listening by then.
            await socket.accept()
            gone = asyncio.create_task(_until_gone(socket))
            try:
                while not gone.done():
                    wanted = asyncio.create_task(queue.get())
                    await asyncio.wait({wanted, gone}, return_when=asyncio.FIRST_COMPLETED)
                    if wanted.done():
                        await socket.send_text(plain_json(wanted.result()).decode())
                    else:
                        wanted.cancel()
            except (WebSocketDisconnect, RuntimeError):
                return
            finally:
                gone.cancel()


async def _until_gone(socket: WebSocket) -> None:
    """Wait until the page hangs up; what it sends is of no interest."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()
