"""Codex's rollout files: the items of OpenAI Responses, among events that repeat them."""

from __future__ import annotations

from collections.abc import Iterable
from glob import escape

from chatsquash.core.blocks import Block, Call, Reasoning, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Conversation, Json, Message, Origin, RepeatedViolation, Tool
from chatsquash.formats import view
from chatsquash.formats.agents.codex.rollout import Meta, Rollout, RolloutHistory, is_bare
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.evidence import Evidence, LoggedMessages, LoggedTurn, entries, origin, together
from chatsquash.formats.providers import openai_responses
from chatsquash.formats.providers.openai_responses.read import State, assistant_turn
from chatsquash.formats.values import Object, at, is_plain_name, string

NAME = "codex"
HOLDS_TOOLS = False
MEMBERS = ("payload", "instructions")
KEPT = (
    "${CODEX_HOME:-~/.codex}/sessions/**/*.jsonl*",
    "${CODEX_HOME:-~/.codex}/archived_sessions/**/*.jsonl*",
)

_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_CERTAIN = ("session_meta", "response_item")
"""Types of which one line is evidence enough."""
_BETWEEN_AGENTS = "inter_agent_communication"


def fits(values: list[Json]) -> str | None:
    """Check for lines with a type of Codex's and a payload, or for bare items after a header (oldest files)."""
    count = sum(map(_is_line, values))
    if count * 2 > len(values) or any(_is_line(line) and string(line, "type") in _CERTAIN for line in values):
        return f"session lines with a payload in {count} of {len(values)} lines"
    old = (isinstance(line, dict) and (line.get("record_type") == "state" or is_bare(line)) for line in values[1:])
    is_old = len(values) > 1 and _is_header(values[0]) and all(old)
    return "a session's id, time and instructions before bare items" if is_old else None


def _is_line(line: Json) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("payload"), dict):
        return False
    of = string(line, "type")
    return of in _KINDS or of.startswith(_BETWEEN_AGENTS)


def _is_header(line: Json) -> bool:
    return isinstance(line, dict) and line.keys() >= {"id", "timestamp", "instructions"} and "type" not in line


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the parent session of a sub-agent: in the same folder, with its id at the end of its name."""
    folder = path.rpartition("/")[0]
    return f"{escape(folder)}/rollout-*-{origin.parent}.jsonl*" if is_plain_name(origin.parent) else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation as it ended, then what it was before each compaction and each rollback."""
    rollout = Rollout(has_events=any(at(line, "payload", "type") == "user_message" for line in values))
    for place, number, line in entries(values, lines):
        if "type" not in line and _is_header(line):
            rollout.header(number, line)
        else:
            rollout.add(place, number, line)
    prompt, meta = _instructions(rollout)
    histories = [each for each in (rollout.now, *rollout.left) if each.items]
    return [_conversation(rollout, each, prompt, meta, place) for place, each in enumerate(histories)]


def _conversation(
    rollout: Rollout, history: RolloutHistory, prompt: list[Message], meta: Meta, place: int
) -> Conversation:
    head = Evidence(meta.line, meta.time if history.kind == "main" else None)
    loaded = load_items(history.items, prompt, head)
    known: Object = {"session_id": string(rollout.meta[0].payload, "id") or None} if rollout.meta else {}
    if meta.time and not any(each.time for each in loaded.evidence):
        known |= {"started": meta.time.at, "ended": meta.time.at}
    if rollout.is_continued:
        known["findings"] = ((meta.line, RepeatedViolation("missing-history")),)
    kind = "subagent" if history.kind == "main" and rollout.parent else history.kind
    parent = history.parent or (rollout.parent if kind == "subagent" else None)
    linked = {"id": history.id, "kind": kind, "parent": parent, "unread": rollout.unread.of(place)}
    return Conversation(loaded.messages, _definitions(rollout), origin=origin(loaded, **linked, **known))


