"""Options as a run uses them: checked, and with what they leave to files."""

from __future__ import annotations

from dataclasses import replace

from chatsquash.core.options import Options
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.redact.pseudonyms import load_key
from chatsquash.redact.requests import with_kinds


def with_key(options: Options) -> Options:
    """The options with the key that they leave to the key file."""
    refuse_wrong(options)
    if options.template is not None:
        from chatsquash.templates.source import unpack

        unpack(options.template)
    options = with_kinds(options)
    if options.join and options.conversations == "last":
        options = replace(options, conversations="main")  # which the agent's file knows, whatever came last
    if not options.has_key or options.anonymize_key:
        return options
    return replace(options, anonymize_key=load_key())
