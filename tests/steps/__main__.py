"""Print the measurement of the facts about replies, and each wrong reply: ``python -m tests.steps``."""

from tests.steps.measurement import held_out_sessions, measure, planted_sessions, real_sessions
from tests.steps.sessions import KINDS

SETS = {"planted": planted_sessions(), "held out": held_out_sessions(), "recorded": real_sessions()}

scores = {}
for name, sessions in SETS.items():
    scores[name], wrong = measure(sessions)
    replies = sum(len(session.labels) for session in sessions)
    print(f"{name}: {len(sessions)} conversations, {replies:,} replies")
    for each in wrong:
        print(f"  {'missed' if each.is_missed else 'wrong':6} {each.kind:14} {each.place}: {each.text}")
print("\nlabels, precision and recall")
print(f"{'':14} " + " ".join(f"{name:>21}" for name in SETS))
for kind in KINDS:
    cells = (scores[name][kind] for name in SETS)
    print(
        f"{kind:14} "
        + " ".join(f"{each.right + each.missed:7}{each.precision:7.3f}{each.recall:7.3f}" for each in cells)
    )
