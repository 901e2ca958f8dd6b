"""Where templates are found, and what is told where there are none."""

import json

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.templates.render import Renderer
from chatsquash.templates.source import pack, read, unpack
from tests.conftest import cases

TEMPLATE = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"
CONFIG = {
    "chat_template": TEMPLATE,
    "bos_token": {"content": "<s>", "lstrip": False},
    "eos_token": "</s>",
    "pad_token": None,
}
HI = [{"role": "user", "content": "hi"}]


def write(folder, **files):
    for name, content in files.items():
        name = name.replace("__", ".")
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


@cases("files, name, text",
    ("a bare template prints no special tokens", {"chat_template__jinja": TEMPLATE}, "chat_template.jinja", "hi"),
    ("one of any name", {"mine__txt": TEMPLATE}, "mine.txt", "hi"),
    ("those beside it", {"chat_template__jinja": TEMPLATE, "tokenizer_config__json": {"bos_token": "<s>"}}, "chat_template.jinja", "<s>hi"),
    ("a configuration", {"tokenizer_config__json": CONFIG}, "tokenizer_config.json", "<s>hi</s>"),
    ("chat_template.json", {"chat_template__json": {"chat_template": TEMPLATE}}, "chat_template.json", "hi"),
    ("a folder", {"chat_template__jinja": "A" + TEMPLATE, "tokenizer_config__json": CONFIG}, "", "A<s>hi</s>"),
    ("a folder of an older model", {"tokenizer_config__json": CONFIG}, "", "<s>hi</s>"),
)  # fmt: skip
def test_a_template_is_found(tmp_path, files, name, text):
    assert Renderer(str(write(tmp_path, **files) / name))(HI, None).text == text


def test_of_several_templates_that_for_tools_is_taken_where_there_are_tools(tmp_path):
    several = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}, {"name": "rag"}]
    render = Renderer(str(write(tmp_path, tokenizer_config__json={"chat_template": several})))
    assert [render(HI, tools).text for tools in (None, [], [{"name": "ls"}])] == ["plain", "tools", "tools"]


MORE = "additional_chat_templates"


@cases("files, more, texts",
    ("beside a template", {"chat_template__jinja": "plain"}, {"tool_use": "tools", "rag": "rag"}, ["plain", "tools"]),
    ("beside one of older models", {"chat_template__json": {"chat_template": "plain"}}, {"tool_use": "tools"}, ["plain", "tools"]),
    ("in place of those of the configuration", {"tokenizer_config__json": CONFIG}, {"default": "plain", "tool_use": "tools"}, ["plain", "tools"]),
    ("in place of another with the name", {"chat_template__jinja": "old"}, {"default": "plain"}, ["plain", "plain"]),
)  # fmt: skip
def test_a_folder_may_have_more_templates(tmp_path, files, more, texts):
    (tmp_path / MORE).mkdir()
    write(tmp_path, **files)
    write(tmp_path / MORE, **{f"{name}__jinja": text for name, text in more.items()}, README__md="x")
    render = Renderer(str(tmp_path))
    assert [render(HI, tools).text for tools in (None, [{"name": "ls"}])] == texts
    assert unpack(pack(str(tmp_path))) == read(str(tmp_path))


def test_a_file_in_such_a_folder_is_read_alone_and_what_is_taken_is_told(tmp_path):
    (tmp_path / MORE).mkdir()
    write(tmp_path, chat_template__jinja="plain")
    write(tmp_path / MORE, tool_use__jinja="tools", rag__jinja="rag")
    assert read(str(tmp_path)).description == "its template tool_use for records with tools, never its template rag"
    alone = read(str(tmp_path / "chat_template.jinja"))
    assert (alone.description, list(alone.templates)) == ("", ["default"])


def test_a_folder_whose_files_have_no_default_is_told(tmp_path):
    (tmp_path / MORE).mkdir()
    write(tmp_path, tokenizer_config__json=CONFIG)
    write(tmp_path / MORE, tool_use__jinja="tools")
    with pytest.raises(UsageError, match="has no template named default; it has tool_use"):
        read(str(tmp_path))


WRONG = [
    ({}, "", "no chat template in this folder; looked for chat_template.jinja, chat_template.json, tokenizer_config.json"),
    ({}, "a.jinja", "cannot be read (No such file or directory)"),
    ({"a__json": "{"}, "a.json", "not valid JSON; a bare template has the suffix .jinja"),
    ({"a__json": "[]"}, "a.json", "not a JSON object"),
    ({"a__json": "{}"}, "a.json", "no chat_template in this file; newer models store it in chat_template.jinja"),
    ({"a__json": {"chat_template": {"rag": "x"}}}, "a.json", "has no template named default; it has rag"),
    ({"a__jinja": "{% for %}"}, "a.jinja", "not a template (line 1: Expected an expression, got 'end of statement block')"),
]  # fmt: skip


@pytest.mark.parametrize("files, name, message", WRONG, ids=[row[2] for row in WRONG])
def test_what_is_no_template_is_told(tmp_path, files, name, message):
    with pytest.raises(UsageError) as caught:
        Renderer(str(write(tmp_path, **files) / name))
    assert str(caught.value) == f"{tmp_path / name}: {message}"


def test_a_template_that_is_no_text_is_told(tmp_path):
    (tmp_path / "a.jinja").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not valid UTF-8"):
        read(str(tmp_path / "a.jinja"))
