"""Token ids in responses, as the servers that sample replies log them.

vLLM has ``prompt_token_ids`` in the response, or in the first chunk of a stream, and ``token_ids`` in each choice.
SGLang has ``prompt_token_ids`` and ``response_token_ids`` in choices, ``input_ids`` and ``output_ids`` in ``sglext``,
and ``output_token_logprobs`` in ``meta_info``. NeMo Gym has three members in the message or output item of a reply. The
names of tokens in ``logprobs`` may be ids, as in ``token_id:42``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.token_ids import ID_SIZE, NUMBER_SIZE, TokenIds, pack_ids, pack_numbers
from chatsquash.reading import replies
from chatsquash.reading.usage import holders

_SIGNS = (b"token_ids", b"token_id:", b"output_ids", b"output_token_logprobs")
"""One of these is in every response with token ids."""
_NAME = "token_id:"
_MOST_CHOICES = 128
"""The largest number of choices in OpenAI's API."""
_LONGEST_ID = 10
"""The digits of the largest id."""


class _Values(Struct):
    """The values of a response, collected from its body or chunks."""

    prompts: list[Json] = field(default_factory=list)
    """The ids of the prompt, in the order in which they were logged; the first non-empty list counts."""
    completions: dict[str, list[Json]] = field(default_factory=dict)
    """The ids of the reply by the name of the member."""
    numbers: dict[str, list[Json]] = field(default_factory=dict)
    """Log probabilities by the name of the member."""


_COMPLETIONS = (
    "token_ids",
    "response_token_ids",
    "generation_token_ids",
    "output_ids",
    "output_token_logprobs",
    "named",
)
"""The members with the ids of a reply; the first one that is present counts."""
_NUMBERS = ("generation_log_probs", "output_token_logprobs", "content")
"""The members with log probabilities, in the same order."""


def of_raw(raw: bytes, choices: int = 1) -> list[TokenIds | None]:
    """Return the token ids of the choices of a raw response; ``None`` if those of the prompt or the reply are missing.

    Args:
        raw: The response.
        choices: The number of its choices; of very many, only the first one is read.
    """
    # Few responses have token ids, and searching the bytes is faster than parsing.
    if not any(sign in raw for sign in _SIGNS):
        return []
    try:
        body = replies.unwrapped(jsonio.loads(raw))
    except (ValueError, RecursionError):
        return []
    return [of_body(body, choice) for choice in range(choices if choices <= _MOST_CHOICES else 1)]


def of_body(body: Json, choice: int = 0) -> TokenIds | None:
    """Return the token ids of a choice of a parsed response; ``None`` without those of the prompt and the reply."""
    streamed = replies.events(body)
    values = _Values()
    for event in streamed[0] if streamed else [body]:
        for holder in holders(event):
            _collect(holder, choice, values)
    prompt = next((ids for each in values.prompts if (ids := pack_ids(each))), b"")
    completion = next((pack_ids(values.completions[name]) for name in _COMPLETIONS if name in values.completions), b"")
    return combine(prompt, completion, [values.numbers[name] for name in _NUMBERS if name in values.numbers])


def combine(prompt: bytes, completion: bytes, candidates: list[list[Json]]) -> TokenIds | None:
    """Combine packed ids with the first of some lists of log probabilities that fits them."""
    if not prompt or not completion:
        return None
    lists = (pack_numbers(each) for each in candidates)
    count = len(completion) // ID_SIZE
    fitting = (each for each in lists if each and len(each) == count * NUMBER_SIZE)
    return TokenIds(prompt, completion, next(fitting, None))


def _collect(holder: dict[str, Any], choice: int, values: _Values) -> None:
    """Collect the values of a response, or of one of its chunks."""
    values.prompts.append(holder.get("prompt_token_ids"))
    choices = holder.get("choices")
    for at, each in enumerate(choices if isinstance(choices, list) else ()):
        if isinstance(each, dict) and _index(each, at) == choice:
            _add_choice(each, values)
    extension = holder.get("sglext")
    if isinstance(extension, dict):
        values.prompts.append(extension.get("input_ids"))
        outputs = extension.get("output_ids")
        if isinstance(outputs, list) and choice < len(outputs):
            _extend(values.completions, "output_ids", outputs[choice])
    items = holder.get("output")
    generations = [each for each in items if _is_sampled(each)] if isinstance(items, list) else []
    # An output with several generations is a complete rollout instead of one reply.
    if len(generations) == 1:
        _add_message(generations[0], values)


def _is_sampled(item: Json) -> bool:
    return isinstance(item, dict) and isinstance(item.get("generation_token_ids"), list)


def _index(choice: dict[str, Any], at: int) -> int:
    index = choice.get("index")
    return index if type(index) is int else at


def _add_choice(choice: dict[str, Any], values: _Values) -> None:
    values.prompts.append(choice.get("prompt_token_ids"))
    for name in ("token_ids", "response_token_ids"):
        _extend(values.completions, name, choice.get(name))
    for holder in (choice.get("message"), choice.get("delta")):
        if isinstance(holder, dict):
            _add_message(holder, values)
    _add_meta(choice.get("meta_info"), values)
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    entries = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    _extend(values.numbers, "content", [each.get("logprob") for each in entries])
    names = [_id(each.get("token")) for each in entries]
    if names and None not in names:
        _extend(values.completions, "named", names)


def _add_message(message: dict[str, Any], values: _Values) -> None:
    """Add the values of a message or an output item of NeMo Gym."""
    values.prompts.append(message.get("prompt_token_ids"))
    _extend(values.completions, "generation_token_ids", message.get("generation_token_ids"))
    _extend(values.numbers, "generation_log_probs", message.get("generation_log_probs"))


def _add_meta(meta: Json, values: _Values) -> None:
    """Add the values of SGLang's ``meta_info``, in which a token is a list of its log probability, id and text."""
    if not isinstance(meta, dict):
        return
    for name in ("input_token_logprobs", "output_token_logprobs"):
        tokens = meta.get(name)
        if not isinstance(tokens, list) or not all(isinstance(each, list) and len(each) > 1 for each in tokens):
            continue
        ids = [each[1] for each in tokens]
        if name == "input_token_logprobs":
            # Without ``logprob_start_len``, the list begins in the middle of the prompt.
            values.prompts.append(ids if len(ids) == meta.get("prompt_tokens") else None)
        else:
            _extend(values.completions, name, ids)
            _extend(values.numbers, name, [each[0] for each in tokens])


def _id(name: Json) -> int | None:
    """Return the id in the name of a token, as vLLM writes it on request."""
    digits = name.removeprefix(_NAME) if isinstance(name, str) and name.startswith(_NAME) else ""
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) <= _LONGEST_ID else None


def _extend(values: dict[str, list[Json]], name: str, more: Json) -> None:
    if isinstance(more, list) and more:
        values.setdefault(name, []).extend(more)
