"""Lists and numbers as they are typed at the command line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from neuromap.errors import InputError

__all__ = ["above_zero", "split_executions", "split_names", "split_rates", "split_ticks", "split_wide"]


def split_executions(values: Sequence[str], most: int | None = None) -> list[str]:
    """Take the values of ``--executions`` apart at commas and check them."""
    # most: longest frame period that may be asked for, in update steps
    from neuromap.rollout.schedule.execution import MAX_PERIOD, chosen_period

    names = list(dict.fromkeys(_at_commas(values)))
    for name in names:
        try:
            chosen_period(name, most or MAX_PERIOD)
        except InputError as error:
            raise InputError(f"--executions: {error}") from None
    if not names:
        raise InputError("--executions: is empty; choose windowed, pipelined, pipelined:PERIOD or pipelined:best")
    return names


def split_names(values: Sequence[str], option: str, allowed: Sequence[str]) -> list[str]:
    """Take the values of a repeatable option apart at commas and check them."""
    names = list(dict.fromkeys(_at_commas(values)))
    for name in names:
        if name not in allowed:
            raise InputError(f"{option} {name}: unknown; choose {' or '.join(allowed)}")
    if not names:
        raise InputError(f"{option}: is empty; choose {' or '.join(allowed)}")
    return names


def split_words(values: Sequence[str], option: str) -> list[str]:
    """Take the values of a repeatable option apart at commas."""
    words = _at_commas(values)
    if not words:
        raise InputError(f"{option}: is empty; give words with commas between")
    return list(dict.fromkeys(words))


def split_ticks(values: Sequence[str]) -> list[int]:
    """Take the values of ``--ticks-per-step`` apart at commas."""
    from neuromap.mapping.options.options import MOST_TICKS

    words = _at_commas(values)
    for word in words:
        if not re.fullmatch("[0-9]{1,6}", word) or not 1 <= int(word) <= MOST_TICKS:
            raise InputError(f"--ticks-per-step {word}: must be whole numbers from 1 to {MOST_TICKS}, commas between")
    if not words:
        raise InputError("--ticks-per-step: is empty; give whole numbers with commas between")
    return list(dict.fromkeys(int(word) for word in words))


def split_rates(values: Sequence[str], option: str) -> list[float]:
    """Take the values of a repeatable option apart at commas: parts from 0 to 1."""
    words = _at_commas(values)
    for word in words:
        if not re.fullmatch(r"[0-9]{0,6}\.?[0-9]{1,18}(e-?[0-9]{1,2})?", word) or not 0 <= float(word) <= 1:
            raise InputError(f"{option} {word}: must be parts from 0 to 1, such as 0,0.01,0.05")
    if not words:
        raise InputError(f"{option}: is empty; give parts from 0 to 1, such as 0,0.01,0.05")
    return [float(word) for word in words]


def split_wide(values: Sequence[str]) -> list[str | int]:
    """Take the values of ``--wide`` apart at commas: strategies, or ticks of partial sums."""
    from neuromap.mapping.options.options import MOST_WIDE_TICKS, WIDE

    words = _at_commas(values)
    for word in words:
        is_number = re.fullmatch("[0-9]{1,6}", word) and 1 <= int(word) <= MOST_WIDE_TICKS
        if word not in WIDE and not is_number:
            raise InputError(
                f"--wide {word}: is not known; choose {', '.join(WIDE)}, or ticks from 1 to {MOST_WIDE_TICKS}"
            )
    if not words:
        raise InputError(f"--wide: is empty; choose {', '.join(WIDE)}, or ticks of partial sums")
    return list(dict.fromkeys(word if word in WIDE else int(word) for word in words))


def above_zero(option: str, value: float | None) -> float | None:
    """Give a number that must be above 0, ``None`` where it was not typed."""
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"{option} {value:g}: must be above 0, and finite")
    return value


def _at_commas(values: Sequence[str]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]
