"""Makes a small model of random weights and a tokenizer trained on texts: ``model.py FOLDER TEXTS TEMPLATE``.

``TEMPLATE`` is a file of a chat template, or empty. Further words are special tokens, of which the first ends a turn and
the second begins a text; an empty word is none.
"""

import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed

VOCABULARY = 2000
PAD = "<|endoftext|>"
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""As ``Qwen2Tokenizer`` of transformers 5 splits texts, whatever tokenizer.json says."""


def tokenizer(texts, template, special):
    """Trained on these texts, with a chat template."""
    trained = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(WORDS), "isolated")
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trained.decoder = decoders.ByteLevel()
    known = {
        "vocab_size": VOCABULARY,
        "special_tokens": list(dict.fromkeys([PAD, *filter(None, special)])),
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
        "show_progress": False,
    }
    trained.train_from_iterator(texts, trainers.BpeTrainer(**known))
    end, *others = special
    begins = {"bos_token": others[0]} if others and others[0] else {}
    fast = PreTrainedTokenizerFast(tokenizer_object=trained, eos_token=end, pad_token=PAD, **begins)
    if template:
        fast.chat_template = Path(template).read_text(encoding="utf-8")
    return fast


def model(vocabulary):
    """Random weights in the architecture of Qwen 2."""
    set_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "max_position_embeddings": 32768}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    return Qwen2ForCausalLM(Qwen2Config(vocab_size=vocabulary, tie_word_embeddings=True, **sizes, **heads))


def main(folder, texts, template, *special):
    """Write both into the folder."""
    lines = Path(texts).read_text(encoding="utf-8").splitlines()
    known = tokenizer(lines, template, special)
    known.save_pretrained(folder)
    model(len(known)).save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
