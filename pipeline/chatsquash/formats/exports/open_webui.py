"""Open WebUI's exported chats: a tree of messages with all regenerated answers.

Answers are lists of OpenAI Responses items (``output``).  Older versions write text instead, with thoughts and calls as
``<details>`` elements.
"""

from __future__ import annotations

import re

from msgspec import structs

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json
from chatsquash.core.scores import Score
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import assistant_message, spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, bounds, moment, origin_of, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import (
    ROOT,
    ThreadEntry,
    link_entries,
    load_elements,
    load_paths,
    paths,
    text,
    with_unread,
)
from chatsquash.formats.values import Object, as_list, at, compact, count, members, objects, string

NAME = "open_webui"
HAS_TOOLS = False
PER_ELEMENT = True
MEMBERS = ("chat", "snapshot")

_MESSAGE = (
    *(
        "id",
        "parentId",
        "childrenIds",
        "role",
        "content",
        "output",
        "files",
        "model",
        "models",
        "modelIdx",
        "modelName",
    ),
    *("timestamp", "completedAt", "usage", "info", "done", "error", "lastSentence", "contextSummary", "userContext"),
    *(
        "followUps",
        "statusHistory",
        "status",
        "annotation",
        "feedbackId",
        "favorite",
        "selectedModelId",
        "originalContent",
    ),
)
_BLOCK = r'<details type="(?:reasoning|tool_calls)"'
# Attributes are escaped and blocks are not nested, so a search ends at the next block at the latest.
_DETAILS = re.compile(
    r'\n?<details type="(reasoning|tool_calls)"([^<>]*+)>\n?'
    rf"((?:[^<]++|(?!</details>|{_BLOCK})<)*+)</details>\n?"
)
_ATTRIBUTE = re.compile(r'(?<!\w)(\w++)="([^"]*+)"')
_SUMMARY = re.compile(r"<summary>(?:[^<]++|(?!</?summary>)<)*+</summary>\n?")
_COMPACTED = "[CONVERSATION SUMMARY]\n"
"""The text that precedes a summary in the system prompt."""


def fits(values: list[Json]) -> str | None:
    """Check for chats with a history that maps ids to messages, or for feedback that contains such chats."""
    if values and all(_has_history(each) for each in values):
        return "chat.history.messages"
    is_feedback = values and all(string(each, "type") == "rating" and "snapshot" in members(each) for each in values)
    fitting = is_feedback and any(_has_history(at(each, "snapshot", "chat")) for each in values)
    return "snapshot.chat.chat.history.messages" if fitting else None


def _has_history(chat: Json) -> bool:
    return isinstance(at(chat, "chat", "history", "messages"), dict)


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the path to the current message of each chat, then other answers and edited prompts.

    The system prompt comes from the chat's settings; the model's own prompt and tool definitions are not exported.
    The rating of the last reply becomes the reward of the conversation.
    """
    return load_elements(values, lines, _conversation)


def _conversation(value: Json, where: str, line: int) -> list[Conversation]:
    if "snapshot" not in members(value):
        return _chat_conversations(value, where, line)
    rated, chat = text(at(value, "meta", "message_id")), at(value, "snapshot", "chat")
    # The feedback for each answer repeats the chat, so only the rated answer is treated as sampled.
    converted = _chat_conversations(chat, where, line, rated) if rated and _has_history(chat) else []
    return [_with_rating(each, at(value, "data", "rating")) for each in converted]


def _chat_conversations(value: Json, where: str, line: int, rated: str | None = None) -> list[Conversation]:
    chat = members(at(value, "chat"))
    history = members(chat.get("history"))
    messages = expect_object(history.get("messages"), f"{where}: messages is")
    if not messages:
        return []
    unread = Unread()
    thread = _Thread(text(at(chat, "params", "system")) or text(chat.get("system")), line, unread, rated)
    for name, message in messages.items():
        thread.add(name, expect_object(message, f"{where}, message {name} is"), f"{where}, message {name}")
    before = link_entries(thread.names, thread.parents)
    steps = thread.steps_after(before)
    current = rated or text(history.get("currentId")) or text(at(value, "current_message_id"))
    leaf = thread.names.index(current) if current in thread.names else len(thread.names) - 1
    selected_paths = paths(before, leaf, [each.is_sampled for each in steps], unread)
    session: Object = {"session_id": text(at(value, "id")), **bounds(at(value, "created_at"), at(value, "updated_at"))}
    converted = load_paths(openai_chat, steps, selected_paths, session)
    rated_replies = [_with_ratings(each, messages) for each in converted]
    return with_unread([_with_rating(each, _rating(each, messages)) for each in rated_replies], unread)


def _with_ratings(conversation: Conversation, messages: Object) -> Conversation:
    """Return a conversation with the rating of each reply as its score."""
    replies = origin_of(conversation).replies
    ratings = [str(at(messages, reply.logged_id or "", "annotation", "rating")) for reply in replies]
    if {"1", "-1"}.isdisjoint(ratings):
        return conversation
    scores = [(Score("thumbs", rating == "1", "Open WebUI"),) if rating in ("1", "-1") else () for rating in ratings]
    rated = (structs.replace(reply, scores=each) for reply, each in zip(replies, scores, strict=True))
    return with_origin(conversation, replies=tuple(rated))


def _rating(conversation: Conversation, messages: Object) -> Json:
    """Return the rating of a conversation's last reply."""
    replies = origin_of(conversation).replies
    return at(messages, replies[-1].logged_id or "", "annotation", "rating") if replies else None


