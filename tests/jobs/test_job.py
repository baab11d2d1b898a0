"""What is to be done with a source: a table."""

from dataclasses import replace

import pytest

from unparallel.jobs.job import Decision, Facts, Job, decide
from unparallel.jobs.outcome import Outcome
from unparallel.options import ConvertOptions

BEFORE = Outcome(
    "converted",
    "/in/a.h5",
    "/out/a.h5",
    verified=True,
    options_digest="d",
    source_fingerprint="s",
    target_fingerprint="t",
)
JOB = Job("/in/a.h5", "/out/a.h5", True, ConvertOptions(), "d", previous=BEFORE)
FOUND = replace(JOB, named=False)
SAME = Facts("s", "t", True)
GONE = Facts("s", "", False)
SINGLE = replace(BEFORE, status="single", target="", target_fingerprint="")
FOREIGN = replace(SINGLE, status="skipped")


def before(**changes):
    return replace(JOB, previous=replace(BEFORE, **changes))


@pytest.mark.parametrize(
    ("job", "facts", "decision"),
    [
        (replace(JOB, previous=None), GONE, Decision.CONVERT),
        (replace(JOB, previous=None), SAME, Decision.COMPARE),
        (replace(JOB, previous=None, overwrite=True), SAME, Decision.REPLACE),
        # as the report has it
        (JOB, SAME, Decision.SKIP),
        (replace(JOB, overwrite=True), SAME, Decision.REPLACE),
        # the source, the options, or the target changed
        (JOB, Facts("s2", "t", True), Decision.REPLACE),
        (replace(JOB, options_digest="d2"), SAME, Decision.REPLACE),
        (JOB, Facts("s", "t2", True), Decision.COMPARE),
        (JOB, GONE, Decision.CONVERT),
        (replace(JOB, target="/elsewhere/a.h5"), SAME, Decision.COMPARE),
        (replace(JOB, target="/elsewhere/a.h5"), GONE, Decision.CONVERT),
        # nothing tells whether they did
        (before(source_fingerprint=""), Facts("", "t", True), Decision.REPLACE),
        (before(target_fingerprint=""), Facts("s", "", True), Decision.COMPARE),
        # what was not verified, where that is wanted
        (before(verified=False), SAME, Decision.REPLACE),
        (replace(before(verified=False), options=ConvertOptions(verify=False)), SAME, Decision.SKIP),
        # what gave no target
        (replace(JOB, previous=SINGLE), GONE, Decision.SKIP),
        (replace(JOB, previous=SINGLE), Facts("s2", "", False), Decision.CONVERT),
        (replace(JOB, previous=FOREIGN), GONE, Decision.CONVERT),
        (replace(FOUND, previous=FOREIGN), GONE, Decision.SKIP),
        # what failed is tried again
        (replace(JOB, previous=replace(SINGLE, status="failed")), GONE, Decision.CONVERT),
        (replace(JOB, previous=replace(SINGLE, status="refused")), SAME, Decision.COMPARE),
    ],
)
def test_decision(job, facts, decision):
    assert decide(job, facts) is decision
