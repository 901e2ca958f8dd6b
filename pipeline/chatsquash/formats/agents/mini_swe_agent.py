"""mini-swe-agent's trajectories: OpenAI chat messages, or OpenAI Responses items and responses."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.providers import openai_chat, openai_responses
from chatsquash.formats.retention import never
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, at, count, objects, without

NAME = "mini_swe_agent"
HAS_TOOLS = False
MEMBERS = ("trajectory_format",)
RETENTION = never("mini-swe-agent", "mini-swe-agent 2.4.6 on PyPI")

_FILE = ("info", "messages", "trajectory_format", "instance_id")
_EXTRA = ("timestamp", "response", "actions", "returncode", "raw_output", "cost", "model_response")


def fits(values: list[Json]) -> str | None:
    """Check for the format name."""
    value = values[0] if len(values) == 1 else None
    format_name = at(value, "trajectory_format")
    return (
        f"trajectory_format {format_name}"
        if isinstance(format_name, str) and format_name.startswith("mini-swe-agent")
        else None
    )


def conversations(values: list[Json]) -> list[Conversation]:
    """Return the messages except the last message, which only reports how the run ended.

    The definition of the agent's single tool is not stored.
    """
    value = values[0] if values else {}
    unread = Unread()
    unread.count_members("trajectory", value, *_FILE)
    unread.count_members("info", at(value, "info"), "config")
    messages = expect_list(at(value, "messages"), "messages is")
    model = text(at(value, "info", "config", "model", "model_name"))
    turns = list[LoggedTurn]()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        expect_object(message, f"{where} is")
        extra = message.get("extra")
        if text(at(extra, "exit_status")) or message.get("role") == "exit":
            unread.count("message that reports how the run ended")
            continue
        unread.count_members("message.extra", extra, *_EXTRA)
        turns += _turns(where, message, _evidence(message, extra, model))
    if not turns:
        return []
    has_items = any(at(message, "object") == "response" for message in messages)
    return with_unread([load_conversation(openai_responses if has_items else openai_chat, turns)], unread)


def _turns(where: str, message: Object, evidence: Evidence) -> list[LoggedTurn]:
    """Return the turns of a message, which may be a response with several items."""
    if message.get("object") != "response":
        return [LoggedTurn(where, without(message, "extra"), evidence)]
    items = expect_list(message.get("output"), f"{where}.output is")
    return [LoggedTurn(f"{where}.output[{number}]", item, evidence) for number, item in enumerate(items)]


def _evidence(message: Object, extra: Json, model: str | None) -> Evidence:
    time = moment(at(extra, "timestamp"))
    is_response = message.get("object") == "response"
    if message.get("role") != "assistant" and not is_response:
        return Evidence(1, time)
    answer = message if is_response else at(extra, "response")
    usage = at(answer, "usage")
    choice = next(iter(objects(at(answer, "choices"))), {})
    return Evidence(
        line=1,
        time=time,
        is_sampled=True,
        model=text(at(answer, "model")) or model,
        prompt_tokens=count(at(usage, "input_tokens" if is_response else "prompt_tokens")),
        completion_tokens=count(at(usage, "output_tokens" if is_response else "completion_tokens")),
        finish_reason=text(choice.get("finish_reason")),
        response_id=text(at(answer, "id")),
    )
