"""Which records another one stands for: by ids, beginnings and words, however a run is divided."""

import json
from io import BytesIO
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert, convert_session
from chatsquash.conversion import workers
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.accounting import Usage
from chatsquash.core.errors import UsageError
from chatsquash.core.jsonio import TooLargeError, dumps
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome, Record, SessionRecords
from chatsquash.dataset.filters import Filters
from chatsquash.dataset.pre_pass import run_pre_pass
from chatsquash.session.record_maker import prefix_of_line
from tests.conftest import assistant, cases, examples, log_line, user, write_log
from tests.conversion.test_shards_law import written
from tests.outputs import findings, report

KEY = b"a key for tests of duplicates"
STORY = "the quick brown fox jumps over the lazy dog and runs far away from here until the night comes".split()


def called(name="ls", arguments='{"a": 1, "b": 2}', key="call_x"):
    call = {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [assistant("", tool_calls=[call]), {"role": "tool", "tool_call_id": key, "content": "done"}]


def line(*messages, tools=(), **more) -> bytes:
    return dumps({"messages": list(messages), "tools": list(tools), **more})


def made(data: bytes) -> Record:
    return Record(data, Usage(0, (), 1, 1, 0, ()))


def left(lines: list[bytes], **options) -> tuple[list[int], dict[int, str]]:
    """Which records stay, and what is said of the others; each is of a log of its number."""
    chosen = Options(anonymize=False, **options)
    given = [
        (
            Log(f"{number}", f"{number}", f"{number}", 1, number=number),
            Outcome(f"{number}", SessionRecords([made(each)])),
        )
        for number, each in enumerate(lines)
    ]
    filters = Filters(chosen)
    if chosen.needs_all_records:
        run_pre_pass(given, filters, chosen, BytesIO)
    kept, gone = [], {}
    for number, (log, outcome) in enumerate(given):
        found = filters.apply(log, outcome)
        if found.outcome.records:
            kept.append(number)
        elif found.filtered:
            continue
        else:
            assert found.duplicates == 1
            gone[number] = found.outcome.findings[-1].text
    return kept, gone


HI = [user("hi"), assistant("hello")]
MORE = [*HI, user("more"), assistant("yes")]
PAIRS = [
    ("equal", line(*HI), line(*HI), "exact ids prefix near"),
    ("other ids", line(*called(key="a")), line(*called(key="b")), "ids prefix near"),
    ("another order of keys of arguments", line(*called()), line(*called(arguments='{"b": 2, "a": 1}')), "ids prefix"),
    ("other spaces in arguments", line(*called()), line(*called(arguments='{"a":1,"b":2}')), "ids prefix"),
    ("another order of keys of definitions", line(*HI, tools=[{"a": 1, "b": 2}]), line(*HI, tools=[{"b": 2, "a": 1}]), "ids prefix near"),
    ("other values of arguments", line(*called()), line(*called(arguments='{"a": 1, "b": "2"}')), ""),
    ("arguments that are the text of others", line(*called(arguments="[1]")), line(*called(arguments='"[1]"')), ""),
    ("arguments that are no JSON", line(*called(arguments="{a")), line(*called(arguments="{b")), ""),
    ("other results", line(*called(), user("a")), line(*called(), user("b")), ""),
    ("one call of two answered", line(*called(key="a"), *called(key="b")), line(*called(key="a"), *called(key="a")), "near"),
    ("other tools", line(*HI, tools=[{"name": "a"}]), line(*HI, tools=[{"name": "b"}]), "near"),
    ("another system prompt", line({"role": "system", "content": "a"}, *HI), line({"role": "system", "content": "b"}, *HI), "near"),
    ("a beginning behind", line(*MORE), line(*HI), "prefix"),
    ("a beginning with other tools", line(*MORE), line(*HI, tools=[{"name": "a"}]), ""),
    ("another image", line(user([{"type": "image_url", "image_url": "a"}])), line(user([{"type": "image_url", "image_url": "b"}])), ""),
    ("nothing said", line(user("")), line(user("")), "exact ids prefix near"),
    ("a word of many", line(user(" ".join(STORY * 3))), line(user(" ".join([*STORY * 3, "end"]))), "near"),
    ("other words", line(user(" ".join(STORY))), line(user(" ".join(STORY[::-1]))), ""),
    ("another case and spacing", line(user(" ".join(STORY))), line(user("  ".join(STORY).upper())), "near"),
    ("signs of a language without spaces", line(user("明日は雨が降るでしょう" * 3)), line(user("明日は雨が降るでしょう" * 2 + "明日は雨が降るでしょうか")), "near"),
    ("half of a pair", line(user("\ud800 a")), line(user("\ud800 a")), "exact ids prefix near"),
]  # fmt: skip


@pytest.mark.parametrize("rule", ["keep", "exact", "ids", "prefix", "near"])
@pytest.mark.parametrize("first, second, rules", [each[1:] for each in PAIRS], ids=[each[0] for each in PAIRS])
def test_the_second_record_goes_by_these_rules(first, second, rules, rule):
    assert left([first, second], duplicates=rule)[0] == ([0] if rule in rules.split() else [0, 1])


def test_a_beginning_goes_that_stands_before_what_it_begins():
    assert left([line(*HI), line(*MORE)], duplicates="prefix") == (
        [1],
        {0: "the beginning of the record of 1, which is written (--duplicates keep writes both)"},
    )


def test_of_beginnings_of_beginnings_the_longest_stays_and_stands_for_all():
    steps = [line(*(user(f"{at}") for at in range(length))) for length in (2, 4, 1, 4, 3, 2)]
    kept, gone = left(steps, duplicates="prefix")
    assert kept == [1]
    assert {number: "beginning" in text for number, text in gone.items()} == {
        0: True, 2: True, 3: False, 4: True, 5: True,
    }  # fmt: skip
    assert all("the record of 1, " in text for text in gone.values())


def test_of_longest_ones_the_first_stands_for_a_beginning():
    forks = [line(user("a")), line(user("a"), user("b")), line(user("a"), user("c"))]
    kept, gone = left(forks, duplicates="prefix")
    assert (kept, list(gone)) == ([1, 2], [0])
    assert "the record of 1," in gone[0]


def test_a_beginning_stays_whose_replies_are_trained_on_nowhere_else():
    flagged = [{**message, "weight": 1} if message["role"] == "assistant" else message for message in MORE]
    context = [*({**message, "weight": 0} if "weight" in message else message for message in flagged[:2]), *flagged[2:]]
    lines = [line(*flagged[:2]), line(*context)]
    assert left(lines, duplicates="prefix", loss="weight")[0] == [0, 1]
    assert left([line(*flagged[:2]), line(*flagged)], duplicates="prefix", loss="weight")[0] == [1]


def test_the_first_of_near_records_stands_for_the_others():
    texts = [" ".join([*STORY * 6, *(["end"] * at)]) for at in range(4)]
    kept, gone = left([line(user(each)) for each in texts], duplicates="near")
    assert (kept, list(gone)) == ([0], [1, 2, 3])
    assert all(
        text.startswith("nearly identical to the record of 0, which is written: about ") for text in gone.values()
    )


def test_what_is_filtered_stands_for_nothing():
    lines = [line(*HI, user("more")), line(*HI)]
    assert left(lines, duplicates="prefix", max_chars=len(lines[1]))[0] == [1]


MESSAGES = st.lists(
    st.sampled_from([user("a"), user("b"), assistant("a"), *called(key="x"), *called(key="y")]), max_size=4
)
RULES = ("exact", "ids", "prefix", "near")


@examples(200)
@given(st.lists(MESSAGES, max_size=7), st.sampled_from(RULES))
def test_no_two_records_that_stay_stand_for_each_other_and_what_stands_for_one_stays(conversations, rule):
    lines = [line(*each) for each in conversations]
    kept, gone = left(lines, duplicates=rule)
    assert left([lines[number] for number in kept], duplicates=rule)[1] == {}
    for number, text in gone.items():
        (other,) = (at for at in kept if f"the record of {at}, " in text)
        assert left([lines[other], lines[number]], duplicates=rule)[0] == [0]
    if rule == "prefix":
        read = [conversations[number] for number in kept]
        assert not any(one == other[: len(one)] for one, other in combinations(read, 2))


# Whole runs


def logged(here: Path) -> None:
    """Four tasks with six sessions each: one, its copy, with other ids, a few other words, its beginning, another."""
    for task in range(4):
        story = [f"{word}{task}{at}" for at in range(4) for word in STORY]
        sessions = {
            "a": told(story),
            "b": told(story),
            "c": told(story, key="y"),
            "d": told([*story[:-1], "more"]),
            "e": told(story, steps=1),
            "f": told(story[::-1]),
        }
        for name, entry in sessions.items():
            path = here / f"logs/{task % 2}/{(task + ord(name)) % 5}-{task}-{name}.jsonl"
            write_log(path, {**entry, "session_id": f"{name}{task}"})


def told(story: list[str], *, key: str = "x", steps: int = 3) -> dict:
    """A session in which the user goes on and on."""
    parts = [" ".join(story[at * 26 : (at + 1) * 26]) for at in range(steps)]
    said = [[*called(key=f"{key}{at}"), user(part)] for at, part in enumerate(parts)]
    return log_line(user(story[0]), *(message for step in said for message in step), reply=None)


def in_one_run(out: str, options: Options, monkeypatch) -> None:
    convert("logs", out, options)


def with_workers(out: str, options: Options, monkeypatch) -> None:
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(workers, "_BATCH_JOBS", 2)
    convert("logs", out, Options(**{**asked(options), "workers": 2}))


def in_shards(out: str, options: Options, monkeypatch) -> None:
    divide("logs", Path(out), options, 3)
    for number in (3, 1, 2):
        convert_shard(Path(out), Shard(number, 3), Options(anonymize_key=KEY))
    merge(Path(out))


def bit_by_bit(out: str, options: Options, monkeypatch) -> None:
    """The last logs are not there at first."""
    later = sorted(Path("logs/1").iterdir())
    for path in later:
        path.rename(path.with_suffix(".later"))
    convert("logs", out, options)
    for path in later:
        path.with_suffix(".later").rename(path)
    assert convert("logs", out, options).reused


def asked(options: Options) -> dict:
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


RUNS = [
    {"duplicates": "ids"},
    {"duplicates": "prefix", "keep_rejected": True, "where": "session != 'a1'"},
    {"duplicates": "near", "sessions_by": "id"},
    {"duplicates": "prefix", "preset": "hf", "split": "train=0.5,test=0.5", "split_by": "cluster"},
    {"duplicates": "near", "preset": "text", "split": "train=0.5,test=0.5", "split_by": "cluster", "sessions_by": "chain"},
    {"samples": "reply", "preset": "hf", "split": "train=0.5,test=0.5", "split_by": "cluster", "max_chars": 2000},
]  # fmt: skip


@pytest.mark.parametrize("options", RUNS, ids=str)
def test_it_is_the_same_however_a_run_is_divided(here, monkeypatch, options):
    logged(here)
    chosen = Options(anonymize_key=KEY, **options)
    in_one_run("once", chosen, monkeypatch)
    for way in (with_workers, in_shards, bit_by_bit):
        way(way.__name__, chosen, monkeypatch)
        assert written(Path(way.__name__)) == written(Path("once")), way.__name__


@cases("rule, kept", ("keep", 24), ("exact", 20), ("ids", 16), ("prefix", 12), ("near", 12))
def test_what_goes_is_counted_and_told_with_what_stands_for_it(here, rule, kept):
    logged(here)
    summary = convert("logs", "out", Options(anonymize=False, duplicates=rule))
    assert (summary.written, summary.duplicates) == (kept, 24 - kept)
    told = findings("duplicate-record")
    gone = {each["file"] for each in told}
    assert len(gone) == len(told) == 24 - kept
    assert {row["log"] for row in report("sessions.jsonl") if row["left_out"] == "duplicate-record"} == gone
    for each in told:
        (other,) = (
            path for path in map(str, Path("logs").rglob("*.jsonl")) if f"the record of {path}, " in each["text"]
        )
        assert other not in gone
    run = json.loads(Path("out/run.json").read_text("utf-8"))
    assert run["counts"]["sessions"]["duplicates"] == 24 - kept


def test_the_sessions_of_one_log_are_told_apart_without_a_folder():
    said = [user("hi"), assistant("hello"), user("more"), assistant("yes")]
    lines = [json.dumps(log_line(*said[: 2 * at], reply=None, session_id=f"s{at}")) for at in (1, 2)]
    for rule, expected in (("keep", [True, True]), ("ids", [True, True]), ("prefix", [False, True])):
        found = convert_session(lines, Options(anonymize=False, sessions_by="id", duplicates=rule))
        assert [bool(each.record) for each in found] == expected


# What is asked


@pytest.mark.parametrize("alias, rule", [(True, "exact"), (False, "keep")])
def test_the_older_options_are_the_same(alias, rule):
    for folder in (None, "jsonl"):
        assert Options(drop_duplicates=alias, format=folder).duplicate_mode == rule
        assert Options(drop_duplicates=alias, duplicates=rule, format=folder).duplicate_mode == rule
    assert (Options().duplicate_mode, Options(format="jsonl").duplicate_mode) == ("keep", "exact")


@cases("options, told",
    ({"drop_duplicates": True, "duplicates": "near"}, "drop_duplicates=True means duplicates='exact'; remove it or duplicates='near'"),
    ({"drop_duplicates": False, "duplicates": "exact"}, "drop_duplicates=False means duplicates='keep'; remove it or duplicates='exact'"),
    ({"samples": "reply", "duplicates": "prefix"}, "duplicates='prefix' with samples='reply': every sample"),
    ({"samples": "reply", "duplicates": "near"}, "duplicates='near' with samples='reply': every sample"),
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(here, options, told):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    with pytest.raises(UsageError, match=f"^{told}"):
        convert("logs", "out", Options(anonymize=False, **options))


@cases("options, told",
    ({"duplicates": "near"}, "duplicates='near' requires"),
    ({"split": "train=0.5,test=0.5", "split_by": "cluster"}, "split_by='cluster' requires"),
)  # fmt: skip
def test_the_package_for_sketches_is_named_where_it_is_missing(here, monkeypatch, options, told):
    monkeypatch.setitem(__import__("sys").modules, "rensa", None)
    with pytest.raises(UsageError) as caught:
        convert("logs", "out", Options(anonymize=False, **options))
    assert str(caught.value) == f"{told} the rensa package: pip install 'chatsquash[near]'"


@pytest.mark.parametrize("rule", RULES)
def test_records_that_are_too_large_to_be_parsed_are_told_apart_by_their_bytes(monkeypatch, rule):
    def refuse(data):
        raise TooLargeError

    monkeypatch.setattr("chatsquash.core.jsonio.loads", refuse)
    assert left([line(*HI), line(*MORE), line(*HI)], duplicates=rule)[0] == [0, 1]
    assert prefix_of_line(line(*HI)) == prefix_of_line(line(*HI)) != prefix_of_line(line(*MORE))


WORDS = [
    ("what is typed wins", {"CHATSQUASH_DUPLICATES": "prefix"}, ["--drop-duplicates"], "exact"),
    ("and the other way round", {"CHATSQUASH_DROP_DUPLICATES": "yes"}, ["--duplicates", "ids"], "ids"),
    ("a variable", {"CHATSQUASH_DUPLICATES": "prefix"}, [], "prefix"),
    ("two that agree", {"CHATSQUASH_DUPLICATES": "keep"}, ["--no-drop-duplicates", "--duplicates", "keep"], "keep"),
]  # fmt: skip


@pytest.mark.parametrize("variables, typed, rule", [each[1:] for each in WORDS], ids=[each[0] for each in WORDS])
def test_of_the_two_options_that_which_is_typed_counts(here, command, monkeypatch, variables, typed, rule):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write_log(here / "logs/a.jsonl", log_line("hi"))
    ended = command("convert", "logs", *typed)
    assert ended.code == 0
    told = json.loads(Path("out/run.json").read_text("utf-8"))["options"]
    given = {name: told[name] for name in ("duplicates", "drop_duplicates")}
    assert Options(**given).duplicate_mode == rule


def test_two_options_that_are_typed_have_to_agree(here, command):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    ended = command("convert", "logs", "--duplicates", "ids", "--drop-duplicates")
    assert (ended.code, ended.out) == (2, "")
    assert "--drop-duplicates means --duplicates exact; remove it or --duplicates ids" in ended.err