def _definitions(rollout: Rollout) -> list[Tool]:
    """Return the tools that a client of Codex answers itself; Codex's own tools are in no file."""
    lists = (meta.payload.get("dynamic_tools") for meta in rollout.meta)
    definitions = next((tools for tools in lists if isinstance(tools, list)), [])
    spelled = [
        {
            "type": "function",
            "name": each.get("name"),
            "description": each.get("description"),
            "parameters": each.get("inputSchema", each.get("input_schema")),
        }
        for each in definitions
        if isinstance(each, dict)
    ]
    return list(openai_responses.tools(spelled).functions)


def _instructions(rollout: Rollout) -> tuple[list[Message], Meta]:
    """Return the system prompt, if the session has one; instructions that a message repeats are the user's own."""
    items = [each.turn for history in (rollout.now, *rollout.left) for each in history.items]
    for meta in rollout.meta:
        based = meta.payload.get("base_instructions")
        prompt = string(based, "text") or (based if isinstance(based, str) else "")
        older = string(meta.payload, "instructions")
        if prompt or older:
            is_input = bool(prompt) or not _is_repeated(older, items)
            return view.messages(openai_responses.system(prompt or older)) if is_input else [], meta
    return [], rollout.meta[0] if rollout.meta else Meta(None, None, {})


def _is_repeated(text: str, items: list[Json]) -> bool:
    """Whether a message contains a text."""
    for item in items:
        content = item.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        if any(text in said for block in blocks if isinstance(said := at(block, "text"), str)):
            return True
    return False


# Messages of items: most are built at once, others as the requests of OpenAI Responses are read


_TEXT = 2
"""How many members a block of text has that has nothing else."""
_PLAIN_SIZE = 3
"""How many members a message or a result has that has nothing else."""
_CALLED = 4
"""How many members a call has that has nothing else."""
_THOUGHT = frozenset(("type", "id", "summary", "content", "encrypted_content"))
_TEXTS = ("input_text", "output_text")
_ASSISTANT = ("reasoning", "function_call")
_OTHERS = ("user", "developer", "system")


def load_items(turns: Iterable[LoggedTurn], head: list[Message], of_head: Evidence) -> LoggedMessages:
    """Return the messages of items, after those of the head; raise ``TurnError`` with the place."""
    messages = _Messages(LoggedMessages(list(head), [of_head] * len(head)))
    for turn in turns:
        messages.add(turn)
    messages.close()
    return messages.loaded


class _Messages:
    """Collects messages while items are read."""

    def __init__(self, loaded: LoggedMessages) -> None:
        self.loaded = loaded
        self._open: list[LoggedTurn] = []
        """The assistant's items that are no message yet."""
        self._calls = Calls()
        """What messages left, but for the assistant's last one and what came behind it."""
        self._said: tuple[Block, ...] | None = None
        """That one, if it is not counted in; none of its calls has an id that was made up."""
        self._answered: list[str] = []
        """The calls that were answered since."""

    def add(self, turn: LoggedTurn) -> None:
        """Add an item; anyone's but the assistant's is a message of its own."""
        item = turn.turn
        of = item.get("type")
        if of in _ASSISTANT or (of == "message" and item.get("role") == "assistant" and _text(item) is not None):
            self._open.append(turn)
        elif message := _message(item):
            self.close()
            if message["role"] == "tool":
                self._answered.append(message["tool_call_id"])
            self._append(message, turn.evidence)
        else:
            self._load(turn)

    def close(self) -> None:
        """Turn the assistant's open items into a message."""
        opened, self._open = self._open, []
        if not opened:
            return
        items = [each.turn for each in opened]
        if usual := _assistant(items):
            message, self._said = usual
            self._answered = []
        else:
            calls = self._behind()
            turn = assistant_turn(items, calls.call)
            message, self._calls = view.message(turn), calls.after_calls(turn.blocks)
        self._append(message, together(opened))

    def _load(self, turn: LoggedTurn) -> None:
        """Load an item as one of a request."""
        try:
            if not openai_responses.load(turn.turn, State()).turns:
                self._open.append(turn)
                return
            self.close()
            (made,), state = openai_responses.load(turn.turn, State(calls=self._behind()))
        except TurnError as problem:
            raise TurnError(f"{turn.place} {problem}") from None
        self._calls = state.calls
        for message in view.messages([made]):
            self._append(message, turn.evidence)

    def _append(self, message: Message, evidence: Evidence) -> None:
        self.loaded.messages.append(message)
        self.loaded.evidence.append(evidence)

    def _behind(self) -> Calls:
        """Return the open calls after the messages so far."""
        if self._said is not None:
            self._calls, self._said = self._calls.after_calls(self._said), None
        for answered in self._answered:
            _, self._calls = self._calls.answer(answered, None)
        self._answered = []
        return self._calls


