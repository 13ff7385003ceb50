# SPDX-License-Identifier: Apache-2.0
"""DuckDB users of the lake itself: what they are given, pasted into a real DuckDB, and raw sessions."""
from __future__ import annotations

import urllib.parse

import duck
import psycopg
from psycopg.conninfo import conninfo_to_dict


def path(namespace: str, **query) -> str:
    text = urllib.parse.urlencode(query)
    return f"/namespaces/{urllib.parse.quote(namespace, safe='')}/ducklake-credentials" + (
        "?" + text if text else "")


def vend(session, namespace: str, **query) -> dict:
    answer = session.get(path(namespace, **query))
    assert answer.status_code == 200, answer.text
    return answer.json()


def secret_sql(s3: dict) -> str:
    """CREATE SECRET as docs/operations/direct.md says."""
    url = urllib.parse.urlsplit(s3["endpoint"])
    style = "path" if s3["path-style-access"] == "true" else "vhost"
    token = f", SESSION_TOKEN {duck.literal(s3['session-token'])}" if s3["session-token"] else ""
    return (f"CREATE OR REPLACE SECRET vended (TYPE s3, KEY_ID {duck.literal(s3['access-key-id'])}, "
            f"SECRET {duck.literal(s3['secret-access-key'])}{token}, REGION "
            f"{duck.literal(s3['region'])}, ENDPOINT {duck.literal(url.netloc)}, URL_STYLE '{style}', "
            f"USE_SSL {'true' if url.scheme == 'https' else 'false'})")


def duckdb(answer: dict):
    """A DuckDB with nothing but what the answer holds; the lake is `lake`."""
    connection = duck.connect("ducklake", "postgres_scanner", "httpfs")
    if answer["s3"]:
        connection.execute(secret_sql(answer["s3"]))
    connection.execute(answer["ducklake_attach_sql"])
    return connection


def raw(answer: dict, **options) -> psycopg.Connection:
    return psycopg.connect(answer["ducklake_dsn"], autocommit=True, **options)


def words(answer: dict) -> dict:
    return conninfo_to_dict(answer["ducklake_dsn"])


def lake_tables(lake) -> list[str]:
    """All relations of the lake's schema, payload included."""
    return [name for (name,) in lake.rows(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relname LIKE 'ducklake\\_%%' AND c.relkind IN ('r', 'p', 'v') "
        "ORDER BY 1")]


def everything(session: psycopg.Connection, lake) -> dict[str, list[tuple] | str]:
    """All rows that the session sees, by table; a text where it may not look."""
    found = {}
    for name in lake_tables(lake):
        try:
            found[name] = session.execute(f'SELECT * FROM public."{name}"').fetchall()
        except psycopg.errors.InsufficientPrivilege as refused:
            found[name] = str(refused)
    return found
