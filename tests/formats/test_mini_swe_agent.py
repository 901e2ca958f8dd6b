"""Trajectories of mini-swe-agent whose messages are responses of OpenAI Responses."""

from chatsquash.core import chat
from chatsquash.formats import documents

CALL = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command":"ls"}'}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}


def test_a_response_is_one_reply_with_its_text_and_calls():
    """As ``LitellmResponseModel`` keeps them: each response is a message, each result an item."""
    used = {"input_tokens": 9, "output_tokens": 3}
    response = {"object": "response", "id": "r1", "status": "completed", "output": [SAID, CALL], "usage": used}
    result = {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {"returncode": 0}}
    messages = [{"role": "user", "content": "Go."}, response, result]
    trajectory = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages}
    (conversation,) = documents.get_format("mini_swe_agent").conversations([trajectory])
    assert [each["role"] for each in conversation.messages] == ["user", "assistant", "tool"]
    assert chat.text(conversation.messages[1]) == "I look."
    assert [each["id"] for each in chat.calls(conversation.messages[1])] == ["c1"]
    (reply,) = conversation.origin.replies
    assert (reply.response_id, reply.prompt_tokens, reply.completion_tokens) == ("r1", 9, 3)
