"""ChatGPT: nodes that the page does not show, and parents that lead nowhere."""

from chatsquash.formats.agents import chatgpt

HIDDEN = {"is_visually_hidden_from_conversation": True}


def node(name, parent, role, text, **more):
    content = {"content_type": "text", "parts": [text]}
    return {"id": name, "parent": parent, "message": {"author": {"role": role}, "content": content, **more}}


def thought(content):
    return {"id": "2", "parent": "1", "message": {"author": {"role": "assistant"}, "content": content}}


def read(*nodes):
    return chatgpt.conversations([{"mapping": {each["id"]: each for each in nodes}, "current_node": nodes[-1]["id"]}])


def test_a_result_that_is_hidden_answers_its_call():
    call = node("2", "1", "assistant", '{"query": "x"}', recipient="browser")
    (found,) = read(
        node("1", None, "user", "a"),
        call,
        node("3", "2", "tool", "found", metadata=HIDDEN),
        node("4", "3", "assistant", "b"),
    )
    assert [message["role"] for message in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert found.messages[2]["tool_call_id"] == found.messages[1]["tool_calls"][0]["id"]


def test_what_a_user_did_not_write_is_of_the_system():
    (found,) = read(
        node("1", None, "user", "likes tea", metadata=HIDDEN),
        node("2", "1", "user", "a"),
        node("3", "2", "assistant", "b"),
    )
    assert [message["role"] for message in found.messages] == ["system", "user", "assistant"]


def test_a_summary_stands_for_a_thought_and_one_without_is_counted():
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Tea?", "content": ""}]}
    (found,) = read(node("1", None, "user", "a"), thought(thoughts), node("3", "2", "assistant", "b"))
    assert found.messages[1]["reasoning_content"] == "Tea?"
    empty = thought({"content_type": "thoughts"})
    (found,) = read(node("1", None, "user", "a"), empty, node("3", "2", "assistant", "b"))
    assert found.origin.unread == {"thoughts without a text": 1}


def test_parents_that_form_a_loop_or_are_not_there_come_to_an_end():
    (found,) = read(node("1", "2", "user", "a"), node("2", "1", "assistant", "b"))
    assert found.messages[-1]["content"] == "b"
    (found,) = read(node("1", "gone", "user", "a"), node("2", "1", "assistant", "b"))
    assert len(found.messages) == 2
