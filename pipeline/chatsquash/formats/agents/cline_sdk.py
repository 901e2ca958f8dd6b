"""Sessions of Cline's SDK and command line: messages with the system prompt, and the result of a compaction."""

from __future__ import annotations

import re
from glob import escape

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, ConversationKind, Json
from chatsquash.formats import view
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.evidence import Evidence, LoggedMessages, LoggedTurn, Unread, load_turns, moment, origin
from chatsquash.formats.providers import anthropic
from chatsquash.formats.retention import never
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.truncation import as_truncated
from chatsquash.formats.values import Object, as_list, at, count, string, total, without

NAME = "cline_sdk"
HAS_TOOLS = False
MEMBERS = ("messages",)
LOCATIONS = ("~/.cline/data/sessions/*/*.messages.json",)
RETENTION = never("Cline", "cline 3.0.65 on npm")

_SUFFIX = ".messages.json"
_FILE = ("version", "updated_at", "agent", "sessionId", "messages", "system_prompt")
_MESSAGE = ("role", "content", "id", "ts", "modelInfo", "metrics", "metadata")
_PROMPT_TAGS = re.compile(r"\s*<(user_input|user_command)\b[^>]*>(.*)</\1>\s*", re.DOTALL)
"""A prompt in tags, which are stored but not sent."""
_AGENTS = ("subagent", "teammate")
_PROMPT_TOKENS = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")


def fits(values: list[Json]) -> str | None:
    """Check for an object with a version, messages, a session and an agent kind."""
    value = values[0] if len(values) == 1 else None
    fitting = isinstance(value, dict) and value.keys() >= {"version", "agent", "sessionId", "messages"}
    return "agent and sessionId next to messages" if fitting and isinstance(at(value, "messages"), list) else None


def companions(name: str) -> str | None:
    """Return a glob for the files with the session's settings and the result of a compaction."""
    return f"{escape(name.removesuffix(_SUFFIX))}.[!m]*" if name.endswith(_SUFFIX) else None


def owner(path: str) -> str | None:
    """Return the messages file of the session that another file in its folder belongs to."""
    for suffix in (".compaction.json", ".json"):
        if path.endswith(suffix) and not path.endswith(_SUFFIX):
            folder, _, name = path.rpartition("/")
            stem = name.removesuffix(suffix)
            return f"{folder}/{stem}{_SUFFIX}" if folder.endswith(f"/{stem}") else None
    return None


