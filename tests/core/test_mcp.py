"""The MCP server in the name of a tool, as clients write it."""

from chatsquash.core.mcp import server, server_list, servers
from tests.conftest import cases


@cases("name, expected",
    ("Claude Code, Codex and Qwen Code", "mcp__words__echo_words", "words"),
    ("a server with an underscore", "mcp__my_words__echo", "my_words"),
    ("a server with a dash", "mcp__my-words__echo", "my-words"),
    ("a server of a plugin", "mcp__plugin_notes_words__echo", "plugin_notes_words"),
    ("a tool with two underscores", "mcp__words__echo__all", "words"),
    ("Gemini CLI and Crush", "mcp_words_echo_words", "words"),
    ("goose", "developer__text_editor", "developer"),
    ("a goose tool with two underscores", "developer__text__editor", "developer"),
    ("a namespace", "words.echo", "words"),
    ("a namespace with a dash", "my-words.echo", "my-words"),
    ("OpenCode, whose names do not tell", "words_echo_words", None),
    ("Copilot CLI, whose names do not tell", "words-echo_words", None),
    ("a plain name", "bash", None),
    ("a name that only begins so", "mcp", None),
    ("a prefix without a tool", "mcp__words", None),
    ("a prefix with an empty tool", "mcp__words__", None),
    ("no server", "mcp____echo", None),
    ("a private name", "__init__", None),
    ("a name that ends so", "echo__", None),
    ("no tool after an underscore", "mcp_words", None),
    ("a file is no namespace", ".env", None),
    ("a number is no namespace", "3.5", None),
    ("an empty name", "", None),
)  # fmt: skip
def test_the_server_of_a_tool_is_in_its_name(name, expected):
    assert server(name) == expected


def test_servers_are_named_once_in_order_whatever_a_definition_is():
    named = ("mcp__b__x", "mcp__a__x", "a__y", "bash", None, 5)
    flat = [{"name": name} for name in named]
    assert servers([*flat, None, "x", {"type": "function", "function": {"name": "c.x"}}]) == ["a", "b", "c"]


def test_a_trace_names_a_bounded_number_of_servers():
    assert server_list([{"name": "bash"}]) == ""
    assert server_list([{"name": "mcp__git__log"}, {"name": "notes__add"}]) == "MCP servers: git, notes"
    many = server_list([{"name": f"mcp__{number:03}{'x' * 100}__log"} for number in range(50)])
    assert many.endswith("…, 30 more")
    assert len(many) < 1500
