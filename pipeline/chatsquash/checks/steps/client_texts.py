"""Texts that clients write as results or as messages of the user."""

from __future__ import annotations

import re

from chatsquash.core.lazy import lazy_compile
from chatsquash.core.text import remove_delimited

_LONGEST = 400
"""The maximum length of a placeholder or of a notice, in characters."""
_CLEARED = lazy_compile(
    r"""\A[\[(<]?(?:
    (?:old[ ])?tool[ ](?:result|output|response|use)s?[ ](?:content[ ])?(?:was[ ]|were[ ]|has[ ]been[ ])?
        (?:cleared|removed|omitted|truncated|trimmed|elided|pruned|masked|hidden|compacted)
    |(?:old|previous|earlier|this)[ ](?:tool[ ])?(?:result|output|observation|content|environment[ ]output)s?[ :]
        [^\n]{0,60}(?:cleared|removed|omitted|elided|lines[ ]omitted|truncated|masked|compacted)
    |(?:content|output|result|observation)[ ](?:cleared|removed|omitted|elided|masked|pruned|compacted)
    |(?<=[\[(<])(?:cleared|removed|omitted|elided|masked|pruned)\b
    |no[ ]longer[ ]available
    )[^\n]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""Placeholders of clients for results that they cleared from the history."""
_NOTES = (
    *("system-reminder", "system_reminder", "environment_details", "environment_context", "user_instructions"),
    *("turn_aborted", "local-command-stdout", "local-command-stderr", "local-command-caveat", "session_context"),
)
"""Elements that clients add to the user's messages."""
_WRAPPERS = lazy_compile(
    r"</?(?:task|user_input|user_query|user_message|feedback|user_request|userRequest)\b[^>\n]{0,80}>"
)
"""Tags that clients put around what the user wrote."""
_INTERRUPTION = lazy_compile(
    r"""\s*(?:
    \[request[ ]interrupted[ ]by[ ]user(?:[ ]for[ ]tool[ ]use)?\]\s*\Z
    |<turn_aborted>
    |\[(?:response|turn|generation)[ ](?:interrupted|aborted|cancell?ed)[ ]by[ ](?:the[ ])?user\]
    |\[task[ ]resumption\]
    |(?:the[ ])?(?:previous[ ]|last[ ])?(?:turn|response|request|generation)[ ]was[ ](?:interrupted|aborted|cancell?ed)
        [ ]by[ ](?:the[ ])?user\b
    |the[ ]user[ ]interrupted[ ]the[ ](?:previous|last)[ ]turn\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Messages that clients write as the user: Claude Code, Codex, Cline, and similar forms."""
_INTERRUPTED_CALL = lazy_compile(
    r"""\A\s*(?:(?:wall[ ]time|exit[ ]code|chunk[ ]id|process|duration)[^\n]{0,80}\n\s*){0,4}
    (?:<(?:error|system|tool_use_error)>|\{"(?:error|output)":[ ]?"|error:)?[ ]?\[?(?:
    (?:the[ ])?(?:request|(?:tool[ ])?(?:call|use|execution)|tool|command|operation)
        [ ](?:(?:was|is|has[ ]been)[ ])?(?:interrupted|aborted|cancell?ed)
        [ ](?:by[ ](?:the[ ])?user|for[ ]tool[ ]use|before[ ](?:completion|it))\b
    |tool[ ](?:call|use|execution)[ ](?:(?:was|is|has[ ]been)[ ])?(?:interrupted|aborted|cancell?ed)[\].]?\s*\Z
    |(?:interrupted|aborted|cancell?ed)[ ]by[ ](?:the[ ])?user\b
    |operation[ ]cancelled\][ ]reason:[ ](?:user[ ](?:cancell?ed|aborted|interrupted)|operation[ ]cancell?ed)\b
    |(?:the[ ])?user[ ](?:interrupted|aborted|cancell?ed)\b
    |the[ ]execution[ ]of[ ]this[ ]tool,[ ]or[ ]a[ ]previous[ ]tool[ ]was[ ]interrupted\b
    |task[ ]was[ ]interrupted[ ]before[ ]this[ ]tool[ ]call\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Results of calls that were interrupted: Claude Code, Codex, OpenCode, Gemini CLI, Qwen Code, Copilot, Cline, pi."""
_ABORTED_COMMAND = "<error>command was aborted before completion</error>"
"""The end of the output of a command that the user interrupted in Claude Code."""
_CLIENT_REQUEST = lazy_compile(
    r"""\s*(?:
    continue[ ]from[ ]where[ ]you[ ]left[ ]off\.?\s*\Z
    |please[ ]continue[ ](?:working[ ]on|with)[ ]the[ ]task\b
    |\[error\][ ]you[ ]did[ ]not[ ]use[ ]a[ ]tool\b
    |your[ ]last[ ](?:output|response|message)[ ](?:did[ ]not|didn't|was)\b
    |(?:please[ ])?always[ ]provide[ ]exactly[ ]one\b|format[ ]error:\s*<error>
    |no[ ]tool[ ]calls?[ ](?:found|was|were)\b
    |<returncode>|<output>|<error>|observation:|\[?observation\]?\b|execution[ ]result[ ]of[ ]\[
    |exit[ ]code:[ ]?\d{1,3}\n
    |\[[\w.-]{1,60}(?:[ ]for[ ][^\n]{0,400})?\][ ]result:
    |caveat:[ ]the[ ]messages[ ]below[ ]were[ ]generated
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Messages that agents write as the user: observations, and prompts to continue or to use a tool."""


def is_cleared(result: str) -> bool:
    """Return whether the text of a result is a placeholder for one that the client cleared."""
    return len(result) <= _LONGEST and _CLEARED.match(result.strip()) is not None


def is_interruption(text: str) -> bool:
    """Return whether a message of the user is a notice that the user or the client interrupted the model."""
    return _INTERRUPTION.match(text) is not None


def is_interrupted_result(text: str) -> bool:
    """Return whether the text of a result reports that the call was interrupted."""
    if _INTERRUPTED_CALL.match(text[:_LONGEST]) is not None:
        return True
    return text[-_LONGEST:].rstrip().lower().endswith(_ABORTED_COMMAND)


def request_text(text: str) -> str:
    """Return what the user wrote in a message, without notes and tags of the client."""
    for name in _NOTES if "<" in text else ():
        text = remove_delimited(text, f"<{name}>", f"</{name}>")
    return _WRAPPERS.sub(" ", text).strip()


def is_note(text: str) -> bool:
    """Return whether a message of the user contains only notes of the client."""
    return bool(text.strip()) and (not request_text(text) or is_interruption(text))


def is_client_request(text: str) -> bool:
    """Return whether the client wrote a message as the user."""
    return _CLIENT_REQUEST.match(text) is not None
