"""The runs of ``make train``, each as docs/training.md says: what is converted, trained, and compared."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from chatsquash.recipe.observe import INSIDE as HOOKS
from chatsquash.recipe.observe import command_words, merge_lines

from .environments import Environments
from .pages import conversion, truth
from .replies import Difference, Reply, compared, of_message, of_prompt, read_back, trained_messages

ROOT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside"
TIME = 1200
"""Seconds that a trainer may take."""
OFFLINE = {
    **dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "WANDB_DISABLED"), "1"),
    **dict.fromkeys(("DO_NOT_TRACK", "AXOLOTL_DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY"), "1"),
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",  # a model as small as this one waits longer for a second thread than that one saves
    "WANDB_MODE": "disabled",
}


@dataclass(frozen=True)
class Run:
    """One training.

    ``block`` names the block of the page that converts. ``template`` is a chat template that TRL brings, or empty where the trainer
    has its own. ``special`` are tokens of the model, the first ends a turn. ``words`` are added to the command and
    ``lines`` to the configuration, so that the training is short and on a CPU. ``options`` are added to the conversion.
    ``pairs`` says that it trains on the preference pairs beside the records, ``prompts`` that its records are prompts,
    which are compared with their columns, ``remark`` what differs all the same. ``script`` reads the trainer's dataset where its training does not run on a CPU.
    """

    trainer: str
    block: str
    what: str
    template: str = ""
    dialect: str = "tagged JSON"
    model: str = "model"
    special: tuple[str, ...] = ("<|im_end|>", "", "<|im_start|>")
    options: str = ""
    pairs: bool = False
    prompts: bool = False
    remark: str = ""
    words: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    script: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> str:
        """What is run, as the table says it."""
        added = f", `{self.options}`" if self.options else ""
        return f"{self.what}{added}{', dataset only' if self.script else ''}"

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "-".join(filter(None, [self.block, self.template, self.model if self.model != "model" else ""]))


class FailedError(Exception):
    """A step of a run ended with an error; what it printed last."""


class Place:
    """Where a run happens: a folder with the sample logs, and the trainer's environment."""

    def __init__(self, run: Run, environments: Environments) -> None:
        self.run = run
        self.python = environments.python(run.trainer)
        self.templates = next(environments.root.glob("trl/lib/python3*/site-packages/trl/chat_templates"))
        self.folder = environments.root / "runs" / run.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "sample_logs").symlink_to(ROOT / "sample_logs")
        for path in self.templates.glob(f"{run.template}_training.jinja"):
            shutil.copy(path, self.folder)
        self.tokens = self.folder / "trained.jsonl"

    def convert(self) -> list[Reply]:
        """Convert as the page says, and tell the replies that are to be trained on."""
        command = conversion(self.run.block).replace(" --quiet", f" {self.run.options} --quiet")
        self.shell(truth(command))
        self.shell(re.sub(r"--for (\S+)", rf"--for \1={self.folder / self.run.model}", command))
        paths = (self.folder / "truth" / ("pairs" if self.run.pairs else "data")).glob("train-*.jsonl")
        records = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        if self.run.prompts:
            return [of_prompt(record) for record in records]
        return [of_message(message, self.run.dialect) for record in records for message in trained_messages(record)]

    def shell(self, command: str) -> None:
        """Run a command of the page with the chatsquash beside this Python."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.call(["bash", "-c", command], {"PATH": path, "PYTHONPATH": os.environ.get("PYTHONPATH", "")})

    def call(self, command: list[str], variables: dict[str, str], folder: Path | None = None) -> str:
        """Run a command in a folder, by default that of the run; what it prints."""
        environment = {**os.environ, **OFFLINE, "HOME": str(self.folder), **variables}
        with (self.folder / "output.txt").open("ab") as log:
            done = subprocess.run(
                command,
                cwd=folder or self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
                timeout=TIME,
                check=False,
            )
        if done.returncode:
            told = done.stdout.decode()[-2000:] + (self.folder / "output.txt").read_text(encoding="utf-8")[-4000:]
            raise FailedError(f"{' '.join(command)}\n{told}")
        return done.stdout.decode()

    def make_model(self) -> None:
        """A model and a tokenizer for what is trained on."""
        template = str(self.templates / f"{self.run.template}.jinja") if self.run.template else ""
        texts = next((self.folder / "truth" / "data").glob("train-*.jsonl"))
        script = [str(INSIDE / "model.py"), self.run.model, str(texts), template, *self.run.special]
        self.call([str(self.python), *script], {"PYTHONPATH": ""})

    def train(self) -> None:
        """Run the page's command, or the script that stands for it, while what is trained on is written down."""
        run = self.run
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        inside = os.pathsep.join(map(str, (HOOKS, INSIDE, INSIDE / "stand-ins" / run.trainer)))
        noted = {
            "PATH": path,
            "PYTHONPATH": inside,
            "SQUASH_ROWS": str(self.tokens),
            "SQUASH_TRAINS": "1",
            **dict(run.variables),
        }
        folder = self.folder / "dataset" / "trainer"
        script = folder / ("train-dpo.sh" if run.pairs else "train.sh")
        command = ["sh", str(script), *run.words]
        if run.prompts:
            script.write_text(script.read_text(encoding="utf-8").replace("REWARD ", "rewards.noted "), encoding="utf-8")
        read = [str(path) for path in folder.glob("train.py")]
        for path in folder.glob("*.yaml"):
            path.write_text(merge_lines(path.read_text(encoding="utf-8"), run.lines), encoding="utf-8")
            read = [str(path)]
        if run.script:
            read = command_words(script) if script.exists() else read
            command = [str(self.python), str(HOOKS / run.script), *read, *run.words]
        self.call(command, noted, folder)

    def trained(self) -> list[Reply]:
        """What was trained on, read back; each prompt once, though several completions are sampled for it."""
        if self.run.prompts:
            lines = self.tokens.read_text(encoding="utf-8").splitlines()
            return [*dict.fromkeys(of_prompt(json.loads(line)) for line in lines)]
        decode = [str(self.python), str(INSIDE / "decode.py"), self.run.model, str(self.tokens)]
        rows = json.loads(self.call(decode, {"PYTHONPATH": ""}))
        (self.folder / "trained.txt").write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
        return [reply for row in rows for text in row for reply in read_back(text, self.run.dialect)]


def play(run: Run, environments: Environments) -> Difference:
    """Convert, train, and compare."""
    place = Place(run, environments)
    expected = place.convert()
    place.make_model()
    place.train()
    return compared(expected, place.trained())
