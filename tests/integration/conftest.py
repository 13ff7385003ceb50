# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from fixtures import *  # noqa: E402,F401,F403

# The conformance tests hold DuckLake to the same records and clients on top, so CI runs those.
collect_ignore = [] if os.environ.get("DUCKICELAKE_TEST_PLAIN") else ["test_histories_on_ducklake.py"]
