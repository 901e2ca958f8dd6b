"""The search over all texts, and the find of one conversation."""

import asyncio
import json
import threading

import pytest
from anyio.to_thread import current_default_thread_limiter

from chatsquash import Options, convert
from chatsquash.view.needle import MAX_PER_MESSAGE, Needle
from chatsquash.view.pages import search as module
from chatsquash.view.pages.search import Hit, Progress, _candidates, hits
from chatsquash.view.result import ViewerResult
from tests.conftest import assistant, log_line, user, write_log
from tests.view.conftest import Reader

SPELLINGS = {
    "small letters find capitals": ("hello", ["hello", "Hello", "HELLO"]),
    "of several words each": ("hello world", ["hello world", "Hello world", "Hello World", "HELLO WORLD"]),
    "a capital finds itself alone": ("Hello", ["Hello"]),
    "what has no case": ("123", ["123"]),
    "other scripts": ("élan", ["élan", "Élan", "ÉLAN"]),
}


@pytest.mark.parametrize(("asked", "spellings"), SPELLINGS.values(), ids=SPELLINGS)
def test_what_is_looked_for(asked, spellings):
    assert Needle(asked).spellings == spellings


def test_places_do_not_overlap_and_stand_in_order():
    assert list(Needle("aa").places("aaa Aa AA")) == [(0, 2), (4, 6), (7, 9)]


class Counting(str):  # noqa: SLOT000 - it counts
    """A text that counts the characters that are looked at."""

    looked_at = 0

    def find(self, each, at=0):
        found = super().find(each, at)
        self.looked_at += (len(self) if found < 0 else found + len(each)) - at
        return found


@pytest.mark.parametrize("unit", ["a", "aA", "b" * 99 + "a", "Ab"])
def test_time_is_linear_in_the_text_however_often_it_is_said(unit):
    text = Counting(unit * 2_000)
    needle = Needle("a")
    assert len(list(needle.places(text))) == text.lower().count("a")
    assert text.looked_at <= 2 * len(needle.spellings) * len(text)


def test_a_message_that_says_it_without_end_is_counted_up_to_a_bound():
    said, once = user("a" * (MAX_PER_MESSAGE + 1)), user("a")
    assert list(Needle("a").counts([said, once])) == [(0, MAX_PER_MESSAGE), (1, 1)]
    assert len(list(Needle("a").counts([said] * 1_000))) == 10
    assert len(list(Needle("a").counts([once] * 6_000))) == 5_000


SAID = {
    "a word": "timeout", "a quote": 'say "hi"', "a backslash": "C:\\temp", "several lines": "one\ntwo\tthree",
    "another script": "привет", "emoji": "👩‍👩‍👧", "a control": "\x1b[31m",
}  # fmt: skip


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("asked", SAID.values(), ids=SAID)
def test_a_text_is_found_wherever_a_message_says_it(here, asked, form):
    arguments = json.dumps({"x": asked}, ensure_ascii=False)
    calls = [
        {"id": "c", "type": "function", "function": {"name": "t", "arguments": text}} for text in ("{}", arguments)
    ]
    places = {
        "text": [user(f"a {asked} b")],
        "part": [user([{"type": "text", "text": asked}])],
        "reasoning": [user("q"), assistant("a", reasoning_content=f"x{asked}")],
        "result": [user("q"), assistant(None, tool_calls=calls[:1]),
                   {"role": "tool", "tool_call_id": "c", "content": asked}],
        "call": [user("q"), assistant(None, tool_calls=calls[1:]), {"role": "tool", "tool_call_id": "c", "content": "r"}],
        "none": [user("nothing of it")],
    }  # fmt: skip
    for name, messages in places.items():
        write_log(here / f"logs/{name}.jsonl", log_line(*messages, session_id=name))
    convert("logs", "out", Options(anonymize=False, format=form, preset="hf" if form == "parquet" else "chat"))
    result = ViewerResult(here / "out")
    matches = [each for each in hits(result, Needle(asked)) if isinstance(each, Hit)]
    reader = Reader(here / "out")
    found = {line["session"] for line in _lines(reader, asked) if "session" in line}
    expected = set(places) - {"none"} - ({"call"} if asked not in arguments else set())
    assert found - {"call"} == expected - {"call"}
    assert form == "parquet" or found == expected  # which keeps arguments as values there
    assert len(matches) == len(found)


def _lines(reader, asked):
    answer = reader.get(f"/r/{reader.viewer.tag}/search/stream", q=asked)
    assert answer.headers["content-type"] == "application/x-ndjson"
    return list(map(json.loads, answer.text.splitlines()))


