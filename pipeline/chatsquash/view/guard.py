"""Access control: loopback only, token holder only, read-only; idle connections are closed."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from chatsquash.pages.html.markup import Html, tag, together

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "token"  # noqa: S105 - the name of a parameter
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_OWN = ("same-origin", "none")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load and run: files that came with chatsquash, and images that this server decoded."""
DATA_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""The same for what is no page."""
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "clipboard-write=(self), camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Keys:
    """What the first URL and the cookie hold; each is random, and neither tells the other."""

    def __init__(self, start: str = "/") -> None:
        self.token = secrets.token_urlsafe(32)
        self.once = secrets.token_urlsafe(32)
        """A token that lets in once: that of the URL which a browser is started with, which others may see there."""
        self.cookie = secrets.token_urlsafe(32)
        self.start = start
        """The page that the first URL leads to."""
        self.name = f"chatsquash-{secrets.token_hex(4)}"
        """The name of the cookie: browsers send it to every port of a host, and several viewers may run."""

    def is_token(self, token: str) -> bool:
        """Whether this is a token of the first URL."""
        if _is_equal(token, self.once):
            self.once = secrets.token_urlsafe(32)
            return True
        return _is_equal(token, self.token)

    def is_cookie(self, header: str) -> bool:
        """Whether a header holds the cookie."""
        pairs = (each.partition("=") for each in header.split(";"))  # of which others may be as they like
        return any(name.strip() == self.name and _is_equal(value.strip(), self.cookie) for name, _, value in pairs)

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie to a browser, for as long as that runs."""
        return f"{self.name}={self.cookie}; Path=/; HttpOnly; SameSite=Strict"


def _is_equal(candidate: str, secret: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "surrogatepass"), secret.encode())


class Guard:
    """Stands before the pages, and puts the headers on all answers, those to errors and refusals too."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have the pages answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page opens a web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal:
            await _answer(send, *refusal)
        elif token := _token(scope):
            await self._begin(send, token)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, Html] | None:
        headers = _headers(scope)
        if not _is_loopback(headers.get("host", "")):
            return 403, tag("p", "403: this server answers to the names of this machine's loopback alone.")
        if scope["method"] not in ("GET", "HEAD"):
            return 405, tag("p", "405: this server is only read.")
        if _token(scope):  # which may come from a link elsewhere, such as a terminal in a browser
            return None
        is_foreign = headers.get("sec-fetch-site", "none") not in _OWN
        if is_foreign or not self._keys.is_cookie(headers.get("cookie", "")):
            return 403, tag("p", "403: open the URL that chatsquash view printed, with its token.")
        return None

    async def _begin(self, send: Send, token: str) -> None:
        """Give the cookie to whoever has the token.

        The page goes on by itself: after a redirect browsers would not send the cookie where a link of another site led
        here.
        """
        if not self._keys.is_token(token):
            await _answer(send, 403, tag("p", "403: this is not a token of this run; use the URL that it printed."))
            return
        redirect = tag("meta", http_equiv="refresh", content=f"0;url={self._keys.start}")
        page = together((redirect, tag("p", tag("a", "Go on", href=self._keys.start))))
        await _answer(send, 200, page, [(b"set-cookie", self._keys.set_cookie.encode())])


def _headers(scope: Scope) -> dict[str, str]:
    """The headers of a request; of several with a name all, so that none hides behind another."""
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        joint = "; " if name == "cookie" else ", "
        headers[name] = (
            f"{headers[name]}{joint}{value.decode('latin-1')}" if name in headers else value.decode("latin-1")
        )
    return headers


def _is_loopback(host: str) -> bool:
    """Whether a request was made to this machine by name, and not to a name that leads here (DNS rebinding)."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"
    return name.lower() in _HOSTS and port.isascii() and port.isdigit()


def _token(scope: Scope) -> str:
    """The token in the first URL; empty where there is none."""
    if scope["path"] != "/":
        return ""
    values: list[str] = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [""])
    return values[0]


def _with_headers(send: Send) -> Send:
    async def sends(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {key.lower(): value for key, value in message["headers"]}
            is_page = headers.get(b"content-type", b"").startswith(b"text/html")
            security_headers = {**_HEADERS, "content-security-policy": POLICY if is_page else DATA_POLICY}
            other_headers = [(key, value) for key, value in headers.items() if key.decode() not in security_headers]
            message = {
                **message,
                "headers": [
                    *other_headers,
                    *((name.encode(), value.encode()) for name, value in security_headers.items()),
                ],
            }
        await send(message)

    return sends


async def _answer(send: Send, status: int, body: Html, more: list[tuple[bytes, bytes]] | None = None) -> None:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("link", rel="icon", href="/static/icon.svg"),
        tag("title", "chatsquash"),
    )
    page = f"<!doctype html>{tag('html', head, tag('body', body), lang='en')}".encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(page)), *(more or [])]
    sends = _with_headers(send)
    await sends({"type": "http.response.start", "status": status, "headers": headers})
    await sends({"type": "http.response.body", "body": page})


IDLE = 10.0
"""Seconds in which a connection has to ask for something, as a whole; an answer may take longer."""


class Connection(H11Protocol):
    """Ends where no whole request comes: uvicorn itself ends only one that asked before."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It begins."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It ended."""
        if self._waiting:
            self._waiting.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(IDLE, self._look, self.cycle)

    def _look(self, before: RequestResponseCycle | None) -> None:
        """Close it where nothing was asked since, and nothing is answered."""
        if self.cycle is before and (before is None or before.response_complete):
            self.transport.close()
        else:
            self._wait()
