"""Which paths are told where two conversations differ."""

import pytest

from chatsquash.model import Branch, Conversation
from chatsquash.translate import losses
from tests.formats.kinds import call, private, result, said, system, user

A, B, C, D = user("a"), said("b"), user("c"), said("d")
TALK = [A, said(None, call()), result(), said("x", reasoning_content="hm"), C, D]
ROWS = [
    ("nothing", TALK, TALK, []),
    ("a changed text", [A, B], [A, said("x")], ["messages[1].content"]),
    ("a message that is gone marks none behind it", TALK, TALK[:2] + TALK[3:], ["messages[2]"]),
    ("nor does the first one", TALK, TALK[1:], ["messages[0]"]),
    ("nor do several", TALK, [TALK[0], *TALK[4:]], ["messages[1]", "messages[2]", "messages[3]"]),
    ("one that is gone, others that changed", TALK, [A, said(None, call()), said("x"), C, D], ["messages[2]", "messages[3].reasoning_content"]),
    ("all changed and one gone", [system("s"), A, B, C, D], [user("A"), said("B"), user("C"), said("D")], ["messages[0]", *(f"messages[{at}].content" for at in (1, 2, 3, 4))]),
    ("one that is new", [A, B], [A, C, B], ["messages[+1]"]),
    ("one that is new at the end", [A, B], [A, B, C], ["messages[+2]"]),
    ("two that became one", [A, B, D], [A, said("b\n\nd")], ["messages[1].content", "messages[2]"]),
    ("a developer who became the system", [{"role": "developer", "content": "s"}, A, B], [system("s"), A], ["messages[0].role", "messages[2]"]),
    ("a message that became one of another", [A, B], [A, user("b")], ["messages[1].role"]),
    ("the same said twice, once gone", [A, B, A, B], [A, B, A], ["messages[3]"]),
    ("null is as good as nothing", [{**A, "name": None}], [A], []),
    ("1 is not true", [{**A, "n": 1}], [{**A, "n": True}], ["messages[0].n"]),
    ("an id", TALK[:3], [A, said(None, call("z")), result(call_id="z")], ["messages[1].tool_calls[0].id", "messages[2].tool_call_id"]),
    ("what is private", [private(B, is_error=True)], [B], ["messages[0]._x.is_error"]),
    ("but not what is added so", [B], [private(B, thinking=[])], []),
]  # fmt: skip


@pytest.mark.parametrize("sentence, before, after, expected", ROWS, ids=[row[0] for row in ROWS])
def test_differences(sentence, before, after, expected):
    assert losses.differences(Conversation(before, []), Conversation(after, [])) == expected, sentence


def test_a_branch_and_tools_are_compared_too():
    before = Conversation([A], [{"function": {"name": "f"}}], Branch("a"))
    assert losses.differences(before, Conversation([A], [])) == ["branch", "tools[0]"]


def test_a_kind_is_a_path_without_its_numbers():
    paths = ["messages[3].tool_calls[12].id", "messages[+3]", "tools[0]"]
    assert list(map(losses.kind, paths)) == ["messages[].tool_calls[].id", "messages[+]", "tools[]"]


def test_a_long_conversation_is_compared_in_no_time():
    before = [turn for at in range(2000) for turn in (user(f"a{at}"), said(f"b{at % 7}"))]
    after = [turn for turn in before if turn["content"] != "a1000"]
    assert losses.differences(Conversation(before, []), Conversation(after, [])) == ["messages[2000]"]


def test_nor_does_one_take_long_that_says_the_same_again_and_again():
    before = [turn for _ in range(5000) for turn in (A, said(None, call()), result(), B)]
    after = [turn for turn in before if turn in (A, B)]
    gone = [f"messages[{at}]" for at, turn in enumerate(before) if turn not in (A, B)]
    assert losses.differences(Conversation(before, []), Conversation(after, [])) == gone
