"""ChatGPT's exported conversations: a tree of nodes with a current node."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import function_call
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, bounds, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import ThreadEntry, link_entries, load_elements, load_paths, paths, text, with_unread
from chatsquash.formats.values import Object, as_list, at, compact, kind, members, objects, string

NAME = "chatgpt"
HAS_TOOLS = False
PER_ELEMENT = True
MEMBERS = ("mapping",)

_CONVERSATION = ("mapping", "current_node", "conversation_id", "id", "title", "create_time", "update_time")
_MESSAGE = (
    *("id", "author", "create_time", "update_time", "content", "status", "recipient", "metadata"),
    *("channel", "weight", "end_turn"),
)
_HIDDEN = "is_visually_hidden_from_conversation"
_ALL = "all"
"""The recipient of all messages that are not calls."""
_PICTURE = "image_asset_pointer"
_THOUGHTS = ("thoughts", "reasoning_recap")


def fits(values: list[Json]) -> str | None:
    """Check for conversations that map node ids to nodes and contain the id of the current node."""
    fitting = values and all(isinstance(at(each, "mapping"), dict) and "current_node" in each for each in values)
    return "mapping and current_node" if fitting else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the path to the current node of each conversation, then edited and regenerated branches.

    The system prompt and the tools are not exported.  Calls have no ids, so results are matched based on their order.
    """
    return load_elements(values, lines, _conversation)


def _conversation(value: Json, where: str, line: int) -> list[Conversation]:
    mapping = expect_object(at(value, "mapping"), f"{where}: mapping is")
    unread = Unread()
    unread.count_members("conversation", value, *_CONVERSATION)
    names, nodes = list(mapping), list(map(members, mapping.values()))
    before = link_entries(names, [text(node.get("parent")) for node in nodes])
    numbers = _Numbers()
    current = text(value.get("current_node"))
    leaf = names.index(current) if current in mapping else _latest(nodes)
    if not nodes:
        return []
    steps = [
        _step(f"{where}, node {name}", line, node.get("message"), numbers, unread)
        for name, node in zip(names, nodes, strict=True)
    ]
    selected_paths = [
        _with_pairs(path, steps) for path in paths(before, leaf, [each.is_sampled for each in steps], unread)
    ]
    session: Object = {"session_id": text(value.get("conversation_id")) or text(value.get("id"))}
    session |= bounds(value.get("create_time"), value.get("update_time"))
    # Paths may assign different calls to a shared entry, so each path has its own copies.
    flat = [step for path in selected_paths for step in path]
    places, at_place = list[list[int]](), 0
    for path in selected_paths:
        places.append(list(range(at_place, at_place + len(path))))
        at_place += len(path)
    return with_unread(load_paths(openai_chat, flat, places, session), unread)


def _latest(nodes: list[Object]) -> int:
    """Return the index of the last leaf."""
    leaves = [place for place, node in enumerate(nodes) if not as_list(node.get("children"))]
    return leaves[-1] if leaves else len(nodes) - 1


