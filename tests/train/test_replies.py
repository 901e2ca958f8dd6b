"""What is trained on is read back as what the records say, in each form that a template writes."""

import pytest

from tests.train.inside.decode import runs
from tests.train.replies import Reply, compared, of_message, read_back, trained_messages

MESSAGE = {
    "role": "assistant",
    "content": "I look.\n",
    "reasoning_content": "Ask.",
    "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "rain", "arguments": {"city": "Oslo", "days": 2}}},
        {"id": "2", "type": "function", "function": {"name": "wind", "arguments": {}}},
    ],
}
JSON = '<think>\nAsk.\n</think>\n\nI look.\n<tool_call>\n{"name": "rain", "arguments": {"days": 2, "city": "Oslo"}}\n</tool_call>\n<tool_call>\n{"name": "wind", "arguments": {}}\n</tool_call><|im_end|>\n'
WRITTEN = {
    "tagged JSON": JSON,
    "tagged JSON behind <think>": JSON.removeprefix("<think>\n"),
    "bare JSON": '<think>Ask.</think>I look.\n\n[{"name": "rain", "parameters": {"city": "Oslo", "days": 2}}, {"name": "wind", "parameters": {}}]<|eot_id|>',
    "tagged pairs": "\n<think>Ask.</think>\nI look.\n<tool_call>rain\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>wind\n</tool_call><|observation|>",
    "own calls": '<|channel>thought\nAsk.\n<channel|>I look.<|tool_call>call:rain{city:<|"|>Oslo<|"|>,days:2}<tool_call|><|tool_call>call:wind{}<tool_call|><turn|>\n',
}


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_reply_is_read_back_whole(dialect):
    assert read_back(WRITTEN[dialect], dialect) == [of_message(MESSAGE, dialect)]


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_reply_that_was_cut_is_another(dialect):
    cut = WRITTEN[dialect].replace("Oslo", "Os")
    assert read_back(cut, dialect) != [of_message(MESSAGE, dialect)]


def test_calls_in_a_list_are_read_back():
    text = '[TOOL_CALLS] [{"name": "rain", "arguments": {"city": "Oslo"}}]</s>'
    assert read_back(text, "listed JSON") == [Reply("", "", (("rain", '{"city": "Oslo"}'),))]
    assert read_back(" None.</s>", "listed JSON") == [Reply("None.", "", ())]


def test_turns_are_told_apart_by_their_headers():
    text = "One.<|im_end|>\n<|im_start|>assistant\nTwo.<|im_end|>\n"
    assert read_back(text, "tagged JSON") == [Reply("One.", "", ()), Reply("Two.", "", ())]
    assert read_back("<|im_start|>assistant\nOne.<|im_end|>", "tagged JSON") == [Reply("One.", "", ())]


def test_each_reply_counts_as_often_as_it_is_there():
    one, two, three = (Reply(text, "", ()) for text in ("1", "2", "3"))
    found = compared([one, one, two], [one, two, three])
    assert (found.expected, found.missing, found.beyond) == (3, (one,), (three,))
    assert not found.none
    assert compared([one, two], [two, one]).none


def test_the_messages_to_train_on_are_those_of_the_completion_or_without_a_flag():
    said = [{"role": "assistant", "content": str(number)} for number in range(3)]
    tool = {"role": "tool", "content": "no"}
    assert trained_messages({"prompt": said[:1], "completion": [said[1], tool]}) == [said[1]]
    assert trained_messages({"prompt": said[:1], "chosen": [said[1]], "rejected": [said[2]]}) == said[1:]
    flagged = [{**said[0], "training": False}, {**said[1], "training": True}, {**said[2], "loss": False}, tool]
    assert trained_messages({"messages": flagged}) == [flagged[1]]


def test_neighbouring_tokens_are_one_run():
    assert runs({"ids": [1, 2, 3, 4, 5], "trained": [False, True, True, False, True]}) == [[2, 3], [5]]
    assert runs({"ids": [1], "trained": [False]}) == []
