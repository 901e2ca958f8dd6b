"""The user denied a call of the reply.

The texts are those of the clients: Claude Code ("The user doesn't want to proceed with this tool use."), Codex ("exec command
rejected by user", "patch rejected by user"), Gemini CLI ("User denied execution."), OpenCode ("The user rejected permission to
use this specific tool call."), goose ("The user has declined to run this tool."), Cline ("The user denied this operation."),
Kimi CLI ("The tool call is rejected by the user."); OpenHands, Cursor, Pydantic AI and the AI SDK mark results. Among the
look-alikes are OpenCode's rule, Gemini CLI's policy and Claude Code's permission mode, which are no decisions of the user.
"""

from tests.steps.clients import (
    CLAUDE_REJECTION,
    claude,
    claude_edit,
    claude_read,
    cline,
    codex,
    copilot,
    gemini,
    gemini_edit,
    goose,
    kimi,
    kimi_edit,
    mini,
    opencode,
    opencode_edit,
    openhands,
)
from tests.steps.sessions import call, reply, user

DENIED = "denied"
REASON = CLAUDE_REJECTION.split(" STOP")[0] + " To tell you how to proceed, the user said:\n"
GOOSE = (
    "The user has declined to run this tool. DO NOT attempt to call this tool again. If there are no alternative methods to "
    "proceed, clearly explain the situation and STOP."
)
CASES = {
    "claude_with_a_reason": [
        user("Publish it."),
        reply(claude("npm publish", REASON + "not before the tests ran", "failed"), facts="denied failed_call"),
        reply(claude("npm test", "3 passed")),
        reply("The tests pass. Shall I publish it?"),
    ],
    "claude_edit_with_a_reason": [
        user("Fix the title."),
        reply(claude_edit("/w/a.md", "# A", "# B", REASON + "それは違う", "failed"), facts="denied"),
        reply("どうしますか？"),
    ],
    "claude_without_a_reason": [
        user("Clean up."),
        reply(claude("git clean -fdx", CLAUDE_REJECTION, "failed"), facts="denied interrupted"),
        user("[Request interrupted by user for tool use]"),
        user("Never do that."),
        reply("I will not."),
    ],
    "codex_command": [
        user("Räume auf."),
        reply(call("shell", {"command": ["bash", "-lc", "rm -rf out"]}, "exec command rejected by user"), facts=DENIED),
        reply("Ich lösche nichts."),
    ],
    "codex_patch": [
        user("Raise the limit."),
        reply(call("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch", "patch rejected by user"), facts=DENIED),
        reply("What should I change instead?"),
    ],
    "gemini_command": [
        user("Zeige den Stand."),
        reply(gemini("git status && git diff HEAD", "[Operation Cancelled] Reason: User denied execution.", "failed"), facts=DENIED),
        user("Danke. Das übernehme ich."),
        reply("Gut."),
    ],
    "gemini_edit": [
        user("Make it stiffer."),
        reply(gemini_edit("/w/a.xml", "k=1", "k=2", "[Operation Cancelled] Reason: User denied execution.", "failed"), facts=DENIED),
        user("It may be the collision."),
        reply("I look at that."),
    ],
    "opencode_command": [
        user("Deploy."),
        reply(opencode("kubectl apply -f a.yaml", "The user rejected permission to use this specific tool call.", "failed"), facts=DENIED),
        reply("I did not deploy it."),
    ],
    "opencode_edit_with_feedback": [
        user("Add the schemas."),
        reply(opencode_edit("/w/s.ts", "", "z.object({})", "The user rejected permission to use this specific tool call with the following feedback: only comments", "failed"), facts="denied failed_call"),
        reply(opencode_edit("/w/s.ts", "", "// schema of users")),
        reply("Only comments."),
    ],
    "goose_command": [
        user("Update the system."),
        reply(goose("apt upgrade", GOOSE, "failed"), facts=DENIED),
        reply("You declined the update, so I stop here."),
    ],
    "cline_command": [
        user("<task>\nReset the database.\n</task>"),
        reply(cline("dropdb app", "The user denied this operation.", "failed"), facts=DENIED),
        reply("The database was kept."),
    ],
    "cline_with_feedback": [
        user("<task>\nFix the client.\n</task>"),
        reply(call("write_to_file", {"path": "a.py", "content": "x"}, "The user denied this operation and provided the following feedback:\n<feedback>\nnot this file\n</feedback>"), facts=DENIED),
        reply("Which file is it?"),
    ],
    "kimi_command": [
        user("删除日志"),
        reply(kimi("rm -r logs", "<system>ERROR: The tool call is rejected by the user. Stop what you are doing and wait for the user to tell you how to proceed.</system>", "failed"), facts=DENIED),
        reply("好的，我不删除。"),
    ],
    "marked_as_denied": [
        user("Is this lamp dirty?"),
        reply(call("stop_lamp", {"minutes": 20}, "not while ships pass", "denied"), facts=DENIED),
        reply("Clean it tomorrow."),
    ],
    "openhands_rejection": [
        user("Push it."),
        reply(call("execute_bash", {"command": "git push -f"}, "Action rejected: User rejected the action", "denied"), facts="denied failed_call"),
        reply(openhands("git push", "ok")),
        reply("Pushed without force."),
    ],
    "one_of_two_calls": [
        user("Copy and delete."),
        reply(call("copy", {"to": "b"}, "copied"), call("delete", {"path": "a"}, "Tool call execution denied.", "denied"), facts=DENIED),
        reply("It is copied; a is still there."),
    ],
    # Look-alikes
    "permission_of_a_file": [
        user("Read it."),
        reply(claude("cat /etc/shadow", "cat: /etc/shadow: Permission denied", "failed")),
        reply("I may not read it."),
    ],
    "database_access": [
        user("Count the users."),
        reply(goose("mysql -e 'select 1'", "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: NO)", "failed")),
        reply("The database wants a password."),
    ],
    "ssh_key": [
        user("Push it."),
        reply(codex("git push", "git@github.com: Permission denied (publickey).", 128)),
        reply("There is no key."),
    ],
    "remote_rejected": [
        user("Push it."),
        reply(opencode("git push", " ! [remote rejected] main -> main (protected branch hook declined)\nerror: failed to push some refs", "failed")),
        reply("main is protected."),
    ],
    "sandbox": [
        user("Write to /etc."),
        reply(call("shell", {"command": ["bash", "-lc", "touch /etc/a"]}, '{"output": "touch: cannot touch \'/etc/a\': Operation not permitted", "metadata": {"exit_code": 1}}')),
        reply("The sandbox does not allow it."),
    ],
    "rule_of_the_settings": [
        user("Delete it."),
        reply(opencode("rm a", 'The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"bash","pattern":"rm *","action":"deny"}]', "failed")),
        reply("A rule forbids it."),
    ],
    "policy_of_gemini": [
        user("Write it."),
        reply(call("write_file", {"file_path": "a", "content": "b"}, "Tool execution denied by policy. You are in Plan Mode with access to read-only tools.", "failed")),
        reply("Plan mode does not allow writing."),
    ],
    "permission_mode_of_claude": [
        user("Run it."),
        reply(claude("make", "Permission to use Bash has been denied because Claude Code is running in don't ask mode.", "failed")),
        reply("Commands are not allowed in this mode."),
    ],
    "hook_of_claude": [
        user("Edit it."),
        reply(claude_edit("/w/a.env", "A=1", "A=2", "PreToolUse:Edit hook error: [guard.sh]: .env files are protected", "failed")),
        reply("A hook protects .env files."),
    ],
    "http_403": [
        user("Fetch it."),
        reply(call("fetch", {"url": "https://a/b"}, '{"status": 403, "error": "Forbidden: access denied"}')),
        reply("The server answers 403."),
    ],
    "quoted_in_a_file": [
        user("Which texts do clients use?"),
        reply(claude_read("/w/texts.py", "DENIED = 'The user rejected permission to use this specific tool call.'")),
        reply("One."),
    ],
    "quoted_in_output": [
        user("Count them."),
        reply(mini("grep -c 'exec command rejected by user' a.log", "3")),
        reply("Three."),
    ],
    "log_of_an_application": [
        user("What is in the log?"),
        reply(copilot("tail -2 app.log", "10:01 login ok\n10:02 user denied the request for their location")),
        reply("Somebody denied the location."),
    ],
    "wallet": [
        user("Run the transaction test."),
        reply(openhands("npm test", "Error: MetaMask Tx Signature: User denied transaction signature.", 1)),
        reply("The wallet's mock rejects it."),
    ],
    "the_user_disagrees": [
        user("Which colour?"),
        reply("Blue?"),
        user("No, rejected. Red."),
        reply("Red."),
    ],
    "cancelled_and_not_denied": [
        user("Build it."),
        reply(gemini("make", "[Operation Cancelled] Reason: User cancelled the operation.", "failed"), facts="interrupted"),
        user("Later."),
        reply("All right."),
    ],
    "kimi_error": [
        user("改它"),
        reply(kimi_edit("a.md", "x", "y", "<system>ERROR: No replacements were made. The old string was not found in the file.</system>", "failed")),
        reply("没有找到这段文字。"),
    ],
}  # fmt: skip
