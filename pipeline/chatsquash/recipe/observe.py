"""Run the data path of a trainer in its own environment, and return the rows that it trains on."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text, shorten
from chatsquash.recipe.labels import LabelledRow

INSIDE = Path(__file__).parent / "inside"
"""The modules that run in the environment of the trainer."""
_CONFIG = "trainer"
_SHOWN_LINES, _SHOWN_BYTES = 5, 1 << 16
_OFFLINE = {
    **dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "WANDB_DISABLED"), "1"),
    **dict.fromkeys(("DO_NOT_TRACK", "AXOLOTL_DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY"), "1"),
    "CUDA_VISIBLE_DEVICES": "",
    "WANDB_MODE": "disabled",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Variables that keep a trainer from using the network and a GPU."""


class Runner(NamedTuple):
    """The way to run the data path of a trainer on a CPU, without changing what it trains on."""

    words: str = ""
    """Words to add to its command."""
    lines: tuple[str, ...] = ()
    """Lines to add to its configuration; ``block>key: value`` is in a block."""
    script: str = ""
    """The module of ``INSIDE`` that builds its dataset, if its command does more than that before its first step."""


_ON_CPU = "--use_cpu true --bf16 false --report_to none --save_strategy no"
RUNNERS = {
    "trl": Runner(_ON_CPU),
    "axolotl": Runner(lines=("bf16: false", "save_strategy: 'no'")),
    "unsloth": Runner(),
    "ms-swift": Runner(
        "--bf16 false --report_to none --save_strategy no --torch_dtype float32 --dataloader_num_workers 0"
    ),
    "oumi": Runner(lines=("training>enable_wandb: false", "training>enable_tensorboard: false")),
    "llama-factory": Runner(lines=("report_to: none", "use_cpu: true", "save_strategy: 'no'")),
    "torchtune": Runner(script="torchtune_rows.py"),
    "verl": Runner(script="verl_rows.py"),
    "nemo": Runner(script="nemo_rows.py"),
    "tinker": Runner(script="tinker_rows.py"),
}
"""The trainers whose data path can run here; the others are services."""


class TrainerRun(NamedTuple):
    """What to run: a trainer in an environment, with a configuration, on the records of an output folder."""

    trainer: str
    python: Path
    output: Path
    config: Path
    """The folder of its configuration."""
    limit: int | None
    """The number of records, or ``None`` for all."""
    words: tuple[str, ...] = ()
    """Arguments for its command, in addition to those of the configuration."""


@contextmanager
def rows(run: TrainerRun) -> Iterator[Iterator[LabelledRow]]:
    """Run a trainer on a copy of its configuration, and give the rows that it trains on.

    Raises:
        UsageError: The trainer cannot be started, ends with an error, or trains on nothing.
    """
    with tempfile.TemporaryDirectory(prefix="chatsquash-recipe-") as name:
        folder, file = Path(name) / "dataset", Path(name) / "rows.jsonl"
        _stage(run, folder)
        _run(run, folder / _CONFIG, file)
        if not file.is_file():
            raise UsageError(
                f"{run.trainer} made no batches; does its configuration train on the records of {run.output}?"
            )
        yield _read(file)


def _stage(run: TrainerRun, folder: Path) -> None:
    """Copy the configuration, since trainers write to its folder, and link the other files of the output next to it."""
    try:
        shutil.copytree(run.config, folder / _CONFIG, symlinks=True)
    except (OSError, shutil.Error) as problem:
        raise UsageError(f"{run.config}: cannot be copied ({error_text(problem)})") from None
    for path in run.output.iterdir():
        if path.name != _CONFIG and not path.name.startswith("."):
            (folder / path.name).symlink_to(path.resolve())
    for path in (folder / _CONFIG).glob("*.yaml"):
        try:
            path.write_text(merge_lines(path.read_text("utf-8"), RUNNERS[run.trainer].lines), "utf-8")
        except (OSError, ValueError) as problem:
            raise UsageError(f"{run.config / path.name}: cannot be read ({error_text(problem)})") from None


def _run(run: TrainerRun, folder: Path, file: Path) -> None:
    environment = {
        **os.environ,
        **_OFFLINE,
        "PATH": os.pathsep.join([str(run.python.parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(INSIDE),
        "SQUASH_ROWS": str(file),
        "SQUASH_LIMIT": str(run.limit or ""),
    }
    command, output = _command(run, folder), file.with_suffix(".txt")
    try:
        with output.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the user starts it
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code = _wait(process)
    except OSError as problem:
        raise UsageError(f"{command[0]}: cannot be started ({problem.strerror})") from None
    if code:
        raise UsageError(f"{run.trainer} ended with exit code {code}: {_last_lines(output) or 'no output'}")


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for a trainer; end all its processes when it ends, or when this process receives a signal to end."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    names = ("SIGTERM", "SIGHUP")  # the second one is not on every system
    before = {each: signal.signal(each, end) for name in names if (each := getattr(signal, name, None))}
    try:
        return process.wait()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for each, handler in before.items():
            signal.signal(each, handler)


def _last_lines(output: Path) -> str:
    with output.open("rb") as log:
        log.seek(max(0, output.stat().st_size - _SHOWN_BYTES))
        lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(map(shorten, lines[-_SHOWN_LINES:]))


def _command(run: TrainerRun, folder: Path) -> list[str]:
    runner, script, program = RUNNERS[run.trainer], folder / "train.sh", folder / "train.py"
    if runner.script:
        configs = [str(path) for path in sorted(folder.glob("*.yaml"))]
        words = command_words(script) if script.is_file() else [str(program)] if program.is_file() else configs[:1]
        return [str(run.python), str(INSIDE / runner.script), *words, *run.words]
    if not script.is_file() and not program.is_file():
        raise UsageError(f"{run.config}: no train.sh or train.py; convert with --for {run.trainer} writes it")
    start = ["sh", str(script)] if script.is_file() else [str(run.python), str(program)]
    return [*start, *run.words, *runner.words.split()]


def command_words(script: Path) -> list[str]:
    """Return the words of the command in a script that starts a trainer, without the arguments of the script."""
    command = script.read_text("utf-8").replace("\\\n", " ").partition("exec ")[2]
    return shlex.split(command.replace('"$@"', ""))


def merge_lines(text: str, additions: tuple[str, ...]) -> str:
    """Add lines to a configuration in YAML, in place of lines with the same key."""
    lines = text.splitlines()
    for each in additions:
        block, _, line = each.rpartition(">")
        line = f"  {line}" if block else line
        key = line.partition(":")[0] + ":"
        start = lines.index(f"{block}:") + 1 if block else 0
        end = next((at for at in range(start, len(lines)) if block and not lines[at].startswith(" ")), len(lines))
        others = [other for other in lines[start:end] if not other.startswith(key)]
        lines[start:end] = [*others, line]
    return "\n".join([*lines, ""])


def _read(file: Path) -> Iterator[LabelledRow]:
    with file.open("rb") as lines:
        for line in lines:
            try:
                row = msgspec.json.decode(line, type=LabelledRow)
            except ValueError:
                raise UsageError("the rows that the trainer wrote cannot be read") from None
            if len(row.ids) != len(row.trained):
                raise UsageError("the rows that the trainer wrote have labels of another length")
            yield row
