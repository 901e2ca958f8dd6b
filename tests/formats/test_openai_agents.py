"""Sessions of the OpenAI Agents SDK: the tables of SQLiteSession and AdvancedSQLiteSession in openai-agents 0.24.0."""

import json
import sqlite3
from contextlib import closing

import pytest

from chatsquash import Options
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.clients import openai_agents
from chatsquash.formats.databases import Database, recognise_database

TABLES = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TIMESTAMP);
"""
BRANCHES = """
CREATE TABLE message_structure (
  id INTEGER PRIMARY KEY, session_id TEXT, message_id INTEGER, branch_id TEXT, message_type TEXT, sequence_number INTEGER
);
"""
USER = {"role": "user", "content": "Hi"}


def said(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def database(path, items, more="", session="s"):
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(TABLES + more)
        opened.execute("INSERT INTO agent_sessions VALUES (?, '2026-01-02 03:04:05', '')", (session,))
        rows = [(session, each if isinstance(each, str) else json.dumps(each)) for each in items]
        opened.executemany(
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, '2026-01-02 03:04:06')",
            rows,
        )
        opened.commit()
    return path.read_bytes()


def loaded(data):
    with closing(Database(Options(), data=data)) as opened:
        _, agent = recognise_database(opened, [documents.get_format("openai_agents")])
        values = [each for family in agent.families() for each in agent.objects(family)]
    return openai_agents.conversations(values)


def test_items_are_messages_and_those_of_the_model_are_replies(tmp_path):
    items = [
        USER,
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        said("Done."),
        {"role": "user", "content": "More"},
    ]
    (conversation,) = loaded(database(tmp_path / "a.db", items))
    assert [each["role"] for each in conversation.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert conversation.messages[1]["reasoning_content"] == "Hm"
    assert [each.at for each in conversation.origin.replies] == [1, 3]
    assert conversation.origin.session_id == "s"
    assert conversation.origin.started_at == 1767323046_000_000_000


def test_branches_share_their_messages_and_main_comes_first(tmp_path):
    places = [("main", 1, 3), ("main", 2, 4), ("other", 1, 1), ("other", 3, 2)]
    rows = "".join(
        f"INSERT INTO message_structure (session_id, branch_id, message_id, sequence_number) VALUES ('s', '{branch}', {message}, {at});"
        for branch, message, at in places
    )
    main, other = loaded(database(tmp_path / "a.db", [USER, said("one"), said("two")], BRANCHES + rows))
    assert [(each.origin.kind, each.messages[-1]["content"]) for each in (main, other)] == [
        ("main", "one"),
        ("branch", "two"),
    ]


def test_a_session_without_messages_has_no_conversation(tmp_path):
    assert loaded(database(tmp_path / "a.db", [])) == []


def test_an_item_that_is_not_json_is_refused(tmp_path):
    with pytest.raises(TurnError, match="message 1: message_data is not valid JSON"):
        loaded(database(tmp_path / "a.db", ["{"]))


def test_another_database_with_sessions_is_of_somebody_else(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as opened:
        opened.executescript("CREATE TABLE agent_sessions (session_id TEXT); CREATE TABLE agent_messages (id INTEGER);")
    with closing(Database(Options(), data=(tmp_path / "a.db").read_bytes())) as opened:
        assert recognise_database(opened, [documents.get_format("openai_agents")]) is None
