"""Samples of token ids: what is trained on is what was logged, and each break is the planted one, by name."""

import json
import random
from collections import Counter

import pytest

from chatsquash import Options, convert

from .client import SYSTEM, Client, call, user
from .outputs import assert_exact, samples, trained_spans
from .server import FORMS, WORDS, Server, template, train, vllm

TOKENIZER = train()
OTHER = train(["zebra quilt vortex jumps over a lazy dog"] * 3 + WORDS[:1], 330, ("<x>", "<y>", "<z>", "<w>", "<v>"))


def begin(arguments="as logged", form=vllm, **server):
    """A client after one turn without a call."""
    client = Client(Server(TOKENIZER, arguments, **server), form)
    client.ask(user("Which test fails?"), text="test_sum fails: the loop ends too early.")
    return client


def end(client):
    """Two more turns, of which only the first follows what a test planted."""
    client.ask(user("Explain the change to me."), text="Read the file first, then change one line.")
    client.ask(user("Now run the tests again."), text="The tests pass now.")
    return client


def called(client, arguments):
    client.ask(user("Now run the tests again."), text=call(arguments))
    client.messages.append(client.result())
    return client


def nothing():
    return begin()


def white_space():
    return called(begin("spaced"), '{"path":"tests/test_sum.py"}')


def key_order():
    return called(begin("sorted"), '{"path": "tests/test_sum.py", "count": 3}')


def booleans():
    return called(begin("python"), '{"all": true}')


def empty_arguments():
    return called(begin(), None)


def merge():
    client = begin()
    client.ask(user("Fix it, please."), text="test_sum fails", splits=(2,))
    return client


def server_truncation():
    client = begin()
    client.ask(user("Fix it, please."), text="Read the file first, then change one line.")
    client.server.longest_prompt = 60
    client.ask(user("Fix it, please."), text="The tests pass now.")
    client.server.longest_prompt = None
    return client


def client_truncation():
    client = begin()
    client.ask(user("Fix it, please."), text="Read the file first, then change one line.")
    client.messages = [SYSTEM, *client.messages[3:]]
    return client


def truncated_reply():
    """The reply reached its limit, and the client sends only its beginning."""
    client = begin()
    client.ask(user("Fix it, please."), text="Read the file first, then", finish="length")
    client.messages[-1] = {"role": "assistant", "content": "Read the file first"}
    return client


def other_model():
    client = begin()
    client.server = Server(OTHER, model="policy-2", sampled=client.server.sampled)
    return client


def user_rewritten():
    client = begin()
    client.messages[1] = user("Which of the tests fails?")
    return client


def reply_rewritten():
    client = begin()
    client.messages[-1] = {"role": "assistant", "content": "test_sum fails."}
    return client


def system_rewritten():
    client = begin()
    client.messages[0] = {"role": "system", "content": "Be brief."}
    return client


def tools_removed():
    client = begin()
    client.tools = []
    return client


def reasoning_dropped():
    """The server renders reasoning, and the client does not send it back."""
    client = begin()
    client.lines[-1]["response"]["choices"][0]["message"]["reasoning_content"] = "Look at the loop."
    client.server.sampled[-1].ids.insert(0, TOKENIZER.encode("Look").ids[0])  # a token of the reasoning
    client.server.sampled[-1].logprobs.insert(0, -1.0)
    client.lines[-1]["response"]["choices"][0]["token_ids"] = client.server.sampled[-1].ids
    return client


DRIFTS = [
    (nothing, {}),
    (white_space, {"template": 1}),
    (key_order, {"template": 1}),
    (booleans, {"template": 1}),
    (empty_arguments, {"template": 1}),
    (merge, {"template": 1}),
    (server_truncation, {"truncation": 2}),  # the complete prompt after it does not continue the shorter one
    (client_truncation, {"truncation": 1}),
    (other_model, {"tokenizer": 1}),
    (user_rewritten, {"rewrite": 1}),
    (reply_rewritten, {"rewrite": 1}),
    (system_rewritten, {"rewrite": 1}),
    (tools_removed, {"rewrite": 1}),
    (reasoning_dropped, {"rewrite": 1}),
]


