"""Times of cells: formats, zones, clocks that were set, and what is refused."""

from zoneinfo import ZoneInfo

import pytest

from training.importers.times import EPOCH_MS, EPOCH_S, TimeFormat, reader

BERLIN = ZoneInfo("Europe/Berlin")
SUMMER_S = 1_404_172_800.0  # 2014-07-01T00:00:00Z


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        (TimeFormat(), "2014-07-01T00:00:00Z"),
        (TimeFormat(), " 2014-07-01 00:00:00 "),
        (TimeFormat(), "2014-07-01T02:00:00+02:00"),
        (TimeFormat(zone=BERLIN), "2014-07-01 02:00:00"),
        (TimeFormat(zone=BERLIN), "2014-07-01 00:00:00Z"),
        (TimeFormat(pattern=EPOCH_S), "1404172800"),
        (TimeFormat(pattern=EPOCH_MS), "1404172800000.0"),
        (TimeFormat(pattern="%d/%b/%Y:%H:%M:%S %z"), "01/Jul/2014:02:00:00 +0200"),
        (TimeFormat(pattern="%d.%m.%Y %H:%M", zone=BERLIN), "01.07.2014 02:00"),
        (TimeFormat(pattern=EPOCH_S, shift_s=28_800.0), "1404144000"),
    ],
)
def test_the_same_moment_in_many_words(form: TimeFormat, cell: str) -> None:
    assert reader(form)(cell) == SUMMER_S


@pytest.mark.parametrize(
    ("form", "cell", "words"),
    [
        (TimeFormat(), "yesterday", "is not written as rfc3339"),
        (TimeFormat(), "", "is not written as rfc3339"),
        (TimeFormat(pattern=EPOCH_S), "soon", "not a number of seconds"),
        (TimeFormat(pattern=EPOCH_S), "nan", "not a number of seconds"),
        (TimeFormat(pattern=EPOCH_S), "1404172800000", "between 2000 and 2100"),
        (TimeFormat(pattern=EPOCH_MS), "1404172800", "between 2000 and 2100"),
        (TimeFormat(zone=BERLIN), "2014-10-26 02:30:00", "twice or never in Europe/Berlin"),
        (TimeFormat(zone=BERLIN), "2014-03-30 02:30:00", "twice or never in Europe/Berlin"),
    ],
)
def test_what_is_no_time_is_refused_with_words(form: TimeFormat, cell: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        reader(form)(cell)


def test_an_offset_makes_the_doubled_hour_clear() -> None:
    read = reader(TimeFormat(zone=BERLIN))
    assert read("2014-10-26T02:30:00+01:00") - read("2014-10-26T02:30:00+02:00") == 3600.0
