# SPDX-License-Identifier: Apache-2.0
"""The conformance tests use the integration tests' fixtures and helpers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from fixtures import *  # noqa: E402,F401,F403
