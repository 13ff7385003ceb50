#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the running catalog for a table with PyIceberg and prints its rows.

    tools/devstack exec -- .deps/venv/bin/python tools/first_query.py [--url URL] [--table NAMESPACE.NAME]

The catalog says where the files are; the keys to read them are those of the stack's settings.
"""
import argparse
import logging
import os
import sys


def show(names: list[str], rows: list[dict]) -> None:
    texts = [[("" if row[n] is None else str(row[n])) for n in names] for row in rows]
    widths = [max(len(t[i]) for t in [names, *texts]) for i in range(len(names))]
    for line in (names, ["-" * w for w in widths], *texts):
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8181")
    parser.add_argument("--table", default="analytics.customers")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    from pyiceberg.catalog import load_catalog

    try:
        catalog = load_catalog("lake", type="rest", uri=given.url, warehouse="lake", **{
            "s3.access-key-id": os.environ["DUCKICELAKE_S3_ROOT_KEY"],
            "s3.secret-access-key": os.environ["DUCKICELAKE_S3_ROOT_SECRET"]})
        table = catalog.load_table(given.table)
        rows = table.scan().to_arrow()
    except Exception as error:  # whatever it is, the user gets its text and the next step
        print(f"first query: {type(error).__name__}: {error}\n"
              f"Is the server up on {given.url}? Its log is server.log in the state folder; "
              "`make run` starts everything.", file=sys.stderr)
        return 1
    print(f"{given.table} through {given.url}, read by PyIceberg (snapshot "
          f"{table.current_snapshot().snapshot_id if table.current_snapshot() else 'none'}):")
    names = rows.column_names
    ordered = rows.sort_by(names[0]).to_pylist() if names else []
    show(names, ordered)
    print(f"  ({len(ordered)} rows)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
