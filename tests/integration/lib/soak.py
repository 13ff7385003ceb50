# SPDX-License-Identifier: Apache-2.0
"""Sizes: what CI runs in minutes, and what `tools/run_tests.py --soak` runs whole."""
import os

SOAK = os.environ.get("DIL_SOAK", "0") == "1"


def size(ci: int, whole: int) -> int:
    return whole if SOAK else ci
