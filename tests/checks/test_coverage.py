"""What is said of the logged replies of a session: rows like those of ``test_shapes``."""

import pytest

from chatsquash.checks import coverage, files, sampling

LOST = {"branch": 1, "compacted": 12, "duplicate": 1, "refused": 3, "retry": 2, "short-tail": 1, "side-request": 5}

ROWS = [
    (coverage.copies_not_compared(1200, 1000), "copies-not-compared", "warning", "begins like 1,200 other logs, but at most 1,000 are"),
    (coverage.repeated_conversation(), "repeated-conversation", "info", "no record: another conversation in the file contains all of its replies"),
    (coverage.replies_repeated(1), "replies-repeated", "warning", "1 reply in more than one record would be trained on several times: --loss"),
    (coverage.replies_lost(3, 2, {"branch": 1}, {"--conversations all": 1}), "replies-lost", "warning", "2 of 3 logged replies are in the records; 1 is not: 1 on another branch (--conversations all keeps 1)"),
    (coverage.replies_lost(3, 1, {"branch": 2}, {"--conversations all": 2}), "replies-lost", "warning", "2 are not: 2 on other branches (--conversations all keeps 2)"),
    (coverage.replies_lost(9, 7, {"subagent": 1, "compacted": 1}, {"--conversations all": 2}), "replies-lost", "warning", "2 are not: 1 of a sub-agent, 1 compacted away (--conversations all keeps 2)"),
    (coverage.replies_lost(1, 0, {"short-tail": 1}, {"--conversations all": 1}), "replies-lost", "warning", "0 of 1 logged reply are in the records; 1 is not: 1 of another conversation (--conversations all keeps 1)"),
    (coverage.replies_lost(2, 1, {"retry": 1}, {}), "replies-lost", "warning", "1 is not: 1 retried"),
    (coverage.replies_lost(1031, 1006, LOST, {"--conversations all": 18, "--conversations all --no-cleanup-goose": 1}), "replies-lost", "warning", "1,006 of 1,031 logged replies are in the records; 25 are not: 12 compacted away, 5 side requests, 3 refused, 2 retried, 1 on another branch, 1 duplicate, 1 of another conversation (--conversations all keeps 18, --conversations all --no-cleanup-goose keeps 1)"),
    (coverage.unrelated_conversations(3, 1200, 9), "unrelated-conversations", "error", "3 conversations without a session_id that do not build on each other; the record has 9 of 1,200 replies: --complete keeps"),
    (coverage.reasoning_lost(412, 310, 60), "reasoning-lost", "info", "310 of 412 replies had reasoning, 60 of them in the records"),
    (coverage.reasoning_withheld(1), "reasoning-withheld", "info", "the reasoning of 1 reply was withheld by the provider"),
    (coverage.reasoning_restored(2), "reasoning-restored", "info", "the reasoning of 2 messages was restored from the logged replies"),
    (coverage.context_restored(1, 0, 1), "context-restored", "info", "restored 1 result that later requests did not contain; 1 reply did not see them"),
    (coverage.context_restored(2, 3, 4), "context-restored", "info", "restored 2 results and 3 messages that later requests did not contain; 4 replies did not see them"),
    (coverage.restore_ambiguous(1), "restore-ambiguous", "info", "1 message not restored because several logged messages match"),
    (coverage.replies_lost(3, 1, {"truncated": 1, "error-text": 1}, {}), "replies-lost", "warning", "2 are not: 1 truncated, 1 error text"),
    (files.joined(1, 1, 0), "joined", "info", "joined with 1 agent file, matched by 1 reply in both"),
    (files.joined(2, 5, 1), "joined", "info", "joined with 2 agent files, matched by 5 replies in both; 1 reply that the gateway did not log is added"),
    (files.joined_texts(2, 5), "joined-texts", "warning", "2 of 5 replies differ in the agent's file; the record has the gateway's text"),
    (sampling.no_sample(0), "no-sample", "error", "no logged reply in the requested conversations can be trained on"),
    (sampling.no_sample(2), "no-sample", "error", "none of the 2 logged replies in the requested conversations can be trained on"),
    (sampling.output_growth(1500, 5_700_000, 4_000, 1000), "output-growth", "error", "1,500 records with 1,425 times the size of the log exceed --max-output-growth 1000"),
    (sampling.joined_reply(), "joined-reply", "error", "shares its message with another reply: remove --merge-consecutive"),
    (sampling.not_rendered("TemplateError: no"), "not-rendered", "error", "the template raises TemplateError: no"),
    (sampling.context_mismatch(1), "context-mismatch", "warning", "the rendering of 1 reply does not begin with the prompt that the template renders"),
    (sampling.token_break("template", 1), "token-break", "info", "1 reply starts a new sample (template): the server rendered earlier messages to other token ids"),
    (sampling.token_break("rewrite", 2), "token-break", "info", "2 replies start a new sample (rewrite): the client changed earlier messages"),
    (sampling.token_ids_missing(2), "token-ids-missing", "warning", "2 replies have no logged token ids of both the prompt and the reply"),
    (sampling.private_tokens(1), "private-tokens", "warning", "the context of 1 reply contains text that is anonymized, which token ids cannot be: --no-anonymize writes them"),
    (sampling.no_verdict(1), "no-verdict", "info", "1 reply without evidence of a preference: not written"),
    (sampling.truncated_to_fit(9000, 8192, 1), "truncated-to-fit", "info", "the record had 9,000 tokens, more than 8,192: 1 exchange removed from its end"),
    (sampling.front_truncated(1, 8192), "front-truncated", "info", "1 sample had more than 8,192 tokens: exchanges removed after the system prompt"),
    (sampling.restore_not_applied(), "restore-not-applied", "info", "--restore has no effect"),
    (coverage.mixed_models({"a": 1, "b": 1200}), "mixed-models", "info", "replies of 2 models are trained on: 1,200 of 'b', 1 of 'a'; --loss-model GLOB selects models"),
    (coverage.mixed_models(dict.fromkeys("abcde", 2)), "mixed-models", "info", "replies of 5 models are trained on: 2 of 'a', 2 of 'b', 2 of 'c', 4 of other models; --loss-model"),
    (coverage.unknown_model(1), "unknown-model", "warning", "1 reply is not trained on because the log does not contain the model, which --loss-model requires"),
    (coverage.unknown_model(1200), "unknown-model", "warning", "1,200 replies are not trained on because"),
    (coverage.side_request_selected("side"), "side-request-selected", "warning", "was made from a side request: --conversations main selects"),
    (coverage.side_request_selected("subagent"), "side-request-selected", "warning", "was made from a sub-agent's request: --conversations main selects"),
]  # fmt: skip


@pytest.mark.parametrize("fact, code, severity, part", ROWS, ids=[f"{row[1]}: {row[3]}" for row in ROWS])
def test_a_finding_has_its_code_and_severity_and_says_what_and_what_to_do(fact, code, severity, part):
    assert (fact.code, fact.severity) == (code, severity)
    assert part in fact.text
    assert not fact.text.endswith(".")


def test_what_no_option_keeps_is_not_promised():
    assert "--conversations" not in coverage.replies_lost(2, 0, {"retry": 1, "duplicate": 1}, {}).text
