"""All cases."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.same_bytes import options

Step = tuple[str, ...] | Callable[[Path], None]
"""The arguments of ``chatsquash``, or a change of the folder."""
EARLIER = "earlier:"
"""In front of the arguments, where the base runs them for both sides; the output of this step is not compared."""

FORMS = ("anthropic", "clippy", "gemini", "model_messages", "ollama", "openai_chat", "openai_responses")
FORMS += ("oumi", "oumi_history", "portable", "pydantic_ai", "vercel_ai", "sts", "atif")
COMMANDS = ("check", "convert", "explain", "formats", "inspect", "list", "merge", "push", "redact", "report", "shards")
COMMANDS += ("show", "sources", "stats", "translate", "verify", "view")
LOGS = ("samples", "golden", "generated")
ONE = ("--workers", "1")


@dataclass(frozen=True)
class Case:
    """Commands that run one after the other in a folder of their own."""

    name: str
    steps: tuple[Step, ...]
    inputs: dict[str, str] = field(default_factory=dict)
    """Folders of the case, which are not compared, with the folders in the cache that they are copied from."""
    texts: dict[str, str] = field(default_factory=dict)
    quick: bool = False

    @property
    def folder(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower())

    @property
    def digest(self) -> str:
        """What its outcome depends on."""
        steps = [inspect.getsource(step) if callable(step) else step for step in self.steps]
        text = json.dumps([steps, self.inputs, self.texts])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def cases(inputs: Path) -> list[Case]:
    """All cases for the inputs that exist."""
    made = [case for group in _GROUPS for case in group(inputs)]
    assert len({case.folder for case in made}) == len(made), "two cases have one name"
    return made


def _same(*names: str) -> dict[str, str]:
    return {name: f"inputs/{name}" for name in names}


def _convert(inputs: Path) -> Iterator[Case]:
    samples = tuple(name for name in options.SETS if name not in options.GOLDEN_ONLY)
    chosen = {"samples": samples, "golden": tuple(options.SETS)}
    chosen |= {"generated": options.GENERATED, "exchanges": options.EXCHANGES}
    for logs, names in chosen.items():
        if (inputs / logs).exists():
            for name in dict.fromkeys(names):
                quick = name in options.QUICK and (logs == "samples" or name in ("default", "all"))
                steps = (options.arguments(name, logs),)
                yield Case(f"convert {logs} {name}", steps, _same(logs, "templates"), options.TEXTS, quick)


def _golden_options(inputs: Path) -> Iterator[Case]:
    """The golden logs with the options of their cases."""
    for group in sorted((inputs / "options").iterdir()):
        values = json.loads((group / "options.json").read_text(encoding="utf-8"))
        words = [word for name, value in values.items() for word in _option(name, value)]
        steps = (("convert", "logs", "--output", "out", "--no-anonymize", *words, *ONE),)
        yield Case(f"options {' '.join(words)}", steps, {"logs": f"inputs/options/{group.name}/logs"})


def _option(name: str, value: object) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (option, str(each))]


def _results(inputs: Path) -> Iterator[Case]:
    """What reads a result, or changes it."""
    made = ("convert", "samples", "golden", "-o", "out", "-q", "--on-invalid", "keep", *ONE)
    readers: dict[str, tuple[Step, ...]] = {
        "verify": (("verify", "out"), ("verify", "out", "samples", "golden", "--logs"), ("verify", "out", "--json")),
        "verify damaged": (_damage, ("verify", "out"), ("verify", "out", "--json"), ("stats", "out")),
        "stats": (
            ("stats", "out"),
            ("stats", "out", "--json"),
            ("stats", "out", "--template", "templates/thinking.jinja"),
        ),
        "show": tuple(("show", "out", str(n), *more) for n in (1, 5, 40) for more in ((), ("--unfold",), ("--json",))),
        "show nothing": (("show", "out", "99999"), ("show", "out", "no-such-id"), ("show", "samples", "1")),
        "check": (
            ("check", "out"),
            ("check", "out", "--json", "--check-arguments"),
            ("check", "out", "--fail-on", "no-tools"),
        ),
        "check private": (("check", "out", "--redact", "secrets,phones,ips,paths,emails", "--anonymize"),),
        "check against": (("check", "out", "--against", "out/2026-01-12.jsonl"),),
        "report": (("report", "out"),),
        "redact": (
            ("redact", "out", "-o", "clean", "--redact", "secrets,emails,paths,ips,phones"),
            ("redact", "out", "-o", "clean", "--redact", "secrets"),
            ("redact", "out/2026-01-12.jsonl", "-o", "one.jsonl", "--redact", "names:names.txt", "--write-known", "k"),
        ),
        "push dry": (("push", "out", "hf://datasets/me/agents", "--dry-run"),),
        "translate records": tuple(("translate", "out", "--to", form, "-o", f"as-{form}", *ONE) for form in FORMS),
    }
    for name, steps in readers.items():
        quick = name in ("verify", "stats", "check", "show", "report")
        yield Case(f"result {name}", (made, *steps), _same("samples", "golden", "templates"), options.TEXTS, quick)
    for preset in ("hf", "mistral", "openai", "sharegpt", "text"):
        words = ("--preset", preset, "--media", "drop", "--unpaired", "close", "--format", "parquet")
        steps = (
            ("convert", "golden", "-o", "out", "-q", *words, *ONE),
            ("check", "out"),
            ("stats", "out", "--json"),
            ("show", "out", "3"),
            ("verify", "out"),
            ("redact", "out", "-o", "clean", "--redact", "emails,secrets"),
            ("report", "out"),
            ("push", "out", "hf://datasets/me/agents", "--dry-run"),
        )
        yield Case(f"result {preset}", steps, _same("golden"), quick=preset == "hf")
    for template in sorted((inputs / "templates").glob("*.jinja"))[::2]:
        steps = (
            ("convert", "golden", "-o", "out", "-q", *ONE),
            ("check", "out", "--template", f"templates/{template.name}"),
            ("check", "out", "--template", f"templates/{template.name}", "--show", "2"),
        )
        yield Case(f"template {template.stem}", steps, _same("golden", "templates"))


def _damage(folder: Path) -> None:
    path = folder / "out" / "2026-01-12.jsonl"
    path.write_bytes(path.read_bytes()[:-30] + b"\n")
    (folder / "out" / "undated.jsonl").unlink()
    (folder / "out" / "more.jsonl").write_bytes(b"{}\n")


def _translations(inputs: Path) -> Iterator[Case]:
    written = [f"written/{path.name}" for path in sorted((inputs / "written").glob("*.json"))]
    for form in FORMS:
        to = ("--to", form)
        steps = (
            ("translate", "written", *to, "-o", "out", *ONE),
            ("translate", "written", *to, "-o", "one.jsonl", "--jsonl", *ONE),
            ("translate", "written", *to, "-o", "sendable", "--sendable", "--foreign-reasoning", "text", *ONE),
            ("translate", "golden", *to, "-o", "golden-out", "--all-branches", "--anonymize", *ONE),
        )
        more = (
            ("translate", "samples", *to, "-o", "samples-out", "--redact", "secrets,emails", "--sendable", *ONE),
            ("translate", "golden", *to, "-o", "two", "--workers", "2"),
        )
        steps += more if form in ("anthropic", "openai_chat", "gemini", "portable") else ()
        yield Case(f"translate {form}", steps, _same("written", "golden", "samples"), quick=form == "anthropic")
        steps = tuple(("translate", each, *to, "-o", "-", "--lossless", *ONE) for each in written)
        yield Case(f"lossless {form}", steps, _same("written"))
    if (inputs / "exchanges").exists():
        for form in FORMS[:6]:
            steps = (("translate", "exchanges", "--to", form, "-o", "out", *ONE),)
            yield Case(f"translate exchanges {form}", steps, _same("exchanges"))


def _inspections(inputs: Path) -> Iterator[Case]:
    for logs in (*LOGS, "exchanges"):
        if (inputs / logs).exists():
            for more in ("", "--json", "--verbose", "--sessions-by chain", "--definitions"):
                words = more.split()
                quick = logs == "samples" and more in ("", "--json")
                yield Case(f"inspect {logs} {more}", (("inspect", logs, *words),), _same(logs), quick=quick)


def _shards(inputs: Path) -> Iterator[Case]:
    del inputs
    more = {"default": "", "dataset": "--format parquet --split train=0.8,test=0.2 --metadata --duplicates near"}
    more |= {"all": "--conversations all --trace-replies --redact secrets,paths --keep-rejected", "join": "--join"}
    more |= {"chain": "--sessions-by chain", "pairs": "--pairs logged --preset hf --media drop --unpaired cut"}
    for name, words in more.items():
        steps = (
            ("shards", "samples", "golden", "--shards", "3", "-o", "out", *words.split()),
            *(("convert", "--shard", f"{n}/3", "-o", "out", *ONE) for n in (2, 1)),
            ("merge", "out"),
            ("convert", "--shard", "3/3", "-o", "out", "--workers", "2"),
            ("merge", "out", "--json"),
            ("merge", "out"),
            ("verify", "out"),
        )
        yield Case(f"shards {name}", steps, _same("samples", "golden"), quick=name == "dataset")


def _runs(inputs: Path) -> Iterator[Case]:
    """Runs into folders that already contain something, also what the base left there."""
    del inputs
    again = ("convert", "samples", "golden", "generated", "-o", "out", *ONE)
    two = (*again[:-1], "2")
    logs = _same(*LOGS)
    killed = {**logs, "state": "states/killed"}
    yield Case("again", (again, again, _append, again, (*again, "--full"), ("verify", "out")), logs, quick=True)
    yield Case(
        "again other options", (again, (*again, "--preset", "hf"), (*again, "--preset", "hf", "--replace")), logs
    )
    other = ("convert", "samples", "-o", "out", *ONE)
    yield Case("other logs", (again, other, (*other, "--replace"), (*other, "--force")), logs)
    yield Case("a folder with other files", (_other_files, other, (*other, "--force")), logs)
    yield Case("resume a killed run", (_start, (*two, "--resume"), ("verify", "out")), killed, quick=True)
    yield Case("run again after a killed run", (_start, again, ("verify", "out")), killed)
    yield Case("resume with other options", (_start, (*again, "--resume", "-j")), killed)
    yield Case(
        "read a killed run", (_start, *((name, "out") for name in ("verify", "merge", "stats", "report"))), killed
    )
    earlier = (EARLIER, *again)
    yield Case("after a run of the base", (earlier, again, _append, again, ("verify", "out")), logs, quick=True)
    yield Case("redo a run of the base", (earlier, (*again, "--full"), ("report", "out")), logs)
    divide, *both = (
        ("shards", *again[1:-2], "--shards", "2"),
        *(("convert", "--shard", f"{n}/2", "-o", "out", *ONE) for n in (1, 2)),
    )
    merge = (("merge", "out"), ("verify", "out"))
    yield Case(
        "merge shards of the base", ((EARLIER, *divide), *((EARLIER, *step) for step in both), *merge), logs, quick=True
    )
    yield Case(
        "go on with shards of the base", ((EARLIER, *divide), (EARLIER, *both[0]), both[1], *merge, divide), logs
    )


def _start(folder: Path) -> None:
    (folder / "state" / "out").rename(folder / "out")


def _append(folder: Path) -> None:
    """One more entry in one log, one log less."""
    first, *_, last = sorted((folder / "generated").rglob("*.jsonl"))
    first.write_bytes(first.read_bytes() + last.read_bytes())
    last.unlink()


def _other_files(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("mine\n", encoding="utf-8")


def _usage(inputs: Path) -> Iterator[Case]:
    del inputs
    for name in COMMANDS:
        steps = (
            (name, "--help"),
            (name, "--help-all"),
            (name,),
            (name, "--no-such-option"),
            (name, "--show-config", "a", "b"),
        )
        yield Case(f"usage {name}", steps, quick=name in ("convert", "translate"))
    steps = ((), ("--help",), ("--version",), ("no-such-command",), ("formats",), ("formats", "--json"), ("sources",))
    yield Case("usage", (*steps, ("sources", "--json"), ("explain",)), quick=True)
    codes = ("no-tools", "replies-lost", "undeclared-tool", "short-tail", "no-such-code")
    yield Case("explain", tuple(("explain", code) for code in codes))
    settings = '[convert]\npreset = "hf"\nmedia = "drop"\n[profile.small.convert]\nmax-chars = 900\nno-such = 1\n'
    steps = (
        ("convert", "samples", "--show-config"),
        ("convert", "samples", "--show-config", "--profile", "small"),
        ("convert", "samples", *ONE),
        ("convert", "samples", "-o", "out2", "--profile", "none"),
    )
    yield Case("settings", steps, _same("samples"), {"chatsquash.toml": settings})
    settings = settings.replace("no-such = 1\n", "")
    yield Case("settings of a profile", steps, _same("samples"), {"chatsquash.toml": settings})


_WRONG = [
    *(
        "--preset nothing",
        "--split train=2",
        "--split a",
        "--shard 1/0",
        "--shard 3/2",
        "--where nope>1",
        "--where messages>",
    ),
    *("--max-chars 0", "--workers 0", "--since yesterday", "--since 2026-05-01 --until 2026-01-01", "--from nothing"),
    *("--samples auto", "--samples auto --template missing.jinja", "--pairs logged", "--pairs logged --preset chat"),
    *(
        "--restored-loss 1",
        "--loss-skip-failed",
        "--restored-loss 2",
        "--keep logprobs",
        "--media keep",
        "--media drop",
    ),
    *(
        "--join --sessions-by id",
        "--join --conversations last",
        "--unpaired cut",
        "--unpaired-text x",
        "--sample-shape messages",
    ),
    *(
        "--group-by none --format parquet",
        "--single-file --group-by date",
        "--shard-size 1",
        "--shard-size x",
        "--metadata",
    ),
    *(
        "--redact nothing",
        "--redact names:missing",
        "--redact-pattern x",
        "--redact-pattern x=(",
        "--redact-rules missing",
    ),
    *(
        "--redact none --no-anonymize",
        "--redact-known missing",
        "--phone-region XX --redact phones",
        "--cleanup nobody",
    ),
    *("--duplicates near --drop-duplicates", "--drop no-such-code", "--fail-on no-such-code", "--tokenizer missing"),
    *(
        "--max-tokens 5",
        "--too-long cut",
        "--strict --on-invalid keep",
        "--resume --full",
        "--replace --force",
        "--resume",
    ),
    *("--tools-file missing", "--system-file missing", "--engine ray", "--address a:1", "--no-merge", "--agent nobody"),
    *(
        "--agent claude-code",
        "--json --quiet",
        "--verbose --quiet",
        "--split-by day",
        "--seed 4",
        "--no-subagents",
        "--no-side",
    ),
    *(
        "--max-line x",
        "--max-memory 1",
        "--include x --exclude x",
        "--only-model nobody",
        "--flag-phrase=",
        "--preset text -j",
    ),
    *(
        "--preset openai -j",
        "--preset mistral --tool-ids keep",
        "--reasoning inline --preset openai",
        "--limit 1",
        "--output samples",
    ),
    *(
        "--output samples/out",
        "--anonymize-key-file missing",
        "--template templates/nothing.jinja",
        "--split-by cluster",
    ),
]


def _errors(inputs: Path) -> Iterator[Case]:
    del inputs
    for number in range(0, len(_WRONG), 8):
        steps = [
            ("convert", "samples", "-o", f"out-{at}", *ONE, *words.split())
            for at, words in enumerate(_WRONG[number : number + 8], number)
        ]
        yield Case(f"errors of convert {number}", tuple(steps), _same("samples"), quick=number == 0)
    paths = ("missing", "empty", "loop", "cut.jsonl.gz", "database.db", "zeros.jsonl", "text.jsonl", "blank.jsonl")
    for name, words in {"convert": ("-o",), "inspect": (), "translate": ("--to", "portable", "-o")}.items():
        for path in ("odd", *(f"odd/{path}" for path in paths)):
            out = ("out",) if words else ()
            yield Case(
                f"{name} {path}", (_odd_files, (name, path, *words, *out), *_readers(name, path)), quick=path == "odd"
            )
    steps = (
        _odd_files,
        *((name, "odd") for name in ("check", "stats", "verify", "report", "merge")),
        ("show", "odd", "1"),
        ("redact", "odd", "-o", "clean", "--redact", "emails"),
        *((name, "odd/missing") for name in ("check", "stats", "verify", "report", "merge")),
        ("translate", "odd/text.jsonl", "--to", "nothing", "-o", "x"),
        ("translate", "-", "--to", "portable", "-o", "-"),
        ("push", "odd", "hf://datasets/x"),
        ("push", "odd", "s3://x"),
        ("shards", "odd", "--shards", "0", "-o", "x"),
        ("shards", "odd/missing", "--shards", "2", "-o", "x"),
        ("convert", "s3:", "-o", "x"),
        ("view", "odd/missing"),
    )
    yield Case("errors of other commands", steps)


def _readers(name: str, path: str) -> tuple[Step, ...]:
    return ((name, path, "--json"),) if name == "inspect" else ()


def _odd_files(folder: Path) -> None:
    odd = folder / "odd"
    (odd / "empty").mkdir(parents=True)
    (odd / "loop").symlink_to("loop")
    line = b'{"request": {"messages": [{"role": "user", "content": "Hello"}]}, "response": null}\n'
    (odd / "cut.jsonl.gz").write_bytes(gzip.compress(line * 500, mtime=0)[:-12])
    (odd / "database.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    (odd / "zeros.jsonl").write_bytes(bytes(5000))
    (odd / "text.jsonl").write_bytes(b"Hello\nworld\n{broken\n[1, 2]\n" + line)
    (odd / "blank.jsonl").write_bytes(b"\n \n\n")


_GROUPS = (_convert, _golden_options, _results, _translations, _inspections, _shards, _runs, _usage, _errors)
