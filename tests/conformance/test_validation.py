# SPDX-License-Identifier: Apache-2.0
"""Manifests, counts, bounds, partition values and totals, read and recomputed independently."""
import histories
import pytest
from lib.history import Run
from lib.soak import SOAK
from lib.validate import Objects, Validator

NAMES = ["types_numbers", "types_decimal", "types_temporal", "types_text_bytes", "types_nested",
         "types_timestamp_ns", "types_variant",
         "part_identity_numbers", "part_identity_others", "part_month", "part_day", "part_bucket_small",
         "part_bucket_others", "part_mixed_calendar", "part_spec_changes", "del_repeated_one_file",
         "del_updates", "del_across_files", "inl_mixed_with_files", "inl_flushed", "inl_all_types",
         "evo_add_drop", "evo_widened_types", "evo_defaults", "mnt_merge_with_deletes", "mnt_rewrite",
         "mnt_flush_merge_rewrite", "add_by_name", "a39_missing_counts", "a40_truncated_text_bounds",
         "a41_decimal_bounds", "a42_delete_manifests"]
CHOSEN = [h for h in histories.ALL.values() if not h.own_lake and (SOAK or h.name in NAMES)]


@pytest.mark.parametrize("script", CHOSEN, ids=lambda h: h.name)
def test_what_is_written_is_true(server, script):
    run = Run(server.lake, script, schema=f"v_{script.name}")
    objects = Objects(server.lake.s3())
    validator = Validator(objects)
    try:
        run.finish()
        tables = [t.live_name for t in run.truth.tables() if t.live_name]
        assert tables
        for name in tables:
            answer = server.get(f"/namespaces/{run.schema}/tables/{name}")
            if answer.status_code == 200:
                validator.table(answer.json()["metadata"])
        assert not validator.problems, f"{len(validator.problems)}:\n" + "\n".join(
            validator.problems[:15])
    finally:
        run.close()
