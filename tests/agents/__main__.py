"""``make agents``: install agents, record scenarios of them, check the records, and write the table of docs/sources.md."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from tests.agents import table
from tests.agents.checks import SOURCES, wrong
from tests.agents.clients import Client, NotInstalledError, clients
from tests.agents.invent import pack
from tests.agents.litellm_proxy import LiteLlm
from tests.agents.record import record
from tests.agents.scenarios import BEHIND_LITELLM, SCENARIOS, Scenario
from tests.agents.undecidable import reason

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the agents and scenarios that are named, or all; 1 if a cell is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.agents", description=__doc__)
    parser.add_argument("agents", nargs="*", help="agents to run (all)", metavar="AGENT")
    parser.add_argument("--scenario", action="append", help="only this scenario; may be repeated")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".agents", help="installed agents and recordings (.agents)"
    )
    parser.add_argument("--check", action="store_true", help="check the recordings that are there; run no agent")
    parser.add_argument("--no-table", action="store_true", help="leave results.json and docs/sources.md as they are")
    parser.add_argument("--litellm", action="store_true", help="record with LiteLLM's proxy between agent and model")
    parser.add_argument(
        "--pack", action="store_true", help="keep the recordings that are right as fixtures of make test"
    )
    chosen = parser.parse_args()
    known = clients()
    results = table.load()
    for name in chosen.agents or known:
        found = _agent(known[name], chosen, results.get(name, table.Result()))
        results[name] = found
        if not chosen.no_table:
            results = table.load() | {name: found}  # another run may have saved others meanwhile
            table.save(results)
            _write_page()
    names = chosen.agents or known
    faults = [fault for fault in table.faults(results) if fault.agent in names]
    print(f"{len(faults)} cells are wrong")
    return 1 if faults else 0


def _agent(client: type[Client], chosen: argparse.Namespace, result: table.Result) -> table.Result:
    try:
        install = client.ensure_installed(chosen.folder / "installed")
    except NotInstalledError as error:
        print(f"{client.title}: skipped, {error}", flush=True)
        result.skipped = str(error)
        return result
    result.skipped = ""
    result.version, result.date = client.version(install), datetime.now(UTC).date().isoformat()
    print(f"{client.title} {result.version}", flush=True)
    for scenario in SCENARIOS:
        if chosen.scenario and scenario.name not in chosen.scenario:
            continue
        if chosen.check and not (chosen.folder / "recordings" / client.name / scenario.name / "truth.json").exists():
            continue
        if not set(scenario.needs) <= client.abilities:
            result.cells.pop(scenario.name, None)
        elif not chosen.litellm:
            logged = {
                source: found for source, found in result.cells.get(scenario.name, {}).items() if source == "litellm"
            }
            result.cells[scenario.name] = _cells(client, install, scenario, chosen) | logged
        elif client.litellm and scenario.name in BEHIND_LITELLM:
            result.cells.setdefault(scenario.name, {}).update(_litellm_cell(client, install, scenario, chosen))
    return result


def _cells(client: type[Client], install: Path, scenario: Scenario, chosen: argparse.Namespace) -> dict[str, list[str]]:
    folder = chosen.folder / "recordings" / client.name / scenario.name
    if not chosen.check:
        record(client, install, scenario, folder)
    cells = {source: wrong(folder, client, source) for source in SOURCES}
    _print(scenario, cells)
    if chosen.pack and not any(found and not reason(client.name, scenario.name, at) for at, found in cells.items()):
        print(f"      kept as {pack(folder, client, f'{client.name}-{scenario.name}').name}", flush=True)
    return cells


def _litellm_cell(
    client: type[Client], install: Path, scenario: Scenario, chosen: argparse.Namespace
) -> dict[str, list[str]]:
    folder = chosen.folder / "recordings" / client.name / f"{scenario.name}-litellm"
    if not chosen.check:
        record(client, install, scenario, folder, LiteLlm.ensure_installed(chosen.folder / "installed"))
    cells = {"litellm": wrong(folder, client, "litellm")}
    _print(scenario, cells)
    return cells


def _print(scenario: Scenario, cells: dict[str, list[str]]) -> None:
    for source, found in cells.items():
        print(f"  {scenario.name:12} {source:8} {'right' if not found else f'{len(found)} wrong'}", flush=True)
        for each in found[:6]:
            print(f"      {each}", flush=True)


def _write_page() -> None:
    from tests.generate import with_regions

    page = "docs/sources.md"
    (ROOT / page).write_text(with_regions(page, table.regions()), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
