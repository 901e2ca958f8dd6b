"""Certify that the labels of a trainer are the replies of a dataset."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from chatsquash.conversion.merge_options import as_options
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.overview import Headline, Overview, Row
from chatsquash.core.text import pluralize
from chatsquash.core.version import __version__
from chatsquash.dataset import trainers
from chatsquash.recipe.labels import compare
from chatsquash.recipe.observe import RUNNERS, TrainerRun, rows
from chatsquash.recipe.replies import replies_of
from chatsquash.results.output import ResultFolder, is_output
from chatsquash.storage.folder import Folder
from chatsquash.templates import counting, source
from chatsquash.templates.confined import BOUNDS, RenderBounds, Template

_PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "trl", "peft")
_DISTRIBUTIONS = {"llama-factory": "llamafactory", "nemo": "nemo-automodel", "tinker": "tinker-cookbook"}
_VERSIONS = """
import sys
from importlib import metadata
for name in sys.argv[1:]:
    try:
        print(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        pass
"""


class Recipe(NamedTuple):
    """What to certify: a trainer with a model and a configuration, on the records of an output folder."""

    output: Path
    trainer: str | None = None
    """``None`` is the trainer of ``--for``."""
    model: str | None = None
    """A folder, or a model in the local Hugging Face cache; ``None`` is that of ``--for``."""
    python: Path | None = None
    """The Python of the environment of the trainer; ``None`` is the one on ``PATH``."""
    config: Path | None = None
    """The folder of its configuration; ``None`` is ``trainer`` in the output folder."""
    limit: int | None = None
    """The number of records to certify, or ``None`` for all."""
    words: tuple[str, ...] = ()
    """Arguments for the command of the trainer."""
    bounds: RenderBounds = BOUNDS


class Certificate(Struct):
    """The software of a run, and the counts of its labels."""

    trainer: str
    model: str
    packages: dict[str, str]
    """The versions of the trainer and its libraries, by package."""
    records: int
    """The records that were certified."""
    are_all: bool
    """Whether the split has no other records."""
    replies: int
    tokens: int
    """The tokens with loss."""
    exact_prompts: int
    """The replies that follow exactly the prompt of inference."""
    trained_headers: int
    """The replies that are trained on together with the header of their turn."""
    arguments: list[str]
    """Arguments for the command of the trainer, in addition to its configuration."""
    sha256: dict[str, str]
    """The hashes of the record files, the configuration, the tokenizer and the chat template."""
    chatsquash: str = __version__

    def as_json(self) -> dict[str, object]:
        """Return the certificate as JSON."""
        return asdict(self)

    def overview(self) -> Overview:
        """Return the overview for the command."""
        packages = tuple(f"{name} {version}" for name, version in self.packages.items())
        rest = self.replies - self.exact_prompts
        prompts = (f"{pluralize(rest, 'other')} after a prompt with more of earlier replies",) if rest else ()
        headers = (f"{self.trained_headers:,} with the header of their turn",) if self.trained_headers else ()
        return Overview(
            (Headline(("Certified: the labels are the replies,", "token by token.")),),
            (
                Row("trainer", None, (self.trainer, *packages)),
                Row("records", self.records, () if self.are_all else ("the first of the split",)),
                Row("replies", self.replies, (f"{pluralize(self.tokens, 'token')} with loss", *headers)),
                Row("exact prompts", self.exact_prompts, prompts),
            ),
        )


def certify(recipe: Recipe) -> Certificate:
    """Run the data path of a trainer, and compare its labels with the replies of the records.

    Raises:
        LabelError: The labels are not exactly the replies, each once.
        UsageError: There is no such output, model or trainer, or the trainer cannot be run.
    """
    if not is_output(recipe.output):
        raise UsageError(f"{recipe.output}: not a result of chatsquash convert; use its output folder")
    with closing(Folder(recipe.output)) as folder:
        result = ResultFolder(folder)
        options = as_options(result.options)
        run, model = _run(recipe, options)
        files = _files(result)
        tokenizer, template_source = counting.pack(model), source.read(model)
        with closing(Template(model, recipe.bounds, template_source)) as template:
            expected = replies_of(folder, files, options, template, recipe.limit)
            with rows(run) as labelled:
                totals = compare(expected, labelled, counting.Tokenizer(tokenizer, model))
    hashes = {
        **{name: _sha256(recipe.output / name) for name in files},
        **{f"trainer/{path.name}": _sha256(path) for path in sorted(run.config.iterdir()) if path.is_file()},
        "tokenizer": hashlib.sha256(tokenizer).hexdigest(),
        "template": hashlib.sha256(jsonio.dumps([*template_source])).hexdigest(),
    }
    return Certificate(
        trainer=run.trainer,
        model=model,
        packages=_versions(run),
        records=len(expected),
        are_all=recipe.limit is None or len(expected) < recipe.limit,
        replies=totals.replies,
        tokens=totals.tokens,
        exact_prompts=totals.exact,
        trained_headers=totals.headers,
        arguments=[*recipe.words],
        sha256=hashes,
    )


def _run(recipe: Recipe, options: Options) -> tuple[TrainerRun, str]:
    known, default_model = trainers.parse(options.trainer) if options.trainer else (None, None)
    name = trainers.resolve(recipe.trainer) if recipe.trainer else known
    if name is None:
        wrong = f"--trainer {recipe.trainer}: unknown trainer" if recipe.trainer else "--trainer is missing"
        raise UsageError(f"{wrong}; expected one of {', '.join(RUNNERS)}")
    if name not in RUNNERS:
        raise UsageError(
            f"--trainer {name}: a service, whose data path cannot be run here; use one of {', '.join(RUNNERS)}"
        )
    model = recipe.model or default_model
    if model is None:
        raise UsageError("--model is missing: the folder of a model, or its name in the Hugging Face cache")
    config = recipe.config or recipe.output / trainers.FOLDER
    if not config.is_dir():
        raise UsageError(f"{config}: no such folder; convert with --for {name}={model} writes it, or pass --config")
    python = recipe.python or Path(shutil.which("python") or "python")
    if not python.is_file():
        raise UsageError(f"{python}: no such file; pass the Python of the trainer's environment with --python")
    return TrainerRun(name, python, recipe.output.absolute(), config.absolute(), recipe.limit, recipe.words), model


def _files(result: ResultFolder) -> list[str]:
    """Return the record files of the split that trainers train on."""
    data = sorted(name for name in result.record_files if name.startswith("data/"))
    if not data:
        raise UsageError(f"{result.folder.path}: no dataset folder; convert with --for TRAINER=MODEL")
    train = [name for name in data if name.startswith("data/train-")]
    split = data[0].rpartition("/")[2].partition("-")[0]
    return train or [name for name in data if name.startswith(f"data/{split}-")]


def _versions(run: TrainerRun) -> dict[str, str]:
    """Return the versions of the packages in the environment of a trainer."""
    names = dict.fromkeys((_DISTRIBUTIONS.get(run.trainer, run.trainer), *_PACKAGES))
    command = [str(run.python), "-c", _VERSIONS, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the user's Python
    return dict(line.split() for line in done.stdout.splitlines())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
