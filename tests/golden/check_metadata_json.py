#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the golden table metadata to PyIceberg and checks that it reads what was meant.

The documents are kept equal to the output of the C++ writer by TableMetadata.MatchesTheGoldenDocuments.
Run with a Python that has pyiceberg: check_metadata_json.py [folder]
"""
import json
import sys
from pathlib import Path

from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.transforms import BucketTransform, DayTransform


def check(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    raw = json.loads(text)
    table = TableMetadataUtil.parse_raw(text)
    assert table.format_version == raw["format-version"]
    assert str(table.table_uuid) == raw["table-uuid"]
    assert len(table.schemas) == len(raw["schemas"])
    assert table.schema().schema_id == raw["current-schema-id"]
    assert [f.name for f in table.schema().fields] == [
        f["name"] for s in raw["schemas"] if s["schema-id"] == raw["current-schema-id"] for f in s["fields"]
    ]
    assert [s.snapshot_id for s in table.snapshots] == [s["snapshot-id"] for s in raw["snapshots"]]
    assert set(table.refs) == set(raw["refs"])
    current = table.current_snapshot()
    assert (current.snapshot_id if current else None) == raw.get("current-snapshot-id")
    if raw["default-spec-id"] == 1:
        spec = next(s for s in table.partition_specs if s.spec_id == 1)
        assert spec.fields[0].transform == DayTransform()
        assert spec.fields[1].transform == BucketTransform(16)
        assert len(table.statistics) == 1 and len(table.partition_statistics) == 1
        assert len(table.sort_orders[1].fields) == 2
    if table.format_version == 3:
        assert table.next_row_id == raw["next-row-id"]
        fields = {f.name: f for f in table.schema().fields}
        assert fields["level"].initial_default == -7 and fields["level"].write_default == 8
        return  # PyIceberg 0.12 reads version 3 but does not write it
    # What PyIceberg writes back must hold nothing that was not in the document, and lose nothing.
    again = json.loads(table.model_dump_json())
    for member in ("schemas", "partition-specs", "sort-orders", "refs", "properties", "snapshot-log"):
        ours, theirs = normal(raw[member]), normal(again[member])
        assert ours == theirs, f"{member}: {ours} != {theirs}"


def normal(value):
    """Without nulls, and without the spellings that both sides may choose."""
    if isinstance(value, dict):
        # PyIceberg writes an empty list of identifier fields where others leave the member out.
        kept = {k: v for k, v in value.items() if v is not None and (k, v) != ("identifier-field-ids", [])}
        return {k: normal(v) for k, v in kept.items()}
    if isinstance(value, list):
        return [normal(v) for v in value]
    if isinstance(value, str) and value.startswith("decimal("):
        return value.replace(" ", "")
    return value


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "metadata"
    paths = sorted(folder.glob("*.json"))
    if not paths:
        print(f"no documents in {folder}", file=sys.stderr)
        return 1
    for path in paths:
        check(path)
        print(f"{path.name}: accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
