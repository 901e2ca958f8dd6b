"""Every run of ``make train``."""

from .runs import Run

TRL_SHORT = tuple(
    "--use_cpu true --bf16 false --num_train_epochs 1 --per_device_train_batch_size 1 --gradient_accumulation_steps 1"
    " --report_to none --save_strategy no --gradient_checkpointing false --dataset_num_proc 1".split()
)

RUNS = (
    Run("trl", "trl", "messages, Qwen 3", template="qwen3", more=TRL_SHORT),
    Run("trl", "trl", "messages, Qwen 2.5", template="qwen2_5", options="--reasoning inline", more=TRL_SHORT),
)
