"""Continue's sessions: messages with their context, and calls with their results in the assistant's items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats.base import TurnError, expect_list
from chatsquash.formats.calls import assistant_message, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import EntryBudget, load_eras, text, with_unread
from chatsquash.formats.truncation import mark_without_usage, models_with_usage, reaches
from chatsquash.formats.values import Object, as_list, at, compact, count, members, objects, string, texts

NAME = "continue_dev"
HAS_TOOLS = True
"""True, although only the tools that were called are stored."""
MEMBERS = ("history",)
LOCATIONS = ("${CONTINUE_GLOBAL_DIR:-~/.continue}/sessions/*-*.json",)
RETENTION = never("Continue", "@continuedev/cli 1.5.47 on npm")

_SESSION = ("sessionId", "title", "workspaceDirectory", "history", "mode", "chatModelTitle", "usage")
_ITEM = (
    *("message", "contextItems", "promptLogs", "toolCallStates", "toolCallState", "reasoning", "conversationSummary"),
    *("editorState", "modifiers", "appliedRules", "isGatheringContext"),
)
_MESSAGE = ("role", "content", "id", "toolCallId", "toolCalls", "usage", "signature", "redactedThinking")
_SYSTEM, _USER = "<system>\n", "\n\n<user>\n"
"""The text in prompt logs before the system prompt and before the first user prompt."""
_BEFORE = "Previous conversation summary:\n\n "
_SIGNATURE_FORMAT = "anthropic-claude-v1"
_FAILED = ("errored", "canceled")


def fits(values: list[Json]) -> str | None:
    """Check for a session with a history of items that each contain a message."""
    value = values[0] if len(values) == 1 else None
    items = objects(at(value, "history"))
    fitting = isinstance(at(value, "sessionId"), str) and bool(items) and all("message" in each for each in items)
    return "sessionId next to history[].message" if fitting else None


def conversations(values: list[Json]) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before each summary.

    A missing system prompt is taken from the first prompt log.
    """
    value = values[0] if values else None
    unread = Unread()
    unread.count_members("session", value, *_SESSION)
    items = expect_list(at(value, "history"), "history is")
    model = text(at(value, "chatModelTitle"))
    tools = dict[str, Tool]()
    for number, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("message"), dict):
            raise TurnError(f"history[{number}] has no message")
        unread.count_members("item", item, *_ITEM)
        for definition in (members(state.get("tool")) for state in _states(item)):
            if name := text(at(definition, "function", "name")):
                tools.setdefault(name, {key: definition[key] for key in ("type", "function") if key in definition})
    defined_tools = list(openai_chat.tools(list(tools.values())).functions)
    session = text(at(value, "sessionId"))
    eras = list(_eras(items, model, unread))
    models = models_with_usage(chain.from_iterable(eras))
    eras = [[mark_without_usage(turn, models) for turn in era] for era in eras]
    return with_unread(load_eras(openai_chat, eras, defined_tools, session_id=session), unread)


def _eras(items: list[Object], model: str | None, unread: Unread) -> Iterator[list[LoggedTurn]]:
    """Yield the turns before each summary, and the turns at the end."""
    answered_calls = _answered_calls(items)
    system = _system(items)
    turns, thoughts, budget = list(system), list[Json](), EntryBudget(len(items))
    is_first = True
    for number, item in enumerate(items):
        where = f"history[{number}]"
        summary = text(item.get("conversationSummary"))
        is_own = summary is not None and string(item["message"], "content") == summary
        is_repeated = (
            string(item["message"], "role") == "tool" and string(item["message"], "toolCallId") in answered_calls
        )
        new_turns = [] if is_own or is_repeated else _turns(where, item, model, thoughts, unread)
        system += [each for each in new_turns if each.turn["role"] == "system"]
        turns += new_turns
        if summary is None:
            continue
        if any(each.evidence.is_sampled for each in turns):
            if budget.take(len(turns)):
                yield turns
            else:
                unread.count("history before a summary, over the limit")
            is_first = False
        # The command line stores the summary as a reply; the editor sends it after the system prompt.
        turn = {"role": "assistant", "content": summary} if is_own else {"role": "system", "content": _BEFORE + summary}
        turns = [*system, LoggedTurn(where, turn, Evidence(1))]
    if any(each.evidence.is_sampled for each in turns) or (is_first and turns):
        yield turns
    elif turns and not is_first:
        unread.count("summary that nothing follows")
    for _ in thoughts:
        unread.count("thoughts without a reply")


