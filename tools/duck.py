# SPDX-License-Identifier: Apache-2.0
"""DuckDB with the project's pinned extensions and a stack's DuckLake, for tests and scripts.

    connection = duck.lake(stack.env())                 # attached as `lake`
    connection.execute("SELECT * FROM lake.analytics.customers").fetchall()

Runs in the project's Python environment (.deps/venv). Nothing is downloaded by DuckDB.
"""
from __future__ import annotations

import os
import pathlib
import urllib.parse

import duckdb


def extension_folder() -> pathlib.Path:
    root = pathlib.Path(__file__).resolve().parent.parent
    return pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or root / ".deps",
                        "duckdb/extensions").resolve()


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def connect(*extensions: str, **config) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the named extensions loaded (a name as in DuckDB's LOAD)."""
    # tools/deps/fetch.py has held the files to their pinned hashes; DuckDB would check signatures
    # over the whole files again for every database, which takes a fifth of a second.
    connection = duckdb.connect(config={
        "allow_unsigned_extensions": True,
        "extension_directory": str(extension_folder()), "autoinstall_known_extensions": False,
        "autoload_known_extensions": False, **config})
    for name in extensions:
        connection.execute(f"LOAD {name}")
    return connection


def s3_secret(env: dict[str, str], name: str = "store") -> str:
    """CREATE SECRET for the object store of `env` (the server's settings)."""
    url = urllib.parse.urlsplit(env["DUCKICELAKE_S3_ENDPOINT"])
    style = "path" if env.get("DUCKICELAKE_S3_PATH_STYLE", "1") == "1" else "vhost"
    return (f"CREATE OR REPLACE SECRET {name} (TYPE s3, KEY_ID "
            f"{literal(env['DUCKICELAKE_S3_ROOT_KEY'])}, SECRET "
            f"{literal(env['DUCKICELAKE_S3_ROOT_SECRET'])}, REGION "
            f"{literal(env['DUCKICELAKE_S3_REGION'])}, ENDPOINT {literal(url.netloc)}, URL_STYLE "
            f"'{style}', USE_SSL {'true' if url.scheme == 'https' else 'false'})")


def data_path(env: dict[str, str]) -> str:
    return f"s3://{env['DUCKICELAKE_S3_BUCKET']}/{env['DUCKICELAKE_S3_PREFIX']}"


def attach(connection: duckdb.DuckDBPyConnection, env: dict[str, str], alias: str = "lake",
           metadata_schema: str = "public", **options) -> None:
    """Attaches the DuckLake of `env`; options become ATTACH options (READ_ONLY=True, ...).

    A new lake needs DATA_PATH=duck.data_path(env); without it an existing lake is opened.
    """
    # The password stays out of ATTACH, whose text DuckDB shows in errors and catalog functions.
    connection.execute(
        f"CREATE OR REPLACE SECRET {alias}_pg (TYPE postgres, HOST "
        f"{literal(env['DUCKICELAKE_PG_HOST'])}, PORT {int(env['DUCKICELAKE_PG_PORT'])}, USER "
        f"{literal(env['DUCKICELAKE_PG_USER'])}, DATABASE "
        f"{literal(env['DUCKICELAKE_PG_DATABASE'])}, PASSWORD "
        f"{literal(env['DUCKICELAKE_PG_PASSWORD'])})")
    options = {"METADATA_SCHEMA": metadata_schema, **options}
    fixed = f"META_SECRET {literal(alias + '_pg')}"
    words = [fixed] + [f"{k} {literal(v) if isinstance(v, str) else str(v).lower()}"
                       for k, v in options.items()]
    connection.execute(f"ATTACH 'ducklake:postgres:' AS {alias} ({', '.join(words)})")


def lake(env: dict[str, str], alias: str = "lake", metadata_schema: str = "public",
         create: bool = False, **options) -> duckdb.DuckDBPyConnection:
    """A new connection with the lake attached; create=True makes the lake if it is absent."""
    connection = connect("ducklake", "postgres_scanner", "httpfs")
    connection.execute(s3_secret(env))
    if create:
        options.setdefault("DATA_PATH", data_path(env))
    else:
        options.setdefault("CREATE_IF_NOT_EXISTS", False)
    attach(connection, env, alias, metadata_schema, **options)
    return connection
