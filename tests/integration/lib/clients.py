# SPDX-License-Identifier: Apache-2.0
"""The Iceberg clients: PyIceberg and DuckDB's iceberg extension (Spark: lib/spark.py)."""
from __future__ import annotations

from pyiceberg.catalog.rest import RestCatalog

from .canon import Rows, rows_of
from .lakes import duck, quoted


class PyIceberg:
    name = "pyiceberg"

    def __init__(self, server, **properties):
        env = server.lake.env
        self.catalog = RestCatalog("test", **{
            "uri": server.url, "warehouse": "lake", "s3.endpoint": env["DUCKICELAKE_S3_ENDPOINT"],
            "s3.region": env["DUCKICELAKE_S3_REGION"],
            "s3.access-key-id": env["DUCKICELAKE_S3_ROOT_KEY"],
            "s3.secret-access-key": env["DUCKICELAKE_S3_ROOT_SECRET"],
            "s3.path-style-access": "true", "header.X-Iceberg-Access-Delegation": "", **properties})

    def load(self, schema: str, table: str):
        return self.catalog.load_table((schema, table))

    @staticmethod
    def rows(table, snapshot: int | None = None, types: dict | None = None, **scan) -> Rows:
        return rows_of(table.scan(snapshot_id=snapshot, **scan).to_arrow(), types)

    @staticmethod
    def files(table, snapshot: int | None = None, **scan) -> list:
        return list(table.scan(snapshot_id=snapshot, **scan).plan_files())

    def close(self) -> None:
        pass


class DuckDBIceberg:
    """One DuckDB with the catalog attached as `ice`."""
    name = "duckdb"

    def __init__(self, server, connection=None, warehouse: str = "lake"):
        env = server.lake.env
        self.connection = connection or duck.connect("httpfs", "avro", "iceberg")
        self.connection.execute(duck.s3_secret(env))
        self.connection.execute("SET TimeZone='UTC'; SET arrow_lossless_conversion=true")
        self.connection.execute(
            f"ATTACH '{warehouse}' AS ice (TYPE iceberg, ENDPOINT '{server.url}', "
            "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')")

    def rows(self, schema: str, table: str, snapshot: int | None = None,
             types: dict | None = None, columns=None, where: str = "") -> Rows:
        chosen = ", ".join(quoted(c) for c in columns) if columns else "*"
        variants = [c for c, t in (types or {}).items() if t == "variant"]
        if variants and not columns:  # as the truth has them: Arrow has no VARIANT
            chosen += " REPLACE (" + ", ".join(
                f"{quoted(c)}::JSON::VARCHAR AS {quoted(c)}" for c in variants) + ")"
        at = "" if snapshot is None else f" AT (VERSION => {snapshot})"
        sql = f"SELECT {chosen} FROM ice.{quoted(schema)}.{quoted(table)}{at}"
        if where:
            sql += f" WHERE {where}"
        return rows_of(self.connection.execute(sql).to_arrow_table(), types)

    def close(self) -> None:
        self.connection.close()
