"""How many examples Hypothesis draws: ``--examples default`` or ``--examples thorough`` (three times as many).

What a test writes, ``@settings(max_examples=60)``, is what it draws in the thorough profile; by default it draws a
third of it. Tests marked ``law`` state what the project stands for: they draw what they write by default, and three
times as many in the thorough profile. Tests marked ``theorem`` try to break a theorem of ``docs/theorems``: in the
thorough profile they draw what they write, on 1,000 networks at least, and by default a thirtieth of it. Tests marked
``thorough`` are single large cases; smaller siblings always run.
"""

import hypothesis

FEWEST = 3
"""A property with fewer examples than that is none; one that writes fewer draws what it writes."""

PART_BY_DEFAULT = {"law": 1, "theorem": 30, "": 3}
"""What is drawn by default is what is written over this."""


def pytest_addoption(parser):
    parser.addoption(
        "--examples", choices=("default", "thorough"), default="default",
        help="Hypothesis draws a part of the examples that properties ask for, or all (laws: all, or three times all)",
    )  # fmt: skip


def pytest_collection_modifyitems(config, items):
    thorough = config.getoption("--examples") == "thorough"
    if not thorough:
        left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
        items[:] = [item for item in items if item.get_closest_marker("thorough") is None]
        config.hook.pytest_deselected(items=left_out)
    seen = set()
    for item in items:
        test = getattr(item, "function", None)
        if test is None or not hypothesis.is_hypothesis_test(test) or test in seen:
            continue  # one function may stand behind many parameters
        seen.add(test)
        # Hypothesis keeps the settings of a test there; a second @settings on a test is an error.
        asked = test._hypothesis_internal_use_settings
        kind = next((name for name in ("law", "theorem") if item.get_closest_marker(name) is not None), "")
        test._hypothesis_internal_use_settings = hypothesis.settings(
            asked, max_examples=examples(asked.max_examples, kind, thorough=thorough)
        )


def examples(written: int, kind: str = "", *, thorough: bool) -> int:
    """Examples that a test draws; kind is ``law``, ``theorem``, or nothing."""
    if thorough:
        return 3 * written if kind == "law" else written
    return max(-(-written // PART_BY_DEFAULT[kind]), min(written, FEWEST))
