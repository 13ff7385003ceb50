# SPDX-License-Identifier: Apache-2.0
"""The scripted histories, by topic."""
from __future__ import annotations

from . import (addfiles, deletes, evolution, inlined, maintenance, names, partitions,
               reported, types)

MODULES = (types, partitions, deletes, inlined, evolution, maintenance, names, addfiles, reported)
ALL = {h.name: h for module in MODULES for h in module.HISTORIES}
assert len(ALL) == sum(len(m.HISTORIES) for m in MODULES), "two histories share a name"