class _Numbers:
    """A generator for call ids, which exports do not contain."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return f"call_{self.count}"


def _step(place: str, line: int, message: Json, numbers: _Numbers, unread: Unread) -> ThreadEntry:
    """Convert the message of a node, which may be missing."""
    if not isinstance(message, dict):
        return ThreadEntry()
    unread.count_members("message", message, *_MESSAGE)
    role, metadata = string(message.get("author"), "role"), members(message.get("metadata"))
    # Hidden user messages, such as custom instructions, were not written in the chat.
    if role == "system" or (metadata.get(_HIDDEN) is True and role == "user"):
        words = _content(message.get("content"), unread)
        return (
            ThreadEntry((LoggedTurn(place, {"role": "system", "content": words}, Evidence(line)),))
            if words
            else ThreadEntry()
        )
    time = moment(message.get("create_time"))
    if role == "assistant":
        known = Evidence(line, time, True, text(metadata.get("model_slug")))
        turn = _assistant(message, numbers, unread)
        return ThreadEntry((LoggedTurn(place, turn, known),), is_sampled=True) if turn else ThreadEntry()
    content = _content(message.get("content"), unread)
    for each in objects(metadata.get("attachments")):
        # Pictures are both attachments and parts of the content.
        if text(each.get("id")) not in _files(content):
            unread.count("attachment")
    if role == "tool":
        turn = {"role": "tool", "name": text(at(message, "author", "name")), "content": content}
        return ThreadEntry((LoggedTurn(place, turn, Evidence(line, time)),))
    if role != "user":
        raise TurnError(f"{place}: unknown role {compact(at(message, 'author', 'role'))[:40]}")
    return ThreadEntry((LoggedTurn(place, {"role": "user", "content": content}, Evidence(line, time)),))


def _assistant(message: Object, numbers: _Numbers, unread: Unread) -> Object | None:
    """Convert an assistant message, which contains text, thoughts or a call."""
    content, recipient = members(message.get("content")), text(message.get("recipient")) or _ALL
    content_type = string(content, "content_type")
    if content_type in _THOUGHTS:
        thoughts = [
            words
            for each in objects(content.get("thoughts"))
            if (words := text(each.get("content")) or text(each.get("summary")))
        ]
        recap = (
            [words] if not thoughts and content_type == "thoughts" and (words := text(content.get("content"))) else []
        )
        if content_type == "reasoning_recap":
            unread.count("message reasoning_recap")
        elif not (thoughts or recap):
            unread.count("thoughts without text")
        words = "\n\n".join(thoughts or recap)
        return {"role": "assistant", "content": None, "reasoning_content": words} if words else None
    if recipient != _ALL:
        query = content["text"] if isinstance(content.get("text"), str) else _flat(content)
        # The input of a call is text, which is often code rather than JSON.
        arguments = query if isinstance(jsonio.value(query), dict) else {"input": query}
        call = function_call(numbers.next(), recipient, arguments)
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    words = _content(content, unread)
    if not words:
        unread.count("reply without text")
    return {"role": "assistant", "content": words} if words else None


def _flat(content: Object) -> str:
    """Concatenate the text of parts."""
    return "".join(part for part in as_list(content.get("parts")) if isinstance(part, str))


def _content(content: Json, unread: Unread) -> Json:
    """Convert content to a string, or to parts if it contains pictures, of which only the ids are exported."""
    body = members(content)
    content_type = string(body, "content_type")
    if isinstance(body.get("text"), str):
        return body["text"]
    if content_type in ("tether_browsing_display", "tether_quote", "execution_output", "code", "system_error"):
        return next((words for name in ("text", "result", "summary") if (words := text(body.get(name)))), "")
    if content_type in ("user_editable_context", "model_editable_context"):
        names = ("user_profile", "user_instructions", "model_set_context")
        return "\n\n".join(words for name in names if (words := text(body.get(name))))
    blocks = list[Object]()
    for part in as_list(body.get("parts")):
        words = part if isinstance(part, str) else at(part, "text")
        if isinstance(words, str):
            blocks += [parts.text(words)] if words else []
        elif pointer := _pointer(part):
            blocks.append(parts.file(file_id=pointer))
        else:
            unread.count(f"part {string(part, 'content_type') or kind(part)}")
    if not as_list(body.get("parts")) and body:
        unread.count(f"content {content_type}")
    is_text = all(part["type"] == "text" for part in blocks)
    return "\n\n".join(part["text"] for part in blocks) if is_text else blocks


def _files(content: Json) -> list[str]:
    """Return the file ids of the pictures in content."""
    return [string(part.get("file"), "file_id") for part in objects(content)]


def _pointer(part: Json) -> str:
    """Return the file id of a picture, or an empty string for other parts."""
    if at(part, "content_type") != _PICTURE:
        return ""
    pointer = string(part, "asset_pointer")
    return pointer.partition("://")[2] or pointer


def _with_pairs(path: list[int], steps: list[ThreadEntry]) -> list[ThreadEntry]:
    """Return the entries of a path, with call ids assigned to results and consecutive assistant messages merged."""
    result, waiting = list[ThreadEntry](), list[str]()
    for place in path:
        step = steps[place]
        turn = step.turns[0].turn if step.turns else None
        if turn is None:
            continue
        if turn["role"] == "tool":
            if not waiting:
                # A result without a call cannot be expressed, so it becomes a user message.
                user = {"role": "user", "content": turn["content"]}
                result.append(replace(step, turns=(replace(step.turns[0], turn=user),)))
                continue
            turn = {**turn, "tool_call_id": waiting.pop(0)}
            step = replace(step, turns=(replace(step.turns[0], turn=turn),))
        elif turn["role"] == "assistant":
            if result and result[-1].is_sampled and _joins(result[-1].turns[0].turn, turn):
                result[-1] = _join(result[-1], step)
                waiting += [call["id"] for call in turn.get("tool_calls", [])]
                continue
            waiting = [call["id"] for call in turn.get("tool_calls", [])]
        result.append(step)
    return result


def _joins(before: Object, turn: Object) -> bool:
    """Return whether two assistant messages belong to the same reply, whose order is thoughts, text and call."""
    return not before.get("tool_calls") and not (before.get("content") and turn.get("content"))


def _join(one: ThreadEntry, other: ThreadEntry) -> ThreadEntry:
    before, turn = one.turns[0], other.turns[0]
    thoughts = [words for each in (before.turn, turn.turn) if (words := each.get("reasoning_content"))]
    message: Object = {**before.turn, **{name: value for name, value in turn.turn.items() if value is not None}}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    message["content"] = turn.turn.get("content") or before.turn.get("content")
    return replace(one, turns=(LoggedTurn(before.place, message, before.evidence.merge(turn.evidence)),))