def _with_rating(conversation: Conversation, rating: Json) -> Conversation:
    """Return a conversation with a rating (1 for thumbs up, -1 for thumbs down) as its reward."""
    if str(rating) not in ("1", "-1"):
        return conversation
    return with_origin(conversation, reward=float(str(rating)), reward_evidence="the rating of the last reply")


class _Thread:
    """A converter from chat messages to entries; a summary becomes an entry before the message that contains it."""

    def __init__(self, system: str | None, line: int, unread: Unread, rated: str | None) -> None:
        self.names, self.parents = list[str](), list[str | None]()
        self._steps = list[ThreadEntry]()
        self._system, self._line, self._unread, self._rated = system, line, unread, rated

    def add(self, name: str, message: Object, place: str) -> None:
        """Add a message."""
        self._unread.count_members("message", message, *_MESSAGE)
        parent = text(message.get("parentId"))
        if summary := text(message.get("contextSummary")):
            turn = self._system_turn(place, f"{_COMPACTED}{summary}")
            self._append(f"{name} summary", parent, ThreadEntry((turn,), is_summary=True))
            parent = f"{name} summary"
        self._append(name, parent, self._step(message, place))

    def _append(self, name: str, parent: str | None, step: ThreadEntry) -> None:
        self.names.append(name)
        self.parents.append(parent)
        self._steps.append(step)

    def steps_after(self, before: list[int]) -> list[ThreadEntry]:
        """Return the entries, with the system prompt at the beginning of each path.

        ``before`` contains the parent of each entry.
        """
        if not self._system:
            return self._steps
        turn = self._system_turn("chat.params.system")
        return [
            structs.replace(step, turns=(turn, *step.turns)) if place == ROOT and not step.is_summary else step
            for place, step in zip(before, self._steps, strict=True)
        ]

    def _system_turn(self, place: str, *more: str) -> LoggedTurn:
        words = "\n".join(each for each in (self._system, *more) if each)
        return LoggedTurn(place, {"role": "system", "content": words}, Evidence(self._line))

    def _step(self, message: Object, place: str) -> ThreadEntry:
        role, time = message.get("role"), moment(message.get("timestamp"))
        if role in ("user", "system"):
            turn = {"role": role, "content": self._prompt(message)}
            return ThreadEntry((LoggedTurn(place, turn, Evidence(self._line, time)),))
        if role != "assistant":
            raise TurnError(f"{place}: unknown role {compact(role)[:40]}")
        turns = _from_items(objects(message.get("output")), self._unread) or _from_text(
            text(message.get("content")) or ""
        )
        if not turns:
            self._unread.count("reply without text")
            return ThreadEntry()
        # Stopped and failed answers are never trained on.
        is_sampled = message.get("done") is not False and not message.get("error")
        is_sampled = is_sampled and self._rated in (None, message.get("id"))
        known = Evidence(self._line, time, is_sampled, text(message.get("model")))
        usage = members(message.get("usage")) or members(at(message, "info", "usage")) or members(message.get("info"))
        with_usage = structs.replace(
            known,
            prompt_tokens=_count(usage, "prompt_tokens", "input_tokens", "prompt_eval_count"),
            logged_id=text(message.get("id")),
            completion_tokens=_count(usage, "completion_tokens", "output_tokens", "eval_count"),
        )
        # The usage covers the complete answer; if it consists of several messages, it is assigned to the last one.
        last = max(number for number, turn in enumerate(turns) if turn["role"] == "assistant")
        result_evidence = Evidence(self._line, time)
        evidence = [known if turn["role"] == "assistant" else result_evidence for turn in turns]
        evidence[last] = with_usage
        logged_turns = (LoggedTurn(place, turn, each) for turn, each in zip(turns, evidence, strict=True))
        return ThreadEntry(tuple(logged_turns), is_sampled)

    def _prompt(self, message: Object) -> Json:
        """Return a prompt with its images."""
        words = message.get("content")
        images = list[Object]()
        for each in objects(message.get("files")):
            url = text(each.get("url"))
            is_image = each.get("type") == "image" or string(each, "content_type").startswith("image/")
            # Other URLs are paths on the server, whose files are not exported.
            if is_image and url and url.startswith(("data:", "http:", "https:")):
                images.append(parts.image(url))
            else:
                self._unread.count("file")
        if not images:
            return words if isinstance(words, str | list) else ""
        return [*([parts.text(words)] if isinstance(words, str) and words else as_list(words)), *images]


