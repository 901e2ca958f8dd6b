"""``check --template`` renders as ``apply_chat_template`` does."""

import json
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest
from datasets import load_dataset
from trl.chat_template_utils import get_training_chat_template, has_generation_markers

from chatsquash.templates.render import Renderer
from chatsquash.templates.trainers import choose_template
from tests.templates.records import FAMILIES

from .model import texts, tokenizer

RECORDS = 20


def outcome(render):
    """The text, or that there is none."""
    try:
        return render()
    except Exception as problem:
        return type(problem).__name__


@pytest.fixture(scope="module")
def records(folder):
    """Of every length, with calls and without."""
    found = sorted(load_dataset(str(folder), split="train"), key=lambda each: len(each["messages"]))
    return found[:: len(found) // RECORDS][:RECORDS]


@pytest.mark.parametrize("name", sorted(path.stem for path in FAMILIES.glob("*.jinja")))
def test_twenty_records_are_rendered_alike(name, records, tmp_path):
    known = tokenizer(texts(records), name)
    known.bos_token = "<|start of text|>"
    known.save_pretrained(tmp_path)
    ours = Renderer(str(tmp_path))
    assert len(records) == RECORDS
    rendered = 0
    for record in records:
        theirs = outcome(
            lambda record=record: known.apply_chat_template(record["messages"], tools=record["tools"], tokenize=False)
        )
        text, problem = ours(record["messages"], record["tools"])
        assert (text or problem.partition(":")[0]) == theirs
        rendered += text is not None
    print(f"\n{name}: {rendered} rendered alike, {RECORDS - rendered} refused alike")


ODD = [
    ("nulls", [{"role": "user", "content": "a", "name": None}, {"role": "assistant", "content": None, "tool_calls": None}]),
    ("reasoning under another name", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning": "c"}]),
    ("reasoning under two names", [{"role": "assistant", "content": "b", "thinking": "c", "reasoning_content": "d"}]),
    ("parts", [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "url": "b"}]}]),
    ("no messages", []),
    ("letters of HTML and others", [{"role": "user", "content": "<b>'ä' & \u2028\\"}]),
]  # fmt: skip
TEMPLATES = [
    "{% for m in messages %}{{ m }}\n{{ m | tojson }}\n{% endfor %}",
    "{{ messages | tojson(indent=2, sort_keys=true) }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ bos_token }}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
    "{{ dict(a=1) | tojson }}{{ dict.fromkeys(['a']) }}{{ strftime_now('%Y') }}",
    "{{ raise_exception('no') }}",
    "{{ namespace(_a=1) }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].__class__ }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ messages[0].content.missing.more }}",
    "  {% if true %}\n  a\n  {% endif %}\n b\n",
]


@pytest.mark.parametrize(
    "template, row", list(product(TEMPLATES, ODD)), ids=lambda value: value if isinstance(value, str) else value[0]
)
@pytest.mark.parametrize("tools", [None, [], [{"name": "ls"}]], ids=["no tools", "empty tools", "tools"])
def test_odd_templates_and_records_come_out_alike(template, row, tools, tmp_path):
    known = tokenizer(["a"])
    known.chat_template = template
    known.bos_token = "<s>"
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "chat_template": template,
                "bos_token": {"content": "<s>"},
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
            }
        )
    )
    theirs = outcome(lambda: known.apply_chat_template(row[1], tools=tools, tokenize=False))
    text, problem = Renderer(str(tmp_path / "tokenizer_config.json"))(row[1], tools)
    assert (problem.partition(":")[0] if text is None else text) == theirs


@pytest.mark.parametrize("tools", [None, [], [{"name": "ls"}]], ids=["no tools", "empty tools", "tools"])
def test_the_same_of_several_templates_is_taken(tools, tmp_path):
    known = tokenizer(["a"])
    known.chat_template = {"default": "plain", "tool_use": "tools", "rag": "rag"}
    known.save_pretrained(tmp_path)
    assert (tmp_path / "additional_chat_templates" / "tool_use.jinja").is_file()
    messages = [{"role": "user", "content": "a"}]
    theirs = known.apply_chat_template(messages, tools=tools, tokenize=False)
    assert Renderer(str(tmp_path))(messages, tools).text == theirs


def test_the_template_that_trl_trains_with_is_taken(tmp_path):
    folder = Path(find_spec("trl").submodule_search_locations[0]) / "chat_templates"
    own = [file for file in sorted(folder.glob("*.jinja")) if not file.stem.endswith("_training")]
    assert own
    known = tokenizer(["a"])
    for file in own:
        known.chat_template = file.read_text(encoding="utf-8")
        theirs = outcome(lambda: get_training_chat_template(known) or known.chat_template)
        found = choose_template("trl", file.stem)
        if has_generation_markers(known.chat_template):
            theirs = known.chat_template  # which SFTTrainer asks first
        assert (theirs == "ValueError") == found.description.endswith("prompt and completion work"), file.stem
        assert theirs in ("ValueError", found.source.templates["default"]), file.stem
