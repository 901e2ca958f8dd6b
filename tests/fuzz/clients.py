"""Sessions of clients that append to what they sent, as entries; a seed decides what a client is like."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests import strategies
from tests.strategies import MISSING, Entry, Messages, Pairs, Raw, any_message, message, tool


class Chances:
    """Draws by a seed what hypothesis draws elsewhere, a hundred times as fast."""

    def __init__(self, random: Random):
        self.random = random

    def __call__(self, strategy: st.SearchStrategy[Any]) -> Any:
        if strategy is strategies.ANY_TEXT:
            return "".join(chr(self.random.choice([65, 34, 92, 0xE9, 0xD800, 0x1F600, 10])) for _ in range(3))
        return self.random.randint(0, _most(strategy))


@cache
def _most(strategy: st.SearchStrategy[Any]) -> int:
    return int(repr(strategy).rpartition("max_value=")[2].removesuffix(")"))


Said = Callable[[dict[str, Any]], dict[str, Any]]


def _without_nulls(reply: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reply.items() if value is not None}


def _with_content(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, "content": reply.get("content") or ""}


def _renamed(reply: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "id": f"other_{call['id']}"} for call in reply.get("tool_calls") or ()]
    return {**reply, "tool_calls": calls} if calls else reply


def _without_reasoning(reply: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reply.items() if "reason" not in name}


def _stripped(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, "content": (reply.get("content") or "").strip()}


def _in_parts(reply: dict[str, Any]) -> dict[str, Any]:
    text = reply.get("content")
    return {**reply, "content": [{"type": "text", "text": text}]} if text else reply


def _sorted(reply: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(reply.items()))


def _respelled(reply: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "function": {**call["function"], "arguments": " {}"}} for call in reply.get("tool_calls") or ()]
    return {**reply, "tool_calls": calls} if calls else reply


def _other(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, "content": "quite another"}


AS_LOGGED: Said = dict
SAID: list[Said] = [
    *[AS_LOGGED] * 12,
    *[_without_nulls, _with_content, _renamed, _without_reasoning, _stripped, _in_parts, _sorted, _respelled, _other],
]
"""How a client sends back the reply that it got."""


def _text(sent: Any) -> str | None:
    text = sent.get("content") if isinstance(sent, dict) else None
    return text if isinstance(text, str) else None


View = Callable[[Messages, int], Messages]


def _with_clock(history: Messages, number: int) -> Messages:
    """The system prompt tells the time."""
    if not history or _text(history[0]) is None or history[0]["role"] not in ("system", "developer"):
        return history
    told = f"{history[0].get('content')} It is 10:00:{number:02}. Be careful, and brief."
    return [{**history[0], "content": told}, *history[1:]]


def _cached(history: Messages, number: int) -> Messages:
    """The last message is marked."""
    if not history or _text(history[-1]) is None:
        return history
    part = {"type": "text", "text": history[-1]["content"], "cache_control": {"type": "ephemeral"}}
    return [*history[:-1], {**history[-1], "content": [part]}]


def _reminded(history: Messages, number: int) -> Messages:
    """The last message reminds of something."""
    if not history or _text(history[-1]) is None:
        return history
    told = f"{history[-1]['content']}<system-reminder>{number} messages</system-reminder>"
    return [*history[:-1], {**history[-1], "content": told}]


VIEWS: list[View] = [
    *[lambda history, number: history] * 24,
    _with_clock,
    _cached,
    _reminded,
    lambda history, number: _with_clock(_cached(history, number), number),
    lambda history, number: _with_clock(history, number % 2),
    lambda history, number: _cached(history, number) if number % 3 else history,
]
"""What a client sends of its history, which changes from request to request."""
SYSTEMS: list[Messages] = [
    [],
    [message("system", "You are an agent.")],
    [message("system", "You are an agent; write to a@example.org.")],
    [message("developer", "You are an agent.")],
    [message("system", [{"type": "text", "text": "You are"}, {"type": "text", "text": " an agent."}])],
    [message("system", "You are an agent."), message("system", "Be brief.")],
    *[[message(role, text)] for role in ("system", "developer") for text in strategies.GOOSE_TEXTS],
    [message("system", strategies.TITLE_SYSTEM)],
    [message("system", "long " * 400)],
]
WORDS = [
    *[text for text in strategies.TEXTS if text.isascii() or text.isprintable()],
    *strategies.INFO_TEXTS,
    *["look", "Now I see", "a title", "me@example.org and me@example.org", "x" * 700, strategies.TITLE_USER],
    *['],"tools":[', '],"tools":', '"}],"model":"', '],"stream":false', "error: no such file", '{"error": "none"}'],
    *[
        "<think>so</think>",
        "I reached the context limit was reached",
        "sk-0123456789abcdefghijABCDEFGHIJ0123456789abcd",
    ],
]
MEMBERS: list[dict[str, Any]] = [
    *[{}] * 9,
    {"reasoning_content": "hm"},
    {"reasoning": " ", "reasoning_details": [{"text": "hm"}]},
    {"refusal": None, "audio": None, "function_call": None, "annotations": []},
    {"name": None},
    {"name": "bob"},
    {"n": Raw(b"0.1000000000000000055511151231257827")},
    {"n": Raw(b"123456789012345678901234567890")},
    {"n": Raw(b"1E5"), "m": 1.0},
    {"deep": Raw(b"[" * 20 + b"]" * 20)},
    {"tool_calls": None},
    {"tool_calls": []},
]
ODD_MEMBERS: list[dict[str, Any]] = [
    {"messages": [], "tools": [], "request": {"messages": []}},
    {"messages": [message("user", "decoy")], "tools": [tool("read")]},
    {"n": "a\ud800"},
    {"n": Raw(b"NaN")},
    {"deep": Raw(b"[" * 300 + b"]" * 300)},
]
FINISHES: list[Any] = ["stop", "stop", "length", None, "", "tool_calls", "content_filter", MISSING]
RESPONDS: list[Callable[[dict[str, Any]], Any]] = [
    *[dict] * 6,
    lambda response: {"object": "chat.completion", "created": 1, **response, "usage": {"prompt_tokens": 9}},
    lambda response: {**response, "system_fingerprint": None, "usage": None, "service_tier": "default"},
    lambda response: {**response, "choices": [*response["choices"], {"index": 1, "message": message("user", "2")}]},
    lambda response: {**response, "usage": {"prompt_tokens": Raw(b"1e400"), "completion_tokens": -1}},
    lambda response: {**response, "prompt_logprobs": Raw(b"[" * 40 + b"]" * 40), "timings": {"messages": []}},
    lambda response: Pairs([("choices", []), *response.items()]),
    lambda response: Pairs([*response.items(), ("model", "another")]),
]
ODD_RESPONDS: list[Callable[[dict[str, Any]], Any]] = [
    lambda response: {**response, "model": None},
    lambda response: {name: value for name, value in response.items() if name != "model"},
    lambda response: {**response, "object": "text_completion"},
    lambda response: {**response, "extra": 1},
    lambda response: {**response, "choices": []},
    lambda response: {**response, "error": None},
    lambda response: {"error": {"message": "overloaded"}},
    lambda response: {**response, "id": [None, 5, {"id": 1}]},
    lambda response: {**response, "id": Raw(b"-" + b"9" * 4301)},
    lambda response: {**response, "id": "r" * 300},
    lambda response: {**response, "choices": [{**response["choices"][0], "finish_reason": 5}]},
    lambda response: {**response, "choices": [*response["choices"], None]},
    lambda response: {**response, "choices": [{"delta": {}}]},
    lambda response: None,
]
REQUESTS: list[dict[str, Any]] = [
    *[{}] * 6,
    {"temperature": 0.2, "stream": False},
    {"max_tokens": 8192},
    {"max_tokens": 1},
    {"max_completion_tokens": None, "max_tokens": 4096},
    {"max_output_tokens": -5},
    {"tool_choice": "auto", "parallel_tool_calls": True, "n": Raw(b"123456789012345678901")},
    {"metadata": {"tools": [], "messages": [message("user", "decoy")], "max_tokens": 3}},
    {"stop": ["]", '"', '],"tools":'], "logit_bias": None},
]
CALM_REQUESTS = [request for request in REQUESTS if request.get("max_tokens") != 1]
ODD_REQUESTS: list[dict[str, Any]] = [
    {"max_tokens": Raw(b"1e3")},
    {"options": {"num_predict": 5}},
    {"functions": [{"name": "f"}]},
    {"system": "You are a system prompt."},
]
BESIDES: list[dict[str, Any]] = [
    *[{}] * 9,
    {"status": 200},
    {"status": None},
    {"latency_ms": 5, "user": {"id": "me@example.org"}},
    {"kind": "exchange", "request_id": "r"},
]
ODD_BESIDES: list[dict[str, Any]] = [{"status": 500}, {"model": "m", "tools": [], "messages": []}, {"error": None}]
NAMES: list[Any] = ["s1", "s1", "s1", MISSING, None, "a@example.org", "\u00fcn\u00ef"]
ODD_NAMES: list[Any] = ["", 7, "a\ud800"]
TIMES = ["zulu", "zulu", "zulu", "offset", "equal", "pairs", "mixed"]
ODD_TIMES = ["naive", "seconds", "backwards", "nanoseconds apart"]


def _is_system(sent: Any) -> bool:
    return sent["role"] == "system" and isinstance(sent["content"], str)


class Client:
    """A client of one session: what it sends, how it sends back what it got, and how that is logged."""

    def __init__(self, chances: Chances):
        self.chances, self.random = chances, chances.random
        choice = self.random.choice
        self.said, self.responds = choice(SAID), self._one(RESPONDS, ODD_RESPONDS)
        self.request, self.beside = self._one(REQUESTS, ODD_REQUESTS), self._one(BESIDES, ODD_BESIDES)
        self.name, self.times = self._one(NAMES, ODD_NAMES), self._one(TIMES, ODD_TIMES)
        self.tools, self.view = self._tools(), choice(VIEWS)
        self.members, self.systems = MEMBERS, SYSTEMS
        self.is_odd = self.random.random() < 0.15
        self.changes_limit = self.random.random() < 0.05
        self.count = 0

    def calm_down(self) -> None:
        """Send back what was got, as most clients do, and leave out most of what few log."""
        self.said, self.responds, self.view, self.is_odd, self.changes_limit = AS_LOGGED, dict, VIEWS[0], False, False
        self.name, self.times, self.members = "s1", self.random.choice(["zulu", "offset"]), [*[{}] * 200, *MEMBERS]
        self.systems = [system for system in SYSTEMS if all(_is_system(each) for each in system)]
        self.request = self._one(CALM_REQUESTS, REQUESTS)

    def session(self) -> list[Entry]:
        """All entries."""
        random = self.random
        history = [
            *random.choice(self.systems),
            *([message("user", random.choice(WORDS))] if random.random() < 0.97 else []),
        ]
        entries = []
        for _ in range(random.choice([1, 2, 3, 3, 4, 4, 6, 9])):
            reply = self._reply()
            entries.append(self.entry(history, reply))
            sent = self.said(reply) if isinstance(reply.get("content") or "", str) else reply
            history = [*history, sent, *self._answers(sent)]
        return entries

    def entry(self, history: Messages, reply: dict[str, Any]) -> Entry:
        """A request and the reply to it."""
        self.count += 1
        choice = {"index": 0, "message": reply, "finish_reason": self.random.choice(FINISHES)}
        choice = {name: value for name, value in choice.items() if value is not MISSING}
        response = {"id": f"r{self.count}", "model": self.random.choice(["gpt-5", "gpt-5", "o"]), "choices": [choice]}
        request = {"model": "m", "messages": self.view(history, self.count), **self.tools, **self.request}
        if self.changes_limit and self.random.random() < 0.3:
            request["max_tokens"] = 77
        at = {"timestamp": self._time(), "session_id": self.name}
        entry = {**at, "request": request, "response": self.responds(response), **self.beside}
        return {name: value for name, value in entry.items() if value is not MISSING}

    def title(self) -> Entry:
        """A request of the client's own, which goes on from none."""
        history = [message("system", strategies.TITLE_SYSTEM), message("user", strategies.TITLE_USER)]
        answer = self.random.choice([*["A title"] * 8, "a title of many more words than a title has", ""])
        return self.entry(history, message("assistant", answer))

    def _one(self, usual: list[Any], odd: list[Any]) -> Any:
        return self.random.choice(odd if self.random.random() < 0.03 else usual)

    def _time(self) -> Any:
        way, second = self.times, self.count
        if way == "mixed":
            way = self.random.choice(["zulu", "offset"])
        if way == "pairs":
            way, second = "zulu", second // 2
        return strategies.spelled_time(way, second)

    def _tools(self) -> dict[str, Any]:
        random = self.random
        offered = random.choice([None, None, [tool("read")], [tool("read"), tool("write", description="]}")], []])
        if random.random() < 0.15:
            offered = [random.choice(strategies.TOOLS) for _ in range(random.randint(1, 3))]
        if random.random() < 0.03:
            return {"tools": random.choice(strategies.NOT_TOOLS)}
        return {} if offered is None else {"tools": offered}

    def _reply(self) -> dict[str, Any]:
        random = self.random
        if self.is_odd and random.random() < 0.3:
            return dict(random.choice(strategies.REPLIES))
        members = self._one(self.members, ODD_MEMBERS)
        calls = [self._call(number) for number in range(random.choice([0, 0, 1, 1, 1, 2]))]
        if not calls:
            return message("assistant", random.choice(WORDS), **members)
        text = random.choice([None, None, "", random.choice(WORDS), MISSING])
        reply = {"role": "assistant", "content": text, **members, "tool_calls": calls}
        return {name: value for name, value in reply.items() if value is not MISSING}

    def _call(self, number: int) -> dict[str, Any]:
        arguments = [each for each in strategies.ARGUMENTS if isinstance(each, str)]
        function = {"name": self.random.choice(["read", "write", "other"]), "arguments": self.random.choice(arguments)}
        return {"id": f"call_{self.count}_{number}", "type": "function", "function": function}

    def _answers(self, sent: dict[str, Any]) -> Messages:
        random = self.random
        calls = sent.get("tool_calls") or []
        answers = [message("tool", random.choice(WORDS), tool_call_id=call.get("id")) for call in calls]
        if random.random() < 0.05:
            answers = answers[:-1]
        if not answers or random.random() < 0.2:
            answers.append(message("user", random.choice(WORDS), **self._one(self.members, ODD_MEMBERS)))
        if self.is_odd and random.random() < 0.3:
            answers.append(any_message(self.chances))
        return answers if random.random() < 0.99 else []
