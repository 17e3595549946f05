# SPDX-License-Identifier: Apache-2.0
"""The test runner: README.md."""
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SKIP = 77  # the exit status of a skipped test
