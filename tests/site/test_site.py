"""The site is built with strict links, and its pages load nothing from another host."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatsquash.checks import rules
from tests.conftest import cases

from . import reading, redirects

if "SITE" not in os.environ:
    pytest.skip("make docs-site builds the site and runs these", allow_module_level=True)

ROOT = Path(__file__).parents[2]
POLICY = "default-src 'self' 'unsafe-inline'; img-src 'self' data:"


def build(project: Path, folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site():
    """The folder into which the site was built."""
    return ROOT / os.environ["SITE"]


def pages(site):
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_no_page_style_or_script_loads_from_another_host(site):
    found = list(reading.loads(site))
    assert [load for load in found if not load[1].startswith(tuple(reading.NEVER_ASKED))] == []
    marks = {reading.NEVER_ASKED[url] for _, load in found for url in reading.NEVER_ASKED if load.startswith(url)}
    assert [(name, mark) for name, text in pages(site).items() for mark in marks if mark and mark in text] == []


def test_browsers_are_told_to_load_nothing_from_another_host_before_a_page_loads_anything(site):
    for name, text in pages(site).items():
        head = text.split("<head>", 1)[1]
        policy = head.index(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">')
        first = re.search("<script|<link|<style|<img", head).start()
        assert policy < first, name


def test_all_that_pages_load_is_there(site):
    for name, text in pages(site).items():
        for target in re.findall(r'<(?:script|link|img)[^>]+?(?:src|href)="([^"#?]+)', text):
            file = site / target.lstrip("/") if target.startswith("/") else (site / name).parent / target
            assert target.startswith("data:") or file.exists(), (name, target)


def test_the_search_finds_its_worker_in_the_site(site):
    worker = re.search(r'"search": ?"([^"]+)"', (site / "index.html").read_text(encoding="utf-8"))[1]
    assert (site / worker).is_file()
    assert (site / "search" / "search_index.json").is_file()


def test_every_finding_has_a_page_that_the_index_and_the_checks_link(site):
    made = pages(site)
    old = {page.replace(".md", ".html") for page in redirects.moved_pages()}
    assert {f"findings/{code}.html" for code in rules()} | {"findings/index.html"} == {
        name for name in made if name.startswith("findings/") and name not in old
    }
    for code, rule in rules().items():
        assert f'<a href="{code}.html"><code>{code}</code></a>' in made["findings/index.html"]
        assert f'<a href="findings/{code}.html"><code>{code}</code></a>' in made["checks.html"]
        assert f"Severity: <strong>{rule.severities[0]}</strong>" in made[f"findings/{code}.html"]


def test_every_page_of_docs_is_in_the_site(site):
    folder = ROOT / "docs"
    written = {path.relative_to(folder).with_suffix(".html").as_posix() for path in folder.rglob("*.md")}
    assert written - set(pages(site)) == set()


def test_old_pages_and_anchors_redirect(site):
    made = pages(site)
    for page, targets in redirects.by_page().items():
        assert redirects.script(page, targets) in made[page.replace(".md", ".html")], page


def test_the_index_for_language_models_lists_every_page(site):
    links = re.findall(r"^- \[.+?\]\((.+?)\)", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    old = {page.replace(".md", ".html") for page in redirects.moved_pages()}
    assert sorted(links) == sorted(set(pages(site)) - old - {"404.html"})


LEADS_NOWHERE = {
    "[x](missing.md)": "'missing.md'",
    "[x](cli.md#missing)": "an anchor '#missing'",
    "[x](#none)": "'#none'",
    "[x](/cli.md)": "absolute link '/cli.md'",
    "[x](../missing.py)": "'../missing.py'",
}


def test_links_that_lead_nowhere_fail_the_build(tmp_path):
    for name in (
        "mkdocs.yml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE",
        "pyproject.toml",
    ):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "tests/site", "sample_logs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "pipeline").symlink_to(ROOT / "pipeline")
    links = "\n\n".join(LEADS_NOWHERE)
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n{links}\n\n## Install\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert all(any(said in line for line in warnings) for said in LEADS_NOWHERE.values()), warnings
    assert len(warnings) == len(LEADS_NOWHERE)


@cases(
    "text, found",
    ('<a href="https://example.com/">x</a><script src="main.js"></script><svg xmlns="http://www.w3.org/2000/svg"/>', 0),
    ('<script src="https://example.com/a.js"></script>', 1),
    ('<link rel="preconnect" href="//example.com">', 1),
    ('<img srcset="a.png 1x, https://example.com/a.png 2x">', 1),
    ('<p style="background: url(https://example.com/a.png)">', 1),
    ("<style>@import 'https://example.com/a.css'; p {background: url(//example.com/a.png)}</style>", 2),
    ("<style>/* url(https://example.com) */ p {background: url('data:image/png;base64,xx')}</style>", 0),
    ("<script>fetch('https://example.com/a.json')</script>", 1),
    ("<script>/*! https://example.com/licence */ const space = 'http://www.w3.org/2000/svg'</script>", 0),
    ("<code>fetch('https://example.com/a.json')</code>", 0),
)  # fmt: skip
def test_loads_are_told_from_links(text, found):
    assert len(reading.of_page(text)) == found
