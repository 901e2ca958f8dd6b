"""Continue: what was seen before and behind a summary, and what stands twice in a file."""

from chatsquash.formats.agents import continue_dev
from tests.formats.table import links, words

ASKED = {"message": {"role": "user", "content": "What is here?"}, "contextItems": []}
CALL = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def item(role, content, **more):
    return {"message": {"role": role, "content": content}, "contextItems": [], **more}


def read(*items):
    return continue_dev.conversations([{"sessionId": "s", "title": "t", "history": list(items)}])


def test_a_summary_of_the_editor_stands_behind_what_it_replaces():
    said = item("assistant", "A file.", conversationSummary="They looked.")
    found = read(ASKED, said, item("user", "And now?"), item("assistant", "Two."))
    summary = "Previous conversation summary:\n\n They looked."
    assert words(found) == [[summary, "And now?", "Two."], ["What is here?", "A file."]]
    assert found[0].messages[0]["role"] == "system"
    assert links(found) == [("2", "compacted", "1"), ("1", "main", None)]
    assert [reply.at for reply in found[0].origin.replies] == [2]


def test_a_summary_of_the_command_line_is_a_message_behind_the_system_prompt():
    said = item("assistant", "They looked.", conversationSummary="They looked.")
    (found,) = read(item("system", "Be brief."), said, item("user", "And now?"), item("assistant", "Two."))
    assert words([found]) == [["Be brief.", "They looked.", "And now?", "Two."]]
    assert [reply.at for reply in found.origin.replies] == [3]


def test_a_summary_that_nothing_follows_is_counted():
    (found,) = read(ASKED, item("assistant", "A file.", conversationSummary="They looked."))
    assert words([found]) == [["What is here?", "A file."]]
    assert found.origin.unread["summary that nothing follows"] == 1


def test_a_result_that_stands_with_its_call_and_as_a_message_is_read_once():
    state = {"toolCallId": "c", "toolCall": CALL, "status": "done", "output": [{"content": "a.txt"}]}
    called = {"message": {"role": "assistant", "content": "", "toolCalls": [CALL]}, "toolCallStates": [state]}
    again = {"message": {"role": "tool", "content": "a.txt", "toolCallId": "c"}}
    (found,) = read(ASKED, called, again, item("assistant", "One."))
    assert words([found]) == [["What is here?", None, "a.txt", "One."]]


def test_thoughts_in_a_row_and_what_is_hidden_of_them_are_kept():
    hidden = {"message": {"role": "thinking", "content": "", "redactedThinking": "RU5D"}}
    signed = {"message": {"role": "thinking", "content": "Then that.", "signature": "c2ln"}}
    (found,) = read(ASKED, item("thinking", "First this."), signed, hidden, item("assistant", "One."))
    assert found.messages[1]["reasoning_content"] == "First this.\n\nThen that."
    blocks = (
        found.messages[1]["reasoning_details"] if "reasoning_details" in found.messages[1] else str(found.messages[1])
    )
    assert "RU5D" in blocks
    assert "c2ln" in blocks


def test_the_system_prompt_is_that_of_the_first_prompt_that_was_logged():
    prompt = "<system>\nBe brief.\n\n<user>\nWhat is here?\n\n"
    (found,) = read(ASKED, item("assistant", "One.", promptLogs=[{"modelTitle": "m", "prompt": prompt}]))
    assert words([found]) == [["Be brief.", "What is here?", "One."]]
    other = prompt.replace("here", "there")
    (found,) = read(ASKED, item("assistant", "One.", promptLogs=[{"modelTitle": "m", "prompt": other}]))
    assert words([found]) == [["What is here?", "One."]]


def test_members_of_a_reply_that_are_not_read_are_counted():
    said = {"message": {"role": "assistant", "content": "One.", "metadata": {"a": 1}}}
    (found,) = read(ASKED, said)
    assert found.origin.unread == {"message assistant.metadata": 1}
