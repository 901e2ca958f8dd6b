"""The records of an agent's file, as a few words: the kind of each, its texts, and which of these are trained on."""

import json

from chatsquash import Options, convert_session

ALL = {"preset": "hf", "conversations": "all", "loss": "weight", "metadata": True}


def records(lines, **options):
    """Return each record as its kind and the text of its messages, with ``*`` after a reply that is trained on."""
    outcomes = convert_session([json.dumps(line).encode() for line in lines], Options(**{**ALL, **options}))
    found = [each for outcome in outcomes for each in outcome.records]
    return [(each.kind, [_words(message) for message in json.loads(each.line)["messages"]]) for each in found]


def _words(message):
    return message["content"] + "*" * bool(message.get("weight"))
