"""Invocation logs of Amazon Bedrock from S3 or CloudWatch."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import SESSION_MEMBERS
from chatsquash.reading.members import Members, first_present, object_members, present

NAME = "Bedrock invocation logs"
WHAT = "`{schemaType: ModelInvocationLog, modelId, input, output, timestamp}`"
NEEDS = (frozenset(("schemaType", "modelId", "operation")),)
SESSION = ("session_id",)
MIXES = True


def fits(line: Members) -> bool:
    """Return whether a line has the schema type of invocation logs."""
    return line["schemaType"] == b'"ModelInvocationLog"'


def session(line: Members) -> bytes | None:
    """Return the session id that the client sent in the request metadata."""
    return first_present(object_members(line.get("requestMetadata")), SESSION_MEMBERS)


def unwrap(line: Members) -> Members:
    """Return the bodies."""
    # Bedrock stores long bodies in separate objects, which are not part of the log.
    input_part, output_part = object_members(line.get("input")), object_members(line.get("output"))
    cut = b'"the response: its body is in another object"' if "outputBodyS3Path" in output_part else None
    return present(
        request=_request(input_part.get("inputBodyJson"), line),
        response=output_part.get("outputBodyJson"),
        status=b"500" if "errorCode" in line else None,
        timestamp=line.get("timestamp"),
        session_id=session(line),
        cut=cut if "outputBodyJson" not in output_part else None,
        problem=b'"its body is in another object (input.inputBodyS3Path)"' if "inputBodyS3Path" in input_part else None,
    )


def _request(body: bytes | None, line: Members) -> bytes | None:
    """Return a body with the model, which the log stores outside the body."""
    if body is None or body[:1] != b"{" or "model" in object_members(body):
        return body
    inside = body[1:].lstrip()
    comma = b"" if inside.startswith(b"}") else b","
    return b'{"model":%b%b%b' % (line["modelId"], comma, inside)
