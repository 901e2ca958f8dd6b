"""Small chat templates that treat earlier turns as those of well-known models do."""

_TOOLS = "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
_CALLS = "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}"
_PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
_LAST_USER = (
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}"
    "{% endif %}{% endfor %}"
)


def _turns(said: str = "{{ m.content }}") -> str:
    return f"{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{said}{_CALLS}<|im_end|>\n{{% endfor %}}"


_THOUGHT = "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"
_LATE_THOUGHT = (
    "{% if m.role == 'assistant' and loop.index0 > ns.last %}<think>\n{{ m.reasoning_content or '' }}\n</think>\n\n"
    "{% endif %}{{ m.content }}"
)
TEMPLATES = {
    "im_start": _TOOLS + _turns() + _PROMPT,
    "no_tools": _turns() + _PROMPT,
    "all_thoughts": _TOOLS + _turns(_THOUGHT) + _PROMPT,
    # Qwen3 and GLM strip earlier thinking.
    "thinking": _TOOLS + _LAST_USER + _turns(_LATE_THOUGHT) + _PROMPT,
    # Mistral shows the tools before the last prompt.
    "tools_last": _LAST_USER
    + "{% for m in messages %}{% if loop.index0 == ns.last %}[TOOLS]{{ tools | tojson }}[/TOOLS]{% endif %}"
    "[{{ m.role }}]{{ m.content }}" + _CALLS + "{% if m.role == 'assistant' %}</s>{% endif %}{% endfor %}",
    # gpt-oss ends the last reply otherwise.
    "return": _TOOLS
    + "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}" + _CALLS
    + "{{ '<|return|>' if loop.last and m.role == 'assistant' else '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant<|message|>{% endif %}",
    # DeepSeek-R1 opens the thought in the prompt.
    "opened_thought": _TOOLS + _turns() + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
    # Llama has the tools in the first prompt.
    "tools_first": "{% for m in messages %}<|{{ m.role }}|>{% if loop.first %}{{ tools | tojson }}{% endif %}{{ m.content }}"
    + _CALLS + "<|eot|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    # Hermes and Command R drop text beside calls.
    "text_or_calls": _TOOLS + _turns("{{ '' if m.tool_calls else m.content }}") + _PROMPT,
    # No end of a turn is marked.
    "bare": "{% for m in messages %}\n{{ m.role }}: {{ m.content }}" + _CALLS
    + "{% endfor %}{% if add_generation_prompt %}\nassistant: {% endif %}",
}  # fmt: skip
