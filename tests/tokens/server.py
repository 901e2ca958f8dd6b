"""A server that renders, tokenizes and samples as inference servers do, and logs the token ids as they do.

The forms of the responses are from these sources:

- vLLM, repository vllm-project/vllm at 002032ee, ``entrypoints/openai/chat_completion/protocol.py``:
  ``prompt_token_ids`` in the response or the first chunk, ``token_ids`` in each choice, tokens named ``token_id:42``
- SGLang 0.5.23 (package), ``srt/entrypoints/openai/protocol.py`` and ``serving_chat.py``: ``prompt_token_ids``,
  ``response_token_ids`` and ``meta_info`` in choices; ``sglext`` with ``input_ids`` and ``output_ids``, in a stream in a
  chunk without choices
- NeMo Gym, repository NVIDIA-NeMo/Gym, ``nemo_gym/openai_utils.py``, ``TokenIDLogProbMixin``: ``prompt_token_ids``,
  ``generation_token_ids`` and ``generation_log_probs`` in messages and output items
"""

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise

from jinja2 import Environment
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ ARGUMENTS }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_ARGUMENTS = {
    "as logged": "call.function.arguments if call.function.arguments is string else call.function.arguments | tojson",
    "sorted": "call.function.arguments | parsed | sorted",
    "spaced": "call.function.arguments | parsed | spaced",
    "python": "call.function.arguments | parsed | python",
}
_CALL = re.compile(r'<tool_call>\n\{"name": "(\w+)"(?:, "arguments": (.*?))?\}\n</tool_call>', re.DOTALL)
WORDS = [
    "You are an agent that edits files and runs tests in a repository.",
    "Which test fails? Fix it, please. Now run the tests again. Explain the change to me.",
    "test_sum fails: the loop ends too early. The tests pass now. Read the file first, then change one line.",
    '<tool_call>\n{"name": "run", "arguments": {"path": "tests/test_sum.py", "all": true, "count": 3}}\n</tool_call>',
    "user assistant system tool name description parameters function 3 passed, 1 failed in 0.2 s",
]


def train(texts=WORDS, size=420, more=()):
    """Train a tokenizer on some texts, with the special tokens of ChatML; ``more`` special tokens shift all ids."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = [*more, PAD, START, END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def template(arguments="as logged"):
    """The chat template with a way to render the arguments of calls."""
    return TEMPLATE.replace("ARGUMENTS", _ARGUMENTS[arguments])


def _environment():
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["parsed"] = lambda value: json.loads(value) if isinstance(value, str) else value
    environment.filters["sorted"] = lambda value: json.dumps(value, sort_keys=True)
    environment.filters["spaced"] = json.dumps
    environment.filters["python"] = str
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment


_ENVIRONMENT = _environment()


@dataclass
class Sampled:
    """A reply as the server sampled it."""

    prompt: list
    ids: list
    logprobs: list


@dataclass
class Server:
    """Answers requests with scripted texts."""

    tokenizer: Tokenizer
    arguments: str = "as logged"
    """How its template renders the arguments of calls."""
    model: str = "policy"
    longest_prompt: int | None = None
    """The number of ids to which prompts are truncated from the left, as with vLLM's ``truncate_prompt_tokens``."""
    sampled: list[Sampled] = field(default_factory=list)

    def prompt(self, messages, tools):
        text = _ENVIRONMENT.from_string(template(self.arguments)).render(
            messages=messages, tools=tools, add_generation_prompt=True
        )
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids[-self.longest_prompt :] if self.longest_prompt else ids

    def reply(self, messages, tools, text, *, finish="stop", splits=()):
        """Sample a text; ``splits`` are positions at which the sampled tokens have a boundary."""
        places = [0, *splits, len(text)]
        parts = [text[at:end] for at, end in pairwise(places)] + ([END] if finish != "length" else [])
        ids = [each for part in parts for each in self.tokenizer.encode(part, add_special_tokens=False).ids]
        sampled = Sampled(self.prompt(messages, tools), ids, [-0.125 * (at % 7 + 1) for at in range(len(ids))])
        self.sampled.append(sampled)
        return _message(text), "tool_calls" if _CALL.search(text) and finish == "stop" else finish, sampled


