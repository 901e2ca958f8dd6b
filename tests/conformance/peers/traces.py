"""What verifiers sees in traces, as JSON on standard output; runs in an environment that has it.

``python traces.py FILE``; gives the branches of each trace: messages, token ids, mask and values.
"""

import json
import sys

from verifiers.v1 import WireTrace


def branches(line):
    trace = WireTrace.model_validate(json.loads(line))
    return [
        {
            "messages": [each.model_dump(mode="json", exclude_none=True) for each in branch.messages],
            "sampled": [node.sampled for node in branch.nodes],
            "ids": branch.token_ids,
            "mask": branch.sampled_mask,
            "logprobs": branch.logprobs,
        }
        for branch in trace.branches
    ]


with open(sys.argv[1], encoding="utf-8") as file:
    print(json.dumps(list(map(branches, file))))