def conversations(values: list[Json], meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversation before a compaction.

    ``meta`` is the content of the companion files.  Tool definitions are not stored.
    """
    value = values[0] if values else None
    unread = Unread()
    unread.count_members("file", value, *_FILE)
    compaction = next((each for each in as_list(meta) if isinstance(at(each, "source_message_count"), int)), None)
    manifest = next((each for each in as_list(meta) if isinstance(at(each, "session_id"), str)), None)
    model = text(at(manifest, "model"))
    logged_messages = _load(value, model, unread, "messages")
    count_of = at(compaction, "source_message_count")
    if (
        compaction is None
        or not as_list(at(compaction, "messages"))
        or not 0 < count_of <= len(as_list(at(value, "messages")))
    ):
        return with_unread(
            [_conversation(logged_messages, value, "", "main")] if logged_messages.messages else [], unread
        )
    compacted = {
        **compaction,
        "messages": [*as_list(at(compaction, "messages")), *as_list(at(value, "messages"))[count_of:]],
    }
    before = {**(value or {}), "messages": as_list(at(value, "messages"))[:count_of]}
    # The messages were already counted, so the other parts use separate counters.
    now = _conversation(_load(compacted, model, Unread(), "compaction"), value, "2", "compacted")
    return with_unread([now, _conversation(_load(before, model, Unread(), "messages"), value, "1", "main")], unread)


def _conversation(logged_messages: LoggedMessages, value: Json, name: str, kind: ConversationKind) -> Conversation:
    is_inner = at(value, "agent") in _AGENTS
    known: Object = {"id": name, "kind": "subagent" if is_inner and kind == "main" else kind}
    known |= {"parent": "1"} if kind == "compacted" else {}
    return Conversation(
        logged_messages.messages, [], origin=origin(logged_messages, session_id=text(at(value, "sessionId")), **known)
    )


def _load(value: Json, model: str | None, unread: Unread, place: str) -> LoggedMessages:
    messages = expect_list(at(value, "messages"), f"{place} is")
    turns = list[LoggedTurn]()
    has_metrics = any(at(message, "metrics") is not None for message in messages)
    for number, message in enumerate(messages):
        where = f"{place}[{number}]"
        expect_object(message, f"{where} is")
        if _is_shown_only(message):
            unread.count("message that is only displayed")
            continue
        unread.count_members("message", message, *_MESSAGE)
        turn = LoggedTurn(where, _turn(message), _evidence(message, model))
        # Metrics are added when a reply ends.  An error message after a reply also shows that it was interrupted.
        has_end = has_metrics or any(map(_is_shown_only, messages[number + 1 : number + 2]))
        turns.append(as_truncated(turn) if has_end and message.get("metrics") is None else turn)
    logged_messages = load_turns(anthropic, turns)
    prompt = text(at(value, "system_prompt"))
    system = view.messages(anthropic.system(prompt)) if prompt else []
    return LoggedMessages(
        [*system, *logged_messages.messages], [*(Evidence(1) for _ in system), *logged_messages.evidence]
    )


def _is_shown_only(message: Json) -> bool:
    """Return whether a message, such as an error, is only displayed and never sent."""
    return at(message, "metadata", "displayOnly") is True


def _turn(message: Object) -> Object:
    role, content = message.get("role"), message.get("content")
    blocks = [_block(block) for block in content] if isinstance(content, list) else content
    if role != "user":
        return {"role": role, "content": blocks}
    if isinstance(blocks, list):
        return {
            "role": role,
            "content": [{**each, "text": _prompt(each["text"])} if string(each, "text") else each for each in blocks],
        }
    return {"role": role, "content": _prompt(blocks)}


def _prompt(content: Json) -> Json:
    """Return a prompt without its tags, as it was sent."""
    while isinstance(content, str) and (match := _PROMPT_TAGS.fullmatch(content)):
        content = match[2].strip()
    return content


def _evidence(message: Object, model: str | None) -> Evidence:
    time = moment(message.get("ts"))
    if message.get("role") != "assistant":
        return Evidence(1, time)
    usage = message.get("metrics")
    model_name = text(at(message, "modelInfo", "id")) or model
    return Evidence(1, time, True, model_name, total(usage, *_PROMPT_TOKENS), count(at(usage, "outputTokens")))


def _block(block: Json) -> Json:
    """Convert a block to Anthropic's form."""
    match block:
        case {"type": "image", "data": str(data), "mediaType": str(mime)}:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "file", "content": str(file_text)}:
            return {"type": "text", "text": f"{string(block, 'path')}\n{file_text}"}
        case {"type": "tool_result", "content": list(content)}:
            return {**without(block, "name", "content"), "content": _result(content)}
        case {"type": "tool_result"}:
            return without(block, "name")
        case {"type": "tool_use"}:
            return without(block, "call_id")
    return block


def _result(content: list[Json]) -> list[Json]:
    """Return the content of a result; images inside values are moved after the JSON of the values."""
    images = list[Json]()
    if all(at(each, "type") in ("text", "image", "file") for each in content):
        return list(map(_block, content))
    value = _without_images(content, images)
    if not images:
        return list(map(_block, content))
    return [{"type": "text", "text": jsonio.dumps(value).decode()}, *map(_block, images)]


def _without_images(value: Json, images: list[Json]) -> Json:
    """Move the images in the lists of a value to ``images``, and replace text blocks with strings."""
    match value:
        case {"type": "text", "text": str(words), **more} if not more:
            return words
        case dict():
            return {name: _without_images(each, images) for name, each in value.items()}
        case list():
            new_images = [each for each in value if _is_image(each)]
            images += new_images
            return [_without_images(each, images) for each in value if not _is_image(each)]
    return value


def _is_image(value: Json) -> bool:
    match value:
        case {"type": "image", "data": str(), "mediaType": str()}:
            return True
    return False
