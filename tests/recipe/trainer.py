"""A trainer in miniature, which renders, tokenizes, masks, cuts and packs as its settings say."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from chatsquash.records.reading import parse, record
from chatsquash.templates.confined import Template
from chatsquash.templates.counting import Tokenizer
from chatsquash.templates.source import TemplateSource
from tests.tokens.server import train

CHATML = (
    "{%- for tool in tools or [] %}{{ tool | tojson }}{{ '\\n' }}{% endfor %}"
    "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.reasoning_content and (keep_thoughts or loop.last) %}"
    "{{ '<think>' + message.reasoning_content + '</think>\\n' }}{% endif %}"
    "{{- message.content or '' }}"
    "{%- for call in message.tool_calls or [] %}{{ '<tool_call>' }}{{ call.function | tojson }}{{ '</tool_call>' }}{% endfor %}"
    "{{- '<|im_end|>\\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""The template of the model, which leaves out the thoughts of earlier replies."""
KEEPING = "{%- set keep_thoughts = true %}" + CHATML
"""The training variant of the template, which keeps the thoughts of earlier replies, as TRL's variants do."""
OTHERS = {
    "other end of turn": KEEPING.replace("<|im_end|>", "<|endoftext|>"),
    "other header": KEEPING.replace("+ message.role +", "+ message.role | upper +"),
    "a prompt of its own": "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" + KEEPING,
    "without tools": KEEPING.replace("tools or []", "[]"),
    "without calls": KEEPING.replace("message.tool_calls or []", "[]"),
    "without thoughts": KEEPING.replace("message.reasoning_content and", "false and"),
    "trimmed results": KEEPING.replace("message.content or ''", "(message.content or '')[:12]"),
    "lower case": KEEPING.replace("message.content or ''", "(message.content or '') | lower"),
}
"""Chat templates that are not that of the model."""


@dataclass(frozen=True)
class Settings:
    """The settings of a trainer; those by default train on the replies."""

    template: str = KEEPING
    mask: str = "replies"
    """Also ``none``, ``headers``, ``no end`` of turns, ``last`` reply only, and ``users`` instead of replies."""
    max_length: int = 1 << 20
    cut: str = "end"
    """Also ``start``, and ``drop`` for rows that are too long."""
    strip: int = 0
    """The number of messages removed from the start of records."""
    pack: int = 1
    """Records in a row."""
    skip: int = 0
    """Every how many records one is left out."""
    epochs: int = 1
    shuffle: int = 0
    pad: bool = False
    """Whether a token follows the end of each row."""


class Trainer:
    """Makes rows from the lines of records, with one tokenizer and the settings of each run."""

    def __init__(self, lines: list[bytes], tokenizer: Tokenizer) -> None:
        self.samples, self.tokenizer = [record(parse(line)) for line in lines], tokenizer
        self._templates: dict[str, Template] = {}
        self._known = {}

    def rows(self, settings: Settings) -> list[tuple[list[int], list[bool]]]:
        """Return the tokens of each row, with whether there is loss on them."""
        made = []
        for number in [*range(len(self.samples))] * settings.epochs:
            if settings.skip and number % settings.skip == 1:
                continue
            ids, trained = self._row(number, settings)
            if len(ids) > settings.max_length:
                if settings.cut == "drop":
                    continue
                kept = slice(settings.max_length) if settings.cut == "end" else slice(-settings.max_length, None)
                ids, trained = ids[kept], trained[kept]
            made.append((ids, trained))
        made = made[settings.shuffle :] + made[: settings.shuffle]
        packs = [made[at : at + settings.pack] for at in range(0, len(made), settings.pack)]
        return [
            ([token for ids, _ in pack for token in ids], [each for _, flags in pack for each in flags])
            for pack in packs
        ]

    def _row(self, number, settings):
        """Put loss on the messages of a record that are masked so, and on their headers or not."""
        roles, texts = self._texts(number, settings)
        last = max((at for at, role in enumerate(roles) if role == "assistant"), default=None)
        parts = []
        for at, (role, text) in enumerate(zip(roles, texts, strict=True)):
            wanted = "user" if settings.mask == "users" else "assistant"
            has_loss = role == wanted and (settings.mask != "last" or at == last)
            start = text.index("<|im_start|>")
            header = start if settings.mask == "headers" else text.index("\n", start) + 1
            end = len(text.rstrip()) - (len("<|im_end|>") if settings.mask == "no end" else 0)
            parts += [(text[:header], False), (text[header:end], has_loss), (text[end:], False)]
        ids, trained = [], []
        for text, has_loss in parts:
            more = self._ids(text)
            ids += more
            trained += [has_loss or settings.mask == "none"] * len(more)
        end = self._ids("<|endoftext|>") if settings.pad else []
        return [*ids, *end], [*trained, *[False] * len(end)]

    def _texts(self, number, settings):
        """Render a record message by message; the first text includes the tools."""
        sample, key = self.samples[number], (number, settings.template, settings.strip)
        messages = sample.messages[settings.strip :]
        if key not in self._known:
            texts = [self._render(settings.template, messages[: at + 1], sample.tools) for at in range(len(messages))]
            assert all(text.startswith(before) for before, text in pairwise(texts))
            added = [text[len(before) :] for before, text in pairwise(["", *texts])]
            self._known[key] = added
        return [message["role"] for message in messages], self._known[key]

    def _ids(self, text):
        data = self.tokenizer.token_bytes(text)
        return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]

    def _render(self, template, messages, tools):
        if template not in self._templates:
            self._templates[template] = Template("template", source=TemplateSource({"default": template}, {}))
        return self._templates[template].render(messages, tools).text

    def close(self) -> None:
        """End the processes of the templates."""
        for each in self._templates.values():
            each.close()


def make_model(folder: Path, lines: list[bytes]) -> Path:
    """Write a tokenizer that was trained on records, and the chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    train([line.decode() for line in lines], size=900).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML, "eos_token": "<|im_end|>"}))
    return folder
