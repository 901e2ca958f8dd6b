"""Amazon Bedrock's logs of invocations, as they lie in S3 or come from CloudWatch."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import NAMED
from chatsquash.reading.members import Members, first_present, present, within

NAME = "Bedrock invocation logs"
WHAT = "`{schemaType: ModelInvocationLog, modelId, input, output, timestamp}`"
NEEDS = (frozenset(("schemaType", "modelId", "operation")),)
SESSION = ("session_id",)
MIXES = True


def fits(line: Members) -> bool:
    """All that have the members."""
    return line["schemaType"] == b'"ModelInvocationLog"'


def session(line: Members) -> bytes | None:
    """The session that whoever asked gave with the request, for the log alone."""
    return first_present(within(line.get("requestMetadata")), NAMED)


def unwrap(line: Members) -> Members:
    """The bodies, those of them aside that lie in objects of their own, since they are long."""
    asked, answered = within(line.get("input")), within(line.get("output"))
    cut = b'"the response, whose body lies in another object"' if "outputBodyS3Path" in answered else None
    return present(
        request=_request(asked.get("inputBodyJson"), line),
        response=answered.get("outputBodyJson"),
        status=b"500" if "errorCode" in line else None,
        timestamp=line.get("timestamp"),
        session_id=session(line),
        cut=cut if "outputBodyJson" not in answered else None,
        problem=b'"its body lies in another object (input.inputBodyS3Path)"' if "inputBodyS3Path" in asked else None,
    )


def _request(body: bytes | None, line: Members) -> bytes | None:
    """A body with the model, which is named beside it."""
    if body is None or body[:1] != b"{" or "model" in within(body):
        return body
    inside = body[1:].lstrip()
    comma = b"" if inside.startswith(b"}") else b","
    return b'{"model":%b%b%b' % (line["modelId"], comma, inside)
