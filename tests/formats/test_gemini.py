"""What is particular to Gemini; ``rows/gemini.json`` has what all formats have."""

from chatsquash.formats import bodies, gemini


def test_values_nested_deeply_are_read():
    deep = {"type": "OBJECT"}
    for _ in range(5000):
        deep = {"type": "OBJECT", "properties": {"a": deep}}
    [tool] = gemini.tools([{"functionDeclarations": [{"name": "f", "parameters": deep}]}]).functions
    assert tool["function"]["parameters"]["properties"]["a"]["type"] == "object"
    calling = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": deep}}]}
    assert bodies.load(gemini, {"contents": [calling]}).messages[0]["tool_calls"]
