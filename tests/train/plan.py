"""Every run of ``make train``."""

from .runs import Run

LENGTH = "32768"
"""Longer than the page has it: the small tokenizer makes more tokens of a text than those of real models."""
SHORT = tuple(
    "--bf16 false --num_train_epochs 1 --per_device_train_batch_size 1 --gradient_accumulation_steps 1"
    f" --report_to none --save_strategy no --gradient_checkpointing false --max_length {LENGTH}".split()
)
TRL_SHORT = (*SHORT, "--use_cpu", "true")
KTO_SHORT = (*TRL_SHORT, "--per_device_train_batch_size", "2")
"""The mismatched completions that KTO needs come from the same batch."""
GRPO_SHORT = tuple(
    "--bf16 false --num_train_epochs 1 --per_device_train_batch_size 2 --num_generations 2 --max_completion_length 4"
    " --gradient_accumulation_steps 1 --report_to none --save_strategy no --gradient_checkpointing false"
    " --use_cpu true".split()
)
SWIFT_SHORT = (*SHORT, "--dataloader_num_workers", "0", "--torch_dtype", "float32")
AXOLOTL_SHORT = (
    "num_epochs: 1",
    "micro_batch_size: 1",
    "gradient_accumulation_steps: 1",
    f"sequence_len: {LENGTH}",
    "save_strategy: 'no'",
    "bf16: false",
)
FACTORY_SHORT = (
    "num_train_epochs: 1",
    "per_device_train_batch_size: 1",
    f"cutoff_len: {LENGTH}",
    "report_to: none",
    "use_cpu: true",
    "save_strategy: 'no'",
)
LLAMA = ("<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>")
MISTRAL = ("</s>", "<s>")
QWEN = ("<|im_end|>", "", "<|im_start|>", "<tool_call>", "</tool_call>")
GEMMA = ("<turn|>", "<bos>", "<|turn>", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>")
GLM = ("<|user|>", "", "<|assistant|>", "<|observation|>", "<|system|>")

OUMI_SHORT = (
    f"model>model_max_length: {LENGTH}",
    "training>num_train_epochs: 1",
    "training>per_device_train_batch_size: 1",
    "training>gradient_accumulation_steps: 1",
    "training>save_steps: 0",
    "training>save_final_model: false",
    "training>enable_wandb: false",
    "training>enable_tensorboard: false",
)
VERL_LONG = (f"data.max_length={LENGTH}",)
THOUGHT = "tagged JSON behind <think>"
UNOPENED = "except for the opening `<think>`"
OF_GRPO = "including the prompts of GRPO"
HEADED = "also on turn headers"

TRL = (
    Run("trl", "trl", "messages, Qwen 3", "qwen3", words=TRL_SHORT),
    Run("trl", "trl", "messages, Qwen 2.5", "qwen2_5", options="--reasoning inline", words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, Qwen 3", "qwen3", words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, GLM 4.5", "glm4moe", "tagged pairs", special=GLM, words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, Gemma 4", "gemma4", "own calls", special=GEMMA, options="--reasoning drop", words=TRL_SHORT),
    Run("trl", "trl-kto", "KTO on labelled replies, Qwen 3", "qwen3", words=KTO_SHORT),
    Run("trl", "trl-grpo", "GRPO on prompts with outcomes, Qwen 3", "qwen3", prompts=True, remark=OF_GRPO, words=GRPO_SHORT),
    Run("trl", "trl-dpo", "DPO on preference pairs, Qwen 3", "qwen3", pairs=True, words=TRL_SHORT),
)  # fmt: skip
AXOLOTL = (
    Run("axolotl", "axolotl", "messages, Qwen 2.5", "qwen2_5", options="--reasoning inline", lines=AXOLOTL_SHORT),
    Run(
        "axolotl",
        "axolotl",
        "messages, Qwen 3 as TRL has it",
        "qwen3_training",
        THOUGHT,
        lines=AXOLOTL_SHORT,
        remark=UNOPENED,
    ),
    Run(
        "axolotl", "axolotl-reply", "one sample a reply, Qwen 3", "qwen3", THOUGHT, lines=AXOLOTL_SHORT, remark=UNOPENED
    ),
)
FACTORY = (
    Run("llamafactory", "llama-factory", "template `qwen`", lines=FACTORY_SHORT),
    Run(
        "llamafactory",
        "llama-factory",
        "template `llama3`",
        dialect="bare JSON",
        model="llama3",
        special=LLAMA,
        lines=(*FACTORY_SHORT, "template: llama3"),
    ),
    Run(
        "llamafactory",
        "llama-factory",
        "template `mistral`",
        dialect="listed JSON",
        model="mistral",
        special=MISTRAL,
        options="--drop-text-beside-calls --reasoning drop",
        lines=(*FACTORY_SHORT, "template: mistral"),
    ),
    Run("llamafactory", "llama-factory-reply", "one sample a reply, template `qwen`", lines=FACTORY_SHORT),
)  # fmt: skip
QWEN_FOLDER = "Qwen2.5-0.5B-Instruct"
"""By its folder's name ms-swift knows which of its templates a model has."""
SWIFT = tuple(
    Run("ms-swift", block, what, model=QWEN_FOLDER, words=SWIFT_SHORT)
    for block, what in (("ms-swift", "messages, Qwen 2.5"), ("ms-swift-reply", "one sample a reply, Qwen 2.5"))
)
OTHERS = (
    Run("oumi", "oumi", "messages, Qwen 3 as TRL has it", "qwen3_training", lines=OUMI_SHORT),
    Run("oumi", "oumi-reply", "one sample a reply, Qwen 3", "qwen3", lines=OUMI_SHORT),
    Run("verl", "verl", "messages, Qwen 2.5", "qwen2_5", script="verl_rows.py", words=VERL_LONG),
    Run("verl", "verl-reply", "one sample a reply, Qwen 3", "qwen3", script="verl_rows.py", words=VERL_LONG),
    Run("verl", "verl-reply", "one sample a reply, GLM 4.5", "glm4moe", special=GLM, script="verl_rows.py", words=VERL_LONG),
    Run(
        "torchtune",
        "torchtune",
        "messages, Qwen 2.5",
        script="torchtune_rows.py",
        special=QWEN,
        remark=HEADED,
        lines=("tokenizer>special_tokens_path: ../../model/tokenizer.json", f"tokenizer>max_seq_len: {LENGTH}"),
    ),
    Run("nemo-automodel", "nemo-automodel", "messages, Qwen 3 as TRL has it", "qwen3", script="nemo_rows.py", lines=("dataset>chat_template: ../../qwen3_training.jinja",)),
)  # fmt: skip
TINKER = tuple(
    Run("tinker", block, what, model=model, options=options, script="tinker_rows.py", words=words)
    for block, what, model, options, words in (
        ("tinker", "messages, renderer `qwen3`", "model", "", ("renderer=qwen3",)),
        ("tinker", "messages, renderer `qwen3_instruct`", "instruct", "--reasoning drop", ("renderer=qwen3_instruct",)),
        ("tinker", "the cookbook's builder", "text", "--preset text", ("renderer=qwen3_instruct", "builder=cookbook")),
        ("tinker-reply", "one sample a reply, renderer `qwen3`", "model", "", ("renderer=qwen3",)),
    )
)
RUNS = (*TRL, *AXOLOTL, *FACTORY, *SWIFT, *OTHERS, *TINKER)
