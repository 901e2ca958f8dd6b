"""Sets of options of ``convert``."""

from __future__ import annotations

SETS: dict[str, str] = {
    "default": "",
    "json-tool-calls": "-j",
    "native": "-J",
    "reasoning-inline": "--reasoning inline --loss weight",
    "reasoning-drop": "--reasoning drop",
    "hf": "--preset hf",
    "hf-keep": "--preset hf --media keep --keep logprobs --unpaired close --unpaired-text nothing",
    "hf-parquet": "--preset hf --media drop --unpaired cut --format parquet --metadata --split train=0.8,validation=0.2",
    "openai": "--preset openai --media drop --unpaired cut",
    "mistral": "--preset mistral --media drop --unpaired close",
    "sharegpt": "--preset sharegpt --media drop --loss loss",
    "text": "--preset text --media drop",
    "text-inline": "--preset text --media drop -j --reasoning inline",
    "all": "--conversations all --loss weight --trace-replies",
    "main": "--conversations main --loss training --loss-skip-failed",
    "all-but-asides": "--conversations all --no-side --no-subagents --trace-replies",
    "restore": "--conversations all --restore all --loss weight --restored-loss 1",
    "restore-reasoning": "--restore reasoning --loss weight",
    "restore-results": "--restore results --trace-replies",
    "redact": "--redact secrets,phones,ips,paths,emails --phone-region DE",
    "redact-names": "--redact names:names.txt,secrets --redact-pattern ticket=[A-Z]{2,5}-[0-9]+ --deny deny.txt --allow allow.txt --write-known known.txt",
    "redact-kingfisher": "--redact secrets+kingfisher",
    "no-anonymize": "--no-anonymize",
    "chain": "--sessions-by chain --conversations all",
    "chain-last": "--sessions-by chain --on-invalid keep",
    "id": "--sessions-by id",
    "file": "--sessions-by file --on-invalid keep",
    "join": "--join --trace-replies",
    "join-all": "--join --conversations all",
    "pairs": "--pairs logged --preset hf --media drop --unpaired cut",
    "pairs-counterfactual": "--pairs counterfactual --preset hf --media drop --unpaired cut --conversations all",
    "samples-reply": "--samples reply --preset hf --media drop --unpaired cut",
    "samples-messages": "--samples reply --sample-shape messages --loss weight",
    "samples-auto": "--samples auto --template templates/thinking.jinja --preset hf --media drop --unpaired cut",
    "split-session": "--split train=0.7,test=0.3 --split-by session --seed 3 --metadata",
    "split-cluster": "--split train=0.7,test=0.3 --split-by cluster --format jsonl.gz",
    "split-day": "--split train=0.7,test=0.3 --split-by day --format jsonl.zst",
    "split-scenario": "--split train=0.7,test=0.3 --split-by scenario --shard-size 20KB",
    "parquet": "--format parquet --metadata",
    "near": "--duplicates near",
    "prefix": "--duplicates prefix --conversations all",
    "ids": "--duplicates ids",
    "exact": "--drop-duplicates",
    "where": "--where=messages>3",
    "limits": "--max-chars 5000 --min-turns 2 --max-turns 20",
    "keep-invalid": "--on-invalid keep --keep-rejected --keep-cut",
    "abort": "--on-invalid abort",
    "strict": "--strict",
    "without-goose": "--no-cleanup-goose --cleanup claude-code",
    "modifiers": "--merge-consecutive --split-parallel --split-text-and-calls --system drop --tools used --tool-ids short9 --enums text --bridge-results join",
    "drop-text": "--drop-text-beside-calls --tools last",
    "mark-failed": "--mark-failed-results --preset hf --media drop --unpaired cut",
    "one-file": "--single-file",
    "scenarios": "--group-by scenario",
    "report": "--report --trace-replies",
    "two-workers": "--workers 2",
    "two-workers-all": "--workers 2 --conversations all --sessions-by chain --redact secrets,emails",
    "checks": "--check-arguments --flag-phrase the --verbose",
    "no-reports": "--no-integrity-analysis --no-tool-report",
    "summary-json": "--json",
    "quiet": "--quiet --keep-rejected",
    "small-lines": "--max-line 2KB --max-nesting 6 --max-messages 5 --max-rejected 2 --keep-rejected",
    "dates": "--since 2026-01-13 --until 2026-05-08 --limit 20",
    "globs": "--include *.jsonl --exclude *1*",
    "drop-errors": "--drop errors --fail-on warning --only-model *gpt*",
    "fail-on": "--fail-on error --drop no-tools",
    "as-openai": "--from openai_chat",
}  # fmt: skip
"""Words divided by blanks; one worker unless a set says otherwise."""
QUICK = ("default", "hf-parquet", "all", "restore", "redact", "chain", "join", "pairs", "samples-reply", "near")
GOLDEN_ONLY = (
    *("native", "reasoning-drop", "text", "all-but-asides", "restore-reasoning", "chain-last", "file", "join-all"),
    *("split-session", "split-day", "split-scenario", "prefix", "ids", "exact", "abort", "drop-text", "one-file"),
    *("scenarios", "no-reports", "quiet", "dates", "globs", "drop-errors", "fail-on", "as-openai", "hf-keep"),
)
"""Sets that show no more on the sample logs than on the golden ones."""
EXCHANGES = (*QUICK, "main", "openai", "mistral", "text-inline", "modifiers", "two-workers", "sharegpt", "id")
GENERATED = (
    *QUICK,
    *("json-tool-calls", "reasoning-inline", "main", "keep-invalid", "keep-invalid", "strict", "without-goose"),
    *("modifiers", "two-workers", "small-lines", "checks", "restore-results", "id", "file", "split-cluster", "report"),
)
TEXTS = {"names.txt": "Ada Lovelace\nGoose\n", "deny.txt": "hunter2\n", "allow.txt": "re:.*example.*\n"}


def arguments(name: str, *logs: str) -> tuple[str, ...]:
    """``convert`` with a set of options."""
    words = SETS[name].split()
    workers = () if "--workers" in words else ("--workers", "1")
    return ("convert", *logs, "--output", "out", *words, *workers)
