"""Scripts run with stand-ins for ssh and Slurm, the manifest is valid, and its commands run as pods would run them."""

import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

from . import slurm
from .clusters import OPTIONS, RECIPES, Cluster, dataset

SCRIPTS = sorted(RECIPES.glob("*.sh"))
VERSIONS = [f"1.{minor}" for minor in range(29, int(kubernetes_validate.latest_version().split(".")[1]) + 1)]
JOBS = list(yaml.safe_load_all((RECIPES / "kubernetes.yaml").read_text(encoding="utf-8")))
SHARDS = 64
_LOCALLY = 'shift; exec sh -c "$*"'  # as ssh does, which joins its words for the shell of the host
_SUBMIT = """
for word; do
  case $word in --array=1-*) last=${word#--array=1-} ;; --dependency=*) after=$word ;; --cpus-per-task=*) cpus=1 ;; esac
done
[ -n "${last-}" ] || { [ "$after" = --dependency=afterany:17 ] && sh -c "$word" >&2 && echo 18; exit; }
for task in $(seq "$last"); do
  SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=$cpus sh -c "$word" >&2 || echo "task $task failed" >&2
done
echo "17;cluster"
"""
"""An array is run at once, the job that depends on it then; the last word is what ``--wrap`` is given."""


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    made.break_a_log()
    made.divide()
    return made


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_of_a_plain_shell(script):
    subprocess.run(["sh", "-n", script], check=True)
    if checker := shutil.which("shellcheck"):
        subprocess.run([checker, "--shell=sh", script], check=True)


def test_hosts_convert_what_one_machine_would(cluster):
    cluster.stand_in("ssh", f'echo "$1" >> "$HOME/hosts"; {_LOCALLY}')
    printed = cluster.recipe("ssh.sh", "alpha", "beta", "gamma", code=3)
    cluster.holds_what_a_local_run_gives(code=3)
    assert sorted((cluster.shared / "hosts").read_text().split()) == ["alpha", "beta", "gamma"]
    assert "failed" not in printed  # lines that cannot be read are no failure of a shard


def test_a_host_that_is_lost_leaves_shards_missing_which_alone_are_converted_then(cluster):
    cluster.stand_in("ssh", f'[ "$1" = alpha ] || exit 255; {_LOCALLY}')
    printed = cluster.recipe("ssh.sh", "alpha", "beta", code=2)
    assert "beta: ssh ended with 255" in printed
    assert "2 of 4 shards not converted: 2, 4;" in printed
    assert dataset(cluster.out) == {}
    before = markers(cluster)
    assert len(before) == 2
    cluster.stand_in("chatsquash", '[ "$1" = merge ] || PATH=${PATH#*:} exec chatsquash "$@"')
    cluster.recipe("ssh.sh", "alpha")
    assert before.items() < markers(cluster).items()
    (cluster.programs / "chatsquash").unlink()
    cluster.run("chatsquash", "merge", str(cluster.out), code=3)
    cluster.holds_what_a_local_run_gives(code=3)


def markers(cluster):
    """The markers of shards that are done, with the time at which each was written."""
    return {path.name: path.stat().st_mtime_ns for path in cluster.out.glob(".chatsquash/shards/done-*")}


def test_a_host_tells_which_shard_failed_and_goes_on_to_the_next(cluster):
    cluster.stand_in("ssh", _LOCALLY)
    cluster.stand_in("chatsquash", 'case "$*" in *"--shard 1/4"*) exit 1 ;; esac; PATH=${PATH#*:} exec chatsquash "$@"')
    printed = cluster.recipe("ssh.sh", "alpha", code=2)
    assert "alpha: shard 1 failed" in printed
    assert not re.search("shard [234] failed", printed)


def test_an_array_of_jobs_converts_what_one_machine_would(cluster):
    cluster.stand_in("sbatch", _SUBMIT)
    assert "failed" not in cluster.recipe("slurm.sh")
    cluster.holds_what_a_local_run_gives(code=3)


def test_the_merge_of_an_array_fails_where_a_shard_is_missing(cluster):
    cluster.stand_in("sbatch", _SUBMIT)
    cluster.stand_in("chatsquash", 'case "$*" in *"--shard 3/4"*) exit 1 ;; esac; PATH=${PATH#*:} exec chatsquash "$@"')
    assert "task 3 failed" in cluster.recipe("slurm.sh", code=1)
    assert dataset(cluster.out) == {}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_say_what_they_want(cluster, script):
    assert cluster.run("sh", str(script), "logs", code=2).startswith(f"usage: sh {script.name} OUT KEY SHARDS")


def test_slurm_that_is_not_installed_is_told_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(slurm, "_PATH", "/nowhere")
    slurm.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Slurm is not tested: munged, slurmctld, ")


# Kubernetes


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifest_is_valid(version):
    for job in JOBS:
        kubernetes_validate.validate(job, version, strict=True)


def test_a_word_that_kubernetes_does_not_know_is_not_valid():
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            {**JOBS[1], "spec": {**JOBS[1]["spec"], "complete": 64}}, VERSIONS[-1], strict=True
        )


def spec(job):
    return job["spec"]["template"]["spec"]


def test_steps_are_chosen_by_their_label():
    assert [job["metadata"]["labels"]["step"] for job in JOBS] == ["shards", "convert", "merge"]
    assert [job["metadata"]["name"].partition("-")[2] for job in JOBS] == ["shards", "convert", "merge"]


def test_only_the_pods_that_convert_see_the_key():
    assert [any("secret" in volume for volume in spec(job)["volumes"]) for job in JOBS] == [False, True, False]
    assert not any("env" in spec(job)["containers"][0] for job in JOBS)


def pods(cluster, shards):
    """What each pod runs, step by step, with fewer shards and the mounted folders as they lie here."""
    places = {"/sessions": cluster.shared, "/key/key": cluster.key}
    for job in JOBS:
        words = [re.sub(rf"\b{SHARDS}\b", str(shards), word) for word in spec(job)["containers"][0]["command"]]
        for mounted, place in places.items():
            words = [word.replace(mounted, f'"{place}"' if words[0] == "sh" else str(place)) for word in words]
        for index in range(min(shards, job["spec"].get("completions", 1))):
            yield words, str(index)


def test_the_number_of_shards_is_the_same_everywhere():
    assert JOBS[1]["spec"]["completions"] == SHARDS
    assert spec(JOBS[0])["containers"][0]["command"][-2:] == ["-n", str(SHARDS)]
    assert f'/{SHARDS}"' in spec(JOBS[1])["containers"][0]["command"][-1]


def test_pods_convert_what_one_machine_would(cluster):
    for words, index in pods(cluster, 3):
        given = OPTIONS if "shards" in words else []
        cluster.run(*words, *given, JOB_COMPLETION_INDEX=index)
    cluster.holds_what_a_local_run_gives(code=3)
