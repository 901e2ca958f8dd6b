"""Words and names that read as translated become fewer with each change, and none slips past the patterns."""

import json
from pathlib import Path

from tests import prose
from tests.conftest import cases


def test_no_count_is_larger_than_recorded_and_docs_stay_short():
    now = prose.counts()
    assert not prose.worse(now, json.loads(prose.RECORD.read_text(encoding="utf-8")))
    assert now["docs"]["words below docs/"] <= prose.MOST_WORDS


@cases(
    "text, patterns",
    ("The reply stands behind its call.", ["stand", "behind"]),
    ("`stands` stands for a stand-alone server behind a proxy.", []),
    ("A record holds what one request held.", ["hold", "hold"]),
    ("The lock is held for a held-out split, which holds true.", []),
    ("It tells each log by its content, and goes on.", ["tell", "go on"]),
    ("Use it to tell errors apart; nothing can tell you more.", []),
    ("A line that is no JSON is left out, but for the last.", ["is none", "leave out", "but for"]),
    ("There is no way to read a file that is no longer there.", []),
    ("Where it has none, the whole file is read anew.", ["where for if", "is none", "anew"]),
    ("It lists the folders where logs are kept.", []),
    ("A broken line costs that line alone.", ["cost", "alone"]),
    ("What was logged is kept; see what is missing.", ["what clause"]),
    ("What is a session? Explain what it is.", []),
    ("Whoever runs it reads files of their own.", ["who", "of its own"]),
    ("The summary says nothing of it.", ["say"]),
)
def test_each_pattern_matches_its_own_uses(text, patterns):
    (paragraph,) = prose.page_texts(Path("page.md"), text)
    assert sorted(hit.pattern for hit in prose.hits([paragraph])) == sorted(patterns)


def test_a_hit_names_the_line_on_which_its_paragraph_starts():
    page = "# Title\n\nA line.\n\n```text\nIt stands here.\n```\n\n- One.\n- It stands here.\n"
    assert [hit.line for hit in prose.hits(prose.page_texts(Path("page.md"), page))] == [10]


def test_docstrings_messages_comments_and_names_of_a_module_are_read(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        '"""A module that holds a function."""\n\n'
        "def told(held):  # mended\n"
        '    """Tell what is there."""\n'
        '    raise ValueError(f"{held}: stands here")\n'
    )
    read = [(hit.kind, hit.line, hit.pattern) for hit in prose.hits(prose.module_texts(module))]
    assert sorted(read) == [
        ("docstrings", 1, "hold"),
        ("docstrings", 3, "mend"),
        ("docstrings", 4, "tell"),
        ("messages", 5, "stand"),
    ]
    assert [(hit.line, hit.text) for hit in prose.identifier_hits(module)] == [(3, "told"), (3, "held"), (5, "held")]


@cases(
    "code",
    "sorted(seen)",
    "reply.written + Count(written=1).written",
    "known = expected = converted",
)
def test_names_of_the_field_and_of_the_output_are_no_hits(tmp_path, code):
    module = tmp_path / "module.py"
    module.write_text(code)
    assert not list(prose.identifier_hits(module))


def test_a_larger_count_is_named_with_the_recorded_one():
    recorded = {"docs": {"stand": 1, "words": 10}}
    assert prose.worse({"docs": {"stand": 2, "words": 20}}, recorded) == ["docs: stand: 2, recorded 1"]
    assert not prose.worse({"docs": {"stand": 1, "words": 20}}, recorded)
