"""What other converters are held to is true: chatsquash itself keeps all of the session that is known."""

import json

import pytest

from bench import comparison, known
from bench.commands import Bench
from bench.converters import WHOLE, Converter
from bench.known import AFTER, BEFORE, BROKEN, CUT, LEFT, PARTS, SESSION, SUB
from tests.conftest import cases

EVERY = ("prompt", "reply", "thought", "call", "result")


def words(files):
    return b"\n".join(line for lines in files.values() for line in lines).decode()


def test_each_word_of_the_session_stands_for_one_thing():
    said = [word for turn in (*SESSION, *BROKEN) for word in turn[1:] if word]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("kind", PARTS)
def test_the_files_of_the_session_hold_its_words_and_no_others(kind):
    held = words(known.KNOWN[kind](cut=False))
    assert [word for word in known.facts(PARTS[kind], EVERY) if word not in held] == []
    assert [
        word for word in known.facts({BEFORE, LEFT, SUB, AFTER} - set(PARTS[kind]), ["reply"]) if word in held
    ] == []


@pytest.mark.parametrize(("kind", "cut"), [("plain", 1), ("claude_code", 1), ("codex", 2)])
def test_the_lines_that_tell_one_reply_are_cut(kind, cut):
    def is_whole(line):
        try:
            return isinstance(json.loads(line), dict)
        except ValueError:
            return False

    (lines,) = known.KNOWN[kind](cut=True).values()
    assert [is_whole(line) for line in lines].count(False) == cut


@pytest.mark.parametrize("kind", PARTS)
def test_all_of_the_session_comes_out_and_nothing_is_joined(kind, tmp_path):
    home, bench = tmp_path / "home", Bench(tmp_path, [], 1, quick=True)
    comparison._put(home, known.KNOWN[kind](cut=False))
    kept = comparison._kept(bench, WHOLE, kind, home, {"chatsquash": tmp_path})
    assert kept["code"] == 0, kept["told"]
    found = set().union(*map(set, kept["records"]))
    assert [word for word in known.facts(PARTS[kind], EVERY) if word not in found] == []
    assert [known.apart(set(record)) for record in kept["records"] if known.apart(set(record))] == []


@cases(
    "said, joined",
    ({"REPLY-A", "REPLY-B", "REPLY-D"}, []),
    ({"REPLY-A", "REPLY-C"}, []),
    ({"REPLY-C", "REPLY-D"}, ["an abandoned branch"]),
    ({"REPLY-A", "REPLY-E"}, ["a sub-agent"]),
    ({"REPLY-A", "REPLY-I"}, ["both sides of a compaction"]),
)
def test_what_no_request_held_together_is_told(said, joined):
    assert known.apart(said) == joined


def test_what_is_kept_is_counted():
    assert comparison._share({"REPLY-A", "REPLY-E", "THOUGHT-A"}, [BEFORE, SUB], ["reply"]) == "2/6"
    assert comparison._share(set(), [], ["reply"]) == "none"
    assert known.facts([CUT], ["reply"]) == ["REPLY-X", "REPLY-Z"]


def test_a_converter_that_fails_is_told_and_keeps_nothing(tmp_path):
    fails = Converter(
        "fails", "", (), ("plain",), lambda *_: ["/bin/sh", "-c", "echo no >&2; exit 7"], lambda _: iter(())
    )
    kept = comparison._kept(Bench(tmp_path, [], 1, quick=True), fails, "plain", tmp_path, {"chatsquash": tmp_path})
    assert kept == {"code": 7, "told": "no", "records": []}


def test_only_the_regions_that_are_measured_are_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- generated: speed -->\nold\n<!-- /generated -->\n<!-- generated: other -->\nx\n<!-- /generated -->\n"
    )
    comparison.write(page, {"speed": "new"})
    assert page.read_text() == (
        "a\n<!-- generated: speed -->\n\nnew\n\n<!-- /generated -->\n<!-- generated: other -->\nx\n<!-- /generated -->\n"
    )


def rows(page, region):
    text = (comparison.HERE.parent / page).read_text(encoding="utf-8")
    table = text.split(f"<!-- generated: {region} -->")[1].split("<!-- /generated -->")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n") if line.startswith("| ")
    ][1:]


def test_the_readme_and_the_page_are_of_one_run():
    losses = {(row[0], name): row for row in rows("docs/comparison.md", "losses") for name in row[1].split("; ")}
    shown = rows("README.md", "comparison")
    wanted = [name for name in losses if name[0] != "Codex" and name[1] != "chatsquash"]
    assert sorted((row[0], row[1]) for row in shown) == sorted(wanted)
    assert len(shown) == 8
    for kind, name, replies, thoughts, joined in shown:
        row = losses[kind, name]
        kept = [tuple(map(int, part.split("/"))) for part in row[2:6]]
        assert replies == f"{sum(part for part, _ in kept)}/{sum(whole for _, whole in kept)}"
        assert thoughts == row[6]
        assert joined == ("no" if row[-1] == "-" else "yes")


def test_converters_with_the_same_results_share_a_line():
    lines = [["logs", "converter", "kept"], ["x", "a", "1"], ["x", "b", "2"], ["x", "c", "1"], ["y", "a", "1"]]
    assert comparison._grouped(lines) == [
        ["logs", "converter", "kept"], ["x", "a; c", "1"], ["x", "b", "2"], ["y", "a", "1"],
    ]  # fmt: skip
