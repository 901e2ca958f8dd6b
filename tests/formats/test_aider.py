"""Aider: which lines are whose."""

from io import BytesIO

from chatsquash.formats.agents import aider

BEGIN = "# aider chat started at 2026-01-01 00:00:00\n\n"


def read(text):
    return aider.conversations(aider.objects(BytesIO(text.encode()), b""))


def said(conversation):
    return [(message["role"], message["content"]) for message in conversation.messages]


def test_a_heading_in_an_answer_is_no_prompt():
    (found,) = read(f"{BEGIN}#### one  \n#### two  \n\nText.\n\n#### A heading\n\nMore.\n\n> Tokens: 1k sent\n")
    assert said(found) == [("user", "one\ntwo"), ("assistant", "Text.\n\n#### A heading\n\nMore.")]


def test_prompts_whose_line_breaks_an_editor_took_away_are_read():
    (found,) = read(f"{BEGIN}#### one\n\nText.\n\n#### two\n\nMore.\n")
    assert said(found) == [("user", "one"), ("assistant", "Text."), ("user", "two"), ("assistant", "More.")]


def test_white_space_in_an_answer_stays():
    (found,) = read(f"{BEGIN}#### one  \n\nA line  \n    \n\tcode \nend\n")
    assert said(found)[1] == ("assistant", "A line  \n    \n\tcode \nend")


def test_a_line_of_a_log_is_of_the_role_whose_whole_name_it_begins_with():
    (found,) = read(
        "TO LLM 2026-01-01T00:00:00\n-------\nUSER a\nUSERNAME b\nUSER\nUSER c\nLLM RESPONSE x\nASSISTANT d\n"
    )
    assert said(found) == [("user", "a\n\nc"), ("assistant", "d")]
    assert found.origin.unread == {"line with another role": 1}


TAG = "thinking-content-0123456789abcdef0123456789abcdef"


def test_what_stands_between_the_tags_of_aider_is_reasoning():
    (found,) = read(
        f"{BEGIN}#### one  \n\n<{TAG}>\n\nA plan.\n\n</{TAG}>\n\nText.\n\n#### two  \n\n<{TAG}>\n\nOnly that.\n"
    )
    replies = [message for message in found.messages if message["role"] == "assistant"]
    assert [(each["content"], each["reasoning_content"]) for each in replies] == [
        ("Text.", "A plan."),
        ("", "Only that."),
    ]


RESTORED = "> Restored previous conversation history.  \n\n"


def test_a_run_that_restores_the_history_continues_all_runs_before_it():
    first = f"{BEGIN}#### one  \n\n<{TAG}>\n\nA plan.\n\n</{TAG}>\n\nText.\n\n"
    alone, restored = f"{BEGIN}#### two  \n\nMore.\n\n", f"{BEGIN}{RESTORED}#### three  \n\nThat.\n"
    found = read(first + alone + restored)
    assert [said(each) for each in found] == [
        [("user", "one"), ("assistant", "Text.")],
        [("user", "two"), ("assistant", "More.")],
        [("user", "one"), ("assistant", "Text."), ("user", "two"), ("assistant", "More."), ("user", "three"), ("assistant", "That.")],
    ]  # fmt: skip
    assert [[each.messages[reply.at]["content"] for reply in each.origin.replies] for each in found] == [
        ["Text."],
        ["More."],
        ["That."],
    ]


def test_what_a_mode_prints_within_a_run_restores_nothing():
    found = read(f"{BEGIN}#### one  \n\nText.\n\n{BEGIN}#### two  \n\n{RESTORED}More.\n")
    assert said(found[1]) == [("user", "two"), ("assistant", "More.")]


def test_a_long_history_may_have_been_summarized():
    found = read(f"{BEGIN}#### one  \n\n{'Text. ' * 999}\n\n{BEGIN}{RESTORED}#### two  \n\nMore.\n")
    assert said(found[1]) == [("user", "two"), ("assistant", "More.")]
    assert [each.origin.lacks_context for each in found] == [False, True]
    assert "missing-history" in [each.code for _, each in found[1].origin.findings]
