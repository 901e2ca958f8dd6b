"""Records that name tasks, commits or repositories of benchmarks: ``check --against`` with lists as they are published.

The columns are those of princeton-nlp/SWE-bench (dataset card at 1194adf: instance_id, repo, base_commit, and others),
nebius/SWE-bench-extra and SWE-rebench (the same, with lists of strings as FAIL_TO_PASS), ScaleAI/SWE-bench_Pro (card at 2a4c279),
Terminal-Bench's registry.json (harbor-framework/terminal-bench at d28711d: name, version, commit_hash, task_id_subset), and, from
memory, those of Multi-SWE-bench (org, repo, number, base), SWE-smith and Harbor's registry.
"""

import csv
import gzip
import json
import time
from random import Random

import polars as pl

from chatsquash import check
from tests.conftest import assistant, cases, user

DJANGO = {
    "instance_id": "django__django-11099",
    "repo": "django/django",
    "base_commit": "d26b2424437dabeeca94d7900b37d2df4410da0c",
    "problem_statement": "Names may end with a line feed.",
    "FAIL_TO_PASS": ["tests/test_validators.py::test_names"],
}
REQUESTS = {
    "instance_id": "psf__requests-1963",
    "repo": "psf/requests",
    "base_commit": "110048f9837f8441ea536804115e80b69f400277",
}
TERMINAL = {"name": "terminal-bench-core", "version": "0.1.1", "commit_hash": "91e10457", "task_id_subset": ["hello-world", "fix-permissions"]}  # fmt: skip
TASK, COMMIT, REPOSITORY = "eval-task", "eval-commit", "eval-repository"


