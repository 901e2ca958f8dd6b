"""Token ids in files: trajectories in ATIF, and rollouts of verifiers.

ATIF has ``prompt_token_ids``, ``completion_token_ids`` and ``logprobs`` in the metrics of a step (since 1.3 and 1.4).
verifiers 0.4.0, ``v1/graph.py``, ``MessageNode``: a node has the ids that it adds to those of its parent, a mask that is
true for sampled ids, and the log probabilities of these.
"""

import json

import pytest

from chatsquash import Options, convert

from .client import Client, user
from .outputs import assert_exact
from .server import Server, train

TOKENIZER = train()
TURNS = [
    ("Which test fails?", "test_sum fails: the loop ends too early."),
    ("Fix it, please.", "Read the file first."),
    ("Now run the tests again.", "The tests pass now."),
]


def session():
    client = Client(Server(TOKENIZER))
    for question, text in TURNS:
        client.ask(user(question), text=text)
    return client


def output(value, folder, **options):
    (folder / "logs").mkdir()
    (folder / "logs" / "trajectory.json").write_text(json.dumps(value))
    given = {"samples": "tokens", "preset": "hf", "anonymize": False, "conversations": "all", **options}
    summary = convert(folder / "logs", folder / "out", Options(**given))
    rows = [json.loads(line) for file in folder.glob("out/data/*") for line in file.read_bytes().splitlines()]
    return rows, summary.counts()


def atif(sampled):
    steps = []
    for (question, text), each in zip(TURNS, sampled, strict=True):
        steps.append({"step_id": len(steps) + 1, "source": "user", "message": question})
        ids = {"prompt_token_ids": each.prompt, "completion_token_ids": each.ids, "logprobs": each.logprobs}
        metrics = {"prompt_tokens": len(each.prompt), "completion_tokens": len(each.ids), **ids}
        steps.append({"step_id": len(steps) + 1, "source": "agent", "message": text, "metrics": metrics})
    agent = {"name": "agent", "version": "1", "model_name": "policy"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": steps}


def verifiers(sampled):
    """A trace whose nodes have the ids that they add: each question those of its text, each reply the rest."""
    nodes, done = [], []
    for (question, text), each in zip(TURNS, sampled, strict=True):
        new = each.prompt[len(done) :]
        message = {"role": "user", "content": question}
        nodes.append({"parent": len(nodes) - 1 if nodes else None, "message": message, "sampled": False})
        nodes[-1] |= {"token_ids": new[:-2], "mask": [False] * len(new[:-2]), "logprobs": []}
        reply = {"role": "assistant", "content": text}
        own = {"token_ids": [*new[-2:], *each.ids], "mask": [False] * 2 + [True] * len(each.ids)}
        nodes.append({"parent": len(nodes) - 1, "message": reply, "sampled": True, **own, "logprobs": each.logprobs})
        done = each.prompt + each.ids
    return {"version": 1, "id": "t1", "verifiers": "0.4.0", "nodes": nodes}


@pytest.mark.parametrize("form", [atif, verifiers])
def test_a_file_becomes_one_sample_if_its_ids_continue_one_another(form, tmp_path):
    sampled = session().server.sampled
    rows, counts = output(form(sampled), tmp_path)
    assert len(rows) == 1
    assert_exact(rows, sampled)
    assert [each for each in rows[0]["logprobs"] if each] == [number for each in sampled for number in each.logprobs]
    assert counts["token_samples"]["breaks"] == {}
    assert counts["replies"]["carried"] == 3


def test_a_trajectory_whose_ids_do_not_continue_has_a_break_for_which_no_reason_is_known(tmp_path):
    sampled = session().server.sampled
    sampled[1].prompt = [*sampled[1].prompt]
    sampled[1].prompt[5] += 1
    rows, counts = output(atif(sampled), tmp_path)
    assert counts["token_samples"]["breaks"] == {"unknown": 2}
    assert len(rows) == 3
    assert_exact(rows, sampled)


def test_a_step_without_ids_is_counted(tmp_path):
    sampled = session().server.sampled
    value = atif(sampled)
    del value["steps"][3]["metrics"]["prompt_token_ids"]
    rows, counts = output(value, tmp_path)
    assert_exact(rows, [sampled[0], sampled[2]])
    assert counts["findings"]["warning"]["token-ids-missing"] == 1


def test_branches_of_a_rollout_train_on_each_reply_once(tmp_path):
    sampled = session().server.sampled
    value = verifiers(sampled)
    other = [*sampled[2].ids[:-1], 5, sampled[2].ids[-1]]
    reply = {"role": "assistant", "content": "They pass."}
    own = {"token_ids": [*value["nodes"][5]["token_ids"][:2], *other], "mask": [False] * 2 + [True] * len(other)}
    value["nodes"].append({"parent": 4, "message": reply, "sampled": True, **own, "logprobs": [-0.5] * len(other)})
    rows, counts = output(value, tmp_path)
    assert_exact(rows, [*sampled, type(sampled[0])(sampled[2].prompt, other, [])])
    assert counts["token_samples"]["trained"] == 4


@pytest.mark.parametrize("form", [atif, verifiers])
def test_ids_of_other_types_are_not_read(form, tmp_path):
    text = json.dumps(form(session().server.sampled))
    for number, wrong in enumerate(
        ('["1"]', "[true]", "[-1]", "[1e300]", "[99999999999999999999]", '"x"', "{}", "[[1]]")
    ):
        value = json.loads(text)
        for node in [*value.get("nodes", []), *(step.get("metrics", {}) for step in value.get("steps", []))]:
            for name in ("token_ids", "completion_token_ids"):
                if name in node:
                    node[name] = json.loads(wrong)
        (tmp_path / str(number)).mkdir()
        rows, counts = output(value, tmp_path / str(number))
        assert rows == []
        assert counts["findings"]["warning"]["token-ids-missing"] == 1
