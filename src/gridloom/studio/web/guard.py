"""Who may talk to the studio: the page that was opened with the token, from this machine, and nobody else.

Another site that is open in the same browser can send requests to a server on this machine. Four things keep it out:

- the server listens on the loopback address only;
- ``Host`` has to name that address, so that a name that is made to point here (DNS rebinding) does not help;
- ``Origin``, which browsers add and pages cannot forge, has to be the studio's own where it is given;
- every request but those for the page's own files carries the token of the address that the user opened.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

#: Bytes that a request may carry, and seconds that it may take to do so.
MOST_BYTES: Final = 16 * 1024 * 1024
SECONDS_TO_SEND: Final = 30.0
TOKEN_HEADER: Final = b"x-gridloom-token"

#: What the browser may load for the page: its own files, and nothing from elsewhere.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
#: Headers that a request may have once.
_SINGLE: Final = (b"host", b"origin", b"content-length", TOKEN_HEADER)
#: Paths that need no token: files of the package, which are no secret.
_OPEN: Final = ("/page/",)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def new_token() -> str:
    """A token that cannot be guessed: 256 random bits."""
    return secrets.token_urlsafe(32)


class Guard:
    """An ASGI application around another one, which only what is allowed reaches.

    ``port`` is that of the server. Answers to what is refused have no body that says more than the status.
    """

    def __init__(self, app: App, *, token: str, port: int, most_bytes: int = MOST_BYTES) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self.origins = {b"http://" + host for host in self.hosts}
        self.most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        status = self.refusal(scope)
        if scope["type"] == "websocket":
            if status:
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self.app(scope, receive, send)
            return
        if status:
            await _answer(send, status)
            return
        body = await self._body(receive)
        if body is None:
            await _answer(send, 413)
            return
        await self.app(scope, _replay(body, receive), _with_headers(send))

    def refusal(self, scope: Scope) -> int:
        """The status with which a request is refused; 0: it is let through."""
        names = [name for name, _ in scope["headers"]]
        # Of two headers one would be judged and the other one used.
        if any(names.count(name) > 1 for name in _SINGLE):
            return 400
        headers = dict(scope["headers"])
        if headers.get(b"host", b"") not in self.hosts:
            return 421
        origin = headers.get(b"origin")
        if origin is not None and origin not in self.origins:
            return 403
        if scope["type"] == "websocket":
            # A browser always names the origin of a socket; whoever does not is no page of ours.
            return 0 if origin is not None and self._has_token(scope, headers) else 403
        if (
            headers.get(b"content-length", b"0").isdigit()
            and int(headers.get(b"content-length", b"0")) > self.most_bytes
        ):
            return 413
        opened = scope["method"] == "GET" and str(scope["path"]).startswith(_OPEN)
        return 0 if opened or self._has_token(scope, headers) else 403

    def _has_token(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether a request carries the token: in a header, or in the address."""
        given = [headers.get(TOKEN_HEADER, b"")]
        for part in scope.get("query_string", b"").split(b"&"):
            key, _, value = part.partition(b"=")
            if key == b"token":
                given.append(value)
        return any(hmac.compare_digest(text, self.token.encode()) for text in given)

    async def _body(self, receive: Receive) -> bytes | None:
        """The body of a request; None where it is too long or comes too slowly."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(SECONDS_TO_SEND):
                while True:
                    message = await receive()
                    part = message.get("body", b"")
                    size += len(part)
                    if message["type"] != "http.request" or size > self.most_bytes:
                        return None
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receiver that gives a body that has been read already, then what follows it."""
    sent = False

    async def replayed() -> MutableMapping[str, Any]:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _with_headers(send: Send) -> Send:
    """A sender that adds what every answer says to the browser."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return sending


async def _answer(send: Send, status: int) -> None:
    """Send a status and nothing else."""
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *_HEADERS]})
    await send({"type": "http.response.body", "body": b""})
