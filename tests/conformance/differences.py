"""How other readers see files of agents otherwise than chatsquash does, and why.

Seen with teich 0.3.6, inspect-scout 0.6.1 and inspect-ai 0.3.285.
"""

from typing import NamedTuple


class Difference(NamedTuple):
    """One file that another reader sees otherwise."""

    how: str
    """Of each conversation how many messages it has."""
    why: str


DIFFERENCES: dict[tuple[str, str], Difference] = {
    ("teich", "tests/golden/claude_code/a_compaction_and_what_went_before/logs/s.jsonl"): Difference(
        "[10] messages, ours [5, 4]",
        "It joins what a compaction replaced and what came of it, which no request held together.",
    ),
    ("teich", "tests/golden/claude_code/a_line_that_cannot_be_read/logs/s.jsonl"): Difference(
        "refused", "A line that is cut costs it the session."
    ),
    ("teich", "tests/golden/claude_code/a_message_id_on_several_lines/logs/s.jsonl"): Difference(
        "[4] messages, ours [4]", "It joins cumulative snapshots of one message, so that texts stand twice."
    ),
    ("teich", "tests/golden/claude_code/a_prompt_that_only_the_queue_holds/logs/s.jsonl"): Difference(
        "[4] messages, ours [5]", "It leaves out a prompt that was typed while the agent worked."
    ),
    ("teich", "tests/golden/claude_code/a_rewind_that_left_more_than_it_began/logs/s1.jsonl"): Difference(
        "[4] messages, ours [4, 6]", "It keeps the prompts of both branches."
    ),
    ("teich", "tests/golden/claude_code/a_sub_agent_and_the_call_that_began_it/logs/s.jsonl"): Difference(
        "[8] messages, ours [4, 4]", "It mixes the messages of a sub-agent into the session."
    ),
    (
        "teich",
        "tests/golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs/7f6c/subagents/agent-g1.jsonl",
    ): Difference("[1] messages, ours [2]", "It leaves out replies whose content is a text."),
    ("teich", "tests/golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs/7f6c.jsonl"): Difference(
        "[4] messages, ours [6]", "It leaves out replies whose content is a text."
    ),
    ("teich", "tests/golden/claude_code/a_sub_agent_that_main_leaves_out/logs/agent-g1.jsonl"): Difference(
        "[1] messages, ours [2]", "It leaves out replies whose content is a text."
    ),
    ("teich", "tests/golden/claude_code/a_sub_agent_that_main_leaves_out/logs/s1.jsonl"): Difference(
        "[4] messages, ours [6]", "It leaves out replies whose content is a text."
    ),
    ("teich", "tests/golden/claude_code/all_conversations_of_a_session/logs/s1.jsonl"): Difference(
        "[11] messages, ours [3, 4, 6, 2]", "It joins branches, a sub-agent and both sides of a compaction."
    ),
    ("teich", "tests/golden/claude_code/an_answered_prompt_that_was_edited/logs/s.jsonl"): Difference(
        "[6] messages, ours [4, 4]", "It joins both branches of a prompt that was edited."
    ),
    ("teich", "tests/golden/claude_code/messages_kept_over_a_compaction/logs/s.jsonl"): Difference(
        "[8] messages, ours [5, 4]",
        "It joins what a compaction replaced and what came of it; kept messages stand twice.",
    ),
    ("teich", "tests/golden/claude_code/system_prompt_and_tools_of_a_snapshot/logs/s.jsonl"): Difference(
        "[2] messages, ours [3]", "It does not read the system prompt of a snapshot."
    ),
    ("teich", "tests/golden/claude_code/the_last_conversation_of_a_session/logs/s1.jsonl"): Difference(
        "[11] messages, ours [3, 4, 6, 2]", "It joins branches, a sub-agent and both sides of a compaction."
    ),
    ("teich", "tests/golden/claude_code/what_the_client_wrote_is_taken_out/logs/s.jsonl"): Difference(
        "[6] messages, ours [11]",
        "It drops what the client wrote; chatsquash does so when asked (`--cleanup claude-code`).",
    ),
    ("teich", "tests/golden/claude_code/what_the_client_wrote_stays/logs/s.jsonl"): Difference(
        "[6] messages, ours [11]",
        "It drops what the client wrote; chatsquash does so when asked (`--cleanup claude-code`).",
    ),
    ("teich", "sample_logs/documents/codex-tide-table.jsonl"): Difference(
        "[7] messages, ours [8]",
        "It drops the surroundings that the model saw, renames the argument of `apply_patch`, and takes the text out of a result.",
    ),
    ("teich", "tests/golden/codex/a_compaction_and_what_it_replaced/logs/s.jsonl"): Difference(
        "[5] messages, ours [5, 4]", "It leaves out the summary that replaced the history."
    ),
    ("teich", "tests/golden/codex/a_patch_is_a_call_with_one_text/logs/s.jsonl"): Difference(
        "[5] messages, ours [5]", "It renames the argument of `apply_patch`."
    ),
    ("teich", "tests/golden/codex/instructions_and_reasoning_of_0_139/logs/s.jsonl"): Difference(
        "[4] messages, ours [4]",
        "It makes `developer` `system`, and takes the summary where the reasoning itself is there.",
    ),
    ("teich", "tests/golden/cursor/a_transcript_without_results/logs/7f0f.jsonl"): Difference(
        "[3] messages, ours [3]", "It knows an export of its own only, and reads no content here."
    ),
    ("teich", "tests/golden/droid/a_compaction_and_what_it_replaced/logs/s.jsonl"): Difference(
        "[4] messages, ours [3, 2]", "It does not read compactions."
    ),
    ("teich", "tests/golden/hermes/an_export_of_a_chain/logs/sessions.jsonl"): Difference(
        "[5] messages, ours [4, 3]",
        "It joins what a compression replaced with what came of it, and does not read the system prompt.",
    ),
    ("teich", "tests/golden/hermes/lines_behind_their_tools/logs/20260418_192600_1a2b3c4d.jsonl"): Difference(
        "[5] messages, ours [4]", "It takes a note of the client for a system prompt."
    ),
    ("teich", "sample_logs/pi/2026-02-03T09-00-00-000Z_5d2c.jsonl"): Difference(
        "[8] messages, ours [9]", "It leaves out a command that the user ran, which the model saw."
    ),
    ("teich", "tests/golden/pi/a_branch_that_was_left/logs/s.jsonl"): Difference(
        "[3] messages, ours [3, 2]", "It leaves out the summary of the branch that was left."
    ),
    ("teich", "tests/golden/pi/a_compaction_and_what_it_kept/logs/s.jsonl"): Difference(
        "[6] messages, ours [5, 4]", "It joins what a compaction replaced and what came of it, without the summary."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_compaction_and_what_went_before/logs/s.jsonl"): Difference(
        "[9] messages, ours [5, 4]",
        "It joins what a compaction replaced and what came of it, which no request held together.",
    ),
    ("inspect_scout", "tests/golden/claude_code/a_message_id_on_several_lines/logs/s.jsonl"): Difference(
        "[4] messages, ours [4]", "It joins cumulative snapshots of one message, so that texts stand twice."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_prompt_that_only_the_queue_holds/logs/s.jsonl"): Difference(
        "[4] messages, ours [5]", "It leaves out a prompt that was typed while the agent worked."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_prompt_while_the_agent_works/logs/s.jsonl"): Difference(
        "[4] messages, ours [5]", "It leaves out a prompt that was typed while the agent worked."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_rewind_that_left_more_than_it_began/logs/s1.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_sub_agent_and_the_call_that_began_it/logs/s.jsonl"): Difference(
        "[8] messages, ours [4, 4]", "It mixes the messages of a sub-agent into the session."
    ),
    (
        "inspect_scout",
        "tests/golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs/7f6c/subagents/agent-g1.jsonl",
    ): Difference("refused", "A reply whose content is a text, as old versions wrote it, costs it the session."),
    ("inspect_scout", "tests/golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs/7f6c.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_sub_agent_that_main_leaves_out/logs/agent-g1.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/a_sub_agent_that_main_leaves_out/logs/s1.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/all_conversations_of_a_session/logs/s1.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/an_answered_prompt_that_was_edited/logs/s.jsonl"): Difference(
        "[6] messages, ours [4, 4]", "It joins both branches of a prompt that was edited."
    ),
    ("inspect_scout", "tests/golden/claude_code/messages_kept_over_a_compaction/logs/s.jsonl"): Difference(
        "[6] messages, ours [5, 4]",
        "It joins what a compaction replaced and what came of it; kept messages stand twice.",
    ),
    ("inspect_scout", "tests/golden/claude_code/system_prompt_and_tools_of_a_snapshot/logs/s.jsonl"): Difference(
        "[2] messages, ours [3]", "It does not read the system prompt of a snapshot."
    ),
    ("inspect_scout", "tests/golden/claude_code/the_last_conversation_of_a_session/logs/s1.jsonl"): Difference(
        "refused", "A reply whose content is a text, as old versions wrote it, costs it the session."
    ),
    ("inspect_scout", "tests/golden/claude_code/what_the_client_wrote_is_taken_out/logs/s.jsonl"): Difference(
        "[6] messages, ours [11]",
        "It drops what the client wrote; chatsquash does so when asked (`--cleanup claude-code`).",
    ),
    ("inspect_scout", "tests/golden/claude_code/what_the_client_wrote_stays/logs/s.jsonl"): Difference(
        "[6] messages, ours [11]",
        "It drops what the client wrote; chatsquash does so when asked (`--cleanup claude-code`).",
    ),
    ("inspect_ai", "tests/golden/inspect_ai/a_zip_file_in_chunks/logs/count.eval"): Difference(
        "refused", "Its release does not know the layout in chunks, which its source has."
    ),
}
