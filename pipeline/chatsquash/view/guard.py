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
"""The content security policy of pages: only files of chatsquash, and images served by this server."""
DATA_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""The content security policy of everything else."""
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
    """The tokens of the first URL and the cookie: independent random values, so that neither reveals the other."""

    def __init__(self, start: str = "/") -> None:
        self.token = secrets.token_urlsafe(32)
        self.once = secrets.token_urlsafe(32)
        """A single-use token for the URL passed to the browser, which other users may see in the process list."""
        self.cookie = secrets.token_urlsafe(32)
        self.start = start
        """The page that the first URL opens."""
        self.name = f"chatsquash-{secrets.token_hex(4)}"
        """The name of the cookie; random, since browsers send cookies to all ports, and several viewers may run."""

    def is_token(self, token: str) -> bool:
        """Return whether this is a token of the first URL; the single-use token is replaced once used."""
        if _is_equal(token, self.once):
            self.once = secrets.token_urlsafe(32)
            return True
        return _is_equal(token, self.token)

    def is_cookie(self, header: str) -> bool:
        """Return whether a header contains the cookie."""
        pairs = (each.partition("=") for each in header.split(";"))  # of which others may be as they like
        return any(name.strip() == self.name and _is_equal(value.strip(), self.cookie) for name, _, value in pairs)

    @property
    def set_cookie(self) -> str:
        """The header that sets the cookie until the browser is closed."""
        return f"{self.name}={self.cookie}; Path=/; HttpOnly; SameSite=Strict"


def _is_equal(candidate: str, secret: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "surrogatepass"), secret.encode())


class Guard:
    """Middleware that rejects requests without access and adds security headers to all responses."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, set the cookie, or pass the request to the pages."""
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
            return 403, tag("p", "403: this server only accepts requests to 127.0.0.1 or localhost.")
        if scope["method"] not in ("GET", "HEAD"):
            return 405, tag("p", "405: this server is read-only.")
        if _token(scope):  # which may come from a link elsewhere, such as a terminal in a browser
            return None
        is_foreign = headers.get("sec-fetch-site", "none") not in _OWN
        if is_foreign or not self._keys.is_cookie(headers.get("cookie", "")):
            return 403, tag("p", "403: open the URL printed by chatsquash view, including its token.")
        return None

    async def _begin(self, send: Send, token: str) -> None:
        """Set the cookie for a holder of the token."""
        # Not an HTTP redirect: browsers would not send a strict cookie after it if another site linked here.
        if not self._keys.is_token(token):
            await _answer(send, 403, tag("p", "403: the token is not valid for this run; use the URL that it printed."))
            return
        redirect = tag("meta", http_equiv="refresh", content=f"0;url={self._keys.start}")
        page = together((redirect, tag("p", tag("a", "Continue", href=self._keys.start))))
        await _answer(send, 200, page, [(b"set-cookie", self._keys.set_cookie.encode())])


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a request; repeated headers are joined, so that all their values are checked."""
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        joint = "; " if name == "cookie" else ", "
        headers[name] = (
            f"{headers[name]}{joint}{value.decode('latin-1')}" if name in headers else value.decode("latin-1")
        )
    return headers


def _is_loopback(host: str) -> bool:
    """Return whether a host is a loopback name; other names that resolve to this machine are DNS rebinding."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"
    return name.lower() in _HOSTS and port.isascii() and port.isdigit()


def _token(scope: Scope) -> str:
    """Return the token in a URL, or an empty string."""
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
"""Seconds within which a connection must send a complete request; responses may take longer."""


class Connection(H11Protocol):
    """A connection that is closed if no complete request arrives; uvicorn only does so after a first request."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self._waiting:
            self._waiting.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(IDLE, self._look, self.cycle)

    def _look(self, before: RequestResponseCycle | None) -> None:
        """Close the connection if no request arrived since, and no response is pending."""
        if self.cycle is before and (before is None or before.response_complete):
            self.transport.close()
        else:
            self._wait()
