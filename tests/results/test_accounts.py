"""Every logged reply of every golden log has exactly one outcome, whatever the samples are made of."""

import json
from collections import Counter

import pytest

from chatsquash import Options, convert
from chatsquash.results.verify import verify
from tests import golden
from tests.conftest import cases
from tests.outputs import manifest, report

LOGS = [str(case / "logs") for case in golden.cases()]
TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls }}</s>{% endfor %}"
TEMPLATE = json.dumps([{"default": f"{TURNS}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"}, {}]).encode()
MASKED = {"sample_shape": "messages", "loss": "training", "loss_skip": "failed_call,loop,truncated"}


@cases(
    "options",
    ("replies", {"samples": "reply"}),
    ("last replies", {"samples": "last"}),
    ("first replies", {"samples": "first"}),
    ("groups of replies", {"samples": "auto", "template": TEMPLATE}),
    ("token ids", {"samples": "tokens"}),
    ("a forest", {"samples": "forest"}),
    ("masked steps", {"samples": "reply", **MASKED}),
    ("labels for KTO", {"samples": "reply", "sample_shape": "kto"}),
    ("prompts", {"samples": "reply", "sample_shape": "prompt"}),
)
@pytest.mark.parametrize("conversations", [None, "all"])
def test_the_outcomes_of_replies_add_up(here, options, conversations):
    more = {"preset": "hf", "metadata": conversations == "all", "trace_replies": True, "drop_duplicates": False}
    convert(LOGS, "out", Options(anonymize=False, conversations=conversations, **more, **options))
    assert verify(here / "out").problems == []
    counts = manifest()["counts"]["replies"]
    rows = report("replies.jsonl")
    own = [row for row in rows if row["kind"] != "copy"]
    assert counts["copied"] == len(rows) - len(own) > 0, "some golden logs repeat replies of other files"
    assert len(own) == counts["logged"] == counts["carried"] + counts["rewritten"] + sum(counts["lost"].values())
    assert Counter(row["why"] for row in own if row["status"] == "lost") == counts["lost"]
    assert sum(row["status"] == "carried" for row in own) == counts["carried"]


def test_a_copy_without_a_row_is_reported(here):
    convert(str(golden.ROOT / "cline_sdk"), "out", Options(anonymize=False, trace_replies=True))
    path = here / "out" / "run.json"
    run = json.loads(path.read_bytes())
    assert run["counts"]["replies"]["copied"] == 1
    run["counts"]["replies"]["copied"] = 2
    path.write_text(json.dumps(run))
    assert [each.partition(": ")[2] for each in verify(here / "out").problems] == [
        "counts 8 replies, but the reports have 7"
    ]
