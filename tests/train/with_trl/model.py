"""A small model and a tokenizer of our own, so that nothing needs to be fetched."""

import json

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed

from tests.templates.records import family

END, PAD = "<|im_end|>", "<|endoftext|>"
VOCABULARY = 1500


def tokenizer(texts, template="json_calls"):
    """Trained on these texts, with the chat template of a family."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [PAD, "<|im_start|>", END]
    trained.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=trained, eos_token=END, pad_token=PAD)
    with open(family(template), encoding="utf-8") as file:
        fast.chat_template = file.read()
    return fast


def model(vocabulary):
    """Random weights in the architecture of Qwen 2."""
    set_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 2048}
    config = Qwen2Config(vocab_size=vocabulary, num_attention_heads=4, num_key_value_heads=2, **sizes)
    return Qwen2ForCausalLM(config)


def texts(dataset):
    """All that a tokenizer should know of a dataset."""
    return [json.dumps(record, ensure_ascii=False) for record in dataset]
