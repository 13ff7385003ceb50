# SPDX-License-Identifier: Apache-2.0
"""The kit uses the integration tests' fixtures and helpers."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "integration")]

from fixtures import *  # noqa: E402,F401,F403
