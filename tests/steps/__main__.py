"""Print the measurement of the facts about replies, and each wrong reply: ``python -m tests.steps``."""

from tests.steps.measurement import measure, planted_sessions, real_sessions
from tests.steps.sessions import KINDS

both = (*planted_sessions(), *real_sessions())
scores, wrong = measure(both)
for each in wrong:
    print(f"{'missed' if each.is_missed else 'wrong':6} {each.kind:14} {each.place}: {each.text}")
replies = sum(len(session.labels) for session in both)
print(f"\n{len(planted_sessions())} planted and {len(real_sessions())} labelled conversations, {replies:,} replies\n")
print(f"{'kind':14} {'labels':>6} {'of them real':>12} {'precision':>9} {'recall':>6}")
for kind in KINDS:
    score = scores[kind]
    recorded = sum(kind in kinds for session in real_sessions() for kinds in session.labels.values())
    print(f"{kind:14} {score.right + score.missed:6} {recorded:12} {score.precision:9.3f} {score.recall:6.3f}")
