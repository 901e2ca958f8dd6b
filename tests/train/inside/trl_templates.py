"""Prints as JSON which chat templates that TRL knows it can train on the assistant's turns of, and which it refuses."""

import json
import sys
from pathlib import Path

import trl
from transformers import AutoTokenizer
from trl.chat_template_utils import get_training_chat_template, has_generation_markers


def kind(tokenizer, template):
    """Whether the template has marks itself, TRL has one with marks for it, or neither."""
    if has_generation_markers(template):
        return "own"
    tokenizer.chat_template = template
    try:
        return "replaced" if get_training_chat_template(tokenizer) else "refused"
    except ValueError:
        return "refused"


def main(model):
    """By the names of TRL's files."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    files = sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja"))
    files = [path for path in files if not path.stem.endswith("_training")]
    known = {path.stem: kind(tokenizer, path.read_text(encoding="utf-8")) for path in files}
    print(
        json.dumps({each: [name for name in known if known[name] == each] for each in ("own", "replaced", "refused")})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
