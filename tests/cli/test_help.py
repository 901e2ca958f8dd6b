"""What ``--help`` shows of commands: those with many options show the most used ones, on one screen."""

import click
import pytest

from chatsquash.cli import help_chapters
from chatsquash.cli.main import cli

LONG = ["convert", "shards"]


@pytest.mark.parametrize("name", cli.commands_with_subcommands)
def test_help_has_an_example_and_fits_a_screen(command, name):
    ended = command(*name.split(), "--help")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert len(lines) <= 60
    assert f"Example: chatsquash {name}" in " ".join(ended.out.split())


def test_the_list_of_commands_says_of_each_what_it_does_in_a_whole_sentence(command):
    text = command("--help").out
    assert "..." not in text.partition("Commands:")[2]
    assert "Example: chatsquash convert" in text
    assert all(f"  {name} " in text for name in cli.commands)


def test_logs_in_the_place_of_a_command_are_answered_with_the_command_that_converts_them(
    command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my logs").mkdir()
    ended = command("my logs")
    assert (ended.code, "To convert it: chatsquash convert 'my logs'" in ended.err) == (2, True)
    assert "no such command 'other'" in command("other").err


@pytest.mark.parametrize("name", LONG)
def test_the_most_used_options_are_shown_as_they_are_called(name):
    options = {each.name: each for each in cli.commands[name].params if isinstance(each, click.Option)}
    shown = {each: row for each, row in help_chapters.MOST_USED.items() if each in options}
    assert 15 < len(shown) <= 21
    for each, (spelled, _) in shown.items():
        flags = {part.split()[0] for part in spelled.split(", ")}
        assert flags <= set(options[each].opts)


@pytest.mark.parametrize("name", LONG)
def test_all_options_are_shown_where_they_are_asked_for(command, name):
    text = command(name, "--help-all").out
    options = [each for each in cli.commands[name].params if isinstance(each, click.Option)]
    assert all(max(each.opts, key=len) in text for each in options)
    titles = [line for line in text.splitlines() if line[:1].isalpha() and line.endswith(":")]
    assert titles == [
        "Shortcuts:", "Input:", "Sessions and conversations:", "Records:", "Training:", "Filters and duplicates:",
        "Privacy:",
        "Output:", "Checks:", "Limits:", "Run:",
    ]  # fmt: skip
