"""Every run of ``make train``."""

from .runs import Run

LENGTH = "32768"
"""Longer than the page has it: the small tokenizer makes more tokens of a text than those of real models."""
SHORT = tuple(
    "--bf16 false --num_train_epochs 1 --per_device_train_batch_size 1 --gradient_accumulation_steps 1"
    f" --report_to none --save_strategy no --gradient_checkpointing false --max_length {LENGTH}".split()
)
TRL_SHORT = (*SHORT, "--use_cpu", "true")
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
BRIDGED = "--bridge-results join --merge-consecutive"
LLAMA = ("<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>")
MISTRAL = ("</s>", "<s>")
QWEN = ("<|im_end|>", "", "<|im_start|>", "<tool_call>", "</tool_call>")
GEMMA = ("<turn|>", "<bos>", "<|turn>", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>")
GLM = ("<|user|>", "", "<|assistant|>", "<|observation|>", "<|system|>")

RUNS = (
    Run("trl", "trl", "messages, Qwen 3", template="qwen3", words=TRL_SHORT),
    Run("trl", "trl", "messages, Qwen 2.5", template="qwen2_5", options="--reasoning inline", words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, Qwen 3", template="qwen3", words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, GLM 4.5", template="glm4moe", dialect="tagged pairs", special=GLM, words=TRL_SHORT),
    Run("trl", "trl-reply", "prompt and completion, Gemma 4", template="gemma4", dialect="own calls", special=GEMMA, words=TRL_SHORT),
    Run("axolotl", "axolotl", "messages, Qwen 2.5", template="qwen2_5", options="--reasoning inline", lines=AXOLOTL_SHORT),
    Run("axolotl", "axolotl", "messages, Qwen 3", template="qwen3_training", dialect="tagged JSON behind <think>", lines=AXOLOTL_SHORT),
    Run("llamafactory", "llama-factory", "template qwen", options=BRIDGED, lines=FACTORY_SHORT),
    Run(
        "llamafactory",
        "llama-factory",
        "template llama3",
        model="llama3",
        dialect="bare JSON",
        special=LLAMA,
        options=BRIDGED,
        lines=(*FACTORY_SHORT, "template: llama3"),
    ),
    Run(
        "llamafactory",
        "llama-factory",
        "template mistral",
        model="mistral",
        dialect="listed JSON",
        special=MISTRAL,
        options=f"{BRIDGED} --drop-text-beside-calls --reasoning drop",
        lines=(*FACTORY_SHORT, "template: mistral"),
    ),
    Run("ms-swift", "ms-swift", "template qwen2_5", model="Qwen2.5-0.5B-Instruct", options="--bridge-results join", words=SWIFT_SHORT),
    Run("oumi", "oumi", "messages, Qwen 3", template="qwen3_training",
        lines=("training>num_train_epochs: 1", "training>per_device_train_batch_size: 1", "training>save_steps: 0", f"model>model_max_length: {LENGTH}", "training>save_final_model: false",
        "training>enable_wandb: false", "training>enable_tensorboard: false", "training>gradient_accumulation_steps: 1")),
    Run("verl", "verl", "messages, Qwen 2.5", template="qwen2_5", script="verl_rows.py", words=(f"data.max_length={LENGTH}",)),
    Run("verl", "verl-reply", "one sample a reply, Qwen 3", template="qwen3", script="verl_rows.py", words=(f"data.max_length={LENGTH}",)),
    Run("verl", "verl-reply", "one sample a reply, GLM 4.5", template="glm4moe", special=GLM, script="verl_rows.py", words=(f"data.max_length={LENGTH}",)),
    Run("torchtune", "torchtune", "messages, Qwen 2.5", script="torchtune_rows.py", options="--merge-consecutive", special=QWEN, conversion="text", model="Qwen2.5-0.5B-Instruct", lines=("tokenizer>special_tokens_path: Qwen2.5-0.5B-Instruct/tokenizer.json", f"tokenizer>max_seq_len: {LENGTH}")),
    Run("nemo-automodel", "nemo-automodel", "messages, Qwen 3", template="qwen3", script="nemo_rows.py", conversion="text"),
)
