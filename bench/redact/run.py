"""Measures what the redaction finds, what it hits by mistake, and what it costs: ``make bench-redact``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from bench.redact import corpus, judge, product
from bench.redact.contexts import contexts
from bench.redact.corpus import Made, Size
from bench.redact.encodings import forms
from bench.redact.judge import Share, Verdict
from bench.redact.kinds import is_aside, kinds
from bench.redact.lookalikes import lookalikes
from bench.redact.planted import measure

DOCS = Path(__file__).parents[2] / "docs" / "redaction.md"
_REGION = re.compile(r"(?<=<!-- generated: bench-redact -->\n).*?(?=^<!-- /generated -->)", re.DOTALL | re.MULTILINE)
_MB = 1e6
_ABOUT = """The corpus has {names}: {dense:.1f} MB of records with secrets and {ordinary:.1f} MB without.
A secret is found if no 8 consecutive characters of it remain in the record. A changed look-alike is a false positive.
*With plain* means that the record contains the plain secret in addition to the encoded one. In a skipped record,
nothing counts as found, and every look-alike counts as a false positive.
"""
_SCANNER = "secrets+kingfisher"


class Corpus(NamedTuple):
    """All records, as they are written."""

    dense: list[Made]
    private: dict[str, list[Made]]
    ordinary: list[bytes]

    @property
    def lines(self) -> list[bytes]:
        """The records with secrets."""
        return [orjson.dumps(made.record) for made in self.dense]


@click.command()
@click.option("--quick", is_flag=True, help="Less of everything; for development.")
@click.option("--misses", is_flag=True, help="Say what was missed and hit, of the kinds that rules are written for.")
@click.option("--all", "everything", is_flag=True, help="Say it of those set aside, too.")
@click.option("--no-scanner", is_flag=True, help="Leave out the scanner of the extra.")
@click.option("--no-costs", is_flag=True, help="Measure no time.")
def main(*, quick: bool, misses: bool, everything: bool, no_scanner: bool, no_costs: bool) -> None:
    """Print what is found and hit and what it costs; in full, write it to docs/redaction.md, too."""
    made = made_of(corpus.QUICK if quick else corpus.WHOLE)
    modes = ["secrets"] + ([_SCANNER] if has_scanner() and not no_scanner else [])
    found = {mode: judged(made.dense, product.redacts(mode)) for mode in modes}
    private = {
        name: judged(each, product.redacts("emails" if name == "addresses" else name))
        for name, each in made.private.items()
    }
    changed = _changed(made.ordinary, product.redacts("secrets"))
    if misses or everything:
        for verdicts in (found["secrets"], *private.values()):
            click.echo("\n".join(judge.told(verdicts, aside=everything)))
        click.echo("\n".join(each for pair in changed for each in judge.changes(*pair)))
    page = "\n".join(
        [
            _described(made),
            *shares(made.dense, found),
            *_private(made, private),
            *measure.table(list(measure.outcomes())),
            f"{len(changed):,} of {len(made.ordinary):,} records without secrets were changed.\n",
            *([] if no_costs else _costs(made, modes)),
        ]
    )
    click.echo(page)
    if not (quick or no_scanner or no_costs) and DOCS.exists():
        DOCS.write_text(with_region(DOCS.read_text("utf-8"), page), "utf-8")


def _changed(lines: list[bytes], redact: product.Redact) -> list[tuple[bytes, bytes]]:
    """Records that are not written as they were, before and after; one that is left out has nothing after."""
    pairs = [(line, redact(line) or b"{}") for line in lines]
    return [(before, after) for before, after in pairs if before != after]


def with_region(page: str, made: str) -> str:
    """A page with its generated region made anew, or with one at its end where it has none."""
    if not _REGION.search(page):
        page += "\n<!-- generated: bench-redact -->\n<!-- /generated -->\n"
    return _REGION.sub(lambda _: f"\n{made}\n\n", page)


def made_of(size: Size) -> Corpus:
    """A corpus of a size."""
    return Corpus(corpus.dense(size), corpus.private(size), [orjson.dumps(each) for each in corpus.ordinary(size)])


def has_scanner() -> bool:
    """Whether the extra is installed."""
    if find_spec("kingfisher_sdk"):
        return True
    click.echo("the extra [redact] is not installed, so the scanner is not measured", err=True)
    return False


def judged(made: list[Made], redact: product.Redact) -> list[Verdict]:
    """What came of records, each a session of its own."""
    verdicts = []
    for each in made:
        written = redact(orjson.dumps(each.record))
        verdicts.append(judge.judged(each, None if written is None else orjson.loads(written)))
    return verdicts


def _described(made: Corpus) -> str:
    names = {
        "kinds of secrets": [each.name for each in kinds()],
        "contexts": [each.name for each in contexts()],
        "kinds of look-alikes": [each.name for each in lookalikes()],
    }
    told = [f"{len(each)} {what} ({sum(map(is_aside, each))} held-out)" for what, each in names.items()]
    size = sum(map(len, made.lines)) / _MB, sum(map(len, made.ordinary)) / _MB
    return _ABOUT.format(names=", ".join(told), dense=size[0], ordinary=size[1])


def shares(made: list[Made], found: dict[str, list[Verdict]]) -> Iterator[str]:
    """Return the recall and the false positives of each mode, and the recall of the first one by encoded form."""
    columns = [(mode, aside) for mode in found for aside in (False, True)]
    yield _row("recall", *(f"`{mode}`{', held-out' if aside else ''}" for mode, aside in columns))
    yield "|---|" + "---|" * len(columns)
    found_by = {(mode, aside): judge.recall(made, found[mode], aside=aside) for mode, aside in columns}
    yield _row("plain", *(judge.joined(found_by[each], ["plain"]) for each in columns))
    yield _row("encoded, all", *(judge.joined(found_by[each], forms()) for each in columns))
    yield _row("false positives", *(judge.hits(made, found[mode], aside=aside) for mode, aside in columns))
    yield ""
    for mode, verdicts in found.items():
        yield f"`{mode}` skipped {sum(verdict.left_out for verdict in verdicts):,} of {len(verdicts):,} records."
    yield ""
    first = next(iter(found))
    yield from _by_form([found_by[first, False], found_by[first, True]])


def _by_form(shares: list[dict[tuple[str, bool], Share]]) -> Iterator[str]:
    """Return the recall of encoded secrets, without and with the plain value in the same record."""
    columns = [(beside, aside) for beside in (False, True) for aside in (False, True)]
    titles = (f"{'with' if beside else 'without'} plain{', held-out' if aside else ''}" for beside, aside in columns)
    yield _row("`secrets`, encoded as", *titles)
    yield "|---|" + "---|" * len(columns)
    for family in dict.fromkeys(form.partition("-")[0] for form in forms()):
        row = []
        for beside, aside in columns:
            chosen = {group: share for group, share in shares[aside].items() if group[1] == beside}
            row.append(judge.joined(chosen, [form for form in forms() if form.partition("-")[0] == family]))
        yield _row(family, *row)
    yield ""


def _private(made: Corpus, verdicts: dict[str, list[Verdict]]) -> Iterator[str]:
    yield _row("personal data", "found", "found, held-out", "false positives", "false positives, held-out")
    yield "|---|---|---|---|---|"
    for name, each in made.private.items():
        found = [judge.joined(judge.recall(each, verdicts[name], aside=aside)) for aside in (False, True)]
        hit = [judge.hits(each, verdicts[name], aside=aside) for aside in (False, True)]
        yield _row(name, *found, *hit)
    yield ""


def _costs(made: Corpus, modes: list[str]) -> Iterator[str]:
    yield _row("CPU seconds per MB", "ordinary records", "with secrets", "both")
    yield "|---|---|---|---|"
    todo: list[tuple[str, Callable[[bytes], Any]]] = [("detection (default)", product.looks())]
    todo += [("scanner only", product.looks("kingfisher"))] if _SCANNER in modes else []
    todo += [(f"replacement, `{mode}`", product.redacts(mode)) for mode in modes]
    for what, does in todo:
        spent = [(_seconds(does, lines), sum(map(len, lines)) / _MB) for lines in (made.ordinary, made.lines)]
        both = sum(seconds for seconds, _ in spent), sum(size for _, size in spent)
        yield _row(what, *(f"{seconds / size:.3f}" for seconds, size in (*spent, both)))
    yield ""
    if _SCANNER in modes:
        first, later = scanner_starts()
        yield f"The scanner starts in {first:.1f} s the first time and in {later:.1f} s after that."


def _seconds(does: Callable[[bytes], Any], lines: list[bytes]) -> float:
    does(lines[0])  # what is made once
    started = time.process_time()
    for line in lines:
        does(line)
    return time.process_time() - started


def scanner_starts() -> tuple[float, float]:
    """Seconds until the scanner has searched a first record, in two processes of which the first finds no rules."""
    with tempfile.TemporaryDirectory() as home:
        kept = f"from chatsquash.redaction import scanner; scanner.keep_in({home + '/rules'!r})"
        code = f"{kept}; from bench.redact import product; product.redacts({_SCANNER!r})(b'{{}}')"
        environ = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache"}
        spent = []
        for _ in range(2):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environ)
            spent.append(time.perf_counter() - started)
    return spent[0], spent[1]


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
