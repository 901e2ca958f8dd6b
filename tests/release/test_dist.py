"""What is released: what a wheel and an sdist hold, that they build alike anywhere, and the files beside them."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import chatsquash
from chatsquash import checks
from chatsquash.cli.main import cli

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = f"chatsquash-{chatsquash.__version__}"


def built(source: Path, out: Path, umask: int, zone: str) -> dict[str, Path]:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    subprocess.run(command, check=True, capture_output=True, cwd=source, umask=umask, env={"TZ": zone, "LC_ALL": "C"})
    return {path.suffix: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> dict[str, Path]:
    return built(ROOT, tmp_path_factory.mktemp("dist"), 0o022, "Pacific/Auckland")


def tracked(folder: str) -> set[str]:
    """The files of a folder of the checkout, without what runs leave there."""
    ours = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    left = re.compile(r"(^|/)(__pycache__|build|[^/]*\.egg-info|\.data|\.hypothesis|out|out-[^/]*)/|\.so$")
    return {name for name in (path.relative_to(ROOT).as_posix() for path in ours) if not left.search(name)}


def test_the_wheel_holds_the_package_and_nothing_else(dist):
    with zipfile.ZipFile(dist[".whl"]) as archive:
        names = {name for name in archive.namelist() if not name.startswith(f"{NAME}.dist-info/")}
    assert names == {name.removeprefix("pipeline/") for name in tracked("pipeline")}
    assert {name.split("/")[0] for name in names} == {"chatsquash"}
    assert {f"chatsquash/checks/pages/{code}.md" for code in checks.rules()} <= names
    rules = {
        f"chatsquash/redaction/rules/{path.name}" for path in (ROOT / "pipeline/chatsquash/redaction/rules").iterdir()
    }
    assert {name for name in rules if not name.endswith("__pycache__")} <= names
    assert {"chatsquash/py.typed", "chatsquash/__main__.py"} <= names


def test_the_wheel_says_what_the_project_says(dist):
    with zipfile.ZipFile(dist[".whl"]) as archive:
        told = archive.read(f"{NAME}.dist-info/METADATA").decode()
        assert archive.read(f"{NAME}.dist-info/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert b"chatsquash = chatsquash.__main__:main" in archive.read(f"{NAME}.dist-info/entry_points.txt")
    assert {"License-Expression: MIT", "Requires-Python: >=3.11"} <= set(told.splitlines())
    versions = re.findall(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", told, re.MULTILINE)
    assert versions == ["3.11", "3.12", "3.13", "3.14"]


def test_the_sdist_holds_all_that_the_tests_read(dist):
    with tarfile.open(dist[".gz"]) as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    beside = {"CITATION.cff", "SECURITY.md", "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"}
    assert {*beside, "pyproject.toml", "PKG-INFO"} <= names
    for folder in ("pipeline", "tests", "bench", "docs", "sample_logs", ".github"):
        assert tracked(folder) <= names, folder
    assert [name for name in names if re.search(r"(^|/)(\.venv|\.git|__pycache__|dist|out)(/|$)", name)] == []


def test_another_folder_another_time_and_another_umask_give_the_same_bytes(dist, tmp_path):
    with tarfile.open(dist[".gz"]) as archive:
        archive.extractall(tmp_path / "elsewhere", filter="data")
    again = built(tmp_path / "elsewhere" / NAME, tmp_path / "again", 0o077, "America/Lima")
    assert {path.name: path.read_bytes() for path in again.values()} == {
        path.name: path.read_bytes() for path in dist.values()
    }


def test_the_citation_is_that_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert (cited["title"], cited["version"], cited["license"]) == ("chatsquash", chatsquash.__version__, "MIT")
    assert (f"{cited['abstract']}", cited["keywords"]) == (f"{PROJECT['description']}.", PROJECT["keywords"])


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
REQUIRED = {"markdown": {"value"}, "input": {"label"}, "textarea": {"label"}}
"""What GitHub asks of the attributes of each type that the forms use."""


@pytest.mark.parametrize("form", [each for each in FORMS if each.name != "config.yml"], ids=lambda form: form.stem)
def test_an_issue_form_is_one_that_github_shows(form):
    told = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert set(told) == {"name", "description", "labels", "body"}
    asked = [part for part in told["body"] if part["type"] != "markdown"]
    assert asked
    for part in told["body"]:
        assert REQUIRED[part["type"]] <= set(part["attributes"])
        assert set(part["attributes"]) <= REQUIRED[part["type"]] | {"description", "render"}
        assert set(part) <= {"type", "id", "attributes", "validations"}
    names = [part["id"] for part in asked]
    assert len(names) == len(set(names))
    assert any(part.get("validations", {}).get("required") for part in asked)


def test_issue_forms_name_commands_that_there_are():
    texts = [form.read_text(encoding="utf-8") for form in FORMS]
    named = [words for text in texts for words in re.findall(r"`chatsquash ([^`]*)`", text)]
    assert {words.split()[0] for words in named} <= {*cli.commands, "--version"}
    assert {form.stem for form in FORMS} == {"bug", "lost-conversation", "new-source", "config"}
    links = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text(encoding="utf-8"))["contact_links"]
    assert [set(link) for link in links] == [{"name", "url", "about"}]
    assert "SECURITY.md" in links[0]["about"]
    assert "Report a vulnerability" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
