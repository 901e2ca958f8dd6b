"""Logs, a key and an output folder for a recipe, and what a local run makes of them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "docs" / "recipes"
KEY = "the key of the recipes\n"
_MANY = 12
OPTIONS = ["--format", "jsonl"]


class Cluster:
    """A folder that all nodes see, whose name is no word for a shell, and a PATH with stand-ins for its programs."""

    def __init__(self, folder: Path) -> None:
        self.shared = folder / "it's shared"
        self.programs = folder / "programs"
        self.logs, self.out, self.key = (self.shared / name for name in ("logs", "out", "key"))
        self.logs.mkdir(parents=True)
        self.programs.mkdir()
        self.key.write_text(KEY)
        for number in range(_MANY):
            self.write(f"session-{number}", f"Mail number-{number}@example.org, please")

    def write(self, name: str, text: str) -> None:
        """A log of one line, with an address in it."""
        line = '{"timestamp": 1, "session_id": "%s", "request": {"messages": [{"role": "user", "content": "%s"}]}, '
        reply = '"response": {"choices": [{"message": {"role": "assistant", "content": "Done"}}]}}\n'
        (self.logs / f"{name}.jsonl").write_text(line % (name, text) + reply)

    def break_a_log(self) -> None:
        """A line that cannot be read, so that its shard exits with 3."""
        with (self.logs / "session-0.jsonl").open("a") as file:
            file.write("no JSON\n")

    def stand_in(self, name: str, script: str) -> None:
        """A program of the cluster, or one that stands before ours."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def environment(self) -> dict[str, str]:
        """Stand-ins first, then the commands of this environment."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CHATSQUASH_")}
        path = [str(self.programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        return {**clean, "PATH": os.pathsep.join(path), "HOME": str(self.shared)}

    def run(self, *command: str, code: int = 0, **variables: str) -> str:
        """What a command prints that ends with an exit code."""
        done = subprocess.run(
            command, env=self.environment() | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
        )
        printed = done.stdout.decode()
        assert done.returncode == code, printed
        return printed

    def divide(self, shards: int = 4) -> None:
        """The first step."""
        self.run("chatsquash", "shards", str(self.logs), "-o", str(self.out), "-n", str(shards), *OPTIONS)

    def recipe(self, name: str, *words: str, code: int = 0) -> str:
        """What a script of the recipes prints, over four shards."""
        return self.run("sh", str(RECIPES / name), str(self.out), str(self.key), "4", *words, code=code)

    def holds_what_a_local_run_gives(self, code: int = 0) -> None:
        """The merged dataset is that of one run, byte for byte."""
        local = self.shared / "local"
        given = ["--output", str(local), "--anonymize-key-file", str(self.key), *OPTIONS]
        self.run("chatsquash", "convert", str(self.logs), *given, code=code)
        assert dataset(self.out) == dataset(local)
        assert any(b"example.org" not in each for each in dataset(self.out).values())


def dataset(out: Path) -> dict[str, bytes]:
    """The files of a result by name, but for what tells when and how it was made."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    names = {path: path.relative_to(out).as_posix() for path in files}
    return {name: path.read_bytes() for path, name in names.items() if name[0] != "." and name != "run.json"}