def write(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def record(*texts, **more):
    return {"messages": [user("Begin."), *map(assistant, texts)], "tools": [], **more}


def findings(ended):
    """Return the code and text of each finding about tasks."""
    lines = [line.split("\t")[-1] for line in ended.out.splitlines() if "[eval-" in line]
    return [(line[1:].partition("]")[0], line.partition("] ")[2]) for line in lines]


def codes(command, tmp_path, value, *tasks):
    ended = command("check", write(tmp_path / "d.jsonl", value), "--against", write(tmp_path / "t.jsonl", *tasks))
    return [code for code, _ in findings(ended)]


@cases("text, expected",
    ("the id", "I solve django__django-11099.", TASK),
    ("the id as the name of a file", "cat preds/django__django-11099.traj.json", TASK),
    ("the id in upper case", "Instance DJANGO__DJANGO-11099:", TASK),
    ("the name of an image", "docker run swebench/sweb.eval.x86_64.django_1776_django-11099:latest", TASK),
    ("a longer number", "I solve django__django-110991.", REPOSITORY),
    ("a word before it", "xdjango__django-11099 is another", ""),
    ("part of a longer id", "old_django__django-11099 is another", ""),
    ("the whole commit alone", "d26b2424437dabeeca94d7900b37d2df4410da0c", COMMIT),
    ("another whole commit with the same beginning", "git checkout d26b2424437dabeeca94d7900b37d2df4410da0d", ""),
    ("twelve digits after a command", "git checkout d26b2424437d", COMMIT),
    ("twelve digits without a word about commits", "The checksum d26b2424437d is wrong.", ""),
    ("seven digits and the repository", "HEAD is now at d26b242 in https://github.com/django/django", COMMIT),
    ("seven digits of another repository", "HEAD is now at d26b242 in https://github.com/pallets/flask", ""),
    ("seven digits far from any word", f"git log {'x ' * 60}d26b242 in github.com/django/django", REPOSITORY),
    ("six digits", "git checkout d26b24 of github.com/django/django", REPOSITORY),
    ("digits inside a longer word", "commit d26b2424437dzz and xd26b2424437d", ""),
    ("digits in a UUID", "commit 0a1b2c3d-d26b2424437d", ""),
    ("a remote", "origin\thttps://github.com/django/django.git (fetch)", REPOSITORY),
    ("a remote over SSH", "git@github.com:Django/django.git", REPOSITORY),
    ("a remote with a token", "https://x-access-token:abc@github.com/django/django", REPOSITORY),
    ("a file of the repository", "https://raw.githubusercontent.com/django/django/main/README.rst", REPOSITORY),
    ("the API", "curl https://api.github.com/repos/django/django/issues", REPOSITORY),
    ("another owner", "https://github.com/somebody/django", ""),
    ("a longer name", "https://github.com/django/django-stubs", ""),
    ("the folder of OpenHands", "cd /workspace/django__django__3.0", REPOSITORY),
    ("the folder in SWE-bench's image", "ls /testbed/django/core", REPOSITORY),
    ("owner and name that are equal in a path", "ls django/django", ""),
    ("a deeper path", "vi src/django/django/urls.py", ""),
    ("owner and name that are equal after a word", "The repository is django/django.", REPOSITORY),
    ("the name alone", "import django, and pip install django", ""),
)  # fmt: skip
def test_a_record_is_matched(command, tmp_path, text, expected):
    assert codes(command, tmp_path, record("All right.", text), DJANGO) == ([expected] if expected else [])


@cases("text, expected",
    ("owner and name", "I work on psf/requests.", REPOSITORY),
    ("the folder in the image", "cat /testbed/requests/models.py", REPOSITORY),
    ("the name", "import requests; requests.get('/'); a requests/requests mock", ""),
    ("a path", "vi vendor/psf/requests", ""),
    ("a path below", "vi psf/requests/models.py", ""),
    ("other requests", "https://github.com/kennethreitz/requests and pull requests", ""),
    ("a folder elsewhere", "cat /home/ada/requests/models.py", ""),
)  # fmt: skip
def test_names_of_ordinary_words_need_their_owner(command, tmp_path, text, expected):
    assert codes(command, tmp_path, record(text), REQUESTS) == ([expected] if expected else [])


@cases("text, expected",
    ("the words", "Write a hello-world program and run fix-permissions.", ""),
    ("an option", "tb run --dataset terminal-bench-core==0.1.1 --task-id hello-world", TASK),
    ("a member", '{"task_id": "fix-permissions", "is_resolved": true}', TASK),
    ("a path", "cat terminal-bench/tasks/hello-world/task.yaml", TASK),
    ("a sentence", "The task id is: fix it, then say hello-world", ""),
    ("a longer name", "--task-id hello-world-2", ""),
)  # fmt: skip
def test_ids_of_ordinary_words_count_where_a_task_is_named(command, tmp_path, text, expected):
    assert codes(command, tmp_path, record(text), TERMINAL) == ([expected] if expected else [])


def test_the_finding_has_the_message_and_the_number_of_others(command, tmp_path):
    value = record(
        "Nothing.", "psf__requests-1963 and django__django-11099 are at 110048f9837f8441ea536804115e80b69f400277"
    )
    data, tasks = write(tmp_path / "d.jsonl", value), write(tmp_path / "t.jsonl", DJANGO, REQUESTS)
    ended = command("check", data, "--against", tasks)
    assert findings(ended) == [
        (TASK, "messages[2]: task psf__requests-1963 of a benchmark and 1 other task: exclude the session"),
        (
            COMMIT,
            "messages[2]: a task starts from commit 110048f9837f of psf/requests: exclude the session",
        ),
    ]
    assert ended.code == 3
    assert "2 tasks, 2 repositories, 2 commits" in " ".join(ended.err.split())


def test_a_repository_is_a_warning_that_may_fail_the_check(command, tmp_path):
    data = write(tmp_path / "d.jsonl", record("See github.com/django/django."))
    tasks = write(tmp_path / "t.jsonl", DJANGO)
    assert command("check", data, "--against", tasks).code == 0
    assert command("check", data, "--against", tasks, "--fail-on", REPOSITORY).code == 3
    assert command("check", data, "--fail-on", TASK).code == 2


def test_other_members_of_a_record_and_calls_are_searched(command, tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "sh", "arguments": '{"c": "cd django__django-11099"}'}}
    called = {"messages": [user("Hi."), {**assistant(""), "tool_calls": [call]}], "tools": []}
    assert codes(command, tmp_path, called, DJANGO) == [TASK]
    assert codes(command, tmp_path, record("Hi.", session_id="django__django-11099"), DJANGO) == [TASK]


@cases("name, row, text, expected",
    ("Multi-SWE-bench", {"org": "ponylang", "repo": "ponyc", "number": 4588, "base": {"sha": "a" * 40}}, "https://github.com/ponylang/ponyc", REPOSITORY),
    ("its commit", {"org": "ponylang", "repo": "ponyc", "base": {"sha": "abcdef01" * 5}}, "abcdef01" * 5, COMMIT),
    ("SWE-smith", {"repo": "swesmith/oauthlib__oauthlib.1fd52536"}, "The repository oauthlib/oauthlib", REPOSITORY),
    ("a task of SWE-smith", {"instance_id": "oauthlib__oauthlib.1fd52536.combine_file__09vlzwgc"}, "oauthlib__oauthlib.1fd52536.combine_file__09vlzwgc", TASK),
    ("SWE-bench Pro", {"instance_id": "instance_NodeBB__NodeBB-04998908ba6721d64eba79ae3b65a351dcfbc5b5-vnan"}, "image:instance_NodeBB__NodeBB-04998908ba6721d64eba79ae3b65a351dcfbc5b5-vnan", TASK),
    ("Harbor's registry", {"name": "terminal-bench", "version": "2.0", "tasks": [{"name": "build-pmars", "path": "build-pmars", "git_url": "https://github.com/a/b.git"}]}, "harbor run --task-name build-pmars", TASK),
    ("a URL as repository", {"repo": "https://github.com/django/django.git"}, "github.com/django/django", REPOSITORY),
)  # fmt: skip
def test_lists_of_other_benchmarks(command, tmp_path, name, row, text, expected):
    assert codes(command, tmp_path, record(text), row) == [expected]


