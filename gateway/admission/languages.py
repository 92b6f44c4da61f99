"""The language of pages that the agent writes itself: Chinese or English, as the reader prefers.

Called by `usual_answers` and by the waiting page of `session_queue`.
"""


def reads_chinese(accept_language: str) -> bool:
    """Whether a reader would rather have Chinese (RFC 9110, 12.5.4).

    Of two that are liked alike the first named counts; who names neither gets English.
    """
    liked, chinese = 0.0, False
    for part in accept_language.split(","):
        tag, _, weight = part.partition(";")
        primary = tag.strip().lower().split("-")[0]
        if primary in ("en", "zh") and (quality := _quality(weight)) > liked:
            liked, chinese = quality, primary == "zh"
    return chinese


def _quality(weight: str) -> float:
    """What a `q=` says; 1 without one, 0 for one that is no number."""
    name, _, value = weight.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
