"""``flatten --to verifiers``: a forest as traces, of which each sample is a path and each reply is sampled once."""

import json
from collections import Counter

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.flatten import flatten
from chatsquash.core.errors import UsageError
from chatsquash.formats import documents
from chatsquash.records.forest_traces import traces
from tests.conftest import cases
from tests.dataset.test_forest import PLAIN, ROOT
from tests.tokens.client import Client, user
from tests.tokens.server import Server, train

LOGS = ROOT / "sample_logs"


def lines(path):
    return path.read_bytes().splitlines()


def written(out):
    return [json.loads(line) for path in sorted(out.rglob("traces.jsonl")) for line in lines(path)]


def exported(logs, folder, **options):
    """The samples of the replies and the traces of the forest."""
    given = {**PLAIN, "preset": "hf", "format": "jsonl", **options}
    convert(logs, folder / "reply", Options(**{**given, "samples": "reply"}))
    convert(logs, folder / "forest", Options(**given))
    done = flatten(str(folder / "forest"), str(folder / "traces"), to="verifiers")
    samples = [json.loads(line) for path in sorted((folder / "reply/data").iterdir()) for line in lines(path)]
    found = written(folder / "traces")
    assert done.samples == len(found)
    return samples, found


def path(trace, node):
    """The nodes from the first one to this one."""
    found = []
    while node is not None:
        found.append(trace["nodes"][node])
        node = found[-1]["parent"]
    return found[::-1]


def texts(messages):
    """The roles, texts, results and calls of messages, in either spelling."""
    return [
        [
            each["role"],
            each.get("content") or "",
            each.get("tool_call_id"),
            [*map(called, each.get("tool_calls") or ())],
        ]
        for each in messages
    ]


def called(call):
    function = call.get("function", call)
    arguments = function["arguments"]
    return [call["id"], function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments]


def test_each_sample_is_a_path_and_each_reply_is_sampled_once(tmp_path):
    samples, found = exported(LOGS, tmp_path)
    expected = Counter(json.dumps(texts(each["prompt"] + each["completion"])) for each in samples)
    sampled = [
        texts(each["message"] for each in path(trace, number))
        for trace in found
        for number, node in enumerate(trace["nodes"])
        if node["sampled"] and not any(is_next(trace, number, other) for other in range(number, len(trace["nodes"])))
    ]
    assert Counter(map(json.dumps, sampled)) == expected
    assert sum(node["sampled"] for trace in found for node in trace["nodes"]) == sum(
        len(each["completion"]) for each in samples
    )


def is_next(trace, number, other):
    """Whether a node belongs to the same reply, which may have several messages."""
    node = trace["nodes"][other]
    return node["sampled"] and node["parent"] == number


def test_the_traces_of_a_session_have_the_tools_of_their_samples(tmp_path):
    samples, found = exported(LOGS, tmp_path)
    names = {json.dumps([tool["name"] for tool in trace["tools"]]) for trace in found}
    assert names == {json.dumps([tool["function"]["name"] for tool in each.get("tools") or ()]) for each in samples}
    assert len({trace["id"] for trace in found}) == len(found)


def test_traces_are_read_as_logs_of_verifiers(tmp_path):
    samples, found = exported(LOGS / "2026-01-12", tmp_path)
    assert documents.recognise(found).name == "verifiers"
    loaded = documents.load("verifiers", found)
    replies = sum(len(each.origin.replies) for each in loaded if each.origin.kind == "main")
    assert 0 < replies <= len(samples)


def test_splits_are_folders(tmp_path):
    exported(LOGS, tmp_path, split="train=0.6,test=0.4")
    found = sorted(each.relative_to(tmp_path / "traces").as_posix() for each in (tmp_path / "traces").rglob("*.jsonl"))
    assert found == ["test/traces.jsonl", "train/traces.jsonl"]


def test_a_file_is_not_replaced_without_force(tmp_path):
    exported(LOGS / "2026-01-12", tmp_path)
    with pytest.raises(UsageError, match="exists"):
        flatten(str(tmp_path / "forest"), str(tmp_path / "traces"), to="verifiers")
    before = written(tmp_path / "traces")
    flatten(str(tmp_path / "forest"), str(tmp_path / "traces"), to="verifiers", force=True)
    assert written(tmp_path / "traces") == before


@cases("format", "jsonl.gz", "parquet")
def test_traces_are_the_same_from_every_format(format, tmp_path):
    _, expected = exported(LOGS / "2026-01-13", tmp_path / "a")
    convert(LOGS / "2026-01-13", tmp_path / "b", Options(**{**PLAIN, "preset": "hf", "format": format}))
    flatten(str(tmp_path / "b"), str(tmp_path / "c"), to="verifiers")
    found = written(tmp_path / "c")
    assert [each["nodes"] for each in found] == [each["nodes"] for each in expected]


