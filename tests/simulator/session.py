"""A session that is played: a client with its threads, whose exchanges are logged as they happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Literal

import orjson

from tests.simulator.client import Client
from tests.simulator.nodes import Call, Node, OriginReply, Place, Request, Tree
from tests.simulator.styles import STYLES
from tests.simulator.styles.common import TOOLS, WORKING
from tests.simulator.styles.streamed import streamed
from tests.simulator.words import Words

LIMIT = 8192
Ended = Literal["stop", "length"] | None
Hook = Callable[["Session"], object]


class Log:
    """Files that grow while sessions are played, and the clock that they share."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.files: dict[str, list[bytes]] = {}
        self.now = datetime(2026, 1, 13, 9, tzinfo=UTC)

    def write(
        self,
        file: str,
        session_id: str | None,
        request: Any,
        response: Any,
        step: float | None = None,
        status: int | None = None,
    ) -> Place:
        """Log an exchange."""
        self.now += timedelta(milliseconds=round(1000 * (step or self.rng.uniform(1, 40))))
        line = {"timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        if session_id is not None:
            line["session_id"] = session_id
        lines = self.files.setdefault(file, [])
        coded = {} if status is None else {"status": status}
        lines.append(orjson.dumps({**line, "request": request, "response": response, **coded}))
        return Place(file, len(lines))


@dataclass(eq=False)
class Layout:
    """Which file a line goes to, and whether it says its session."""

    ids: bool = True
    each: bool = False
    """Whether each exchange has a file."""
    shared: bool = False
    """Whether all sessions share a file."""
    alike: bool = False
    """Whether all sessions have the system prompt and the first prompt of the first one."""


@dataclass(eq=False)
class Thread:
    """A conversation as the client holds it."""

    tree: Tree
    system: str
    tools: tuple[str, ...]
    tip: Node | None = None
    floor: Node | None = None
    """The client never goes back behind it."""
    session_id: str | None = None
    """An id of its own, which its lines have instead of that of the session."""
    file: str | None = None
    """A file of its own, if the layout has several."""
    stored: tuple[str, Node] | None = None
    """The conversation that the server keeps, and the last reply in it."""
    window: int = 0
    """How many messages are sent at most; 0 for all."""

    @property
    def path(self) -> list[Node]:
        """The messages so far."""
        return self.tip.path if self.tip else []

    def reachable(self) -> list[Node]:
        """Replies that the client may go back to: whole ones without calls, the tip aside."""
        path = self.path
        start = path.index(self.floor) if self.floor in path else 0
        return [node for node in path[start:-1] if node.sampled and node.sampled.whole and not node.calls]


@dataclass(eq=False)
class Session:
    """Someone's work with an agent."""

    name: str
    rng: Random
    words: Words
    client: Client
    log: Log
    layout: Layout
    playing: str = "append"
    """The behaviour that is played."""
    trees: list[Tree] = field(default_factory=list)
    cleared: set[Node] = field(default_factory=set)
    summaries: set[Node] = field(default_factory=set)
    """Messages that stand for a history."""
    once: set[str] = field(default_factory=set)
    """What is not played again."""
    count: int = 0
    most: int = 26
    """After so many exchanges nothing more begins."""
    day: int = 0
    part: int = 0
    session_id: str = ""
    only_turn: bool = False
    """Whether there is one turn and nothing more."""
    before: list[Hook] = field(default_factory=list)
    """What the client does as soon as a prompt of the person is known."""
    after: list[Hook] = field(default_factory=list)
    """What the client does after each turn."""
    suggestion: str | None = None
    """A prompt that the client suggested."""
    opening: str | None = None
    """What the person says first, where that is not left to chance."""
    main: Thread = field(init=False)

    def __post_init__(self) -> None:
        self.session_id = self.name
        self.main = self.thread("main", f"You are an agent. {self.words.text(100, 900)}", TOOLS)

    def thread(self, kind: str, system: str, tools: Any = (), **more: Any) -> Thread:
        """A new beginning."""
        self.trees.append(Tree(kind, **more))
        return Thread(self.trees[-1], system, tuple(tools))

    @property
    def file(self) -> str:
        """Where the next line goes."""
        if self.layout.each:
            return f"completions/{self.name}-{self.count + 1:04}.jsonl"
        if self.layout.shared:
            return "proxy/requests.jsonl"
        return f"2026-01-{13 + self.day:02}/{self.name}{f'-{self.part}' if self.part else ''}.jsonl"

    def begin_part(self) -> None:
        """Continue in another file under another id."""
        self.part += 1
        self.session_id = f"{self.name}-{self.part}"

    def say(self, thread: Thread, text: str | None = None) -> Node:
        """The user says something that was not said at this place before."""
        taken = {node.text for node in thread.tip.children} if thread.tip else set()
        if text is None and thread.tip and self.client.short and self.rng.random() < 0.6:
            text = self.words.short()
        while text is None or text in taken:
            text = self.words.text(30, 1200)
        thread.tip = Node("user", text, thread.tip)
        return thread.tip

    def sample(
        self,
        thread: Thread,
        calls: tuple[Call, ...] = (),
        *,
        text: str | None = None,
        reasoning: str = "",
        ended: Ended = "stop",
        side: bool = False,
        limit: int = LIMIT,
        prefill: str = "",
        others: tuple[str, ...] = (),
        tools: tuple[str, ...] | None = None,
    ) -> Node:
        """A request for what comes next, and the reply that is logged."""
        request = replace(self._request(thread, limit), prefill=prefill)
        if tools is not None:
            request = replace(request, tools=tools)
        parent = thread.tip
        text, reasoning = self._answer(parent, calls) if text is None else (text, reasoning)
        node = Node("assistant", text, parent, calls, reasoning)
        node.sampled = OriginReply(request, self.log_count, ended, side, self.playing, others=others)
        node.sampled.tagged = self.client.thinks
        thread.tree.replies.append(node)
        thread.tip = node
        if request.conversation:
            thread.stored = request.conversation, node
        self.write(node, self._file(thread), session_id=thread.session_id)
        return node

    def _file(self, thread: Thread) -> str:
        several = self.layout.ids and not self.layout.each and not self.layout.shared
        return thread.file if several and thread.file else ""

    def write(self, node: Node, file: str = "", step: float | None = None, session_id: str | None = None) -> None:
        """Log a reply with its request, for the first time or again."""
        style = STYLES[self.client.style]
        name = self._response_name(node) if self.client.names_responses else None
        model = style.MODEL if self.client.plain_side or not node.sampled.side else f"{style.MODEL}-small"
        asked = style.request(node.sampled.request, self.client, model)
        named = (session_id or self.session_id) if self.layout.ids else None
        answer = style.response(node, name, model)
        answer = streamed(self.client.style, answer) if self.client.streams else answer
        place = self.log.write(file or self.file, named, asked, answer, step)
        self.count += 1
        node.sampled.places.append(place)

    def fail(self, thread: Thread, response: Any, status: int) -> None:
        """A request that has no reply, which is logged with an error."""
        style = STYLES[self.client.style]
        asked = style.request(self._request(thread, LIMIT), self.client, style.MODEL)
        named = (thread.session_id or self.session_id) if self.layout.ids else None
        self.log.write(self._file(thread) or self.file, named, asked, response, status=status)

    @property
    def log_count(self) -> int:
        """How many lines all sessions logged."""
        return sum(map(len, self.log.files.values()))

    def _request(self, thread: Thread, limit: int) -> Request:
        path, client = thread.path, self.client
        if thread.tree.kind == "side":
            client = replace(client, reminds=None, clock=False)
        request = client.request(path, thread.system, thread.tools, limit, self.cleared, thread.window)
        return self._stored(thread, request) if client.stores else request

    def _stored(self, thread: Thread, request: Request) -> Request:
        """Return a request without what the server has, if the path continues what it keeps."""
        name, last = self._kept(thread, request)
        if last is None:
            kept, emptied, absent = frozenset[Node](), frozenset[Node](), frozenset[Node]()
        else:
            before = last.sampled.request
            kept, emptied, absent = frozenset(last.path), before.cleared, before.dropped  # as the server got them
        changed = {node: text for node, text in request.changed.items() if node not in kept}
        cleared, dropped = request.cleared - kept | emptied, request.dropped - kept | absent
        names = {"previous" if self.client.refers_back else "conversation": name}
        return replace(request, stored=kept, changed=changed, cleared=cleared, dropped=dropped, **names)

    def _kept(self, thread: Thread, request: Request) -> tuple[str, Node | None]:
        """Return the name by which the request refers to what the server has, and the last reply of that."""
        if self.client.refers_back:
            last = next((node for node in reversed(request.path) if node.sampled and node.sampled.whole), None)
            return (f"resp_{self._response_name(last)}", last) if last else ("", None)
        if thread.stored and thread.stored[1] in request.path:
            return thread.stored
        return f"conv_{self.words.key(16)}", None

    def _response_name(self, node: Node) -> str:
        return f"{self.name}x{node.sampled.at}"

    def _answer(self, parent: Node, calls: tuple[Call, ...]) -> tuple[str, str]:
        """A text that was not said at this place before, and reasoning."""
        reasoning = self.words.text(30, 500) if self.rng.random() < 0.5 else ""
        if calls:
            return self.words.text() if self.rng.random() < 0.6 else "", reasoning
        taken = {node.text for node in parent.children}
        if (
            self.client.short
            and parent.parent
            and self.rng.random() < 0.3
            and (short := self.words.short()) not in taken
        ):
            return short, reasoning
        return self.words.text(), reasoning

    def calls(self, count: int = 1) -> tuple[Call, ...]:
        """Calls of working tools."""
        return tuple(self._call(self.rng.choice(WORKING)) for _ in range(count))

    def delegations(self, count: int = 1) -> tuple[Call, ...]:
        """Calls that begin sub-agents."""
        given = [{"title": self.words.word(), "prompt": self.words.text(80, 800)} for _ in range(count)]
        return tuple(Call(self._call_id(), "delegate", each) for each in given)

    def _call(self, name: str) -> Call:
        arguments: dict[str, Any] = {member: self.words.text(20, 200) for member in TOOLS[name][1]}
        if self.client.floats:
            arguments["limit"] = self.rng.randint(1, 400)
        return Call(self._call_id(), name, arguments)

    def _call_id(self) -> str:
        return STYLES[self.client.style].CALL + self.words.key()

    def answer(self, thread: Thread, texts: list[str] | None = None) -> None:
        """The results of the calls at the tip."""
        asked = thread.tip
        for place, _ in enumerate(asked.calls):
            text = texts[place] if texts else self.words.text(30, 2000)
            thread.tip = Node("tool", text, thread.tip, answers=place)

    def work(self, thread: Thread, most: int = 3) -> None:
        """The agent calls tools for a while."""
        for _ in range(self.rng.randint(0, most)):
            self.sample(thread, self.calls(self.rng.choice((1, 1, 1, 2, 3))))
            self.answer(thread)

    def turn(self, thread: Thread | None = None, prompt: str | None = None) -> Node:
        """A prompt, work, and an answer."""
        own = thread is None or thread is self.main
        thread = thread or self.main
        if own and prompt is None and self.suggestion and self.rng.random() < 0.3:
            prompt = self.suggestion
        self.say(thread, prompt)
        for hook in self.before if own else ():
            hook(self)
        self.work(thread)
        reply = self.sample(thread)
        for hook in self.after if own else ():
            hook(self)
        return reply
