"""`verifier doctor data`: what is wrong with a data set's rewards, before training finds out.

Checks are pure functions from a row (`Subject`) to findings, one module a family: `truths` (who
scores it, and by what), `suites` (tests that cannot tell right from wrong), `texts` (prompts and
responses), `repeats` (rows that are there more than once), and `probes` (what only running programs
shows). `examination` puts them together.
"""

from __future__ import annotations

from verifier.data.doctor.clean import check_clean, reasons_file, write_clean
from verifier.data.doctor.examination import Examination, Options, dropped
from verifier.data.doctor.finding import KINDS, Finding, Severity, by_kind
from verifier.data.doctor.subject import OWN_FIELDS, Reader, Subject, Unreadable

__all__ = [
    "KINDS",
    "OWN_FIELDS",
    "Examination",
    "Finding",
    "Options",
    "Reader",
    "Severity",
    "Subject",
    "Unreadable",
    "by_kind",
    "check_clean",
    "dropped",
    "reasons_file",
    "write_clean",
]
