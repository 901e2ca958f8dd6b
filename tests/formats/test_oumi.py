"""Oumi's histories and training conversations, and back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.base import TurnError
from chatsquash.formats.clients import oumi_history
from chatsquash.formats.clients.oumi import conversations, dump, fits
from chatsquash.formats.clients.oumi.history import branches
from chatsquash.formats.clients.oumi_history import dump_all, every
from chatsquash.model import Branch, Conversation
from tests.formats.kinds import KINDS, ODD, PNG, call, image, private, result, said, settled, system, text, user
from tests.formats.odd import CONVERSATIONS
from tests.formats.odd import VALUES as ANY
from tests.formats.test_portable import has_private


def plain(value):
    """With private slots that are compared."""
    return json.loads(json.dumps(value))


# Histories


def branch(ident, *history, parent=None, point=0, **more):
    return {
        "id": ident,
        "name": ident.title(),
        "created_at": "2025-01-15T14:30:45.123456",
        "last_active": "2025-01-15T14:35:20.789012",
        "parent_branch_id": parent,
        "branch_point_index": point,
        "conversation_history": list(history),
        "model_name": "some/model",
        "engine_type": "VLLM",
        "model_config": None,
        "generation_config": None,
        **more,
    }


def saved(*held, current="main", **more):
    return {
        "schema_version": "1.0.0",
        "format": "oumi_conversation_history",
        "created_at": "2025-01-15T14:30:45.123456",
        "source": "oumi_interactive_chat",
        "session": {"chat_id": "model_20250115_143045", "current_branch_id": current, "total_session_time": None},
        "configuration": {"model": {"model_name": "some/model"}, "engine": "VLLM"},
        "branches": {each["id"]: each for each in held},
        "command_history": [{"note": "not yet implemented", "type": "system_note"}],
        "attachments": [],
        "statistics": {"total_branches": len(held)},
        **more,
    }


A, B, C, D = user("a"), said("b"), user("c"), said("d")
X, Y = user("x"), said("y")


def loaded(*held, current="main"):
    return [plain(each.messages) for each in conversations([saved(*held, current=current)])]


LEAVES = [
    ([branch("main", A, B)], "main", [[A, B]], "one branch is one conversation"),
    ([branch("main", A, B, C, D), branch("try", A, B, X, Y, parent="main", point=2)], "main", [[A, B, C, D], [A, B, X, Y]], "the current branch and the leaves"),
    ([branch("main", A, B, C, D), branch("try", A, B, X, Y, parent="main", point=2)], "try", [[A, B, X, Y], [A, B, C, D]], "the current one first; its parent went on, too, and is not lost"),
    ([branch("main", A, B), branch("try", A, B, X, parent="main", point=2)], "try", [[A, B, X]], "what a branch begins with is no conversation of its own"),
    ([branch("main", A, B), branch("try", A, B, X, parent="main", point=2)], "main", [[A, B, X]], "not even if it is the current one"),
    ([branch("main", A, B), branch("try", A, B, parent="main", point=2)], "try", [[A, B]], "a branch that was only just made is its parent"),
    ([branch("main", A), branch("try", A, B, parent="main", point=1), branch("third", A, B, C, parent="try", point=2)], "main", [[A, B, C]], "over several generations"),
    ([branch("main", A, B), branch("try", X, C, parent="main", point=2)], "try", [[X, C], [A, B]], "a child that was rewritten does not stand for its parent"),
    ([branch("try", A, parent="deleted", point=3)], "deleted", [[A]], "the parent may have been deleted"),
    ([branch("one", A), branch("main", B)], None, [[B], [A]], "without a current branch it is main"),
    ([branch("one", A), branch("two", B)], "gone", [[A], [B]], "else the first, as Oumi has it"),
    ([branch("main")], "main", [[]], "an empty branch"),
    ([], "main", [], "no branch"),
]  # fmt: skip


@pytest.mark.parametrize("held, current, expected, sentence", LEAVES, ids=[row[3] for row in LEAVES])
def test_a_history_is_its_branches_but_for_what_others_begin_with(held, current, expected, sentence):
    assert loaded(*held, current=current) == expected, sentence


def test_every_branch_is_at_hand_with_its_parent_and_branch_point():
    document = saved(branch("main", A, B), branch("try", A, X, parent="main", point=1), current="try")
    assert branches(document) == [
        Conversation([A, B], [], Branch("main", "Main", None, 0, current=False)),
        Conversation([A, X], [], Branch("try", "Try", "main", 1, current=True)),
    ]
    bare = {"id": "main", "conversation_history": [A]}
    least = {"schema_version": "1.0.0", "format": "oumi_conversation_history", "branches": {"main": bare}}
    assert branches(least) == [Conversation([A], [])], "the only branch has no place among others"


INFO = {"name": "data.csv", "path": "/tmp/data.csv", "size_bytes": 7, "file_type": "csv"}
MESSAGES = [
    ({"role": "user", "content": "hi"}, user("hi"), "text is text"),
    ({"role": "assistant", "content": "<think>hm</think>hi"}, said("<think>hm</think>hi"), "thoughts in the text stay there"),
    ({"role": "assistant", "content": "hi", "metadata": {"thinking_content": "hm"}}, said("hi", reasoning_content="hm"), "where they are documented they are reasoning"),
    ({"role": "assistant", "content": "hi", "metadata": {"thinking_content": "hm", "word_count": 1}},
     private(said("hi", reasoning_content="hm"), native=[{"metadata": {"thinking_content": "hm", "word_count": 1}}]), "beside others"),
    ({"role": "user", "content": "hi", "timestamp": "t"}, private(user("hi"), native=[{"timestamp": "t"}]), "other members are kept aside"),
    ({"role": "attachment", "text_content": "a,b", "file_info": INFO}, private(user("a,b"), attachment={"file_info": INFO}), "an attachment is the user's text"),
    ({"role": "attachment", "text_content": "page", "attachment_info": {"type": "web_fetch"}}, private(user("page"), attachment={"attachment_info": {"type": "web_fetch"}}), "a page that was fetched, too"),
    ({"role": "attachment", "content": "a,b"}, private(user("a,b"), attachment=True), "also as it is documented"),
    ({"role": "attachment", "file_info": INFO}, private(user(""), attachment={"file_info": INFO}), "one without a text says nothing"),
]  # fmt: skip


@pytest.mark.parametrize("message, expected, sentence", MESSAGES, ids=[row[2] for row in MESSAGES])
def test_a_message_of_a_history(message, expected, sentence):
    assert loaded(branch("main", message)) == [[plain(expected)]], sentence


def test_other_files_of_the_chat_are_one_conversation():
    kept = {"chat_id": "c", "model_name": "m", "created_at": "t", "last_updated": "t", "conversation_history": [A, B]}
    exported = {"export_info": {"model": "m"}, "conversation": [A, B]}
    for document in (kept, exported):
        assert oumi_history.fits([document])
        assert conversations([document]) == [Conversation([A, B], [])]


BROKEN = [
    (5, r"^is a number, not an object$"),
    ({}, r"^is no history: it has no format$"),
    ({"format": "x", "schema_version": "1.0.0", "branches": {}}, r'^is no history: its format is "x", not oumi_conversation_history$'),
    ({"format": "oumi_conversation_history", "branches": {}}, r"^is no history: it has no schema_version$"),
    ({"format": "oumi_conversation_history", "schema_version": "1.0.0"}, r"^is no history: it has no branches$"),
    (saved(schema_version=1), r"^has a schema_version that is a number, not text$"),
    (saved(branches=[]), r"^has branches that are a list, not an object$"),
    (saved(branches={"main": []}), r"^branches\.main is a list, not an object$"),
    (saved(branches={"main": {"conversation_history": []}}), r"^branches\.main has no id$"),
    (saved(branches={"main": {"id": "main"}}), r"^branches\.main has no conversation_history$"),
    (saved(branch("main") | {"conversation_history": {}}), r"^branches\.main\.conversation_history is an object, not a list of messages$"),
    (saved(branches={"main": branch("main") | {"id": 1}}), r"^branches\.main\.id is 1, not text$"),
    (saved(branch("main", name=["a"])), r'^branches\.main\.name is \["a"\], not text$'),
    (saved(branch("main", parent=7)), r"^branches\.main\.parent_branch_id is 7, not text$"),
    (saved(branch("main", point="2")), r'^branches\.main\.branch_point_index is "2", not a place$'),
    (saved(branch("main", point=True)), r"^branches\.main\.branch_point_index is true, not a place$"),
    (saved(branch("main", point=-1)), r"^branches\.main\.branch_point_index is -1, not a place$"),
    (saved(branch("main"), branch("try", A, 5)), r"^branches\.try\.conversation_history\[1\] is a number, not an object$"),
    (saved(branch("main", {"content": "a"})), r"^branches\.main\.conversation_history\[0\] has no role$"),
    (saved(branch("main", {"role": "tool", "content": "a"})), r'^branches\.main\.conversation_history\[0\] has the role "tool", which is none of system, user, assistant, attachment$'),
    (saved(branch("main", {"role": "user"})), r"^branches\.main\.conversation_history\[0\] has no content$"),
    (saved(branch("main", {"role": "user", "content": [text("a")]})), r"^branches\.main\.conversation_history\[0\] has a content that is no text$"),
    ({"chat_id": "c", "conversation_history": 5}, r"^conversation_history is a number, not a list of messages$"),
    ({"export_info": {}, "conversation": [{}]}, r"^conversation\[0\] has no role$"),
    # Training conversations
    ({"messages": 5}, r"^has messages that are a number, not a list$"),
    ({"messages": [A, 5]}, r"^messages\[1\] is a number, not an object$"),
    ({"messages": [{"content": "a"}]}, r"^messages\[0\] has no role$"),
    ({"messages": [{"role": "developer", "content": "a"}]}, r'^messages\[0\] has the role "developer", which is none of system, user, assistant, tool$'),
    ({"messages": [{"role": "user", "content": 5}]}, r"^messages\[0\] has a content that is a number, not text or a list of items$"),
]  # fmt: skip


@pytest.mark.parametrize("document, problem", BROKEN)
def test_what_is_broken_is_told_with_its_place(document, problem):
    with pytest.raises(TurnError, match=problem):
        conversations([document])
    with pytest.raises(TurnError, match=rf"^conversation 2: {problem[1:]}"):
        conversations([{"messages": []}, document])


HISTORIES = [
    ([saved(branch("main", A))], True, "a history names itself"),
    ([{"format": "oumi_conversation_history"}], True, "a broken one, too, so that it is told what is wrong"),
    ([{"chat_id": "c", "conversation_history": [A]}], True, "what is saved by itself is called a chat"),
    ([{"export_info": {}, "conversation": [A]}], True, "what is saved by the user has a heading"),
    ([{"messages": [A], "metadata": {}}], False, "what Oumi writes for training"),
    ([{"conversation_history": [A], "model": "m", "base_url": None}], False, "a file of clippy"),
    ([saved(branch("main", A)), [A]], False, "a line that is no object"),
    ([], False, "an empty file"),
]


@pytest.mark.parametrize("objects, expected, sentence", HISTORIES, ids=[row[2] for row in HISTORIES])
def test_recognising_a_history(objects, expected, sentence):
    assert bool(oumi_history.fits(objects)) is expected, sentence
    assert not (expected and fits(objects)), "a file is of one format"


FITTING = [
    ([{"messages": [A], "metadata": {}}], True, "what Oumi writes for training has metadata"),
    ([{"messages": [A], "metadata": {}, "conversation_id": "c"}, {"messages": [], "conversation_id": "d", "tools": []}], True, "or ids, on every line"),
    ([{"messages": [user([{"type": "image_binary", "binary": PNG}])]}], True, "or items of its own"),
    ([{"messages": [user([{"type": "text", "content": "a"}])], "tools": []}], True, "even for text"),
    ([{"messages": [user([text("a"), image()])], "tools": []}], False, "a dataset of anybody's"),
    ([{"messages": [A], "metadata": {"user_id": "u"}, "model": "m"}], False, "a request with metadata"),
    ([{"messages": [A], "metadata": {}}, {"messages": [A]}], False, "a line without"),
    ([{"messages": [A], "metadata": {}}, [A]], False, "a line that is no object"),
    ([{"conversation_history": [A], "model": "m", "base_url": None}], False, "a file of clippy"),
    ([{"messages": 5, "metadata": {}}], False, "no messages"),
    ([], False, "an empty file"),
]  # fmt: skip


@pytest.mark.parametrize("objects, expected, sentence", FITTING, ids=[row[2] for row in FITTING])
def test_recognising(objects, expected, sentence):
    assert bool(fits(objects)) is expected, sentence


def history(*turns):
    return dump_all([Conversation(list(turns), [])])["branches"]["main"]["conversation_history"]


TURNS = [
    ([system(), A, B], [system(), A, B], "text is text"),
    ([{"role": "developer", "content": "a"}], [{"role": "system", "content": "a"}], "a developer is the system"),
    ([A, said(None, call()), result(), said("d")], [A, said("d")], "calls and results have no place"),
    ([A, said("I look.", call()), result()], [A, said("I look.")], "what is said beside them has"),
    ([said("")], [said("")], "nothing said is nothing said"),
    ([user(None)], [user("")], "content is a text"),
    ([user([text("a"), image()])], [user("a")], "of parts the texts"),
    ([said("a", reasoning_content="hm")], [{**said("a"), "metadata": {"thinking_content": "hm"}}], "reasoning stands where it is documented"),
    ([private(user("a,b"), attachment={"file_info": INFO})], [{"role": "attachment", "text_content": "a,b", "file_info": INFO}], "an attachment is one again"),
    ([private(user("a,b"), attachment=True)], [{"role": "attachment", "text_content": "a,b"}], "without what is told of it"),
    ([{"role": "critic", "content": "a"}], [], "other roles have no place"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", TURNS, ids=[row[2] for row in TURNS])
def test_a_turn_of_a_history_that_is_written(messages, expected, sentence):
    assert history(*messages) == expected, sentence


def test_a_history_has_a_branch_for_each_conversation():
    written = dump_all([Conversation(each, []) for each in ([A, B, C, D], [A, B, X], [A, B, X, Y], [Y])])
    assert written["session"] == {"current_branch_id": "main"}
    assert written["statistics"] == {"total_branches": 4, "total_messages": 12, "total_user_messages": 6, "total_assistant_messages": 6}  # fmt: skip
    assert [tuple(each.values()) for each in written["branches"].values()] == [
        ("main", "Main", None, 0, [A, B, C, D]),
        ("branch_1", "Branch 1", "main", 2, [A, B, X]),
        ("branch_2", "Branch 2", "branch_1", 3, [A, B, X, Y]),
        ("branch_3", "Branch 3", None, 0, [Y]),
    ]
    assert [each.messages for each in conversations([written])] == [[A, B, C, D], [A, B, X, Y], [Y]]


def test_branches_keep_their_names_and_places():
    document = saved(branch("main", A, B, C, D), branch("try", A, B, X, parent="main", point=2), branch("more", A, B, X, Y, parent="try", point=3), current="try")  # fmt: skip
    found = every([document])
    assert every([dump_all(found)]) == found
    assert dump_all(found)["session"] == {"current_branch_id": "try"}


UNTRUE = [
    (Branch("try", "Try", "gone", 1), "main", 2, "the parent is not there"),
    (Branch("try", "Try", "main", 3), "main", 2, "it begins otherwise than it says"),
    (Branch("try", "Try", None, 1), "main", 2, "nothing is no parent"),
]


@pytest.mark.parametrize("place, parent, point, sentence", UNTRUE, ids=[row[3] for row in UNTRUE])
def test_a_place_that_is_not_true_is_told_anew(place, parent, point, sentence):
    written = dump_all([Conversation([A, B, C], [], Branch("main", current=True)), Conversation([A, B, X], [], place)])
    told = written["branches"]["try"]
    assert (told["parent_branch_id"], told["branch_point_index"], told["name"]) == (parent, point, "Try"), sentence


def test_no_branch_takes_the_place_of_another():
    twice = [Conversation([turn], [], Branch("b")) for turn in (A, Y)]
    assert [each.messages for each in every([dump_all(twice)])] == [[A], [Y]]
    assert list(dump_all(twice)["branches"]) == ["b", "b_2"]


def test_a_history_of_nothing_is_read_back_as_nothing():
    assert conversations([dump_all([])]) == []


@given(st.lists(ODD | CONVERSATIONS, max_size=3))
def test_odd_values_never_stop_a_history_and_its_rules_hold(found):
    before = copy.deepcopy(found)
    written = dump_all(found)
    assert found == before
    assert not has_private(written)
    assert json.loads(json.dumps(written)) == written == dump_all(found)
    for each in written["branches"].values():
        parent = written["branches"].get(each["parent_branch_id"], {"conversation_history": []})
        point = each["branch_point_index"]
        assert each["conversation_history"][:point] == parent["conversation_history"][:point]
        assert len(each["conversation_history"]) >= point <= len(parent["conversation_history"])
    assert len(branches(written)) == len(found)


# Training


def load(*messages, **more):
    return conversations([{"messages": list(messages), **more}])[0]


def item(value):
    return {"type": "text", "content": value}


BYTES = {"type": "image_binary", "binary": PNG}
LINK = {"type": "image_url", "content": "https://example.com/cat.png"}
READ = [
    ([system(), A, B], None, "text is text"),
    ([said(None, call()), result()], None, "calls and results are OpenAI's"),
    ([said(None, call("abcdefghi")), result("x", "abcdefghi")], None, "short ids, too"),
    ([said("a", reasoning_content="hm")], None, "and reasoning"),
    ([user([item("a"), item("b")])], [user([text("a"), text("b")])], "items are parts"),
    ([user([item("a")])], [private(user("a"), content_list=True)], "one text is text"),
    ([user([])], [private(user(""), content_list=True)], "none is none"),
    ([user([BYTES, LINK])], [user([image(), image("https://example.com/cat.png")])], "images by their bytes, which tell their type, or by address"),
    ([user([{"type": "image_path", "content": "/tmp/cat.png"}, item("a")])], [user([image("/tmp/cat.png"), text("a")])], "or by path"),
    ([user([{**LINK, "binary": ""}, item("a")])], [user([image("https://example.com/cat.png"), text("a")])], "no bytes are none"),
    ([user([{**LINK, "binary": PNG}, item("a")])], [private(user([image("https://example.com/cat.png"), text("a")]), native=[{"binary": PNG}])], "others are kept aside"),
    ([user([{"type": "image_binary", "binary": "AAAA"}])], [private(user(""), content_list=True, native=[{"type": "image_binary", "binary": "AAAA"}])], "so are bytes of no known type"),
    ([user([{"type": "image_binary", "binary": "?"}, 5])], [private(user(""), content_list=True, native=[{"type": "image_binary", "binary": "?"}, 5])], "and what is no item"),
    ([said(None, {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}})], [said(None, call("c", '{"a":1}', "f"))], "objects for arguments become text"),
    ([said(None, {"id": "c", "function": {"name": "f", "arguments": [1]}})], [said(None, call("c", "[1]", "f"))], "lists, too"),
    ([said(None, {"function": {"name": "f", "arguments": "{}"}}), {"role": "tool", "content": "x"}],
     [said(None, private(call("call_1", "{}", "f"), synthetic_id=True)), private(result("x", "call_1"), synthetic_id=True)], "missing ids are made up and linked"),
    ([said(None, {**call("c"), "index": 0})], [said(None, {**call("c"), "index": 0})], "members that nobody knows stay with a call"),
    ([said(None, {**call("c"), "type": "x", "_x": 1})], [said(None, private(call("c"), native=[{"_x": 1, "type": "x"}]))], "but for those that are ours"),
    ([result("x", "c", name="f")], None, "a result may have a name"),
    ([{"role": "user", "content": "a", "id": "m1", "tool_calls": None}], [private(user("a"), native=[{"id": "m1"}])], "ids of messages are kept aside"),
    ([said("a") | {"tool_calls": 5}], [private(said("a"), native=[{"tool_calls": 5}])], "so are calls that are none"),
    ([{"role": "assistant"}], [said(None)], "no content is null"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", READ, ids=[row[2] for row in READ])
def test_reading(messages, expected, sentence):
    before = copy.deepcopy(messages)
    assert plain(load(*messages).messages) == plain(messages if expected is None else expected), sentence
    assert messages == before


TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}


def test_tools_are_openais():
    assert load(tools=[TOOL]).tools == [TOOL]
    assert dump(Conversation([], [TOOL])) == {"messages": [], "tools": [TOOL], "metadata": {}}


WRITTEN = [
    ([system(), A, B], None, "text is text"),
    ([{"role": "developer", "content": "a"}], [system("a")], "a developer is the system"),
    ([{"role": "critic", "content": "a"}], [], "other roles have no place"),
    ([said(None, call(arguments=' {"a": 1}')), result()], None, "arguments are written as they are"),
    ([said(None, call(arguments="{bad"))], None, "malformed ones, too"),
    ([said(None)], [said("")], "content is null only beside calls"),
    ([said(None, reasoning_content="hm")], [said("", reasoning_content="hm")], "not beside reasoning alone"),
    ([said("", call())], None, "an empty text stays"),
    ([user(None)], [user("")], "users have a text"),
    ([user([text("a"), image(), image("https://example.com/cat.png"), image("cat.png")])],
     [user([item("a"), BYTES, LINK, {"type": "image_path", "content": "cat.png"}])], "parts have other names"),
    ([user([image(f"data:image/jpeg;base64,{PNG}")])], [user([{"type": "image_url", "content": f"data:image/jpeg;base64,{PNG}"}])], "data whose bytes say another type is an address"),
    ([private(user("a"), content_list=True)], [user([item("a")])], "one text in a list, where it was one"),
    ([user([{"type": "input_audio", "input_audio": {}}])], [user("")], "sound has no place"),
    ([user([image("")])], [user("")], "nor has an image without an address"),
    ([private(result("no"), is_error=True)], [result("ERROR: no")], "an error is told in the text"),
    ([private(result("ERROR: no"), is_error=True)], [result("ERROR: no")], "once"),
    ([private(result([text("no"), text("b")]), is_error=True)], [result([item("ERROR: no"), item("b")])], "before the first item"),
    ([private(result([image()]), is_error=True)], [result([item("ERROR: "), BYTES])], "or as one"),
    ([private(result("[1]"), json=True)], [result("[1]")], "JSON is text"),
    ([result({"a": 1})], [result('{"a":1}')], "what is no text becomes one"),
    ([result("x", name="f")], [result("x")], "names of results have no place"),
    ([private(said("a", call()), after=["b"])], [said("a\n\nb", call())], "what is said behind calls stands before them"),
    ([private(said([text("a"), image()], call()), after=["b"])], [said([item("a"), BYTES, item("b")], call())], "as an item in a list"),
    ([private(said(None, call()), after=["b"])], [said("b", call())], "or alone"),
    ([said(None, refusal="no")], [said("no")], "a refusal is text"),
    ([said([{"type": "refusal", "refusal": "no"}])], [said([item("no")])], "as a part, too"),
    ([said(None, {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}})], [said(None, call("c", '{"input":"ls"}', "sh"))], "the input of a custom tool is an argument"),
    ([said(None, {"id": "", "function": {"name": "f"}}), {"role": "tool", "content": "x"}], [said(None, call("call_1", "{}", "f")), result("x", "call_1")], "missing ids are made up and linked"),
    ([said(None, {**call(), "index": 0})], None, "members that nobody knows travel along with a call"),
    ([private(said("a"), thinking=[{"redacted": "x"}])], [said("a")], "nothing private is written"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_writing(messages, expected, sentence):
    wanted = {"messages": messages if expected is None else expected, "metadata": {}}
    assert plain(dump(Conversation(messages, []))) == plain(wanted), sentence


SCHEMAS = [
    ({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", None]}}, "required": ["a"]}, None, "a schema stays as it is"),
    ({"type": "object", "additionalProperties": False, "$defs": {"a": {"type": 5}}}, None, "what Oumi does not look at, too"),
    ({"properties": {"a": True, "b": False, "c": 5}}, {"properties": {"a": {}, "b": {"not": {}}}}, "booleans are spelled out, and what is no schema is left out"),
    ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}]}, "a list of items is what it is called today"),
    ({"items": {"type": "dict", "items": True}}, {"items": {"items": {}}}, "inside, too; a type that there is not is left out"),
    ({"items": 5, "required": "a", "title": 5, "properties": []}, {}, "so is whatever is of another type"),
    ({"type": None, "items": None}, None, "null is nothing"),
]  # fmt: skip


@pytest.mark.parametrize("schema, expected, sentence", SCHEMAS, ids=[row[2] for row in SCHEMAS])
def test_a_schema_has_nothing_for_which_oumi_would_refuse_the_conversation(schema, expected, sentence):
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    wanted = {"type": "function", "function": {"name": "f", "parameters": schema if expected is None else expected}}
    assert dump(Conversation([], [tool]))["tools"] == [wanted], sentence


ODD_TOOLS = [
    (private(TOOL, cache_control={}), [TOOL], "nothing private is written"),
    ({"type": "function", "function": {"name": "f", "description": 5, "parameters": 5, "strict": "x"}}, [{"type": "function", "function": {"name": "f"}}], "nor what is of another type"),
    ({"type": "function", "function": {"name": 5}}, None, "a tool without a name has no place"),
    ({"type": "custom", "custom": {"name": "f"}}, None, "nor has a custom one"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", ODD_TOOLS, ids=[row[2] for row in ODD_TOOLS])
def test_odd_tools(tool, expected, sentence):
    assert dump(Conversation([], [tool])).get("tools") == expected, sentence


def test_a_schema_that_is_nested_too_deeply_is_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(TurnError, match=r"^has tools that are nested too deeply$"):
        dump(Conversation([], [{"type": "function", "function": {"name": "f", "parameters": schema}}]))
    while schema:
        schema = schema.pop("items")


LOST = {
    "developer role",
    "audio",
    "pdf",
    "text after call",
    "result json obj",
    "result json list",
    "is_error",
    "orphan result",
    "anthropic signature",
    "anthropic redacted",
    "openai encrypted",
    "gemini call sig",
    "refusal",
    "custom tool call",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = conversations([json.loads(json.dumps(dump(KINDS[kind])))])[0]
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST)


@given(ODD | CONVERSATIONS)
def test_odd_values_never_stop_it_and_what_was_written_is_held_whole(conversation):
    before = copy.deepcopy(conversation)
    written = dump(conversation)
    assert conversation == before
    assert not has_private(written)
    assert json.loads(json.dumps(written)) == written == dump(conversation)
    assert fits([written])
    assert dump(conversations([written])[0]) == written


KEYS = "role content type binary tool_calls tool_call_id id function name arguments reasoning_content metadata thinking_content text_content file_info _x"
VALUES = st.recursive(
    ANY | st.sampled_from(["text", "image_url", "image_binary", PNG]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "attachment"])
LISTS = st.lists(st.builds(lambda role, more: more | {"role": role}, ROLES, st.dictionaries(st.sampled_from(KEYS.split()), VALUES, max_size=4)) | VALUES, max_size=4)  # fmt: skip
DOCUMENTS = (
    st.builds(lambda held, tools: {"messages": held, "tools": tools, "metadata": {}}, LISTS | VALUES, VALUES)
    | st.builds(lambda held, more: saved(branches={"main": branch("main") | more | {"conversation_history": held}}), LISTS | VALUES, st.dictionaries(st.sampled_from(["id", "name", "parent_branch_id", "branch_point_index"]), VALUES))
    | VALUES
)  # fmt: skip


@given(st.lists(DOCUMENTS, max_size=2))
def test_whatever_a_file_holds_is_read_or_refused(objects):
    fits(objects)
    before = copy.deepcopy(objects)
    try:
        found = conversations(objects)
    except TurnError:
        return
    assert objects == before
    for each in found:
        assert all(message["tool_call_id"] for message in each.messages if message["role"] == "tool")
