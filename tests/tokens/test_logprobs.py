"""``--keep logprobs`` keeps the token ids of replies under one name, and in samples those of the prompt."""

import json

import pytest

from chatsquash import Options, convert

from .client import Client, user
from .outputs import samples
from .server import FORMS, Server, train

TOKENIZER = train()


def begin(form):
    client = Client(Server(TOKENIZER), form)
    client.ask(user("Which test fails?"), text="test_sum fails.")
    client.ask(user("Fix it, please."), text="The tests pass now.")
    return client


@pytest.mark.parametrize("form", FORMS, ids=[form.__name__ for form in FORMS])
def test_a_sample_has_the_ids_of_its_prompt_and_reply(form, tmp_path):
    client = begin(form)
    convert(
        client.write(tmp_path / "logs"),
        tmp_path / "out",
        Options(preset="hf", samples="reply", keep="logprobs", anonymize=False),
    )
    (file,) = (tmp_path / "out" / "data").iterdir()
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    kept = [row["completion"][0]["logprobs"] for row in rows]
    assert [each["prompt_token_ids"] for each in kept] == [each.prompt for each in client.server.sampled]
    assert [each["token_ids"] for each in kept] == [each.ids for each in client.server.sampled]
    assert not any("logprobs" in message for row in rows for message in row["prompt"])


def test_a_record_of_a_session_has_the_ids_of_replies_only(tmp_path):
    client = begin(FORMS[0])
    convert(client.write(tmp_path / "logs"), tmp_path / "out", Options(preset="hf", keep="logprobs", anonymize=False))
    (file,) = (tmp_path / "out" / "data").iterdir()
    replies = [each for each in json.loads(file.read_bytes())["messages"] if each["role"] == "assistant"]
    assert [each["logprobs"]["token_ids"] for each in replies] == [each.ids for each in client.server.sampled]
    assert not any("prompt_token_ids" in each["logprobs"] for each in replies)


def test_names_of_tokens_are_read_as_ids(tmp_path):
    assert samples(begin(FORMS[1]), tmp_path).counts["token_samples"]["trained"] == 2
