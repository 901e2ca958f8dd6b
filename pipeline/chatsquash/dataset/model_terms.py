"""The terms of models for training on their outputs: a note for the dataset card, with its source."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile


class Terms(Struct, frozen=True):
    """The terms of a family of models."""

    family: str
    words: tuple[str, ...]
    """Prefixes of words in the names of its models."""
    note: str
    source: str


UNKNOWN = Terms("other models", (), "Check the terms of the model and of the service that runs it.", "")

FAMILIES = (
    Terms(
        "DeepSeek",
        ("deepseek",),
        "The service permits training other models on outputs (distillation); R1 and later weights are under MIT.",
        "https://cdn.deepseek.com/policies/en-US/deepseek-terms-of-use.html",
    ),
    Terms(
        "OpenAI gpt-oss",
        ("gpt oss",),
        "Weights under Apache-2.0, which does not restrict outputs.",
        "https://huggingface.co/openai/gpt-oss-120b",
    ),
    Terms(
        "OpenAI",
        ("gpt 3", "gpt 4", "gpt 5", "chatgpt", "o1", "o3", "o4", "codex", "davinci"),
        "You own outputs, but must not use them to develop models that compete with OpenAI.",
        "https://openai.com/policies/services-agreement/",
    ),
    Terms(
        "Anthropic Claude",
        ("claude",),
        "You own outputs, but training competing or general models on them requires Anthropic's permission.",
        "https://support.claude.com/en/articles/12326764-can-i-use-my-outputs-to-train-an-ai-model",
    ),
    Terms(
        "Google Gemma",
        ("gemma",),
        "Under the Gemma Terms of Use, a model trained on outputs to perform like Gemma is subject to them.",
        "https://ai.google.dev/gemma/terms",
    ),
    Terms(
        "Google Gemini",
        ("gemini",),
        "The service must not be used to develop models that compete with it.",
        "https://ai.google.dev/gemini-api/terms",
    ),
    Terms(
        "Meta Llama",
        ("llama", "codellama"),
        'Since Llama 3.1, the name of a distributed model trained on outputs must begin with "Llama"; '
        "Llama 2 and 3 forbid improving other models.",
        "https://www.llama.com/llama3_3/license/",
    ),
    Terms(
        "Mistral",
        ("mistral", "mixtral", "ministral", "codestral", "devstral", "magistral", "pixtral"),
        "You own outputs of the service; weights are under Apache-2.0 or a research license, depending on the model.",
        "https://mistral.ai/terms",
    ),
    Terms(
        "Alibaba Qwen",
        ("qwen", "qwq"),
        "Most weights are under Apache-2.0; others are under the Qwen license: models trained on outputs must show "
        '"Built with Qwen".',
        "https://huggingface.co/Qwen/Qwen2.5-72B-Instruct/blob/main/LICENSE",
    ),
    Terms(
        "Moonshot Kimi",
        ("kimi",),
        "K2 weights are under a modified MIT license; the service has its own terms.",
        "https://huggingface.co/moonshotai/Kimi-K2-Instruct/blob/main/LICENSE",
    ),
    Terms(
        "xAI Grok",
        ("grok",),
        "Outputs must not be used to develop models that compete with xAI.",
        "https://x.ai/legal/terms-of-service-enterprise",
    ),
)


_NO_WORD = lazy_compile(r"[^a-z0-9]+")


def terms_of(model: str) -> list[Terms]:
    """Return the terms of the families that a model's name refers to; distilled models belong to several."""
    # The part before the last slash is a service or an organisation, which may run the models of others.
    name = f" {_NO_WORD.sub(' ', model.lower().rpartition('/')[2])}"
    return [each for each in FAMILIES if any(f" {word}" in name for word in each.words)] or [UNKNOWN]


def terms(models: Iterable[str]) -> list[Terms]:
    """Return the terms of models, each family once, in the order of ``FAMILIES``."""
    known = {each for model in models for each in terms_of(model)}
    return [each for each in (*FAMILIES, UNKNOWN) if each in known]