def test_lists_in_other_files(command, tmp_path):
    data = write(tmp_path / "d.jsonl", record("psf__requests-1963"))
    pl.DataFrame([DJANGO, {**DJANGO, **REQUESTS}]).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.json").write_text(json.dumps([DJANGO, REQUESTS], indent=1))
    (tmp_path / "c.json").write_text(json.dumps([{**TERMINAL, "task_id_subset": ["psf__requests-1963"]}]))
    with (tmp_path / "d.csv").open("w") as file:
        table = csv.DictWriter(file, REQUESTS)
        table.writeheader()
        table.writerows([REQUESTS])
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(json.dumps(REQUESTS).encode()))
    (tmp_path / "f.json").write_text(f"{json.dumps(DJANGO)}\n{json.dumps(REQUESTS)}\n")
    for name in ("a.parquet", "b.json", "c.json", "d.csv", "e.jsonl.gz", "f.json"):
        assert [code for code, _ in findings(command("check", data, "--against", str(tmp_path / name)))] == [TASK], name


@cases("name, content, message",
    ("bad.json", b"{", "not valid JSON; use a list of tasks, an object, or JSON Lines"),
    ("bad.jsonl", b'{"instance_id": "a__b-1"}\n[', "bad.jsonl:2: "),
    ("bad.csv", b"repo\n\xff\n", "not UTF-8"),
    ("bad.parquet", b"PAR1", "cannot be read"),
    ("deep.json", b"[" * 100_000, "not valid JSON"),
)  # fmt: skip
def test_files_that_are_no_list_are_refused(command, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    ended = command("check", write(tmp_path / "d.jsonl", record("Hi.")), "--against", str(tmp_path / name))
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert str(tmp_path / name) in ended.err.replace("\n", "")


def test_values_that_cannot_be_used_are_counted(command, tmp_path):
    rows = [
        {"instance_id": 7, "repo": "numpy", "base_commit": "main"},
        {"instance_id": "", "repo": {"a": 1}, "base_commit": 5},
        {"task_id": "HumanEval/12", "repo": "a" * 1_000_000},
        {"task_id_subset": [None, ["x"]], "tasks": [{"name": 3, "path": ""}, 4], "base": {"sha": None}},
    ]
    data = write(tmp_path / "d.jsonl", record("task_id: 12 of numpy"))
    ended = command("check", data, "--against", write(tmp_path / "t.jsonl", *rows))
    assert findings(ended) == []
    assert (
        "12 values cannot be used (base.sha, base_commit, instance_id, repo, task_id, task_id_subset, tasks)"
        in " ".join(ended.err.split())
    )


def test_time_is_linear_in_tasks_and_texts(command, tmp_path):
    random = Random(1)
    tasks = [
        {"instance_id": f"owner{n % 500}__name{n % 500}-{n}", "repo": f"owner{n % 500}/name{n % 500}", "base_commit": f"{random.getrandbits(160):040x}"}
        for n in range(20_000)
    ]  # fmt: skip
    hashes = " ".join(f"commit {random.getrandbits(160):040x}" for _ in range(20_000))
    texts = [
        hashes,
        "a." * 500_000,
        "__" * 500_000,
        "a/b " * 300_000,
        f"git checkout {tasks[7]['base_commit'][:7]} " * 50_000,
        "task_id: hello-world " * 50_000,
        "0123456789abcdef" * 100_000,
        "github.com/" * 100_000,
    ]
    path = write(tmp_path / "t.jsonl", TERMINAL, *tasks)
    data = write(tmp_path / "d.jsonl", record(*texts, "owner7__name7-19507"))
    start = time.process_time()
    ended = command("check", data, "--against", path)
    assert [code for code, _ in findings(ended)] == [TASK, COMMIT]
    assert time.process_time() - start < 30
    assert "20,002 tasks, 500 repositories, 20,000 commits" in " ".join(ended.err.split())


def test_the_first_task_of_the_text_is_named(command, tmp_path):
    names = [f"a__b-{number}" for number in range(50)]
    data = write(tmp_path / "d.jsonl", record(" ".join(reversed(names))))
    tasks = write(tmp_path / "t.jsonl", *({"instance_id": name} for name in names))
    ended = command("check", data, "--against", tasks)
    assert findings(ended)[0][1].startswith("messages[1]: task a__b-49 of a benchmark and 49 other tasks")


def test_the_function_reports_them_too(tmp_path):
    data = write(tmp_path / "d.jsonl", record("I solve django__django-11099."))
    found = check([data], against=[write(tmp_path / "t.jsonl", DJANGO)])
    assert [each.code for each in found if each.code.startswith("eval-")] == [TASK]
