from __future__ import annotations

import pytest

from world4scorer import cli
from world4scorer.cli import doctor


def test_a_city_that_cannot_be_made_is_a_fault_only_if_asked_for(monkeypatch, capsys):
    missing = doctor.Finding("city", "not installed (pip install 'world4scorer[city]')")
    monkeypatch.setattr(doctor, "_city", lambda: missing)
    assert cli.main(["doctor", "--city"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("BAD  city") and "world4scorer[city]" in printed.err
    assert missing in doctor.examine()


@pytest.mark.slow
def test_a_city_of_one_log(sumo):
    findings = doctor.examine_city()
    assert [finding.topic for finding in findings] == ["city", "city made", "city time"]
    assert all(finding.sound for finding in findings)
