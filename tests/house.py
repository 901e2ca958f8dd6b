"""Figures on the structure of the code, and a ratchet: ``python -m tests.house``, or ``make house``.

Prints each figure with its recorded value and its goal. The exit code is 1 if a figure is worse (larger) than the value in
``tests/house.json``. ``--record`` writes the current values if none is worse, and with ``--force`` in any case. ``--run`` also
measures figures that need the product to run. Everything is derived from the syntax trees of the files; nothing is imported.

How the figures are counted:

- An *arrow* is an ordered pair of rooms of which one imports the other. A room is a module or package directly below the
  root package, or the root package itself. Late imports and those under ``TYPE_CHECKING`` count, as in the graph that
  ``lint-imports`` builds.
- A *circle* is a group of modules that import each other, directly or not (a strongly connected component), without
  the root package.
- An *upward import* is an arrow against the layers of the import contract, or between two rooms of one layer, including
  arrows that the contract ignores. The root package ranks just above the highest room that it imports.
- A *name with three or more types* is a class name, without leading underscores, that three or more classes have.
- *Identifiers* are names in the syntax tree (variables, attributes, parameters, keywords, definitions, imports), without
  leading underscores; words in strings and comments are not counted.
- A *lone module* is imported by exactly one module, in the same folder. Late imports do not count as lone, nor do public
  modules of a folder that is searched for modules: a package that is passed to a call, as in ``Room(package)``.
- *Types made* are the classes of the package with instances made while one session is converted for the first time in a
  process, imports included: dataclasses, structs, named tuples and classes with their own ``__init__``.
- *Bytes read* and *opens* of an agent's file are those of the whole command, by strace, for a file of a few megabytes: the
  conversation of a sample file over and over.
"""

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
PACKAGE = "chatsquash"
LONGEST = 45
"""Lines that a function has at most."""
CROWD = 3
"""Types of one name, from which on the name is counted."""
IDENTIFIERS = ("told", "found", "held")
PARTICIPLES = frozenset(
    "added agreed altered answered applied asked assembled assigned attached begun blocked borrowed bound bought broken "
    "brought built called carried caught changed checked chosen claimed cleaned closed coloured come compared compiled "
    "converted copied counted covered cut cured damaged decided decoded defined deleted derived described discovered divided "
    "done drawn driven dropped eaten encoded ended entered escaped expanded expected failed fallen fetched filled filtered "
    "finished fitted fixed folded followed found framed freed gathered given gone grouped grown handed heard held hidden "
    "imported indented inferred inlined joined judged kept known laid left lent limited linked listed loaded located locked "
    "logged lost made marked masked matched measured meant mended merged met missed mixed moved named noted numbered offered "
    "opened ordered packed paired parsed passed picked placed planned played posted printed proved pulled pushed put raised "
    "ranked reached read received recorded redacted refused released removed renamed rendered repeated replaced reported "
    "requested resolved resumed returned revealed rewritten sampled saved scored searched seen selected sent separated set "
    "shaped shared shortened shown shut signed skipped sold sorted spent split spoken squeezed staged started stated stolen "
    "stopped stored stripped sunk swept taken tallied taught thrown tidied timed told torn traced transcribed translated "
    "trimmed truncated turned typed undone unfolded unpacked used vanished verified voiced waited wanted warned weighed "
    "withheld won worn woven wrapped written".split()
) - {"cut", "put", "read", "set", "split", "shut", "come"}  # which are also verbs or nouns of the field
GOALS = {
    "lines of Python": 78_000,
    "lines of C": 0,
    "longest function": 45,
    "functions over 45 lines": 0,
    "modules": 540,
    "largest module": 350,
    "arrows between rooms": 120,
    "circles": 0,
    "upward imports": 0,
    "names with three or more types": 9,
    "told, found and held": 149,
    "lines of tests": 71_000,
    "names that are bare participles": 0,
    "lone modules": 0,
    "types made for a log": 79,
    "types made for an agent's file": 79,
    "bytes read, times the size": 1.1,
    "opens": 1,
}

Edge = tuple[str, str]


