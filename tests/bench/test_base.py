"""An older version is what git holds of it, wherever its package lay."""

import shutil
import subprocess

import pytest

from bench import base

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not there")

PROJECT = '[project]\nname = "chatsquash"\n[project.scripts]\nchatsquash = "{}:main"\n'
MAIN = "def main():\n    import click\n    print('version', {})\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits: the first has its package in the folder of the sources, the second below it."""
    folder = tmp_path / "repository"
    monkeypatch.setattr(base, "ROOT", folder)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for number, package in enumerate(("pipeline", "pipeline/chatsquash"), start=1):
        shutil.rmtree(folder / "pipeline", ignore_errors=True)
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(MAIN.format(number))
        (folder / "pyproject.toml").write_text(PROJECT.format(package.rpartition("/")[2]))
        for words in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "x"], ["tag", f"v{number}"]):
            who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
            subprocess.run(["git", *who, *words], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("number", [1, 2])
def test_a_revision_runs_with_the_packages_of_this_environment(repository, tmp_path, number):
    command = base.build(f"v{number}", tmp_path / "made")
    assert subprocess.run([command], capture_output=True, text=True, check=True).stdout == f"version {number}\n"


def test_a_revision_that_git_does_not_hold_is_told(repository, tmp_path):
    with pytest.raises(base.NoBaseError, match="v3"):
        base.build("v3", tmp_path / "made")


def test_a_revision_that_does_not_start_is_told(repository, tmp_path):
    (repository / "pipeline/chatsquash/__init__.py").write_text(
        "def main():\n    raise SystemExit('no such package')\n"
    )
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "x"],
        cwd=repository,
        check=True,
    )
    with pytest.raises(base.NoBaseError, match="does not start here: no such package"):
        base.build("HEAD", tmp_path / "made")
