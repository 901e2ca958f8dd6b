"""The default grouping of lines into sessions for loggers that number calls instead of sessions."""

from __future__ import annotations

from dataclasses import replace

from chatsquash.checks import dataset
from chatsquash.core.options import Options
from chatsquash.reading.call_ids import are_call_ids
from chatsquash.session.session import finding
from chatsquash.sources.find import Discovery


def choose_grouping(discovery: Discovery, options: Options) -> Options:
    """Return the options with ``sessions_by`` as ``chain`` if the logs have a new trace id for each call.

    Such an id does not identify a session, so calls can only be grouped by their histories. All sampled logs must be
    rows of LiteLLM without session ids. The choice is reported as a finding of the discovery.
    """
    if options.sessions_by is not None or options.from_format is not None or not are_call_ids(discovery.logs, options):
        return options
    discovery.findings.append(finding(dataset.grouped_by_chain(), "", ""))
    return replace(options, sessions_by="chain")