def test_a_hit_has_the_first_prompt_of_its_record_as_title(here):
    write_log(here / "logs/a.jsonl", log_line("why is it\nlate", reply="a needle", session_id="a"))
    convert("logs", "out", Options(anonymize=False))
    hit = next(each for each in _lines(Reader(here / "out"), "needle") if "href" in each)
    assert (hit["title"], hit["session"], hit["message"]) == ("why is it late", "a", 1)


def test_names_of_members_are_no_hit(sample_reader):
    assert _lines(sample_reader, '"tool_call_id":')[-1] == {"end": "all", "found": 0}


def test_every_hit_leads_to_a_message_that_says_it(sample_reader):
    *told, end = _lines(sample_reader, "timeout")
    hits = [each for each in told if "href" in each]
    assert end == {"end": "all", "found": len(hits)}
    assert len(hits) == 4
    for hit in hits:
        assert hit["hit"].lower() == "timeout"
        page = sample_reader.get(hit["href"].split("#")[0]).text
        assert f'id="m{hit["message"]}"' in page
        base = hit["href"].split("?")[0]
        found = sample_reader.get(f"{base}/find", q="timeout").json()
        assert found["total"] == hit["count"] == sum(count for _, count in found["hits"])
        assert found["hits"][0][0] == hit["message"]


def test_progress_is_told_up_to_all_bytes(samples):
    result = ViewerResult(samples)
    told = [each for each in hits(result, Needle("zzz")) if isinstance(each, Progress)]
    total = sum(size for name, size in result.outputs.items() if name.endswith(".jsonl") and "/" not in name)
    assert told[0] == Progress(0, total)
    assert told[-1] == Progress(total, total)
    assert [each.done for each in told] == sorted(each.done for each in told)


def test_nothing_is_looked_for_where_nothing_is_asked(sample_reader):
    assert _lines(sample_reader, "  ") == [{"end": "all", "found": 0}]


def test_no_more_is_read_once_nobody_goes_on_asking(here, monkeypatch):
    write_log(here / "logs/a.jsonl", log_line(user("word"), session_id="a"))
    write_log(here / "logs/b.jsonl", log_line(user("word"), session_id="b"))
    convert("logs", "out", Options(anonymize=False, group_by="scenario"))
    opened = []
    monkeypatch.setattr(
        module, "open_records", lambda folder, name, open=module.open_records: opened.append(name) or open(folder, name)
    )
    going = hits(ViewerResult(here / "out"), Needle("word"))
    while not isinstance(next(going), Hit):
        pass
    going.close()
    assert opened == ["a.jsonl"]


WORDS = (
    "role", "content", "tool", "user", "name", "arguments", "function", "type", "id", "value", "from", "text", "call",
    "o",
)  # fmt: skip


@pytest.mark.parametrize("preset", ["chat", "hf", "openai", "mistral", "sharegpt", "text"])
def test_words_that_are_also_names_of_members_are_found_where_they_are_said(tmp_path, monkeypatch, preset):
    """Also in names and values of arguments, whether these are a text or not."""
    for at, word in enumerate(WORDS):
        for number, given in enumerate(({word: 1}, {"x": {"role": word}}, {}, {"x": [{"type": word}], word: "user"})):
            call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": json.dumps(given)}}
            said = [assistant(None, tool_calls=[call]), {"role": "tool", "tool_call_id": "c", "content": "-"}]
            asked = f'"{word}":' if at % 3 else "-"
            line = log_line(user(asked if number == 2 else "-"), *said, session_id=f"{at} {number}")
            write_log(tmp_path / f"logs/{at}-{number}.jsonl", line)
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False, preset=preset))
    result = ViewerResult(tmp_path / "out")
    parsed = []
    monkeypatch.setattr(module, "parse", lambda line, made=module.parse: parsed.append(line) or made(line))
    for word in WORDS:
        matches = [each for each in hits(result, Needle(word)) if isinstance(each, Hit)]
        with monkeypatch.context() as patch:
            patch.setattr(Needle, "may_match", lambda *_: True)
            assert [each for each in hits(result, Needle(word)) if isinstance(each, Hit)] == matches
        assert matches


