"""The trainers that ``make train`` runs: what is installed of each, and what is left out."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Trainer:
    """A trainer: its environment's name, its name on the page, and what is installed.

    ``without`` are requirements of it that are not installed, since they cannot stand beside the common torch or need a
    GPU; ``why`` says so. It is then installed with ``--no-deps``, and its other requirements behind it. ``beside`` is
    what it needs and does not require.
    """

    name: str
    title: str
    requirement: str
    without: tuple[str, ...] = ()
    why: str = ""
    beside: tuple[str, ...] = ()

    @property
    def distribution(self) -> str:
        """The name that its version is found by."""
        return self.requirement.split(">")[0].split("=")[0]


TRAINERS = (
    Trainer("trl", "TRL", "trl>=1.16", beside=("--editable", str(ROOT), "hypothesis>=6.100", "jinja2>=3.1.6", "pytest>=8.0")),
    Trainer("axolotl", "axolotl", "axolotl>=0.19", without=("fla-core", "flash-linear-attention", "liger-kernel", "xformers"), why="they need a GPU"),
    Trainer(
        "llamafactory",
        "LLaMA-Factory",
        "llamafactory>=0.9.5",
        without=("torchaudio", "torchvision", "gradio", "matplotlib"),
        why="those of torch are built for another torch, the others draw",
    ),
    Trainer("ms-swift", "ms-swift", "ms-swift>=4.6"),
    Trainer(
        "oumi",
        "Oumi",
        "oumi>=0.9",
        without=("torch", "torchao", "torchvision", "skypilot", "lm-eval"),
        why="it wants a torch below 2.13; the others start runs elsewhere and judge models",
    ),
    Trainer("torchtune", "torchtune", "torchtune>=0.6.1", beside=("torchao<0.14", "transformers")),
    Trainer("verl", "verl", "verl>=0.9.1", beside=("fastapi", "uvicorn")),
    Trainer("nemo-automodel", "NeMo Automodel", "nemo-automodel>=0.7", without=("quack-kernels", "flashoptim", "megatron-fsdp"), why="they need a GPU"),
    Trainer("tinker", "Tinker", "tinker-cookbook>=0.6.1", without=("tml-renderers",), why="it is not built for this Python; only models of one family need it"),
)  # fmt: skip
BY_NAME = {trainer.name: trainer for trainer in TRAINERS}

NOT_RUN = {
    "Unsloth": "needs a GPU",
    "Unsloth Studio": "a program with a graphical interface",
    "Megatron-Bridge": "needs a GPU",
    "OpenAI, Azure, Together, Fireworks, Mistral": "hosted services",
}
"""What of the page is not run, and why."""
