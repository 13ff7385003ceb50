# SPDX-License-Identifier: Apache-2.0
"""Names that need quoting, escaping or encoding somewhere on their way."""
from lib.history import history
from lib.lakes import quoted

ODD = ["with space", "a.b", "100%", "a+b", "a%2Fb", "a/b", "ä ö 😀", "it's", 'dou"ble', "UPPER",
       "semi;colon", "q?x=1&y", "#hash", "back\\slash", "%41", "..."]


def table_steps(name: str) -> list[str]:
    table = quoted(name)
    return [f"CREATE TABLE {table} (id INTEGER, {quoted('c ' + name)} VARCHAR)",
            f"INSERT INTO {table} SELECT i, 'v' || i FROM range(15) r(i)"]


TABLES = history("names_of_tables", *[s for n in ODD for s in table_steps(n)],
                 f"DELETE FROM {quoted('a/b')} WHERE id = 3",
                 f"INSERT INTO {quoted('100%')} VALUES (99, 'inlined')", spark=False)

COLUMNS = history(
    "names_of_columns",
    "CREATE TABLE t (id INTEGER, " + ", ".join(f"{quoted(n)} VARCHAR" for n in ODD) + ")",
    "INSERT INTO t SELECT i, " + ", ".join(f"'{n}' || i" for n in range(len(ODD)))
    + " FROM range(15) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (" + quoted("with space") + ")",
    "INSERT INTO t SELECT i, " + ", ".join(f"'p{n}'" for n in range(len(ODD)))
    + " FROM range(20, 32) r(i)",
    f"DELETE FROM t WHERE {quoted('a.b')} = '13'", "DELETE FROM t WHERE id = 5", inline=0)

FIELDS = history(
    "names_of_nested_fields",
    "CREATE TABLE t (id INTEGER, s STRUCT(" + ", ".join(f"{quoted(n)} INTEGER" for n in ODD) + "))",
    "INSERT INTO t SELECT i, {" + ", ".join(f"{quoted(n)}: i" for n in ODD) + "} FROM range(15) r(i)",
    "DELETE FROM t WHERE id = 4", inline=0)


def schema(name: str, word: str):
    return history(f"names_schema_{word}", "CREATE TABLE t (id INTEGER, v VARCHAR)",
                   "INSERT INTO t SELECT i, 'v' FROM range(15) r(i)", "DELETE FROM t WHERE id = 3",
                   'CREATE TABLE "odd .%t" (id INTEGER)', 'INSERT INTO "odd .%t" VALUES (1)',
                   schema=name)


SCHEMAS = [schema("sp ace", "space"), schema("do.t.ted", "dots"), schema("per%cent%20", "percent"),
           schema("sl/ash", "slash"), schema("ünï😀", "unicode"), schema("quo'te\"d", "quotes"),
           schema("MixedCase", "case")]

HISTORIES = [TABLES, COLUMNS, FIELDS, *SCHEMAS]
