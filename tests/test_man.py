"""Every command has a manual page, which says what ``--help-all`` says."""

import re
import shutil
import subprocess

import click
import pytest

from chatsquash.cli.main import cli
from tests.conftest import cases

from . import man

PAGES = man.pages()


def plain(text):
    return re.sub(r"\\(.)", lambda found: {"e": "\\", "&": ""}.get(found[1], found[1]), text)


def test_every_command_has_a_page():
    assert set(PAGES) == {"chatsquash.1", *(f"chatsquash-{name}.1" for name in cli.commands)}


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_page_has_every_option_of_its_command_once_and_what_the_command_does(name):
    text = plain(PAGES[f"chatsquash-{name}.1"])
    options = [param for param in cli.commands[name].params if isinstance(param, click.Option)]
    listed = re.findall(r"^\.TP\n\.B (.*)$", text, re.MULTILINE)
    for option in options:
        spelled = max(option.opts, key=len)
        assert len([row for row in listed if re.search(rf"{spelled}(?![\w-])", row.split(" / ")[0])]) == 1, spelled
    assert " ".join(cli.commands[name].help.split("\n\n")[0].split()) in text


def test_the_page_of_the_command_lists_its_commands():
    text = plain(PAGES["chatsquash.1"]).split("\n.SH MAKE A DATASET\n")[1]
    assert re.findall(r"^\.TP\n\.B (.*)$", text, re.MULTILINE) == [*cli.commands]
    assert re.findall(r"^\.SH (.*)$", text, re.MULTILINE)[:2] == ["LOOK AT LOGS AND DATASETS", "CHECK A DATASET"]


def test_options_of_a_command_with_many_stand_in_groups():
    titles = re.findall(r"^\.SS (.*)$", PAGES["chatsquash-convert.1"], re.MULTILINE)
    assert titles[:4] == ["Shortcuts", "Input", "Sessions and conversations", "Records"]
    assert titles[-1] == "Run"


@cases(
    "text, made",
    ("a-b", "a\\-b"),
    ("a\\b", "a\\eb"),
    (".TH x", "\\&.TH x"),
    ("'x'", "\\&'x'"),
    ("two\n  lines", "two lines"),
)
def test_text_is_no_request_and_no_escape(text, made):
    assert man._text(text) == made


@pytest.mark.parametrize(
    "reader", [["groff", "-man", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]], ids=lambda reader: reader[0]
)
@pytest.mark.parametrize("name", sorted(PAGES))
def test_readers_of_manual_pages_have_nothing_to_say(name, reader, tmp_path):
    if shutil.which(reader[0]) is None:
        pytest.skip(f"{reader[0]} is not installed")
    file = tmp_path / name
    file.write_text(PAGES[name], encoding="utf-8")
    done = subprocess.run([*reader, str(file)], capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
    assert said == []