def _system(items: list[Object]) -> list[LoggedTurn]:
    """Return the logged prompt up to the user's first message, unless the history has a system prompt."""
    if any(string(item["message"], "role") == "system" for item in items):
        return []
    first_prompt = next((item for item in items if string(item["message"], "role") == "user"), None)
    prompts = (string(log, "prompt") for item in items for log in objects(item.get("promptLogs")))
    prompt = next((each for each in prompts if each), "")
    if first_prompt is None or not prompt.startswith(_SYSTEM):
        return []
    prompt_texts = [*_context_texts(first_prompt), *texts(first_prompt["message"].get("content"))]
    first = next(filter(None, prompt_texts), "")
    # The prompt log is plain text, so the user's text is used to locate the end of the system prompt.
    end = prompt.find(f"{_USER}{first[:100]}") if first else -1
    prompt_text = prompt[len(_SYSTEM) : end] if end >= 0 else ""
    return [LoggedTurn("promptLogs", {"role": "system", "content": prompt_text}, Evidence(1))] if prompt_text else []


def _answered_calls(items: list[Object]) -> set[str]:
    """Return the ids of calls stored with their results; messages may repeat these results."""
    states = (state for item in items for state in _states(item) if state.get("output") is not None)
    return {name for state in states if (name := string(state, "toolCallId"))}


def _states(item: Object) -> list[Object]:
    """Return the call states of an item; older versions store at most one."""
    return objects(item.get("toolCallStates")) or objects(as_list(item.get("toolCallState")))


def _turns(where: str, item: Object, model: str | None, thoughts: list[Json], unread: Unread) -> list[LoggedTurn]:
    message = item["message"]
    role = string(message, "role")
    unread.count_members(f"message {role}", message, *_MESSAGE)
    if role == "thinking":
        thoughts += _thoughts(message, unread)
        return []
    evidence = Evidence(1)
    if role == "assistant":
        return _assistant(where, item, model, thoughts)
    content = _content(message.get("content"))
    if role == "tool":
        return [LoggedTurn(where, tool_message(message.get("toolCallId"), content), evidence)]
    if role not in ("user", "system"):
        raise TurnError(f"{where}: unknown role {compact(message.get('role'))[:40]}")
    if role == "user" and (context := _context_texts(item)):
        content = [{"type": "text", "text": each} for each in context] + (
            content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        )
    return [LoggedTurn(where, {"role": role, "content": content}, evidence)]


def _thoughts(message: Object, unread: Unread) -> list[Json]:
    """Convert a thinking message to reasoning blocks in OpenRouter's form."""
    hidden, signature = string(message, "redactedThinking"), string(message, "signature")
    thought_text = "".join(texts(message.get("content")))
    signature_members = {"signature": signature, "format": _SIGNATURE_FORMAT} if signature else {}
    blocks: list[Json] = (
        [{"type": "reasoning.text", "text": thought_text, **signature_members}] if thought_text or signature else []
    )
    if not (blocks or hidden):
        unread.count("thought without text")
    return [*blocks, {"type": "reasoning.encrypted", "data": hidden, "format": _SIGNATURE_FORMAT}] if hidden else blocks


def _context_texts(item: Object) -> list[str]:
    """Return the context items, which precede the user's text."""
    return [content for each in objects(item.get("contextItems")) if (content := text(each.get("content")))]


def _assistant(where: str, item: Object, model: str | None, thoughts: list[Json]) -> list[LoggedTurn]:
    """Return the turn of a reply and the results of its calls."""
    message = item["message"]
    log = next(iter(objects(item.get("promptLogs"))), {})
    usage = message.get("usage")
    model_name = text(log.get("modelTitle")) or model or text(at(usage, "model"))
    prompt, completion = (_tokens(usage, name) for name in ("prompt", "completion"))
    finish = "length" if reaches(completion, count(at(log, "completionOptions", "maxTokens"))) else None
    states = _states(item)
    calls = list(map(_call, objects(message.get("toolCalls")) or [at(each, "toolCall") for each in states]))
    thought = string(at(item, "reasoning"), "text")
    turn = assistant_message(_content(message.get("content")), calls, thought)
    if thoughts and not thought:
        turn["reasoning_details"] = list(thoughts)
    thoughts.clear()
    results = [_result(state, output) for state in states if (output := state.get("output")) is not None]
    reply = LoggedTurn(where, turn, Evidence(1, None, True, model_name, prompt, completion, finish))
    return [reply, *(LoggedTurn(where, result, Evidence(1)) for result in results)]


def _tokens(usage: Json, direction: str) -> int | None:
    """Return a token count; Continue's command line uses the member names of the service."""
    return count(at(usage, f"{direction}Tokens") or at(usage, f"{direction}_tokens"))


def _call(call: Json) -> Object:
    function = at(call, "function")
    return {"id": at(call, "id"), "type": "function", "function": function if isinstance(function, dict) else {}}


def _result(state: Object, output: Json) -> Object:
    result_text = "\n\n".join(string(each, "content") for each in objects(output))
    return tool_message(state.get("toolCallId"), result_text, "failed" if state.get("status") in _FAILED else "")


def _content(content: Json) -> Json:
    if not isinstance(content, list):
        return content
    return [_part(part) for part in content]


def _part(part: Json) -> Json:
    image = at(part, "imageUrl") if at(part, "type") == "imageUrl" else None
    return {"type": "image_url", "image_url": image} if image else part
