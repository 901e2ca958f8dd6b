"""A record as a template renders it, with what is trained on."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.records import StoredRecord
from chatsquash.view.conversation import trained_on
from chatsquash.view.pages.template import Model
from tests.conftest import assistant, log_line, user, write_log
from tests.view import markup
from tests.view.conftest import Reader

KEEPS = (
    "{%- for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}[{{ m.reasoning_content }}]{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
STRIPS = KEEPS.replace("{% if m.reasoning_content %}", "{% if m.reasoning_content and loop.last %}")
MESSAGES = [
    user("one"),
    assistant("first", reasoning_content="why"),
    user("two"),
    assistant("second", reasoning_content="because"),
]


@pytest.fixture
def model(here):
    made = []

    def of(template):
        (here / "model.jinja").write_text(template)
        made.append(Model(str(here / "model.jinja")))
        return made[-1]

    yield of
    for each in made:
        each.close()


def coloured(rendered):
    return [rendered.text[span.begin : span.end] for span in rendered.spans]


def test_each_reply_behind_what_the_model_saw_is_trained_on(model):
    rendered = model(KEEPS).render(StoredRecord(MESSAGES, None), [1, 3])
    assert coloured(rendered) == ["[why]first<|end|>", "[because]second<|end|>"]
    assert (rendered.untrue, rendered.unseen, rendered.problem) == ([], 0, "")


def test_a_reply_whose_thoughts_the_template_strips_later_does_not_stand_as_it_was(model):
    rendered = model(STRIPS).render(StoredRecord(MESSAGES, None), [1, 3])
    assert coloured(rendered) == ["[because]second<|end|>"]
    assert rendered.untrue == [1]


def test_only_replies_that_are_asked_for_are_coloured(model):
    assert coloured(model(KEEPS).render(StoredRecord(MESSAGES, None), [3])) == ["[because]second<|end|>"]


def test_what_a_template_raises_is_told(model):
    rendered = model("{{ raise_exception('<b>no') }}").render(StoredRecord(MESSAGES, None), [1])
    assert rendered.text == ""
    assert "<b>no" in rendered.problem


FLAGGED = [user("q"), assistant("a", weight=0), user("q"), assistant("b", weight=1)]
TRAINED = {
    "all replies": ({"messages": MESSAGES}, MESSAGES, [1, 3]),
    "those that flags name": ({"messages": FLAGGED}, FLAGGED, [3]),
    "those of the completion": ({"prompt": MESSAGES[:3], "completion": MESSAGES[3:]}, MESSAGES, [3]),
}


@pytest.mark.parametrize(("value", "messages", "expected"), TRAINED.values(), ids=TRAINED)
def test_what_is_trained_on(value, messages, expected):
    assert trained_on(value, messages) == expected


def test_tokens_are_counted_where_the_model_has_a_tokenizer(here):
    folder = here / "model"
    folder.mkdir()
    (folder / "chat_template.jinja").write_text(KEEPS)
    words = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    whitespace = {"type": "Whitespace"}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": whitespace, "post_processor": None, "decoder": None, "model": words,
    }))  # fmt: skip
    model = Model(str(folder))
    rendered = model.render(StoredRecord([user("one"), assistant("two three")], None), [1])
    model.close()
    assert coloured(rendered) == ["two three<|end|>"]
    assert (rendered.tokens, rendered.trained) == (14, 5)


def test_the_page_colours_what_is_trained_on_and_names_what_is_not(here, model):
    hostile = "<script>window.evil=1</script>"
    write_log(
        here / "logs/a.jsonl", log_line(*MESSAGES[:3], reply=assistant(hostile, reasoning_content="r"), session_id="a")
    )
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out", model(STRIPS))
    page = reader.of(0, "/template").text
    markup.hold(page)
    assert '<mark class="trained">[r]&lt;script&gt;' in page
    assert "1 reply does not follow the prompt rendered at inference" in page
    assert 'href="/r/' + reader.viewer.tag + '/s/0?m=1#m1"' in page
    assert "rendered by the template" in reader.of(0).text


def test_without_a_template_there_is_no_such_page(sample_reader):
    assert sample_reader.of(0, "/template").status_code == 404
    assert "rendered by the template" not in sample_reader.of(0).text
