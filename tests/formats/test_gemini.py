"""What is particular to Gemini; ``rows/gemini.json`` has what all formats have."""

from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers import gemini
from chatsquash.translate import losses


def test_values_nested_deeply_are_read():
    deep = {"type": "OBJECT"}
    for _ in range(5000):
        deep = {"type": "OBJECT", "properties": {"a": deep}}
    [tool] = gemini.tools([{"functionDeclarations": [{"name": "f", "parameters": deep}]}]).functions
    assert tool["function"]["parameters"]["properties"]["a"]["type"] == "object"
    calling = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": deep}}]}
    assert bodies.load(get_format("gemini"), {"contents": [calling]}).messages[0]["tool_calls"]


def test_members_that_nobody_knows_return_where_they_stood():
    """Which are none of ``rows/gemini.json``, since Google's own types refuse them."""
    body = {
        "systemInstruction": {"parts": [{"text": "s", "x": 1}], "y": 2},
        "contents": [
            {"role": "user", "z": 3, "parts": [{"novelty": 1}, 7, {"text": "a", "b": [0]}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "c": "d"}}, {"thoughts": {}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "e"}, "g": 4}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "h": 5}]}],
    }
    read = bodies.load(get_format("gemini"), body)
    assert gemini.dump(read) == body
    assert losses.differences(read, bodies.load(get_format("gemini"), gemini.dump(read))) == []


def test_what_cannot_be_base64_is_no_signature():
    """Google's own types refuse it, and nobody but Google could have made it."""
    parts = [{"text": "a", "thoughtSignature": "no base64"}, {"text": "b", "thought": True, "thoughtSignature": "?"}]
    read = bodies.load(get_format("gemini"), {"contents": [{"role": "model", "parts": parts}]})
    written = gemini.dump(read)
    assert written["contents"] == [{"role": "model", "parts": [{"text": "a"}, {"text": "b", "thought": True}]}]
    assert losses.differences(read, bodies.load(get_format("gemini"), written)) == [
        "turns[0].blocks[0].native.google.thoughtSignature",
        "turns[0].blocks[1].signer",
        "turns[0].blocks[1].signature",
    ]
