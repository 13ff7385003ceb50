# SPDX-License-Identifier: Apache-2.0
"""Every snapshot of the histories of this topic: all clients show DuckLake's rows."""
from histories import partitions
from lib.history_tests import cases_for

globals().update(cases_for(partitions.HISTORIES))