@pytest.mark.parametrize("plant, breaks", DRIFTS, ids=[plant.__name__ for plant, _ in DRIFTS])
def test_a_planted_drift_is_a_break_with_its_name_and_all_trained_ids_are_logged(plant, breaks, tmp_path):
    client = end(plant())
    output = samples(client, tmp_path)
    assert output.breaks == breaks
    assert len(output.rows) == 1 + sum(breaks.values())
    assert_exact(output.rows, client.server.sampled)
    assert output.counts["replies"]["carried"] == len(client.lines)
    assert output.counts["token_samples"]["trained"] == len(client.lines)
    assert sorted(code for code in output.report.split() if code == "[token-break]") == ["[token-break]"] * len(breaks)


def test_the_end_of_a_reply_that_the_client_dropped_is_a_truncation(tmp_path):
    client = end(truncated_reply())
    output = samples(client, tmp_path)
    assert output.breaks == {"truncation": 1}
    assert_exact(
        output.rows, [each for each in client.server.sampled if each.ids[-1] == TOKENIZER.token_to_id("<|im_end|>")]
    )


@pytest.mark.parametrize("form", FORMS, ids=[form.__name__ for form in FORMS])
def test_every_form_of_logged_ids_is_read(form, tmp_path):
    client = end(called(begin("spaced", form), '{"path":"tests/test_sum.py"}'))
    output = samples(client, tmp_path)
    assert output.breaks == {"template": 1}
    assert_exact(output.rows, client.server.sampled)
    assert all(row["logprobs"] is not None for row in output.rows)
    logged = sorted(number for each in client.server.sampled for number in each.logprobs)
    assert sorted(number for row in output.rows for number in row["logprobs"] if number) == logged


def test_a_tokenizer_that_changes_under_the_same_name_is_known_only_with_the_tokenizer(tmp_path):
    client = end(other_model())
    for line in client.lines:
        line["response"]["model"] = line["request"]["model"] = "policy"
    assert samples(client, tmp_path).breaks == {"unknown": 1}
    assert samples(client, tmp_path, tokenizer=TOKENIZER.to_str().encode()).breaks == {"tokenizer": 1}


def test_a_reply_that_was_cut_off_is_context_without_loss(tmp_path):
    client = begin()
    client.ask(user("Fix it, please."), text="Read the file first, then", finish="length")
    end(client)
    output = samples(client, tmp_path)
    (row,) = output.rows
    assert len(trained_spans(row)) == 3
    assert row["input_ids"] == client.server.sampled[-1].prompt + client.server.sampled[-1].ids
    assert output.breaks == {}


def test_a_reply_without_ids_is_counted_and_does_not_break_a_sample(tmp_path):
    client = begin()
    client.ask(user("Fix it, please."), text="The tests pass now.")
    del client.lines[-1]["response"]["choices"][0]["token_ids"]
    end(client)
    output = samples(client, tmp_path)
    assert (len(output.rows), len(trained_spans(output.rows[0]))) == (1, 3)
    assert "1 reply has no logged token ids of both the prompt and the reply" in output.report


def test_replies_that_nothing_contains_are_lost_for_want_of_ids(tmp_path):
    client = begin()
    client.ask(user("Fix it, please."), text="The tests pass now.")
    del client.lines[-1]["response"]["prompt_token_ids"]
    output = samples(client, tmp_path)
    assert output.counts["replies"]["lost"] == {"no-token-ids": 1}
    assert_exact(output.rows, client.server.sampled[:1])


def test_branches_share_their_context_and_train_on_it_once(tmp_path):
    client = begin()
    client.ask(user("Fix it, please."), text="The tests pass now.")
    client.messages = client.messages[:-2]
    client.ask(user("Explain the change to me."), text="Read the file first, then change one line.")
    output = samples(client, tmp_path)
    assert len(output.rows) == 2
    assert output.breaks == {}
    assert_exact(output.rows, client.server.sampled)


def test_a_sample_ends_before_text_that_would_be_anonymized(tmp_path):
    client = end(begin())
    client.ask(user("Write to jane.doe@harbour.org."), text="The tests pass now.")
    end(client)
    output = samples(client, tmp_path, anonymize=True, anonymize_key=b"k" * 16)
    assert output.counts["replies"]["lost"] == {"private-text": 3}
    assert_exact(output.rows, client.server.sampled[:3])
    assert "harbour.org" not in json.dumps(output.rows)
    assert_exact(samples(client, tmp_path).rows, client.server.sampled)