def _count(usage: Object, *names: str) -> int | None:
    return next((number for name in names if (number := count(usage.get(name))) is not None), None)


class _Reply:
    """The messages of an answer under construction, which may include tool calls."""

    def __init__(self) -> None:
        self.turns = list[Object]()
        self._texts, self._thoughts, self._calls = list[str](), list[str](), list[Object]()
        self._results = list[Object]()

    def text(self, words: str) -> None:
        """Add text, which starts a new message after results."""
        if words:
            self._continue()
            self._texts.append(words)

    def thought(self, words: str) -> None:
        """Add reasoning."""
        if words:
            self._continue()
            self._thoughts.append(words)

    def call(self, call_id: str, name: str, arguments: Json) -> None:
        """Add a call."""
        self._continue()
        self._calls.append(spell_call(call_id, name, arguments))

    def result(self, call_id: str, content: Json) -> None:
        """Add the result of a call."""
        self._results.append(tool_message(call_id, content))

    def end(self) -> list[Object]:
        """Return all messages."""
        self._flush()
        return self.turns

    def _continue(self) -> None:
        if self._results:
            self._flush()

    def _flush(self) -> None:
        if self._texts or self._thoughts or self._calls:
            words, thoughts = "\n".join(self._texts) or None, "\n".join(self._thoughts)
            self.turns.append(assistant_message(words, self._calls, thoughts))
        self.turns += self._results
        self._texts, self._thoughts, self._calls, self._results = [], [], [], []


def _from_items(items: list[Object], unread: Unread) -> list[Object]:
    """Return the messages in the items of an answer; calls without a result are dropped, because they are not sent."""
    answered_calls = {string(item, "call_id") for item in items if item.get("type") == "function_call_output"}
    reply = _Reply()
    for item in items:
        name, call_id = item.get("type"), string(item, "call_id")
        if name == "message":
            reply.text(_texts(item.get("content")))
        elif name == "reasoning":
            reply.thought(_texts(item.get("summary")) or _texts(item.get("content")))
        elif name == "function_call" and call_id in answered_calls:
            reply.call(call_id, string(item, "name"), item.get("arguments"))
        elif name == "function_call_output":
            reply.result(call_id, _result(item.get("output"), unread))
        else:
            unread.count(f"item {name}")
    return reply.end()


def _texts(content: Json) -> str:
    return "".join(words for part in objects(content) if (words := string(part, "text")))


def _result(output: Json, unread: Unread) -> Json:
    if isinstance(output, str):
        return output
    for part in objects(output):
        if part.get("type") != "input_text":
            unread.count(f"result {string(part, 'type')}")
    return _texts(output)


def _from_text(content: str) -> list[Object]:
    """Return the messages in the text of an answer, including thoughts and calls from ``<details>`` elements."""
    from html import unescape  # imported here because few files need it

    reply, end = _Reply(), 0
    for element in _DETAILS.finditer(content):
        reply.text(content[end : element.start()].strip("\n"))
        end = element.end()
        known = {name: unescape(value) for name, value in _ATTRIBUTE.findall(element[2])}
        if element[1] == "reasoning":
            lines = unescape(_SUMMARY.sub("", element[3], count=1)).strip("\n").split("\n")
            reply.thought("\n".join(line.removeprefix("> ").removeprefix(">") for line in lines))
        elif "result" in known:
            reply.call(known.get("id", ""), known.get("name", ""), _parse(known.get("arguments", "")))
            reply.result(known.get("id", ""), _as_text(_parse(known["result"])))
    reply.text(content[end:].strip("\n") if end else content)
    return reply.end()


def _parse(value: str) -> Json:
    """Parse arguments or a result, which are JSON strings that contain JSON."""
    parsed = jsonio.value(value)
    return value if parsed is None else parsed


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode()
