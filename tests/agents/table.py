"""The results of ``make agents``, stored in ``results.json``, and the tables of docs/sources.md that show them."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.agents.checks import SOURCES
from tests.agents.clients import clients
from tests.agents.scenarios import SCENARIOS
from tests.agents.undecidable import UNDECIDABLE, Cell, reason

FILE = Path(__file__).with_name("results.json")
REGIONS = ("agents", "agents-wrong", "agents-undecidable", "scenarios")
_UNCHECKED = "from documentation"


@dataclass
class Result:
    """The results of one agent: the faults per scenario and source, as sentences."""

    version: str = ""
    date: str = ""
    skipped: str = ""
    cells: dict[str, dict[str, list[str]]] = field(default_factory=dict)


def load() -> dict[str, Result]:
    """Return the results by agent."""
    values = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {name: Result(**value) for name, value in values.items()}


def save(results: dict[str, Result]) -> None:
    """Store the results, ordered by name."""
    values = {name: asdict(results[name]) for name in sorted(results)}
    FILE.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def regions() -> dict[str, str]:
    """Return the regions of docs/sources.md."""
    results = load()
    return {
        "agents": _agents(results),
        "agents-wrong": _wrong(results),
        "agents-undecidable": _undecidable(),
        "scenarios": _scenarios(results),
    }


def faults(results: dict[str, Result]) -> list[Cell]:
    """Return the cells with faults, without undecidable ones."""
    cells = [
        Cell(name, scenario, source)
        for name, result in results.items()
        for scenario, sources in result.cells.items()
        for source, texts in sources.items()
        if texts
    ]
    return [cell for cell in cells if cell not in UNDECIDABLE]


def verification(name: str, results: dict[str, Result]) -> str:
    """Return the version that a reader was verified with."""
    result = results.get(name)
    return f"{result.version}, {result.date}" if result and result.cells else _UNCHECKED


def _agents(results: dict[str, Result]) -> str:
    rows = [f"| agent | verified with | scenarios of {len(SCENARIOS)} | not correct |", "|---|---|---|---|"]
    for name, client in clients().items():
        result = results.get(name, Result())
        version = verification(name, results) + (f" (not run: {result.skipped})" if result.skipped else "")
        count = f"{len(result.cells)}" if result.cells else ""
        rows.append(f"| {client.title} | {version} | {count} | {_exceptions(name, result)} |")
    return "\n".join(rows)


def _exceptions(agent: str, result: Result) -> str:
    """Return the scenarios of an agent that are not correct for all sources, each with its cell."""
    scenarios = [each.name for each in SCENARIOS if any(result.cells.get(each.name, {}).values())]
    return ", ".join(f"{each}: {_cell(agent, each, result.cells[each])}" for each in scenarios)


def _cell(agent: str, scenario: str, sources: dict[str, list[str]] | None) -> str:
    if sources is None:
        return "-"
    return " ".join(
        _letter(source, sources[source], reason(agent, scenario, source)) for source in SOURCES if source in sources
    )


def _letter(source: str, texts: list[str], why: str) -> str:
    if not texts:
        return source[0].upper()
    return f"({source[0].upper()})" if why else f"~~{source[0].upper()}~~"


def _wrong(results: dict[str, Result]) -> str:
    titles = {name: client.title for name, client in clients().items()}
    wrong = [(cell, results[cell.agent].cells[cell.scenario][cell.source]) for cell in faults(results)]
    rows = [
        f"| {titles[cell.agent]} | {cell.scenario} | {cell.source} | {len(texts)} | {_escape(texts[0])} |"
        for cell, texts in wrong
    ]
    head = ["| agent | scenario | source | faults | first fault |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else "No source is wrong."


def _undecidable() -> str:
    titles = {name: client.title for name, client in clients().items()}
    rows = [f"| {titles[each.agent]} | {each.scenario} | {why} |" for each, why in UNDECIDABLE.items()]
    head = ["| agent | scenario | why it cannot be decided |", "|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else "Every source can be decided."


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")[:200]


def _scenarios(results: dict[str, Result]) -> str:
    """Return the names of all scenarios, and the sentences of those that the tables name."""
    named = {cell.scenario for cell in [*UNDECIDABLE, *faults(results)]}
    names = textwrap.fill(f"{', '.join(each.name for each in SCENARIOS)}.", 120)
    return "\n".join(
        [
            names,
            "",
            *(
                f"- {each.name}: {each.sentence[0].lower()}{each.sentence[1:]}"
                for each in SCENARIOS
                if each.name in named
            ),
        ]
    )
