"""Kimi CLI: the contexts of one session, as recorded with version 1.52 (other texts)."""

import json
from pathlib import Path

from chatsquash.formats.agents import kimi_cli
from tests.formats.table import links, words
from tests.outputs import findings, put

SYSTEM = {"role": "_system_prompt", "content": "S"}


def mark(number):
    return {"role": "_checkpoint", "id": number}


def said(text, *, usage=True):
    """A reply with its count of tokens."""
    return [{"role": "assistant", "content": text}, *([{"role": "_usage", "token_count": 9}] * usage)]


def asked(text):
    return {"role": "user", "content": text}


def trained(conversations):
    """The texts of the replies that the model gave in each conversation, without those that are truncated."""
    return [
        [each.messages[reply.at]["content"] for reply in each.origin.replies if not reply.finish_reason]
        for each in conversations
    ]


FIRST = [SYSTEM, mark(0), asked("a"), mark(1), *said("b"), mark(2), *said("c")]
SECOND = [SYSTEM, mark(0), asked("Summary"), *said("b", usage=False), *said("c"), mark(1), *said("d")]
THIRD = [SYSTEM, mark(0), asked("Other summary"), *said("c", usage=False), *said("d"), mark(1), *said("e")]


def test_contexts_before_compactions_are_conversations_of_the_session():
    found = kimi_cli.conversations(THIRD, meta=[FIRST, SECOND])
    assert words(found) == [
        ["S", "Other summary", "c", "d", "e"],
        ["S", "Summary", "b", "c", "d"],
        ["S", "a", "b", "c"],
    ]
    assert links(found) == [("3", "compacted", "2"), ("2", "compacted", "1"), ("1", "main", None)]
    assert trained(found) == [["e"], ["d"], ["b", "c"]]


def test_what_a_compaction_kept_is_a_copy_also_where_the_context_before_is_gone():
    (found,) = kimi_cli.conversations(SECOND)
    assert trained([found]) == [["d"]]


def test_what_a_revert_took_back_is_a_branch():
    after = [*FIRST[:6], mark(2), asked("x"), mark(3), *said("y")]
    found = kimi_cli.conversations(after, meta=[FIRST])
    assert words(found) == [["S", "a", "b", "x", "y"], ["S", "a", "b", "c"]]
    assert links(found) == [("2", "main", None), ("1", "branch", "2")]
    assert trained(found) == [["b", "y"], ["c"]]


def test_a_context_after_a_clearing_is_a_conversation_of_its_own():
    found = kimi_cli.conversations([SYSTEM, mark(0), asked("x"), mark(1), *said("y")], meta=[FIRST])
    assert links(found) == [("2", "main", None), ("1", "main", None)]


def test_a_reply_without_a_count_of_tokens_is_truncated_if_others_have_one():
    rows = [SYSTEM, mark(0), asked("a"), mark(1), *said("b", usage=False), asked("c"), mark(2), *said("d")]
    assert trained(kimi_cli.conversations(rows)) == [["d"]]
    assert trained(kimi_cli.conversations(rows[:5])) == [["b"]]


def test_files_beside_a_context_are_read_with_it_in_the_order_of_their_numbers(here, command):
    contexts = [FIRST]
    for number in range(2, 13):
        kept = said("c" if number == 2 else f"r{number - 1}", usage=False)
        contexts.append([SYSTEM, mark(0), asked(f"Summary {number}"), *kept, mark(1), *said(f"r{number}")])
    for number, rows in enumerate(contexts[:-1], 1):
        put(f"logs/s/context_{number}.jsonl", *rows)
    put("logs/s/context.jsonl", *contexts[-1])
    put("logs/s/wire.jsonl", {"type": "metadata", "protocol_version": "1.10"}, {"timestamp": 1.5, "message": {}})
    options = ("--preset", "hf", "--format", "jsonl", "--conversations", "all", "--metadata")
    assert command("convert", "logs", "-o", "out", *options).code == 0
    assert findings("file-not-read")[0]["text"].startswith("12 parts of other files")
    made = [json.loads(line) for path in Path("out/data").rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert {record["session_id"] for record in made} == {"s"}
    texts, name = [], None
    for _ in range(12):
        (record,) = (each for each in made if each["parent"] == name)
        texts.append(record["messages"][-1]["content"])
        name = record["conversation"]
    assert texts == ["c", *(f"r{number}" for number in range(2, 13))]
