"""Every command with every kind of output works or ends with an error that names the reason."""

import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.tokens.client import Client, user
from tests.tokens.server import Server, train

SAMPLES = Path(__file__).parents[2] / "sample_logs/2026-01-13"
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
KINDS = {
    "tokens": {"samples": "tokens"},
    "forest": {"samples": "forest"},
    "kto": {"samples": "reply", "sample_shape": "kto"},
    "prompt": {"samples": "first", "sample_shape": "prompt"},
    "trainable": {"loss": "trainable"},
    "completion": {"samples": "reply"},
}
FORMATS = ("jsonl", "parquet")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """An output of each kind in each format."""
    folder = tmp_path_factory.mktemp("outputs")
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text="test_sum fails.")
    logs = client.write(folder / "logs")
    for kind, options in KINDS.items():
        for packing in FORMATS:
            source = logs if kind == "tokens" else SAMPLES
            target = folder / f"{kind}-{packing}"
            convert(source, target, Options(preset="hf", anonymize=False, format=packing, workers=1, **options))
    (folder / "chat.jinja").write_text(TEMPLATE, "utf-8")
    return folder


COMMANDS = {
    "check": ["check", "OUT"],
    "check --redact": ["check", "OUT", "--redact", "secrets"],
    "check --anonymize": ["check", "OUT", "--anonymize"],
    "check --check-arguments": ["check", "OUT", "--check-arguments"],
    "check --against": ["check", "OUT", "--against", "completion-jsonl"],
    "check --template": ["check", "OUT", "--template", "chat.jinja"],
    "check --template --show": ["check", "OUT", "--template", "chat.jinja", "--show", "1"],
    "check --for": ["check", "OUT", "--for", "unsloth"],
    "stats": ["stats", "OUT"],
    "show": ["show", "OUT", "1"],
    "list": ["list", "OUT"],
    "report": ["report", "OUT"],
    "redact": ["redact", "OUT", "--redact", "secrets", "-o", "NEW"],
    "merge": ["merge", "OUT", "OUT", "-o", "NEW"],
    "verify": ["verify", "OUT"],
    "translate": ["translate", "OUT", "--to", "openai_chat", "-o", "NEW"],
    "flatten": ["flatten", "OUT", "-o", "NEW"],
    "push": ["push", "OUT", "hf://datasets/me/it", "--dry-run"],
    "inspect": ["inspect", "OUT"],
    "convert": ["convert", "OUT", "-o", "NEW"],
    "shards": ["shards", "OUT", "--shards", "2", "-o", "NEW"],
}
REFUSALS = {
    ("tokens", "check --redact"): "token ids have no text for --redact; remove the option",
    ("tokens", "check --anonymize"): "token ids have no text for --anonymize; remove the option",
    ("tokens", "check --check-arguments"): "token ids have no text for --check-arguments; remove the option",
    ("tokens", "check --against"): "token ids have no text for --against; remove the option",
    ("tokens", "check --template"): "token ids have no text for --template and --for; remove the option",
    ("tokens", "check --for"): "token ids have no text for --template and --for; remove the option",
    ("tokens", "check --template --show"): "it has token ids instead of messages",
    ("tokens", "show"): "it has token ids instead of messages",
    ("tokens", "report"): "a report shows messages, which --samples tokens does not write",
    ("tokens", "redact"): "token ids cannot be searched",
    ("tokens", "translate"): "a dataset of token ids, not conversations",
    ("forest", "translate"): "a forest of samples, not conversations",
    ("kto", "translate"): "a dataset of prompts, not conversations",
    ("prompt", "translate"): "a dataset of prompts, not conversations",
    ("completion", "translate"): "a dataset of prompts, not conversations",
}
"""The errors of commands that need something else than a kind of output has."""
NEVER = {"inspect": "not logs", "convert": "not logs", "shards": "not logs"}
"""The errors of commands that read logs."""


def message(kind, name, packing):
    if name in NEVER:
        return NEVER[name]
    if name == "flatten" and kind != "forest":
        return "the output was not written with --samples forest"
    if name == "translate" and packing == "parquet":
        return "Parquet (convert with --format jsonl)"
    return REFUSALS.get((kind, name))


@pytest.mark.parametrize("packing", FORMATS)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_works_or_names_the_reason(outputs, tmp_path, monkeypatch, command, kind, name, packing):
    monkeypatch.chdir(outputs)
    output = f"{kind}-{packing}"
    if name == "report":  # which writes into its folder
        shutil.copytree(output, tmp_path / output)
        monkeypatch.chdir(tmp_path)
    words = {"OUT": output, "NEW": str(tmp_path / "new")}
    ended = command(*(words.get(word, word) for word in COMMANDS[name]))
    text = ended.out + ended.err
    assert "Traceback" not in text
    assert "bad-record" not in text
    expected = message(kind, name, packing)
    if expected:
        assert expected in text
        assert ended.code in (2, 3) or packing == "parquet"
    else:
        assert ended.code in (0, 3), text
        assert "error:" not in ended.err
        assert "ERROR" not in text or name.startswith("check --"), text
