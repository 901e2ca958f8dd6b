"""What a file is: one value, decided before anything is converted."""

import gc
import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.reading import identify as identify_module
from chatsquash.reading.identify import Identity, identify
from chatsquash.session.join.matching import read_views
from chatsquash.sources.open import open_file
from chatsquash.trees.documents import FilePath, paths_of
from tests.conftest import cases, log_line
from tests.reading.test_documents import CLAUDE, PORTABLE, data

SAMPLES = Path(__file__).parents[2] / "sample_logs"


def of_bytes(content: bytes, **options) -> Identity:
    file = io.BytesIO(content)
    file.seek(3)
    identity = identify(file, Options(**options))
    assert file.tell() == 3, "the position is unchanged"
    return identity


@cases(
    "sentence, pattern, format, envelope, may_mix",
    ("plain chat", "2026-01-12/*.jsonl", "openai_chat", "request and response", False),
    ("Anthropic bodies", "anthropic/*.jsonl", "anthropic", "request and response", False),
    ("Gemini bodies", "gemini/*.jsonl", "gemini", "request and response", False),
    ("a gateway that writes all sessions into one file", "litellm/*.jsonl", "openai_chat", "LiteLLM", True),
    ("a tracer that does", "phoenix/*.jsonl", "openai_chat", "Phoenix", True),
)
def test_a_log_has_a_format_on_each_side_and_an_envelope(sentence, pattern, format, envelope, may_mix):
    with open_file(min(SAMPLES.glob(pattern))) as file:
        identity = identify(file)
    assert (identity.shape.request, identity.shape.response) == (format, format), sentence
    assert (identity.seen.format, identity.seen.envelope, identity.may_mix) == (format, envelope, may_mix)
    assert (identity.document, identity.has_several) == (None, False)


@cases(
    "sentence, content, format, several",
    ("a document", data(PORTABLE), "portable", False),
    (
        "a document of two conversations",
        data(PORTABLE, PORTABLE),
        "portable",
        True,
    ),
    ("an agent's file", data(CLAUDE), "claude_code", False),
)
def test_a_document_is_loaded_and_never_mixes_sessions(sentence, content, format, several):
    identity = of_bytes(content)
    assert identity.document is not None, sentence
    assert (identity.seen.format, identity.seen.envelope) == (format, "document")
    assert (identity.has_several, identity.may_mix) == (several, False)


@cases(
    "sentence, content",
    ("nothing known", data({"x": 1})),
    ("no JSON", b"\xff\xfe"),
    ("nothing", b""),
    (
        "a reply beside the messages, which a body has not",
        data({**log_line("hi")["request"], "response": {"choices": []}}),
    ),
)
def test_an_unknown_file_is_read_as_chat_and_says_what_was_seen(sentence, content):
    identity = of_bytes(content)
    assert (identity.seen.format, identity.document) == (None, None), sentence
    assert (identity.shape.request, identity.shape.response, identity.may_mix) == ("openai_chat", "openai_chat", False)


def test_an_exchange_on_several_lines_is_one_line_in_its_envelope():
    content = json.dumps(log_line("hi"), indent=1).encode()
    identity = of_bytes(content)
    assert identity.document is not None
    assert len(identity.document.line) == len(content)
    assert (identity.seen.format, identity.has_several) == ("openai_chat", False)


def test_the_user_decides_on_both_sides():
    identity = of_bytes(data(log_line("hi")), from_format="ollama")
    assert (identity.shape.request, identity.shape.response, identity.shape.forced) == ("ollama", "ollama", True)


def test_a_broken_document_is_a_conflict_that_says_why():
    identity = of_bytes(data({"x": 1}), from_format="portable")
    assert identity.seen.conflict
    assert identity.seen.why.startswith("portable: ")
    assert not identity.has_several


@cases("name", ("many conversations in an array", "chatgpt"), ("a database", "opencode"))
def test_a_file_of_many_sessions_is_identified_by_its_first_unit(name):
    path = next(path for path in sorted((SAMPLES / name).rglob("*")) if path.suffix in {".json", ".db"})
    with open_file(path) as file:
        identity = identify(file)
    assert identity.document is not None
    assert (identity.seen.format, identity.may_mix) == (name, False)


def test_a_log_of_several_sessions_is_identified_once_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    path.write_bytes(data(log_line("hi")))
    identified = []
    monkeypatch.setattr(
        identify_module, "identify", lambda file, options: identified.append(1) or identify(file, options)
    )
    identify_module.forget()

    def of_part(**options):
        with open_file(path) as file:
            return identify_module.identify_once(file, Options(**options))

    first = of_part()
    assert of_part() == first == of_bytes(path.read_bytes())
    assert len(identified) == 1
    assert of_part(from_format="anthropic").shape.request == "anthropic", "the options decide, too"
    path.write_bytes(data(CLAUDE))
    assert of_part().seen.format == "claude_code"
    assert of_part().document is not None, "documents have their own cache"
    assert len(identified) == 4


@pytest.fixture
def document_and_log(tmp_path):
    """An agent's file and a log; no document is cached."""
    path, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    path.write_bytes(data(CLAUDE))
    other.write_bytes(data(log_line("hi")))
    identify_module.forget()
    return path, other


def test_the_last_document_is_free_as_soon_as_another_file_is_read(document_and_log):
    path, other = document_and_log
    gc.collect()
    with open_file(path) as file:
        document = identify_module.document_in(file, Options())
        assert paths_of(document)[0].session.first is paths_of(document)[0]
        number = id(paths_of(document)[0])
    del document
    gc.disable()
    try:
        with open_file(other) as file:
            identify_module.forget(file)
        assert not [each for each in gc.get_objects() if id(each) == number and isinstance(each, FilePath)]
    finally:
        gc.enable()


def test_a_file_that_is_read_later_does_not_change_documents_in_use(document_and_log):
    path, other = document_and_log
    with open_file(path) as file:
        document = identify_module.document_in(file, Options())
    assert paths_of(document)[0].session
    with open_file(other) as file, ThreadPoolExecutor(1) as threads:
        threads.submit(identify_module.forget, file).result()
    assert paths_of(document)[0].session, "another thread read the file"
    (view,) = read_views([Log(str(path), str(path), path.name, path.stat().st_size)], Options())
    assert view.place.session
    with open_file(other) as file:
        identify_module.forget(file)
    assert view.place.session, "the document is joined with the file"
