"""Tool definitions on the pages of records and requests."""

from chatsquash import Options, convert
from chatsquash.view.pages.code import tools
from tests.conftest import log_line, write_log
from tests.view import markup
from tests.view.conftest import Reader

EVIL = "</pre><script>window.evil=1</script>"


def tool(name, description=EVIL, **schema):
    parameters = {"type": "object", "properties": {name: {"type": "string", "description": EVIL, **schema}}}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def test_each_tool_shows_its_description_and_schema_as_json(here):
    write_log(
        here / "logs/a.jsonl", log_line("hi", session_id="a", tools=[tool("read"), tool("write", "Writes\na file.")])
    )
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out")
    for path in ("", "/log", "/log/1"):
        page = reader.of(0, path).text
        markup.hold(page)
        shown = markup.said(page)
        assert "2 tools" in shown
        assert f"read {EVIL}\n{EVIL}" in shown
        assert "write Writes a file.\nWrites\na file." in shown
        assert (
            f'"properties": {{\n      "read": {{\n        "type": "string",\n        "description": "{EVIL}"' in shown
        )


SHAPES = {
    "flat": ({"type": "function", "name": "f", "parameters": {"a": 1}}, ["f ", '"a": 1']),
    "of Anthropic": ({"name": "f", "input_schema": {"a": 1}}, ["f ", '"input_schema"']),
    "custom": ({"type": "custom", "custom": {"name": "f", "format": "text"}}, ["f ", '"format": "text"']),
    "hosted": ({"type": "web_search"}, ["? "]),
    "no object": ("f", ["? ", '"f"']),
    "without a schema": ({"type": "function", "function": {"name": "f"}}, ["f "]),
    "with a description that is no text": ({"name": "f", "description": 1}, ["f "]),
}


def test_whatever_a_definition_is_it_is_shown():
    for told, expected in SHAPES.values():
        shown = markup.said(tools([told]))
        assert all(each in shown for each in expected), (told, shown)
    assert tools([]) is None
    assert tools({"a": 1}) is None


def test_large_definitions_are_cut_and_many_of_them_counted():
    html = tools([tool("long", "d" * 100_000, enum=["e" * 100_000])])
    assert len(html) < 40_000
    assert markup.said(html).count("(see the JSON of the record)") == 2
    html = tools([tool(f"t{at}", "d" * 20_000) for at in range(1_000)])
    assert len(html) < 600_000
    assert "more tools (see the JSON of the record)" in markup.said(html)
    assert "… 800 more tools" in markup.said(tools([tool(f"t{at}") for at in range(1_000)]))
