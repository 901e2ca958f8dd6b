"""Images beside the records: what ``--media`` writes, and what it leaves out."""

import base64
import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.results.check import check
from chatsquash.results.verify import verify
from tests.conftest import cases, log_line, user, write_log

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
JPEG = b"\xff\xd8\xff\xe0" + b"j" * 20
WEBP = b"RIFF\x10\0\0\0WEBPVP8 " + b"w" * 12
KEEP = {"preset": "hf", "media": "keep", "anonymize": False}


def encoded(data, mime="image/png"):
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def image(data=PNG, mime="image/png"):
    return {"type": "image_url", "image_url": {"url": encoded(data, mime)}}


def text(words):
    return {"type": "text", "text": words}


def file(data, suffix="png"):
    return f"images/{hashlib.sha256(data).hexdigest()[:40]}.{suffix}"


def shown(*parts):
    """A session in which the user shows something."""
    return log_line(user(list(parts)), reply="I see.")


def session(*parts, **options):
    (outcome,) = convert_session([json.dumps(shown(*parts)).encode()], Options(**{**KEEP, **options}))
    return outcome


HERE = {"type": "image"}
ELSEWHERE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


# Which media are refused


MEDIA = [
    ("an image", image()),
    ("an image elsewhere", ELSEWHERE),
    ("an image of Responses", {"type": "input_image", "image_url": encoded(PNG)}),
    ("a sound", {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
    ("a file", {"type": "file", "file": {"file_id": "f"}}),
    ("a film", {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}),
    ("a part of Gemini's", {"inlineData": {"mimeType": "image/png", "data": ""}}),
]


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral", "sharegpt", "text"])
@pytest.mark.parametrize("sentence, part", MEDIA, ids=[row[0] for row in MEDIA])
def test_a_session_with_media_is_left_out_on_request(preset, sentence, part):
    outcome = session(text("Look:"), part, preset=preset, media="refuse")
    assert (outcome.record, outcome.left_out) == (None, "media-dropped")
    (found,) = [finding for finding in outcome.findings if finding.code == "media-dropped"]
    assert found.severity == "error"
    assert "--media drop" in found.text


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral", "sharegpt", "text"])
@pytest.mark.parametrize("sentence, part", MEDIA, ids=[row[0] for row in MEDIA])
def test_drop_writes_the_rest_and_says_so(preset, sentence, part):
    outcome = session(text("Look:"), part, preset=preset, media="drop")
    assert "Look:" in outcome.record.decode()
    assert "shape-dropped" in {finding.code for finding in outcome.findings}
    assert outcome.records[0].images == {}


WORDS = ["[image]", "[image]", "[image]", "[audio]", "[file]", "[video]", "[image]"]


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral", "sharegpt", "text"])
@pytest.mark.parametrize(("row", "word"), [*zip(MEDIA, WORDS, strict=True)], ids=[row[0] for row in MEDIA])
def test_by_default_placeholders_stand_for_media(preset, row, word):
    line = json.dumps(log_line(user([text("Look:"), row[1], text("Well?")]))).encode()
    (outcome,) = convert_session([line], Options(anonymize=False, preset=preset))
    assert f"Look:\\n{word}\\nWell?" in outcome.record.decode()
    (found,) = [finding for finding in outcome.findings if finding.code == "media-replaced"]
    assert (found.severity, "--media keep" in found.text) == ("warning", True)
    assert "shape-dropped" not in {finding.code for finding in outcome.findings}


def test_a_placeholder_stands_for_a_screenshot_in_a_result_and_for_images_beside_a_text():
    call = {"id": "c", "type": "function", "function": {"name": "see", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    given = {"role": "tool", "tool_call_id": "c", "content": [image()]}
    log = log_line({"role": "user", "content": "a", "images": ["x", "y"]}, asked, given, reply="b")
    (outcome,) = convert_session([json.dumps(log).encode()], Options(preset="hf"))
    said = [message["content"] for message in json.loads(outcome.record)["messages"]]
    assert said == ["a\n[image]\n[image]", "", "[image]", "b"]


def test_no_placeholder_stands_in_a_reply():
    def converted(reply):
        return convert_session([json.dumps(log_line("a", reply=reply)).encode()], Options(preset="hf"))[0]

    spoken = converted({"role": "assistant", "content": "Hi.", "audio": {"id": "a", "data": "x"}})
    assert json.loads(spoken.record)["messages"][1]["content"] == "Hi."
    assert "shape-dropped" in {finding.code for finding in spoken.findings}
    alone = {"role": "assistant", "content": None, "audio": {"id": "a", "data": "x"}}
    assert converted(alone).left_out == "media-dropped"
    assert converted({"role": "assistant", "content": [image()]}).left_out == "media-dropped"


def test_parts_that_are_no_media_go_as_ever():
    outcome = session(text("a"), {"type": "refusal", "refusal": "no"}, media="refuse")
    assert outcome.record
    assert "shape-dropped" in {finding.code for finding in outcome.findings}


def test_media_in_members_of_messages_are_media():
    log = log_line("Say it.", reply={"role": "assistant", "content": "Hi.", "audio": {"id": "a", "data": "x"}})
    line = json.dumps(log).encode()
    assert convert_session([line], Options(preset="hf", media="refuse"))[0].left_out == "media-dropped"
    assert convert_session([line], Options(preset="hf", media="keep"))[0].left_out == "media-dropped"
    assert convert_session([line], Options(preset="hf", media="drop"))[0].record


@pytest.mark.parametrize("media", ["refuse", "keep"])
def test_what_is_behind_the_last_message_of_the_assistant_is_no_part_of_the_record(media):
    log = log_line("a", {"role": "assistant", "content": "b"}, user([ELSEWHERE]), reply=None)
    (outcome,) = convert_session([json.dumps(log).encode()], Options(**{**KEEP, "media": media}))
    assert [message["content"] for message in json.loads(outcome.record)["messages"]] == ["a", "b"]
    assert "user messages after the last assistant message 1" in "; ".join(each.text for each in outcome.findings)


@cases(
    "part",
    ("OpenAI", image()),
    ("OpenAI, the address alone", {"type": "image_url", "image_url": encoded(PNG)}),
    ("Responses", {"type": "input_image", "image_url": encoded(PNG)}),
    ("Anthropic", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(PNG)[22:]}}),
    ("Qwen", {"type": "image", "image": encoded(PNG)}),
    ("MCP", {"type": "image", "data": encoded(PNG)[22:], "mimeType": "image/png"}),
)  # fmt: skip
def test_keep_takes_the_data_of_an_image_in_each_spelling(part):
    outcome = session(text("Look:"), part)
    assert json.loads(outcome.record)["messages"][0]["content"] == [text("Look:"), HERE]
    assert outcome.records[0].images == {file(PNG): PNG}


def responses(*items):
    """A session with OpenAI Responses."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I see."}]}
    response = {"object": "response", "status": "completed", "output": [said]}
    asked = {"model": "gpt", "input": [{"role": "user", "content": "Look."}, *items]}
    return json.dumps({"session_id": "s", "timestamp": 1.5, "request": asked, "response": response}).encode()


SCREEN = {"type": "computer_screenshot", "image_url": "https://example.com/a.png"}
ALONE = [
    ("an uploaded image", [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]),
    (
        "a screenshot",
        [
            {
                "type": "computer_call", "id": "i", "call_id": "c", "action": {"type": "screenshot"},
                "status": "completed",
            },
            {"type": "computer_call_output", "call_id": "c", "output": SCREEN},
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("media", ["refuse", "keep"])
@pytest.mark.parametrize("sentence, items", ALONE, ids=[row[0] for row in ALONE])
def test_a_message_that_is_nothing_but_a_medium_is_judged(media, sentence, items):
    (outcome,) = convert_session([responses(*items)], Options(**{**KEEP, "media": media}))
    assert outcome.left_out == "media-dropped"


def test_drop_leaves_the_call_and_the_result_of_a_screenshot():
    (outcome,) = convert_session([responses(*ALONE[1][1])], Options(**{**KEEP, "media": "drop"}))
    assert [turn["content"] for turn in json.loads(outcome.record)["messages"]] == ["Look.", "", "", "I see."]


def test_drop_leaves_out_a_message_that_holds_nothing_a_record_has_a_place_for():
    screenshot = {"type": "computer_call_output", "call_id": "other", "output": SCREEN}
    (outcome,) = convert_session([responses(screenshot)], Options(**{**KEEP, "media": "drop"}))
    assert [turn["content"] for turn in json.loads(outcome.record)["messages"]] == ["Look.", "I see."]


def test_drop_leaves_the_message_of_a_file():
    (outcome,) = convert_session([responses(*ALONE[0][1])], Options(**{**KEEP, "media": "drop"}))
    assert [turn["content"] for turn in json.loads(outcome.record)["messages"]] == ["Look.", "", "I see."]


def test_the_specified_record_keeps_all():
    outcome = session(text("a"), ELSEWHERE, preset="chat", media="text")
    assert json.loads(outcome.record)["messages"][0]["content"] == [text("a"), ELSEWHERE]


# What is kept


@cases(
    "data, mime, suffix",
    ("a PNG", PNG, "image/png", "png"),
    ("a JPEG", JPEG, "image/jpeg", "jpg"),
    ("a GIF", GIF, "image/gif", "gif"),
    ("a WebP", WEBP, "image/webp", "webp"),
    ("a PNG that says it is a JPEG", PNG, "image/jpeg", "png"),
)
def test_an_image_is_known_by_its_bytes(data, mime, suffix):
    outcome = session(text("Look:"), image(data, mime), text("What is it?"))
    record = json.loads(outcome.record)
    assert record["messages"][0]["content"] == [text("Look:"), HERE, text("What is it?")]
    assert record["images"] == [file(data, suffix)]
    assert outcome.records[0].images == {file(data, suffix): data}


def of_anthropic():
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    content = [text("Look:"), {"type": "image", "source": source}]
    asked = {"model": "c", "max_tokens": 1, "system": "s", "messages": [{"role": "user", "content": content}]}
    said = {"type": "message", "role": "assistant", "content": [text("I see.")], "stop_reason": "end_turn"}
    return asked, said


def of_responses():
    content = [{"type": "input_text", "text": "Look:"}, {"type": "input_image", "image_url": encoded(PNG)}]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I see."}]}
    asked = {"model": "g", "input": [{"role": "user", "content": content}]}
    return asked, {"object": "response", "status": "completed", "output": [said]}


def of_gemini():
    parts = [{"text": "Look:"}, {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}]
    said = {"content": {"role": "model", "parts": [{"text": "I see."}]}, "finishReason": "STOP"}
    return {"contents": [{"role": "user", "parts": parts}]}, {"candidates": [said]}


def of_ollama():
    asked = {"role": "user", "content": "Look:", "images": [base64.b64encode(PNG).decode()]}
    said = {"message": {"role": "assistant", "content": "I see."}, "done": True, "done_reason": "stop"}
    return {"model": "q", "messages": [asked], "stream": False, "options": {}}, {"model": "q", **said}


@pytest.mark.parametrize("made", [of_anthropic, of_responses, of_gemini, of_ollama])
def test_every_format_gives_the_same_image(made):
    request, response = made()
    line = json.dumps({"session_id": "s", "timestamp": 1, "request": request, "response": response}).encode()
    (outcome,) = convert_session([line], Options(**KEEP))
    record = json.loads(outcome.record)
    assert record["messages"][-2]["content"] == [text("Look:"), HERE]
    assert outcome.records[0].images == {file(PNG): PNG}


def of_file_id():
    content = [{"type": "input_text", "text": "Look:"}, {"type": "input_image", "file_id": "file-1"}]
    request, response = of_responses()
    return {**request, "input": [{"role": "user", "content": content}]}, response


def of_unknown_data():
    request, response = of_ollama()
    return {**request, "messages": [{**request["messages"][0], "images": ["????"]}]}, response


@pytest.mark.parametrize("made", [of_file_id, of_unknown_data])
def test_media_that_chat_messages_have_no_place_for_are_refused_too(made):
    request, response = made()
    line = json.dumps({"session_id": "s", "timestamp": 1, "request": request, "response": response}).encode()
    for media in ("refuse", "keep"):
        assert convert_session([line], Options(**{**KEEP, "media": media}))[0].left_out == "media-dropped"
    assert convert_session([line], Options(**{**KEEP, "media": "drop"}))[0].record
    assert "Look:" in convert_session([line], Options(anonymize=False))[0].record.decode()


def test_texts_between_images_are_lines_and_what_the_user_says_is_lists():
    line = log_line("hi", {"role": "assistant", "content": "yes?"}, user([image(), text("a"), text("b"), image(GIF)]))
    record = json.loads(convert_session([json.dumps(line).encode()], Options(**KEEP))[0].record)
    said = [message["content"] for message in record["messages"]]
    assert said == [[text("hi")], "yes?", [HERE, text("a\nb"), HERE], "hello"]
    assert record["images"] == [file(PNG), file(GIF, "gif")]


def test_a_record_without_images_has_an_empty_list():
    record = json.loads(session(text("a")).record)
    assert record["images"] == []
    assert record["messages"][0]["content"] == "a"


def test_a_later_system_message_with_an_image_joins_the_users():
    line = log_line(
        "a", {"role": "assistant", "content": "b"}, {"role": "system", "content": [text("s"), image()]}, "c"
    )
    record = json.loads(convert_session([json.dumps(line).encode()], Options(**KEEP))[0].record)
    assert record["messages"][2]["content"] == [text("s"), HERE, text("c")]


@cases(
    "part, why",
    ("an address", ELSEWHERE, "URLs are not fetched"),
    ("no base64", {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}, "is not valid base64"),
    (
        "a data URL without base64",
        {"type": "image_url", "image_url": {"url": "data:image/png,abc"}},
        "is not valid base64",
    ),
    ("something else", image(b"%PDF-1.7 and so on"), "neither PNG, JPEG, GIF nor WebP"),
    ("nothing", image(b""), "neither PNG, JPEG, GIF nor WebP"),
    ("a file", {"type": "file", "file": {"file_data": encoded(PNG)}}, "type file"),
    ("no address", {"type": "image_url", "image_url": {}}, "type image_url"),
)
def test_what_cannot_be_kept_is_refused(part, why):
    outcome = session(text("a"), part)
    assert outcome.left_out == "media-dropped"
    assert why in outcome.findings[-1].text


def test_images_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr("chatsquash.records.media._MAX_IMAGE", 10)
    assert "larger than" in session(image()).findings[-1].text


def test_an_image_in_a_result_is_refused():
    call = {"id": "c", "type": "function", "function": {"name": "see", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    line = log_line("a", asked, {"role": "tool", "tool_call_id": "c", "content": [image()]}, reply="b")
    (outcome,) = convert_session([json.dumps(line).encode()], Options(**KEEP))
    assert outcome.left_out == "media-dropped"
    assert "a result has an image" in outcome.findings[-1].text


# Folders


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Three sessions, two of them with one image, and two that are alike."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", shown(text("a"), image()))
    write_log(tmp_path / "logs/b.jsonl", shown(text("b"), image(), image(GIF)))
    write_log(tmp_path / "logs/c.jsonl", shown(text("c")))
    write_log(tmp_path / "logs/d.jsonl", shown(text("a"), image()))
    return tmp_path / "logs"


def images(out="out"):
    return {f"images/{path.name}": path.read_bytes() for path in Path(out, "images").glob("*")}


def test_lines_name_files_that_are_written_once(logs):
    summary = convert(logs, "out", Options(**KEEP))
    assert summary.duplicates == 1
    (data,) = Path("out/data").iterdir()
    records = [json.loads(line) for line in data.read_bytes().splitlines()]
    assert [record["images"] for record in records] == [[file(PNG)], [file(PNG), file(GIF, "gif")], []]
    assert images() == {file(PNG): PNG, file(GIF, "gif"): GIF}
    named = {each["path"]: each["sha256"] for each in json.loads(Path("out/run.json").read_bytes())["outputs"]}
    assert named[file(PNG)] == hashlib.sha256(PNG).hexdigest()
    assert "  - name: images\n    list: image\n" in Path("out/README.md").read_text()
    assert "Run this in the dataset folder" in Path("out/README.md").read_text()
    assert "!/images/" in Path("out/.gitignore").read_text()


def test_the_folder_is_verified_and_written_anew(logs):
    convert(logs, "out", Options(**KEEP))
    assert not verify(Path("out")).problems
    Path("out", file(PNG)).write_bytes(b"other")
    assert verify(Path("out")).problems
    convert(logs, "out", Options(**KEEP))
    assert not verify(Path("out")).problems
    Path("logs/b.jsonl").unlink()
    assert convert(logs, "out", Options(**KEEP)).reused
    assert images() == {file(PNG): PNG}
    convert(logs, "out", Options(**{**KEEP, "media": "drop"}))
    assert images() == {}


def test_parquet_holds_the_images(logs):
    convert(logs, "out", Options(**KEEP, format="parquet", metadata=True))
    (data,) = Path("out/data").iterdir()
    frame = pl.read_parquet(data)
    assert frame["images"].to_list() == [
        [{"bytes": PNG, "path": Path(file(PNG)).name}],
        [{"bytes": PNG, "path": Path(file(PNG)).name}, {"bytes": GIF, "path": Path(file(GIF, "gif")).name}],
        [],
    ]
    assert not images()
    assert not verify(Path("out")).problems


@pytest.mark.parametrize("options", [{"workers": 2}, {"split": "train=0.5,test=0.5"}, {"shard_size": 200}])
def test_images_come_with_workers_splits_and_shards(logs, options):
    convert(logs, "out", Options(**KEEP, **options))
    assert images() == {file(PNG): PNG, file(GIF, "gif"): GIF}


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
def test_such_a_folder_can_be_checked(logs, packing):
    convert(logs, "out", Options(**KEEP, format=packing))
    assert "error" not in {finding.severity for finding in check("out")}