def _assistant(items: list[Object]) -> tuple[Message, tuple[Block, ...]] | None:
    """Return the usual message of reasoning, a text and calls, in this order, with its blocks."""
    blocks, thoughts, calls = list[Block](), list[str](), list[Object]()
    text: str | None = None
    is_plain = True
    for item in items:
        of = item.get("type")
        made: Block | None
        if of == "function_call":
            if (made := _call(item)) is not None:
                calls.append(view.call(made))
        elif calls or text is not None:
            return None
        elif of == "reasoning":
            made, is_plain = _thought(item), False
            thoughts += [made.text] if made and made.text else []
        else:
            made = _said(item)
            text = made.text if made else None
            is_plain = is_plain and not (made and made.native)
        if made is None:
            return None
        blocks.append(made)
    message: Object = {"role": "assistant", "content": text or (None if calls else "")}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    content = tuple(blocks)
    if not is_plain:
        message[PRIVATE] = Turn("assistant", content)
    return message, content  # type: ignore[return-value]


def _said(item: Object) -> Text | None:
    """Return the text of a message that has nothing else but a phase."""
    text, phase = _text(item), item.get("phase")
    if not text or len(item) != _PLAIN_SIZE + ("phase" in item) or not isinstance(phase, str | None):
        return None
    return Text(text, native={"openai": {"phase": phase}}) if phase else Text(text)


def _thought(item: Object) -> Reasoning | None:
    """Return reasoning with at most one text and no members that its block cannot have."""
    summary, encrypted, ident = item.get("summary"), item.get("encrypted_content"), item.get("id", "")
    is_text = isinstance(encrypted, str) and isinstance(ident, str)
    if (
        not (is_text and encrypted and isinstance(summary, list))
        or item.get("content")
        or not _THOUGHT.issuperset(item)
    ):
        return None
    if not summary:
        return Reasoning("", "openai", "", encrypted, ident)
    text = string(summary[0], "text")
    is_usual = text and len(summary) == 1 and summary[0] == {"type": "summary_text", "text": text}
    return Reasoning(text, "openai", "", encrypted, ident) if is_usual else None


def _call(item: Object) -> Call | None:
    call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if (
        len(item) == _CALLED
        and call_id
        and isinstance(call_id, str)
        and isinstance(name, str)
        and isinstance(arguments, str)
    ):
        return Call(call_id, name, arguments)
    return None


def _text(item: Object) -> str | None:
    """Return the text of a message that contains nothing else."""
    content = item.get("content")
    if isinstance(content, list) and len(content) == 1:
        block = content[0]
        is_text = isinstance(block, dict) and len(block) == _TEXT and block.get("type") in _TEXTS
        content = block.get("text") if is_text else None
    return content if isinstance(content, str) and "tool_calls" not in item and "function_call" not in item else None


def _message(item: Object) -> Message | None:
    """Return the message of a prompt or of a result that contains nothing else."""
    if len(item) != _PLAIN_SIZE:
        return None
    of = item.get("type")
    if of == "message" and item.get("role") in _OTHERS and (text := _text(item)) is not None:
        return {"role": item["role"], "content": text}
    if of == "function_call_output":
        call_id, output = item.get("call_id"), item.get("output")
        if call_id and isinstance(call_id, str) and isinstance(output, str):
            return {"role": "tool", "tool_call_id": call_id, "content": output}
    return None
