"""Final texts that claim success although the last call failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatsquash.checks.denials import is_denied
from chatsquash.checks.steps.client_texts import is_interrupted_result
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.checks.steps.requests import without_accents
from chatsquash.core.lazy import lazy_compile

_SUCCESS = lazy_compile(
    r"""\b(?:done|fixed|resolved|solved|finished|completed?|succe(?:ss(?:ful(?:ly)?)?|eded|eds)|implemented|passe[sd]|passing
    |all[ ](?:good|set|green)|works|working|ready|in[ ]place|deployed|installed|updated|created|added|removed|renamed
    |refactored|replaced|committed|pushed|merged|written|saved|applied|configured|migrated|corrected|verified|confirmed)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUCCESS_ELSEWHERE = lazy_compile(
    r"""\b(?:erfolgreich|fertig|erledigt|behoben|abgeschlossen|repariert|termine|reussi|corrige|succes|exito|exitosamente
    |listo|completado|corregido|terminado|resuelto|sucesso|concluido|pronto|completato|corretto|risolto)(?:e|es|s|en|a|i)?\b
    |готово|успешно|исправлен|завершен|完成|成功|已修复|修好|搞定|完了|修正しました|直しました|완료|성공|수정했""",
    re.VERBOSE,
)
"""Claims of success in German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese and Korean."""
_FAILURE_ELSEWHERE = lazy_compile(
    r"""fehl|fehler|scheiter|erreur|echou|echec|erro\b|fall[oa]\b|falhou|falha|errore|fallit
    |\b(?:nicht|kein\w{0,2}|leider|aber|jedoch|konnte\w{0,2}|ne|pas|mais|malheureusement|cependant|impossible|no|pero
    |sin[ ]embargo|lamentablemente|nao|mas|infelizmente|non|ma|purtroppo|tuttavia|не|но|однако|ошибк\w{0,3})\b
    |失败|错误|无法|没有|未能|不能|但|失敗|エラー|できません|ませんでした|しかし|실패|오류|하지만|없""",
    re.VERBOSE,
)
_HARMLESS = lazy_compile(
    r"""\b(?:no|without|0|zero|free[ ]of|any)[ ](?:\w{1,20}[ ]){0,2}
        (?:\w{0,30}errors?|failures?|issues?|problems?|warnings?|regressions?|failed|failing)\b
    |\berror[ -](?:handling|handler|messages?|codes?|free|pages?)\b
    |\b(?:fix(?:ed|es|ing)?|resolv(?:ed|es|ing)|solv(?:ed|es|ing)|correct(?:ed|s)|address(?:ed|es))[ ]
        (?:\w{1,20}[ ]){0,4}(?:\w{0,30}errors?|failures?|issues?|problems?|bugs?|warnings?|fail(?:ing|ed)[ ]tests?)\b
    |\bno[ ]longer[ ](?:fails?|failing|errors?|crash(?:es|ing)?|broken)\b
    |\b(?:issues?|problems?|\w{0,30}errors?|warnings?|failures?)[ ](?:is|are|was|were|has[ ]been|have[ ]been)[ ]
        (?:now[ ]|all[ ]|fully[ ]|completely[ ])?(?:fixed|resolved|solved|gone|addressed|corrected)\b
    |\bexit(?:ed|s)?[ ](?:with[ ])?(?:code|status)?[ :]?0\b|\bnot[ ]only\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Phrases that name failures without reporting one."""
_FAILURE = lazy_compile(
    r"""fail|error|exception|traceback|unable|unsuccess|cannot|n't\b
    |\b(?:not|never|unfortunately|however|although|though|but|except|despite|instead|skip(?:ped|ping)?|missing|denied
    |rejected|blocked|broken|crash\w*|problems?|issues?|warnings?|time[sd]?[ -]?out|timeout|still|yet|unless
    |manual(?:ly)?|yourself|interrupted|aborted|cancell?ed|conflicts?|exit(?:ed|s)?
    |non-?zero|workaround|alternatively|tried|attempted|remaining|unavailable|refused|incomplete|partial(?:ly)?
    |unverified|untested|caveat|flaky|pre-?existing|unrelated)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that mention a failure or limit a claim."""
_LONGEST = 20_000
_ONLY_CODE = lazy_compile(
    r"\W*+(?:(?:the|command|process|exited|exit|with|code|status|error|output|stdout|stderr|no|failed)\b\W*+){0,12}+1?\W*+\Z",
    re.IGNORECASE,
)
"""A result with only the exit code 1, with which programs such as ``grep`` report that nothing matches."""


def unfounded_claims(steps: list[Step]) -> Iterator[int]:
    """Yield replies without calls that end a turn, claim success and do not mention that the last call failed."""
    for number, step in enumerate(steps[1:], 1):
        before = steps[number - 1]
        ends_turn = number + 1 == len(steps) or steps[number + 1].turn != step.turn
        if (
            ends_turn
            and before.turn == step.turn
            and before.calls
            and not step.calls
            and _has_clearly_failed(before.calls[-1])
            and _claims_success(step.text)
        ):
            yield step.at


def _has_clearly_failed(call: StepCall) -> bool:
    if call.state != "failed" or any(map(is_denied, call.results)):
        return False
    text = call.text
    return not is_interrupted_result(text) and (len(text) > 200 or _ONLY_CODE.match(text) is None)


def _claims_success(text: str) -> bool:
    if len(text) > _LONGEST:
        return False
    if _SUCCESS.search(text) is not None:
        return _FAILURE.search(_HARMLESS.sub(" ", text.replace("\u2019", "'"))) is None
    plain_text = without_accents(text)
    return _SUCCESS_ELSEWHERE.search(plain_text) is not None and not (
        _FAILURE_ELSEWHERE.search(plain_text) or _FAILURE.search(plain_text)
    )