def test_secrets_in_ids_are_reported_like_secrets_in_messages(tmp_path):
    client = begin()
    client.ask(user("The key is AKIAQWERTZUIOPASDFGH."), text="The tests pass now.")
    assert samples(client, tmp_path).counts["secrets"]["found"] == 1


@pytest.mark.parametrize("most", [60, 120, 160, 200, 240, 10_000])
def test_a_limit_on_ids_drops_samples_or_cuts_them_after_a_reply(most, tmp_path):
    client = end(end(begin()))
    fitting = [each for each in client.server.sampled if len(each.prompt + each.ids) <= most]
    dropped = samples(client, tmp_path, max_tokens=most)
    assert_exact(dropped.rows, client.server.sampled if len(fitting) == len(client.server.sampled) else [])
    cut = samples(client, tmp_path, max_tokens=most, too_long="cut")
    assert_exact(cut.rows, fitting)
    lost = cut.counts["replies"]["lost"]
    assert sum(lost.values()) == len(client.server.sampled) - len(fitting)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_columns_are_lists_of_numbers(form, tmp_path):
    client = end(merge())
    output = samples(client, tmp_path, format=form, metadata=True)
    assert_exact(output.rows, client.server.sampled)
    assert [(row["sample"], row["samples"], row["tokens"]) for row in output.rows] == [
        (at, 2, len(row["input_ids"])) for at, row in enumerate(output.rows, 1)
    ]
    assert {row["session_id"] for row in output.rows} == {"s1"}


@pytest.mark.parametrize(
    "plant, different", [(nothing, 0), (white_space, 1), (booleans, 1), (empty_arguments, 1), (merge, 1)]
)
def test_samples_that_rendering_gets_wrong_are_counted(plant, different, tmp_path):
    client = end(plant())
    pack = json.dumps([{"default": template("as logged")}, {}]).encode()
    output = samples(client, tmp_path, template=pack, tokenizer=TOKENIZER.to_str().encode())
    rerendered = output.counts["token_samples"]["rerendered"]
    assert rerendered["compared"] == len(output.rows)
    assert rerendered["different"] == different


STEPS = ("plain", "spaces", "empty", "merge", "rewrite", "forget", "rewind", "tools")


def wander(chance):
    """A random session, with the breaks that it plants."""
    client, planted = begin("spaced"), Counter()
    for number in range(chance.randrange(2, 14)):
        step = chance.choice(STEPS)
        ask = user(f"{chance.choice(WORDS)} {number}")
        drift = ""
        if step in ("spaces", "empty"):
            client.ask(ask, text=call(f'{{"path":"a{number}"}}' if step == "spaces" else None))
            client.messages.append(client.result(f"{number} passed"))
            drift = "template"
        elif step == "merge":
            client.ask(ask, text=f"test_sum fails {number}", splits=(2,))
            drift = "template"
        else:
            client.ask(ask, text=f"The tests pass now: {number}.")
        if step == "rewrite":
            client.messages[-1] = {"role": "assistant", "content": f"They pass: {number}."}
            drift = "rewrite"
        elif step == "tools":
            client.tools = [] if client.tools else Client(client.server).tools
            drift = "rewrite"
        client.ask(user(f"Explain {number}."), text=f"Read the file {number}.")
        planted[drift] += bool(drift)
    return client, dict(sorted((+planted).items()))


@pytest.mark.parametrize("seed", range(40))
def test_random_sessions_break_where_drift_was_planted_and_nowhere_else(seed, tmp_path):
    client, planted = wander(random.Random(seed))
    output = samples(client, tmp_path)
    assert output.breaks == planted
    assert_exact(output.rows, client.server.sampled)


def test_the_same_samples_with_any_number_of_workers(tmp_path):
    logs = tmp_path / "logs"
    for seed in range(6):
        client, _ = wander(random.Random(seed))
        for line in client.lines:
            line["session_id"] = f"s{seed}"
        client.write(logs, f"s{seed}.jsonl")
    results = []
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        options = Options(samples="tokens", preset="hf", anonymize=False, format="parquet", workers=workers)
        convert(logs, out, options)
        results.append([file.read_bytes() for file in sorted((out / "data").iterdir())])
    assert results[0] == results[1]
