"""What a reply says: as a record has it, and as it is read back from the text that was trained on."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Call = tuple[str, str]
"""A function's name, and its arguments as JSON with sorted keys."""
FLAGS = ("training", "loss", "trainable")
"""The members of a message that say whether to train on it."""
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_STOP = re.compile(r"(?:\s*(?:<\|[\w ]+\|>|</s>|<turn\|>|<\|tool_response>))+\s*$")
_HEADER = re.compile(r"<\|im_start\|>assistant\n|<\|start_header_id\|>assistant<\|end_header_id\|>\n\n")
_CHANNEL = re.compile(r"\s*<\|channel>thought\n(.*?)<channel\|>", re.DOTALL)
_OWN_CALL = re.compile(r"<\|tool_call>call:([^{]*)(\{.*?\})<tool_call\|>", re.DOTALL)
_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


@dataclass(frozen=True, order=True)
class Reply:
    """What a model said in one turn, without the space around texts."""

    text: str
    reasoning: str
    calls: tuple[Call, ...]


def spelled(arguments: object) -> str:
    """Arguments in one spelling."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)


def as_pairs(arguments: dict) -> str:
    """Arguments as GLM writes them: texts as they are, so that a text of digits and a number are the same."""
    return spelled({key: value if isinstance(value, str) else spelled(value) for key, value in arguments.items()})


def of_message(message: dict, dialect: str) -> Reply:
    """What a message of preset ``hf`` says, arguments as a dialect can tell them apart."""
    functions = [call["function"] for call in message.get("tool_calls") or []]
    told = as_pairs if DIALECTS[dialect] is tagged_pairs else spelled
    calls = tuple((each["name"], told(each["arguments"])) for each in functions)
    return Reply(message["content"].strip(), message.get("reasoning_content", "").strip(), calls)


def of_prompt(record: dict) -> Reply:
    """A prompt with its other columns, without those that have no value."""
    columns = {name: value for name, value in record.items() if name != "prompt" and value is not None}
    return Reply(spelled(record["prompt"]), "", (("columns", spelled(columns)),))


def trained_messages(record: dict) -> list[dict]:
    """The messages of a record to train on: its completion, both sides of a pair, or the assistant's without a flag."""
    if "chosen" in record:
        said = [*record["chosen"], *record["rejected"]]
    elif "completion" in record:
        said = record["completion"]
    else:
        said = [
            message
            for message in record["messages"]
            if next((message[flag] for flag in FLAGS if flag in message), True)
        ]
    return [message for message in said if message["role"] == "assistant"]


def tagged_json(text: str) -> Reply:
    """Hermes and Qwen: calls as JSON between tags, reasoning between others."""
    thought, text = _without_thought(text)
    calls = [json.loads(found) for found in _TAGGED.findall(text)]
    told = tuple((each["name"], spelled(each["arguments"])) for each in calls)
    return Reply(_TAGGED.sub("", text).strip(), thought, told)


def tagged_json_thought(text: str) -> Reply:
    """The same, where the tag that opens the thought is none of what is trained on."""
    return tagged_json(f"<think>{text}" if "</think>" in text else text)


def bare_json(text: str) -> Reply:
    """Llama 3: calls as JSON with ``parameters`` at the end of the text, several of them in a list."""
    thought, text = _without_thought(text)
    for found in re.finditer(r'\[?\{"name": ', text):
        if calls := _listed(text[found.start() :], "parameters"):
            return Reply(text[: found.start()].strip(), thought, calls)
    return Reply(text.strip(), thought, ())


def listed_json(text: str) -> Reply:
    """Mistral: calls in a list, behind a tag of their own."""
    calls = _listed(text.strip().removeprefix("[TOOL_CALLS]"), "arguments")
    return Reply("" if calls else text.strip(), "", calls)


def _listed(text: str, arguments: str) -> tuple[Call, ...]:
    """The calls that a text consists of, if it is JSON and has them."""
    try:
        found = json.loads(text)
        listed = found if isinstance(found, list) else [found]
        return tuple((each["name"], spelled(each[arguments])) for each in listed)
    except (ValueError, TypeError, KeyError):
        return ()


def tagged_pairs(text: str) -> Reply:
    """GLM 4.5: the name and each argument between tags, texts as they are and all else as JSON."""
    thought, text = _without_thought(text)
    calls = []
    for found in _TAGGED.findall(text):
        name = found.partition("<arg_key>")[0].strip()
        calls.append((name, spelled({key.strip(): _reordered(value) for key, value in _ARGUMENT.findall(found)})))
    return Reply(_TAGGED.sub("", text).strip(), thought, tuple(calls))


def read_back(text: str, dialect: str) -> list[Reply]:
    """What a trained text says, turn by turn, without the tokens that end one."""
    first, *more = _HEADER.split(text)
    turns = more if more and not first.strip() else [first, *more]
    return [DIALECTS[dialect](_STOP.sub("", turn)) for turn in turns]


def _reordered(text: str) -> str:
    """An object or a list in one spelling, all else as it is."""
    try:
        return spelled(json.loads(text)) if text[:1] in ("{", "[") else text
    except ValueError:
        return text


def _without_thought(text: str) -> tuple[str, str]:
    found = _THOUGHT.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def own_calls(text: str) -> Reply:
    """Gemma 4: calls in a form of its own, whose texts stand between ``<|"|>`` and whose keys are bare."""
    thought = _CHANNEL.match(text)
    rest = text[thought.end() :] if thought else text
    calls = tuple((name, spelled(_own_values(values))) for name, values in _OWN_CALL.findall(rest))
    return Reply(_OWN_CALL.sub("", rest).strip(), thought[1].strip() if thought else "", calls)


def _own_values(text: str) -> object:
    parts = text.split('<|"|>')
    parts[::2] = [re.sub(r"(?<=[{,])([^,:{}\[\]]+):", r'"\1":', part) for part in parts[::2]]
    parts[1::2] = [json.dumps(part) for part in parts[1::2]]
    return json.loads("".join(parts))


DIALECTS = {
    "own calls": own_calls,
    "tagged JSON": tagged_json,
    "tagged JSON behind <think>": tagged_json_thought,
    "bare JSON": bare_json,
    "listed JSON": listed_json,
    "tagged pairs": tagged_pairs,
}


@dataclass(frozen=True)
class Difference:
    """How many replies are to be trained on, and those that were not, or that were and should not be."""

    expected: int
    missing: tuple[Reply, ...]
    beyond: tuple[Reply, ...]

    @property
    def none(self) -> bool:
        """Whether exactly the replies were trained on, each once."""
        return not self.missing and not self.beyond


def compared(expected: Iterable[Reply], trained: Iterable[Reply]) -> Difference:
    """What differs between replies and what was trained on, each as often as it is there."""
    wanted, found = Counter(expected), Counter(trained)
    missing, beyond = wanted - found, found - wanted
    return Difference(wanted.total(), tuple(sorted(missing.elements())), tuple(sorted(beyond.elements())))
