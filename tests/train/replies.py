"""What a reply says: as a record has it, and as it is read back from the text that was trained on."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Call = tuple[str, str]
"""A function's name, and its arguments as JSON with sorted keys."""
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_STOP = re.compile(r"(?:\s*(?:<\|[\w ]+\|>|</s>))+\s*$")
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


def of_message(message: dict) -> Reply:
    """What a message of preset ``hf`` says."""
    functions = [call["function"] for call in message.get("tool_calls") or []]
    calls = tuple((each["name"], spelled(each["arguments"])) for each in functions)
    return Reply(message["content"].strip(), message.get("reasoning_content", "").strip(), calls)


def trained_messages(record: dict) -> list[dict]:
    """The messages of a record that are to be trained on: its completion, or those of the assistant without a flag."""
    if "completion" in record:
        said = record["completion"]
    else:
        said = [message for message in record["messages"] if message.get("training", True)]
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


def headed_json(text: str) -> Reply:
    """The same behind the header of the turn, which is trained on, too."""
    return tagged_json(text.removeprefix("<|im_start|>assistant"))


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
        calls.append((name, spelled({key.strip(): _value(value) for key, value in _ARGUMENT.findall(found)})))
    return Reply(_TAGGED.sub("", text).strip(), thought, tuple(calls))


def read_back(text: str, dialect: str) -> Reply:
    """What a trained text says, without the tokens that end a turn."""
    return DIALECTS[dialect](_STOP.sub("", text))


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _without_thought(text: str) -> tuple[str, str]:
    found = _THOUGHT.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


DIALECTS = {"tagged JSON": tagged_json, "tagged JSON behind <think>": tagged_json_thought, "tagged JSON behind its header": headed_json, "bare JSON": bare_json, "listed JSON": listed_json, "tagged pairs": tagged_pairs}


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