def _message(text):
    """Parse calls in a text as the parsers of servers do; missing arguments become an empty object."""
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": each[1], "arguments": each[2] or "{}"}}
        for at, each in enumerate(_CALL.finditer(text))
    ]
    content = _CALL.sub("", text)
    message = {"role": "assistant", "content": content or None}
    return {**message, "tool_calls": calls} if calls else message


def _names(tokenizer, sampled, *, by_id):
    return [
        {
            "token": f"token_id:{each}" if by_id else tokenizer.decode([each], skip_special_tokens=False),
            "logprob": number,
            "bytes": None,
            "top_logprobs": [],
        }
        for each, number in zip(sampled.ids, sampled.logprobs, strict=True)
    ]


def vllm(server, message, finish, sampled, number):
    choice = {
        "index": 0,
        "message": {"refusal": None, "annotations": None, "audio": None, "function_call": None, **message},
        "logprobs": {"content": _names(server.tokenizer, sampled, by_id=False)},
        "finish_reason": finish,
        "stop_reason": None,
        "token_ids": sampled.ids,
    }
    return _completion(server, number, [choice], prompt_logprobs=None, prompt_token_ids=sampled.prompt)


def vllm_named(server, message, finish, sampled, number):
    """With ``return_tokens_as_token_ids``, but without ids in choices."""
    logprobs = {"content": _names(server.tokenizer, sampled, by_id=True)}
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish, "token_ids": None}
    return _completion(server, number, [choice], prompt_token_ids=sampled.prompt)


def vllm_stream(server, message, finish, sampled, number):
    text = message.get("content") or ""
    half = len(sampled.ids) // 2
    first, rest = {"role": "assistant", "content": ""}, {"content": text}
    if message.get("tool_calls"):
        rest["tool_calls"] = [{"index": at, **call} for at, call in enumerate(message["tool_calls"])]
    deltas = [(first, None, [], 0), (rest, None, sampled.ids[:half], 0), ({}, finish, sampled.ids[half:], half)]
    chunks = []
    for at, (delta, reason, ids, start) in enumerate(deltas):
        names = _names(server.tokenizer, sampled, by_id=False)[start : start + len(ids)]
        choice = {"index": 0, "delta": delta, "logprobs": {"content": names} if ids else None, "finish_reason": reason}
        chunk = _chunk(server, number, [{**choice, "token_ids": ids or None}])
        chunks.append({**chunk, "prompt_token_ids": sampled.prompt} if at == 0 else chunk)
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"


def sglang(server, message, finish, sampled, number):
    choice = {
        "index": 0,
        "message": {"reasoning_content": None, **message, "content": message["content"] or ""},
        "logprobs": {"content": _names(server.tokenizer, sampled, by_id=False)},
        "finish_reason": finish,
        "matched_stop": None,
        "prompt_token_ids": sampled.prompt,
        "response_token_ids": sampled.ids,
    }
    return _completion(server, number, [choice])


def sglang_meta(server, message, finish, sampled, number):
    meta = {
        "id": f"r{number}",
        "prompt_tokens": len(sampled.prompt),
        "input_token_logprobs": [[None, sampled.prompt[0], None], *([-1.5, each, None] for each in sampled.prompt[1:])],
        "output_token_logprobs": [
            [value, each, None] for each, value in zip(sampled.ids, sampled.logprobs, strict=True)
        ],
    }
    return _completion(server, number, [{"index": 0, "message": message, "finish_reason": finish, "meta_info": meta}])


def sglang_extension(server, message, finish, sampled, number):
    choice = {
        "index": 0,
        "message": message,
        "logprobs": {"content": _names(server.tokenizer, sampled, by_id=False)},
        "finish_reason": finish,
    }
    return _completion(server, number, [choice], sglext={"input_ids": sampled.prompt, "output_ids": [sampled.ids]})


def nemo_gym(server, message, finish, sampled, number):
    ids = {
        "prompt_token_ids": sampled.prompt,
        "generation_token_ids": sampled.ids,
        "generation_log_probs": sampled.logprobs,
    }
    return _completion(server, number, [{"index": 0, "message": {**message, **ids}, "finish_reason": finish}])


FORMS = (vllm, vllm_named, vllm_stream, sglang, sglang_meta, sglang_extension, nemo_gym)


def _completion(server, number, choices, **members):
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": server.model}
    return {**head, "choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 1}, **members}


def _chunk(server, number, choices):
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": server.model}
    return {**head, "choices": choices}