class Module(NamedTuple):
    """A file of the package."""

    name: str
    is_package: bool
    lines: int
    nodes: list[ast.AST]

    @property
    def folder(self) -> str:
        """The package in which its siblings are."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


def modules(package: Path) -> dict[str, Module]:
    """Every module below a folder by its full name."""
    parsed = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text(encoding="utf-8")
        parsed[name] = Module(name, is_package, len(text.splitlines()), list(_walk(ast.parse(text))))
    return parsed


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node; those within functions have ``late`` set."""
    waiting = [(tree, False)]
    while waiting:
        node, late = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.late = late  # type: ignore[union-attr]
        yield node
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting.extend((child, late) for child in ast.iter_child_nodes(node))


def imports(known: dict[str, Module], *, late: bool = True) -> set[Edge]:
    """Pairs of modules of which the first imports the second."""
    pairs = set()
    for module in known.values():
        for node in module.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom) and (late or not node.late):  # type: ignore[union-attr]
                pairs.update((module.name, target) for target in _targets(module, node, known))
    return {(source, target) for source, target in pairs if source != target and target in known}


def _targets(module: Module, node: ast.Import | ast.ImportFrom, known: dict[str, Module]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        folders = module.folder.split(".")
        base = ".".join([*folders[: len(folders) - node.level + 1], *([base] if base else [])])
    return [name if (name := f"{base}.{alias.name}") in known else base for alias in node.names]


def arrows(edges: Iterable[Edge]) -> set[Edge]:
    """Pairs of rooms of which the first imports the second; the root package is the room ``""``."""
    return {(_room(source), _room(target)) for source, target in edges if _room(source) != _room(target)}


def _room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def circles(edges: Iterable[Edge]) -> list[set[str]]:
    """The strongly connected components of more than one module."""
    ahead: dict[str, set[str]] = defaultdict(set)
    back: dict[str, set[str]] = defaultdict(set)
    for source, target in edges:
        ahead[source].add(target)
        back[target].add(source)
    order: dict[str, None] = {}
    seen: set[str] = set()
    for start in list(ahead):
        waiting = [(start, False)]
        while waiting:
            node, is_finished = waiting.pop()
            if is_finished:
                order[node] = None
            elif node not in seen:
                seen.add(node)
                waiting.append((node, True))
                waiting.extend((target, False) for target in ahead.get(node, ()))
    groups, placed = [], set()
    for start in reversed(order):
        group, rest = set(), [start]
        while rest:
            node = rest.pop()
            if node not in placed:
                placed.add(node)
                group.add(node)
                rest.extend(back.get(node, ()))
        if len(group) > 1:
            groups.append(group)
    return groups


def upward(pairs: set[Edge], layers: list[str]) -> set[Edge]:
    """Arrows against the order of the layers, the highest of which comes first."""
    rank: dict[str, float] = {}
    for place, layer in enumerate(layers):
        for room in re.split(r"[|:]", layer):
            rank[room.strip().strip("()").rpartition(".")[2]] = place
    below = [rank[target] for source, target in pairs if source == "" and target in rank]
    rank[""] = min(below, default=len(layers)) - 0.5
    return {(source, target) for source, target in pairs if rank.get(source, -1) >= rank.get(target, len(layers))}


def lone_modules(known: dict[str, Module]) -> list[str]:
    """Modules that only one sibling imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for source, target in imports(known):
        importers[target].add(source)
    early = imports(known, late=False)
    searched = {folder for module in known.values() for folder in _searched(module, known)}
    lone = []
    for name, module in known.items():
        sources = importers[name]
        folder, _, last = name.rpartition(".")
        if len(sources) != 1 or module.is_package or (folder in searched and not last.startswith("_")):
            continue
        (source,) = sources
        if known[source].folder == folder and source != folder and (source, name) in early:
            lone.append(name)
    return lone


def _searched(module: Module, known: dict[str, Module]) -> Iterator[str]:
    """The packages that a module passes to a call."""
    packages = {"sys.modules[__name__]": module.folder}
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias, target in zip(node.names, _targets(module, node, known), strict=True):
                if target.rpartition(".")[2] == alias.name and target in known and known[target].is_package:
                    packages[alias.asname or alias.name] = target
    for node in module.nodes:
        if isinstance(node, ast.Call):
            for argument in node.args:
                if isinstance(argument, ast.Name | ast.Subscript) and (text := ast.unparse(argument)) in packages:
                    yield packages[text]


def identifiers(module: Module) -> Iterator[str]:
    """Every name in a module's syntax tree, as often as it is there."""
    for node in module.nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.alias(name=name, asname=other):
                yield from name.split(".")
                yield from [other] if other else []
            case ast.ImportFrom(module=str(name)):
                yield from name.split(".")
            case _:
                pass


def participles(known: dict[str, Module]) -> list[str]:
    """Modules, classes and functions whose name is one participle."""
    names = [(name, name.rpartition(".")[2]) for name in known]
    for module in known.values():
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append((f"{module.name}.{node.name}", node.name))
    return sorted(full for full, last in names if last.strip("_").lower() in PARTICIPLES)


def crowded(known: dict[str, Module]) -> dict[str, list[str]]:
    """Class names without leading underscores that three or more classes have, with the modules of these."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in known.values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(module.name)
    return {name: places for name, places in homes.items() if len(places) >= CROWD}


def figures(root: Path) -> dict[str, float]:
    """The figures of a project by their names, without those that need it to run."""
    known = modules(root / "pipeline" / PACKAGE)
    nodes = [(module, node) for module in known.values() for node in module.nodes]
    functions = [node for _, node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = [(function.end_lineno or 0) - function.lineno + 1 for function in functions]
    words = Counter(name.strip("_") for module in known.values() for name in identifiers(module))
    calls = [
        (module.name, node.func.id) for module, node in nodes if isinstance(node, ast.Call) and _is_name(node.func)
    ]
    edges = imports(known)
    pairs = arrows(edges)
    reflected = [name for name, called in calls if called in {"getattr", "hasattr"}]
    return {
        "lines of Python": sum(module.lines for module in known.values()),
        "lines of C": sum(_lines(path) for path in _tracked(root, "*.c", "*.h")),
        "longest function": max(sizes, default=0),
        "functions over 45 lines": sum(size > LONGEST for size in sizes),
        "modules": len(known),
        "largest module": max((module.lines for module in known.values()), default=0),
        "arrows between rooms": len(pairs),
        "circles": len(circles(edge for edge in edges if PACKAGE not in edge)),
        "upward imports": len(upward(pairs, _layers(root))),
        "names with three or more types": len(crowded(known)),
        **{f"identifier {word}": words[word] for word in IDENTIFIERS},
        "told, found and held": sum(words[word] for word in IDENTIFIERS),
        "lines of tests": sum(_lines(path) for path in _tests(root)),
        "calls of getattr": sum(called == "getattr" for _, called in calls),
        "calls of hasattr": sum(called == "hasattr" for _, called in calls),
        "calls of either in formats": sum(_room(name) == "formats" for name in reflected),
        "names that are bare participles": len(participles(known)),
        "lone modules": len(lone_modules(known)),
    }


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _tracked(root: Path, *patterns: str) -> list[Path]:
    """Tracked files; where there is no repository, all files of these patterns."""
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, cwd=root, check=False)
    if listed.returncode == 0:
        return [path for name in listed.stdout.splitlines() if (path := root / name).is_file()]
    return [path for pattern in patterns for path in root.rglob(pattern)]


def _tests(root: Path) -> list[Path]:
    tests = root / "tests"
    return [path for path in tests.rglob("*.py") if "golden" not in path.relative_to(tests).parts]


def _layers(root: Path) -> list[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return next(each["layers"] for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers")


COUNT_TYPES = """
import sys, msgspec
made = set()
class Struct(msgspec.Struct):
    def __post_init__(self):
        made.add(type(self))
msgspec.Struct = Struct
def watch(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_argcount:
        first = code.co_varnames[0]
        if code.co_name in ("__init__", "__post_init__"):
            made.add(type(frame.f_locals.get(first)))
        elif first == "_cls" or (code.co_name == "_make" and first == "cls"):
            made.add(frame.f_locals.get(first))
from chatsquash import convert_session
sys.setprofile(watch)
convert_session(sys.argv[1])
sys.setprofile(None)
names = {f"{kind.__module__}.{kind.__qualname__}" for kind in made}
print(sum(name.startswith("chatsquash.") for name in names))
"""


def measured(root: Path) -> dict[str, float | None]:
    """The figures that need the product to run; None for what cannot be measured here."""
    samples = root / "sample_logs"
    log = min(samples.glob("2*/*.jsonl"))
    document = min((samples / "documents").glob("claude_code-*.jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        size, opens = reads(lengthen(document, Path(folder).resolve() / document.name))
    return {
        "types made for a log": _types(log),
        "types made for an agent's file": _types(document),
        "bytes read, times the size": size,
        "opens": opens,
    }


def _types(path: Path) -> int:
    command = [sys.executable, "-c", COUNT_TYPES, str(path)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def lengthen(path: Path, copy: Path, rounds: int = 400) -> Path:
    """Write a Claude Code file in which the conversation of another continues with the same conversation, many times."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    last = None
    with copy.open("w", encoding="utf-8") as out:
        for number in range(rounds):
            for line in lines:
                changed = dict(line)
                if "uuid" in line:
                    parent = line.get("parentUuid")
                    changed |= {
                        "uuid": f"{line['uuid']}-{number}",
                        "parentUuid": f"{parent}-{number}" if parent else last,
                    }
                if isinstance(message := line.get("message"), dict) and "id" in message:
                    changed["message"] = message | {"id": f"{message['id']}-{number}"}
                out.write(json.dumps(changed) + "\n")
            last = next((f"{line['uuid']}-{number}" for line in reversed(lines) if "uuid" in line), None)
    return copy


def reads(path: Path) -> tuple[float | None, int | None]:
    """How many times its size is read of a file when it is converted, and how often it is opened."""
    if not shutil.which("strace"):
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        trace = ["strace", "-ff", "-y", "-e", "trace=open,openat,read,pread64,mmap", "-o", f"{folder}/trace"]
        command = [sys.executable, "-m", PACKAGE, "convert", str(path), "--quiet", "--output", f"{folder}/out"]
        if subprocess.run([*trace, *command], capture_output=True, check=False).returncode not in {0, 3}:
            return None, None
        lines = [
            line for file in Path(folder).glob("trace.*") for line in file.read_text(errors="replace").splitlines()
        ]
    named = re.escape(f"<{path}>")
    opens = sum(bool(re.match(rf"open(at)?\(.*= \d+{named}", line)) for line in lines)
    plain = [re.match(rf"p?read(?:64)?\(\d+{named}.*= (\d+)$", line) for line in lines]
    mapped = [re.match(rf"mmap\(\w+, (\d+), .*\d+{named}", line) for line in lines]
    return round(sum(int(each[1]) for each in [*plain, *mapped] if each) / path.stat().st_size, 2), opens


def worse(now: dict[str, float | None], recorded: dict[str, float | None]) -> list[str]:
    """The names of figures that are larger than recorded."""
    pairs = [(name, value, recorded.get(name)) for name, value in now.items()]
    return [name for name, value, before in pairs if value is not None and before is not None and value > before]


def table(now: dict[str, float | None], recorded: dict[str, float | None]) -> str:
    """The figures as text."""
    rows = [("figure", "recorded", "now", "goal")]
    rows += [(name, _shown(recorded.get(name)), _shown(now[name]), _shown(GOALS.get(name), "")) for name in now]
    return "\n".join(f"{name:34}{before:>13}{value:>13}{goal:>10}" for name, before, value, goal in rows)


def _shown(value: float | None, missing: str = "not measured") -> str:
    return missing if value is None else f"{value:,}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="tests.house", description="Measure the structure of the code.")
    parser.add_argument("--record", action="store_true", help="record the current values")
    parser.add_argument("--force", action="store_true", help="record them even if a figure is worse")
    parser.add_argument("--run", action="store_true", help="also measure what needs the product to run")
    parser.add_argument("--list", action="store_true", help="list what the figures on names and lone modules count")
    chosen = parser.parse_args(arguments)
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    now: dict[str, float | None] = {**figures(ROOT), **(measured(ROOT) if chosen.run else {})}
    print(table(now, recorded))
    if chosen.list:
        known = modules(ROOT / "pipeline" / PACKAGE)
        print(
            "", *(f"type      {name}: {', '.join(places)}" for name, places in sorted(crowded(known).items())), sep="\n"
        )
        print(*(f"participle  {name}" for name in participles(known)), sep="\n")
        print(*(f"lone      {name}" for name in lone_modules(known)), sep="\n")
    losses = worse(now, recorded)
    for name in losses:
        print(f"worse than recorded: {name}", file=sys.stderr)
    if chosen.record and (chosen.force or not losses):
        values = recorded | {name: value for name, value in now.items() if value is not None}
        RECORD.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        return 0
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
