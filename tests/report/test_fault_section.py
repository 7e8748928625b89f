"""A study of faults as a section of the report: what the study says alone, in every form, and only of the same rows."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from html_pages import Page

import neuromap as nm
from neuromap.errors import InputError
from neuromap.faults import study_faults
from neuromap.report.page import report_schema
from neuromap.simulation.choose_frames import RandomFrames

HOSTILE = "<b>&small"


@pytest.fixture(scope="module")
def net():
    rng = np.random.default_rng(0)
    edges = {(u, v): rng.integers(-1, 2, (12, 12)) for u, v in ("IH", "HH", "HO")}
    return nm.build_network({"I": (12, None), "H": (12, 1), "O": (12, 1)}, edges, name=HOSTILE)


@pytest.fixture(scope="module")
def alone(net):
    return nm.latency_report(
        net, patterns=["streaming", "sequential"], executions=["windowed"], n_frames=6, n_stimuli=1
    )


@pytest.fixture(scope="module")
def study(net):
    rollouts = [nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")]
    how = {"kinds": ["silent-neurons"], "rates": [0, 0.4], "seeds": 3, "stimuli": RandomFrames(6), "n_stimuli": 1}
    return study_faults(rollouts, **how)


@pytest.fixture(scope="module")
def report(alone, study):
    return alone.with_faults(study)


def test_text_and_page_have_all_that_the_study_has(report, alone, study):
    assert report.to_text() == f"{alone.to_text()}\n{study.to_text()}"
    page, before = (Page(some.to_html()).without_scripts for some in (report, alone))
    pictures, tables = before.split('<section id="tables">')
    assert page.startswith(
        pictures.replace('<a href="#tables">', '<a href="#faults">Faults</a>\n<a href="#tables">').rstrip()
    )
    assert page.rstrip().endswith(tables.rstrip())
    circles = study.to_svg().partition("</style>")[2].count("<circle")
    assert 2 * circles == page.count("<circle") - before.count("<circle")  # one of the pictures for telephones
    for point in study.points:
        assert f">{100 * point.error.value:.3g} % [{100 * point.error.low:.3g}, {100 * point.error.high:.3g}]<" in page
    assert HOSTILE not in page
    assert page.count("<section>") == before.count("<section>") + 2


def test_the_document_holds_that_of_the_study(report, alone, study):
    document = json.loads(report.to_json())
    jsonschema.validate(document, report_schema())
    jsonschema.validate(document["faults"], nm.load_schema("faults"))
    assert document.pop("faults") == json.loads(study.to_json())
    plain = json.loads(alone.to_json())
    assert document == {**plain, "format": "neuromap-latency-report-8"}
    assert plain["format"] == "neuromap-latency-report-7"
    validator = jsonschema.Draft202012Validator(report_schema())
    assert not validator.is_valid(document)
    assert not validator.is_valid({**plain, "faults": study.to_dict()})
    assert report.to_csv() == alone.to_csv()


def test_what_is_of_something_else_is_refused(alone, study, net):
    other = nm.latency_report(net, patterns=["streaming"], executions=["windowed"], n_frames=3, n_stimuli=1)
    with pytest.raises(InputError, match=r"the study has sequential, windowed, which is not a row"):
        other.with_faults(study)
    for wrong in (alone, None, "faults"):
        with pytest.raises(InputError, match=r"give what neuromap\.faults\.study_faults gives"):
            alone.with_faults(wrong)
    chip = replace(nm.load_chip("truenorth"), name="other")
    elsewhere = nm.latency_report(net, chip, ["streaming"], ["windowed"], n_frames=3, n_stimuli=1)
    with pytest.raises(InputError, match=r"the study is of .* on truenorth, the report of .* on other"):
        elsewhere.with_faults(study)
