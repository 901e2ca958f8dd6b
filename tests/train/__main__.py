"""``python -m tests.train [TRAINERS]``, or ``make train``: runs trainers, and writes what came of it.

It makes the environments below ``TRAIN`` (.venv-train), runs each training of the plan, compares what was trained on
with the replies of the records, and writes ``results.json``, of which ``make docs`` makes the tables of
docs/training.md. It ends with 1 if a trainer failed, or trained on anything else.
"""

import json
import os
import subprocess
import sys
import time

from .environments import Environments, Made, NoTorchError
from .plan import RUNS
from .results import Result, read, write
from .runs import INSIDE, FailedError, Run, play
from .trainers import BY_NAME, ROOT, TRAINERS, Trainer

SHOWN = 3
"""So many replies are shown of those that differ."""


def main(names: list[str]) -> int:
    """Run these trainers, or all."""
    if unknown := [name for name in names if name not in BY_NAME]:
        print(f"no trainer is called {unknown[0]}; expected one of {', '.join(BY_NAME)}", file=sys.stderr)
        return 2
    environments = Environments(ROOT / (os.environ.get("TRAIN") or ".venv-train"))
    try:
        environments.make_base()
    except NoTorchError as problem:
        print(problem, file=sys.stderr)
        return 1
    chosen = [trainer for trainer in TRAINERS if not names or trainer.name in names]
    needed = list(dict.fromkeys([BY_NAME["trl"], *chosen]))  # TRL brings the templates
    made = {}
    for trainer in needed:
        made[trainer.name] = environments.make(trainer)
        print(f"{trainer.name} {environments.version(trainer)}: {told(made[trainer.name])}", flush=True)
    results = read()
    for trainer in chosen:
        results = results.without(trainer.name)
        played = [played_out(run, environments) for run in RUNS if run.trainer == trainer.name]
        results = results.with_trainer(trainer.name, environments.version(trainer), made[trainer.name], played)
    if BY_NAME["trl"] in chosen:
        results = results.with_templates(templates(environments))
    write(results.with_torch(environments.constraints.read_text(encoding="utf-8").strip()))
    failed = [result for trainer in chosen for result in results.of(trainer.name) if not result.good]
    return 1 if trl_tests(environments, chosen) or failed else 0


def told(made: Made) -> str:
    """What an environment took."""
    return f"{made.size / 1e6:,.0f} MB, installed in {made.seconds / 60:.1f} min"


def played_out(run: Run, environments: Environments) -> Result:
    """Run one training and print what came of it."""
    started = time.monotonic()
    try:
        found = play(run, environments)
    except FailedError as problem:
        print(f"{run.name}: FAILED\n{problem}", flush=True)
        return Result(run.block, run.told, 0, 0, 0, failed=True)
    spent = (time.monotonic() - started) / 60
    result = Result(run.block, run.told, found.expected, len(found.missing), len(found.beyond), remark=run.remark)
    print(f"{run.name}: {result.told}, in {spent:.1f} min", flush=True)
    for word, replies in (("not trained on", found.missing), ("trained on beyond", found.beyond)):
        for reply in replies[:SHOWN]:
            print(f"  {word}: {reply}")
    return result


def templates(environments: Environments) -> dict[str, list[str]]:
    """Which of the templates that TRL knows it can train on the assistant's turns of."""
    model = environments.root / "runs" / "trl-qwen3" / "model"
    command = [str(environments.python("trl")), "-W", "ignore", str(INSIDE / "trl_templates.py"), str(model)]
    found: dict[str, list[str]] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def trl_tests(environments: Environments, chosen: list[Trainer]) -> int:
    """The exit code of the tests that need TRL and transformers, where TRL is among the trainers."""
    if BY_NAME["trl"] not in chosen:
        return 0
    command = [str(environments.python("trl")), "-m", "pytest", "-W", "ignore", "-rP", "tests/train/with_trl"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