@pytest.mark.parametrize("word", ["role", "content", "tool", "assistant", "tool_call", "l"])
def test_no_record_is_parsed_where_a_word_is_only_the_name_of_a_member(here, monkeypatch, word):
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"x": "?"}'}}
    said = [assistant(None, tool_calls=[call]), {"role": "tool", "tool_call_id": "c", "content": "-"}]
    write_log(here / "logs/a.jsonl", log_line(user("?"), *said, session_id="a", reply={"content": "?"}))
    write_log(here / "logs/b.jsonl", log_line(user(f"a {word}"), session_id="b", reply={"content": "?"}))
    convert("logs", "out", Options(anonymize=False))
    parsed = []
    monkeypatch.setattr(module, "parse", lambda line, made=module.parse: parsed.append(line) or made(line))
    assert len([each for each in hits(ViewerResult(here / "out"), Needle(word)) if isinstance(each, Hit)]) == 1
    assert len(parsed) == 1


def _scope(reader, path, query=b""):
    keys = reader.keys
    headers = [(b"host", b"localhost:1"), (b"cookie", f"{keys.name}={keys.cookie}".encode())]
    return {"type": "http", "asgi": {"version": "3.0"}, "method": "GET", "path": path, "query_string": query,
            "headers": headers, "root_path": "", "scheme": "http", "http_version": "1.1"}  # fmt: skip


def test_a_search_ends_when_the_browser_stops_it(sample_reader, monkeypatch):
    ended = []

    def endless(*_):
        try:
            while True:
                yield b"{}\n"
        finally:
            ended.append(True)

    monkeypatch.setattr("chatsquash.view.pages.search.lines", endless)
    sent = []

    async def receive():
        while len(sent) < 5:  # noqa: ASYNC110 - the server says nothing of what it sent
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = _scope(sample_reader, f"/r/{sample_reader.viewer.tag}/search/stream", b"q=a")
    asyncio.run(asyncio.wait_for(sample_reader.client.app(scope, receive, send), 20))
    assert ended == [True]


def test_no_page_waits_for_searches_of_which_two_go_on_at_once(sample_reader, monkeypatch):
    """Those whose browser has gone end, also while they wait."""
    goes_on, begun, ended = threading.Event(), [], []

    def slow(*_):
        begun.append(True)
        try:
            assert goes_on.wait(60)
            yield b"{}\n"
        finally:
            ended.append(True)

    monkeypatch.setattr("chatsquash.view.pages.search.lines", slow)
    reader = sample_reader
    stream = f"/r/{reader.viewer.tag}/search/stream"

    async def everybody():
        has_gone = asyncio.Event()
        current_default_thread_limiter().total_tokens = 8

        async def receive():
            await has_gone.wait()
            return {"type": "http.disconnect"}

        async def asked(path, query=b""):
            sent = []

            async def send(message):
                sent.append(message)

            await reader.client.app(_scope(reader, path, query), receive, send)
            return sent

        searches = [asyncio.create_task(asked(stream, b"q=a")) for _ in range(20)]
        while len(begun) < 2:  # noqa: ASYNC110 - it begins in a thread
            await asyncio.sleep(0.01)
        told = await asyncio.wait_for(asyncio.gather(*(asked("/") for _ in range(8))), 30)
        assert all(sent[0]["status"] == 200 for sent in told)
        assert len(begun) == 2
        has_gone.set()
        while sum(each.done() for each in searches) < 18:  # noqa: ASYNC110 - of which two begin is not known
            await asyncio.sleep(0.01)
        goes_on.set()
        await asyncio.wait_for(asyncio.gather(*searches), 30)

    asyncio.run(everybody())
    assert len(begun) == len(ended) == 2


@pytest.mark.parametrize("chunk", [7, 16, 64, 1 << 20])
def test_lines_are_found_wherever_a_chunk_ends(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("chatsquash.view.pages.search._CHUNK", chunk)
    lines = [b"x" * (at * 7 % 40) + (b"needle" if at % 3 == 0 else b"") + b"y" * (at % 5) for at in range(60)]
    path = tmp_path / "a"
    path.write_bytes(b"\n".join(lines))
    with path.open("rb", buffering=0) as file:
        found = [(offset, line) for offset, line in _candidates(file, [b"needle", b"eedl"]) if line is not None]
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in range(len(lines))]
    assert found == [(start, line) for start, line in zip(starts, lines, strict=True) if b"needle" in line]


def test_a_search_shows_only_so_many(here, monkeypatch):
    for at in range(5):
        write_log(here / f"logs/{at}.jsonl", log_line(user("word"), session_id=f"s{at}"))
    convert("logs", "out", Options(anonymize=False))
    monkeypatch.setattr("chatsquash.view.pages.search.MOST", 3)
    told = _lines(Reader(here / "out"), "word")
    assert told[-1] == {"end": "first", "found": 3}
    assert sum("href" in each for each in told) == 3