def sampled(folder):
    """Export replies with token ids; return the client that has these."""
    client = Client(Server(train()))
    for text in ("test_sum fails: the loop ends too early.", "Read the file first.", "The tests pass now."):
        client.ask(user("Now?"), text=text)
    convert(client.write(folder / "logs"), folder / "f", Options(**PLAIN, preset="hf", keep="logprobs"))
    flatten(str(folder / "f"), str(folder / "v"), to="verifiers")
    return client


def test_token_ids_of_replies_are_those_that_were_sampled(tmp_path):
    client = sampled(tmp_path)
    (trace,) = written(tmp_path / "v")
    nodes = [node for node in trace["nodes"] if node["sampled"]]
    for node, logged in zip(nodes, client.server.sampled, strict=True):
        assert node["token_ids"] == logged.prompt + logged.ids
        assert [
            each for each, is_sampled in zip(node["token_ids"], node["mask"], strict=True) if is_sampled
        ] == logged.ids
        assert node["logprobs"] == list(logged.logprobs)
    assert not any("token_ids" in node for node in trace["nodes"] if not node["sampled"])


def row(node, parent, message, loss=0, **members):
    return {
        "session": "s",
        "node": node,
        "parent": parent,
        "message": message,
        "loss": loss,
        "source": "a:1",
        **members,
    }


def read(*rows):
    return [
        json.loads(each)
        for each in traces([(f"f:{at}", json.dumps(each).encode()) for at, each in enumerate(rows)], "f")
    ]


USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "ho"}
SAMPLE = {"prompt": 1, "completion": 1}


def test_a_reply_that_samples_with_other_tools_share_is_sampled_once():
    found = read(
        row(0, None, USER),
        row(1, 0, REPLY, 1, sample={**SAMPLE, "tools": 1}, tools=[{"name": "a"}]),
        row(2, 1, USER),
        row(3, 2, REPLY, 1, sample={"prompt": 3, "completion": 1, "tools": 3}, tools=[]),
    )
    assert [[node["sampled"] for node in each["nodes"]] for each in found] == [
        [False, True],
        [False, False, False, True],
    ]
    assert [each["tools"] for each in found] == [[{"name": "a", "description": "", "parameters": {}}], []]


def test_weights_are_listed_by_node():
    (found,) = read(row(0, None, USER), row(1, 0, REPLY, 0.5, sample=SAMPLE))
    assert (found["nodes"][1]["sampled"], found["info"]["loss"]) == (True, {"1": 0.5})


@cases(
    "message, expected",
    ({"role": "developer", "content": None}, {"role": "system", "content": ""}),
    ({"role": "user", "content": ["a", {"type": "text", "text": "b"}]}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
    ({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "reasoning_content": "c"}, {"role": "assistant", "content": "ab", "reasoning_content": "c"}),
    ({"role": "tool", "tool_call_id": None, "content": "a", "name": 3}, {"role": "tool", "content": "a", "tool_call_id": ""}),
)  # fmt: skip
def test_messages_are_those_of_verifiers(message, expected):
    assert read(row(0, None, message, 1, sample=SAMPLE))[0]["nodes"][0]["message"] == expected


@cases(
    "rows, problem",
    ([{"a": 1}], "f:0: not a row of --samples forest"),
    ([row(0, None, USER, sample={"record": {"text": "a"}})], "f:0: the sample is not a list of messages; convert with --preset hf"),
    ([row(0, None, {"from": "human", "value": "a"}, sample=SAMPLE)], "f:0: verifiers has no message of this kind"),
    ([row(0, None, {"role": "user", "content": [{"type": "input_audio"}]}, sample=SAMPLE)], "f:0: verifiers has no content of this kind"),
    ([row(1, 0, USER, sample=SAMPLE)], "f:0: rows of the sample are missing or damaged"),
    ([row(0, 0, USER, sample=SAMPLE)], "f:0: rows of the sample are missing or damaged"),
    ([row(0, None, USER, sample={**SAMPLE, "tools": 9})], "f:0: rows of the sample are missing or damaged"),
    ([row(0, None, {"role": "assistant", "tool_calls": [3]}, sample=SAMPLE)], "f:0: rows of the sample are missing or damaged"),
    ([row(0, None, {"role": ["x"]}, sample=SAMPLE)], "f:0: rows of the sample are missing or damaged"),
    ([{"session": "s", "node": 0, "parent": None, "source": "a", "sample": SAMPLE}], "f:0: rows of the sample are missing or damaged"),
)  # fmt: skip
def test_damaged_rows_are_errors(rows, problem):
    with pytest.raises(UsageError) as caught:
        read(*rows)
    assert str(caught.value).startswith(problem)
