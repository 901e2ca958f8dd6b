"""The web application: the pages of the viewer by URL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from functools import partial, wraps
from importlib.resources import files
from typing import TYPE_CHECKING

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter, run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from chatsquash.core.errors import ChatsquashError
from chatsquash.core.text import escape, printable_json
from chatsquash.pages.html.markup import Html, tag
from chatsquash.records import NotARecordError
from chatsquash.records.reading import parse
from chatsquash.view.conversation import LINK_PARAMETERS, Conversation, trained_on
from chatsquash.view.guard import Guard, Keys
from chatsquash.view.logs import LoggedSession, NoLogError, Viewer
from chatsquash.view.needle import Needle
from chatsquash.view.pages import conversation as conversations
from chatsquash.view.pages import logs as log_pages
from chatsquash.view.pages import pairs as pair_pages
from chatsquash.view.pages import search as searches
from chatsquash.view.pages import sessions, tree
from chatsquash.view.pages import template as templates
from chatsquash.view.pages.code import markdown
from chatsquash.view.pages.layout import page
from chatsquash.view.pages.pairs import read_pair
from chatsquash.view.reply_facts import facts_text, reply_facts
from chatsquash.view.result import ReplacedError, ViewerResult
from chatsquash.view.selection import parse_query, select_sessions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from chatsquash.view.against import Against

_STATIC = {
    "base.css": "chatsquash.pages.html",
    "view.css": "chatsquash.view.static",
    "icon.svg": "chatsquash.view.static",
    "page.js": "chatsquash.view.static",
    "sessions.js": "chatsquash.view.static",
    "search.js": "chatsquash.view.static",
    "conversation.js": "chatsquash.view.static",
}
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_PLAIN = "text/plain; charset=utf-8"
_DIGITS = 12
_QUERY = 2_000
"""Characters of a query parameter that links carry over."""
_WHY = 1_000
"""Characters of an error that a page shows."""
Page = Callable[["Viewer", Request], Response]


def app(viewer: Viewer, keys: Keys, *, threads: int = 8) -> ASGIApp:
    """Return the application: the pages with access control, at most ``threads`` of them rendered at once."""
    session = "/r/{tag}/s/{at}"
    pages: dict[str, Page] = {
        "/": _sessions,
        "/state": _state,
        "/static/{name}": _static,
        "/r/{tag}/search": _search,
        "/r/{tag}/search/stream": _stream,
        "/r/{tag}/pairs/{number}": _pair,
        "/r/{tag}/against": _differences,
        session: _conversation,
        f"{session}/find": _find,
        f"{session}/facts": _facts,
        f"{session}/text/{{number}}": _text,
        f"{session}/image/{{name}}": _image,
        f"{session}/copy.md": _markdown,
        f"{session}/copy.json": _json,
        f"{session}/tree": _tree,
        f"{session}/against": _comparison,
        f"{session}/template": _template,
        f"{session}/log": _log,
        f"{session}/log/{{line}}": partial(_of_line, page=log_pages.request),
        f"{session}/log/{{line}}/difference": partial(_of_line, page=log_pages.difference),
        f"{session}/log/{{line}}/raw": _raw,
        f"{session}/log/{{line}}/shown": _readable_line,
    }
    routes = [Route(path, _endpoint(viewer, page), methods=["GET"]) for path, page in pages.items()]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = threads
        yield

    server = Starlette(routes=routes, exception_handlers={404: _nowhere, 500: _server_error}, lifespan=lifespan)
    server.router.redirect_slashes = False
    return Guard(server, keys)


def _result(viewer: Viewer, request: Request) -> ViewerResult:
    """Return the result of a URL; raise ``ReplacedError`` if another run has replaced it."""
    result = viewer.result
    if request.path_params["tag"] != result.tag:
        raise ReplacedError(f"{viewer.title} was replaced after this page was opened")
    return result


def _session(viewer: Viewer, request: Request) -> Conversation:
    """Return the session of a URL."""
    result = _result(viewer, request)
    at = _number(request.path_params["at"])
    if at is None or at >= result.sessions.height:
        raise HTTPException(404)
    query = request.query_params
    link_parameters = {name: query[name] for name in LINK_PARAMETERS if len(query.get(name, "")) in range(1, _QUERY)}
    return Conversation(
        result,
        at,
        has_template=viewer.model is not None,
        is_compared=viewer.against is not None,
        link_parameters=link_parameters,
    )


def _endpoint(viewer: Viewer, page: Page) -> Callable[[Request], Response]:
    """Wrap a page as an endpoint that turns errors into pages; Starlette runs it in a thread, since reading blocks."""

    @wraps(page)
    def answer(request: Request) -> Response:
        try:
            server = page(viewer, request)
        except Exception as problem:
            if isinstance(problem, ReplacedError) or _is_late(viewer, request):
                return _replacement_page(viewer)
            if isinstance(problem, ChatsquashError):
                return _problem(404, "This page cannot be shown", str(problem))
            if isinstance(problem, NotARecordError | RecursionError):
                return _problem(409, "This page cannot be shown", f"The record is damaged: {problem}")
            raise
        return _replacement_page(viewer) if _is_late(viewer, request) else server

    return answer


def _is_late(viewer: Viewer, request: Request) -> bool:
    """Return whether another run replaced the result while the page was rendered."""
    return "tag" in request.path_params and viewer.is_replaced


def _replacement_page(viewer: Viewer) -> Response:
    why = f"{viewer.title} was replaced after this page was opened; the list shows the new result."
    return _problem(409, "The result was replaced", why)


def _problem(status: int, title: str, why: str) -> Response:
    body = [tag("h1", title), tag("p", escape(why[:_WHY])), tag("p", tag("a", "Sessions", href="/"))]
    return HTMLResponse(page(title, None, *body), status)


def _nowhere(_: Request, __: Exception) -> Response:
    return _problem(404, "Page not found", "There is no page at this URL.")


def _server_error(_: Request, __: Exception) -> Response:
    return _problem(500, "Internal error", "See the terminal in which chatsquash view is running for details.")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _parameter(request: Request, name: str) -> int:
    return _number(request.query_params.get(name)) or 0


# The list and the search


def _sessions(viewer: Viewer, request: Request) -> Response:
    result, is_new = viewer.newest()
    query = parse_query(request.query_params)
    return HTMLResponse(sessions.sessions(result, query, select_sessions(result, query), is_new=is_new))


def _state(viewer: Viewer, _: Request) -> Response:
    return JSONResponse({"result": viewer.tag, "replaced": viewer.is_replaced})


def _static(_: Viewer, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    content = (files(_STATIC[name]) / name).read_bytes()
    return Response(content, media_type=f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8")


def _search(viewer: Viewer, request: Request) -> Response:
    return HTMLResponse(searches.search(_result(viewer, request), request.query_params.get("q", "")[:200]))


def _stream(viewer: Viewer, request: Request) -> Response:
    lines = searches.lines(_result(viewer, request), request.query_params.get("q", ""))
    return StreamingResponse(_in_turn(lines, viewer.searching), media_type="application/x-ndjson")


async def _in_turn(lines: Generator[bytes], searching: CapacityLimiter) -> AsyncIterator[bytes]:
    """Yield the lines of a search until the client disconnects; searches have their own threads."""
    try:
        while (line := await run_sync(next, lines, None, limiter=searching)) is not None:
            yield line
    finally:
        with suppress(ValueError):  # the generator is still running in a thread, which ends with the process
            lines.close()


def _pair(viewer: Viewer, request: Request) -> Response:
    result = _result(viewer, request)
    pair = read_pair(result, _number(request.path_params["number"]) or 0)
    return HTMLResponse(pair_pages.pair(result, pair) if pair else pair_pages.nothing(result))


# The comparison


def _against(viewer: Viewer, result: ViewerResult) -> Against:
    """Return the comparison; raise ``UsageError`` if there is none of this result."""
    if viewer.against is None:
        raise HTTPException(404)
    viewer.against.refuse_other(result.tag)
    return viewer.against


def _differences(viewer: Viewer, request: Request) -> Response:
    from chatsquash.view.pages import against as pages

    result = _result(viewer, request)
    return HTMLResponse(pages.differences(result, _against(viewer, result)))


def _comparison(viewer: Viewer, request: Request) -> Response:
    from chatsquash.view.pages import against as pages

    conversation = _session(viewer, request)
    return HTMLResponse(pages.versions(conversation, _against(viewer, conversation.result)))


# A session


def _conversation(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    return HTMLResponse(conversations.conversation_page(conversation, _parameter(request, "m")))


def _find(viewer: Viewer, request: Request) -> Response:
    needle = Needle(request.query_params.get("q", ""))
    hits, total = _session(viewer, request).find(needle) if needle else ([], 0)
    return JSONResponse({"hits": hits, "total": total, "spellings": needle.spellings})


def _facts(viewer: Viewer, request: Request) -> Response:
    """Return what the log records about the replies, if the log exists and is small."""
    conversation = _session(viewer, request)
    session_log = _looked(viewer, conversation) if viewer.logs.is_near(conversation.at) else None
    if not isinstance(session_log, LoggedSession):
        return JSONResponse({})
    facts = reply_facts(conversation, session_log, viewer.logs.records(conversation.at, session_log))
    return JSONResponse({str(number): words for number, each in facts.items() if (words := facts_text(each))})


def _text(viewer: Viewer, request: Request) -> Response:
    text = _session(viewer, request).full_text(_number(request.path_params["number"]) or 0)
    return Response(text.encode("utf-8", "backslashreplace"), media_type=_PLAIN)


def _image(viewer: Viewer, request: Request) -> Response:
    picture = _session(viewer, request).picture(request.path_params["name"])
    if picture is None:
        raise HTTPException(404)
    return Response(picture.data, media_type=picture.type)


def _markdown(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    text = markdown(conversation.record.messages, str(conversation.row["session"] or "conversation"))
    return Response(text.encode("utf-8", "backslashreplace"), media_type=_PLAIN)


def _json(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    value = parse(conversation.data) if conversation.data else None
    return Response(printable_json(value, indent=True), media_type="application/json")


def _template(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    if viewer.model is None or conversation.place is None:
        raise HTTPException(404)
    trained = trained_on(parse(conversation.data), conversation.record.messages)
    return HTMLResponse(
        templates.template(conversation, viewer.model.render(conversation.record, trained), viewer.model.path)
    )


# Its log


def _tree(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    return HTMLResponse(tree.tree(conversation, viewer.logs, _looked(viewer, conversation)))


def _log(viewer: Viewer, request: Request) -> Response:
    conversation = _session(viewer, request)
    message, entry = _parameter(request, "m"), _parameter(request, "entry")
    session_log = _looked(viewer, conversation)
    return HTMLResponse(log_pages.log_page(conversation, message, viewer.logs, session_log, entry))


def _looked(viewer: Viewer, conversation: Conversation) -> LoggedSession | NoLogError:
    try:
        return viewer.logs.look(conversation.at)
    except NoLogError as problem:
        return problem


def _of_line(viewer: Viewer, request: Request, page: Callable[..., Html]) -> Response:
    conversation = _session(viewer, request)
    session_log = viewer.logs.look(conversation.at)
    request_on_line = viewer.logs.request(session_log, _number(request.path_params["line"]) or 0)
    return HTMLResponse(page(conversation, session_log, request_on_line))


def _raw(viewer: Viewer, request: Request) -> Response:
    return PlainTextResponse(_line(viewer, request).decode("utf-8", "backslashreplace"))


def _readable_line(viewer: Viewer, request: Request) -> Response:
    return PlainTextResponse(log_pages.line(_line(viewer, request)))


def _line(viewer: Viewer, request: Request) -> bytes:
    conversation = _session(viewer, request)
    return viewer.logs.raw(viewer.logs.look(conversation.at), _number(request.path_params["line"]) or 0)
