"""The names of report files, for commands that read them without the modules that write them."""

FINDINGS = "reports/findings.jsonl"
REJECTED = "reports/rejected.jsonl"
REPLIES = "reports/replies.jsonl"
LABELS = "reports/loss-labels.jsonl"
PROVENANCE = "provenance"
"""The folder of the provenance."""
