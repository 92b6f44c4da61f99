"""What the waiting page says, in the reader's language."""

from dataclasses import dataclass

from gateway.admission.languages import reads_chinese


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language; `{}` in a text is a number.

    Attributes:
        lang: of the page, as HTML names it.
        several: behind a wait of minutes; `soon` where it is shorter than one.
    """

    lang: str
    title: str
    position: str
    drawing: str
    minutes: str
    soon: str
    not_known: str
    opens: str
    held: str
    full: str
    stay: str
    away: str


ENGLISH = Words(
    lang="en",
    title="You are in line",
    position="Your position: {}",
    drawing="Your position is being drawn.",
    minutes="Expected wait: about {} min",
    soon="Expected wait: less than a minute",
    not_known="Expected wait: not known yet",
    opens="It opens in {} s.",
    held="Nobody is being let in just now.",
    full="Too many people are waiting. Please come back later.",
    stay="Keep this page open: it goes on by itself when it is your turn.",
    away="The line cannot be reached just now. This page tries again by itself.",
)
CHINESE = Words(
    lang="zh-CN",
    title="正在排队",
    position="您的位置：第 {} 位",
    drawing="正在抽取您的位置。",
    minutes="预计等待：约 {} 分钟",
    soon="预计等待：不到一分钟",
    not_known="预计等待：暂时未知",
    opens="将在 {} 秒后开放。",
    held="目前暂停放行。",
    full="排队人数过多，请稍后再来。",
    stay="请不要关闭本页面，轮到您时会自动进入。",
    away="暂时无法连接排队系统，本页面会自动重试。",
)


def words(accept_language: str) -> Words:
    """Those of a reader."""
    return CHINESE if reads_chinese(accept_language) else ENGLISH
