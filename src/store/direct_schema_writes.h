// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg/sql.h"

// The policies' functions for what writers do: see direct_schema.h.
namespace duckicelake::store {

// What a writer may add. The newest snapshot is the one that its own transaction made.
inline constexpr pg::Sql kDirectWrites = R"sql(
CREATE FUNCTION duckicelake.direct_may_append(lake text, snapshot bigint, at timestamptz,
  version bigint, next_catalog bigint, next_file bigint) RETURNS boolean LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
DECLARE
  is_next boolean;
  is_blind boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM duckicelake.direct_session(lake) s WHERE s.is_writer) THEN
    RETURN false;
  END IF;
  EXECUTE format($sql$
    SELECT $1 = s.snapshot_id + 1 AND $2 = transaction_timestamp() AND $3 = s.schema_version
      AND $4 = s.next_catalog_id AND $5 BETWEEN s.next_file_id AND s.next_file_id + 1000000
    FROM %I.ducklake_snapshot s ORDER BY s.snapshot_id DESC LIMIT 1
    $sql$, lake) INTO is_next USING snapshot, at, version, next_catalog, next_file;
  IF NOT coalesce(is_next, false) THEN RETURN false; END IF;
  -- A commit that touched a table of the session together with something hidden that it names is
  -- not shown to it, so its DuckDB may have overlooked it.
  EXECUTE format($sql$
    SELECT EXISTS (
      SELECT FROM %1$I.ducklake_snapshot s JOIN %1$I.ducklake_snapshot_changes c USING (snapshot_id)
      WHERE s.snapshot_id > $2 - 1000 AND s.snapshot_time > transaction_timestamp() - interval '1 hour'
        AND c.changes_made LIKE '%%created\_%%' AND NOT duckicelake.direct_sees_changes($1, s.snapshot_id)
        AND EXISTS (SELECT FROM duckicelake.direct_words($1, s.snapshot_id, s.snapshot_id) w
                    WHERE w.is_writable))
    $sql$, lake) INTO is_blind USING lake, snapshot;
  RETURN NOT is_blind;
END $fn$;

-- Whether the snapshot is the newest one, made by this transaction.
CREATE FUNCTION duckicelake.direct_is_own(lake text, snapshot bigint) RETURNS boolean LANGUAGE plpgsql
STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
DECLARE
  is_own boolean;
BEGIN
  EXECUTE format($sql$
    SELECT s.snapshot_id = $1 AND s.xmin = pg_current_xact_id()::xid
    FROM %I.ducklake_snapshot s ORDER BY s.snapshot_id DESC LIMIT 1
    $sql$, lake) INTO is_own USING snapshot;
  RETURN coalesce(is_own, false);
END $fn$;

-- Ids of files that the transaction's own snapshot took.
CREATE FUNCTION duckicelake.direct_is_new_file(lake text, file bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
DECLARE
  is_new boolean;
BEGIN
  EXECUTE format($sql$
    SELECT s.xmin = pg_current_xact_id()::xid AND $1 < s.next_file_id AND $1 >= (
      SELECT b.next_file_id FROM %1$I.ducklake_snapshot b WHERE b.snapshot_id < s.snapshot_id
      ORDER BY b.snapshot_id DESC LIMIT 1)
    FROM %1$I.ducklake_snapshot s ORDER BY s.snapshot_id DESC LIMIT 1
    $sql$, lake) INTO is_new USING file;
  RETURN coalesce(is_new, false);
END $fn$;

-- A path below the folder that it is relative to, read in one way only.
CREATE FUNCTION duckicelake.direct_is_path(path text, is_relative boolean) RETURNS boolean LANGUAGE sql
STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT coalesce($2 AND $1 <> '' AND $1 !~ '(^|/)(\.{0,2})(/|$)' AND $1 !~ '[\\\x00-\x1f]', false)
$$;

CREATE FUNCTION duckicelake.direct_is_file_of(lake text, file bigint, of_table bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
DECLARE
  is_of boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I.ducklake_data_file WHERE data_file_id = $1 AND '
    'table_id = $2)', lake) INTO is_of USING file, of_table;
  RETURN is_of;
END $fn$;

-- Words about data of writable tables alone, and nothing else.
CREATE FUNCTION duckicelake.direct_may_say(lake text, snapshot bigint, words text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT duckicelake.direct_is_own($1, $2) AND coalesce($3, '') ~
    '^((inserted_into_table|deleted_from_table|inlined_delete):[0-9]{1,18}(,|$))+$'
    AND NOT EXISTS (
      SELECT FROM regexp_matches($3, ':([0-9]+)', 'g') w
      WHERE w[1]::bigint NOT IN (SELECT duckicelake.direct_writable($1)))
$$;

-- A file that lies in the folder of the writable table it is said to belong to (null: of any), and in
-- no folder of a table that is not writable, and is not one that such a table names by a whole path.
CREATE FUNCTION duckicelake.direct_is_place(lake text, of_table bigint, file text, is_relative boolean)
RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off AS $fn$
DECLARE
  is_own boolean;
BEGIN
  IF NOT duckicelake.direct_is_path(file, is_relative) THEN RETURN false; END IF;
  EXECUTE format($sql$
    WITH data_path AS (SELECT m.value FROM %1$I.ducklake_metadata m
                       WHERE m.key = 'data_path' AND m.scope IS NULL),
    folder AS MATERIALIZED (
      SELECT t.table_id, t.end_snapshot IS NULL AS is_live, CASE
        WHEN NOT coalesce(t.path_is_relative, true) THEN t.path
        WHEN NOT coalesce(s.path_is_relative, true) THEN s.path || t.path
        ELSE (SELECT value FROM data_path) || s.path || t.path END AS path
      FROM %1$I.ducklake_table t JOIN %1$I.ducklake_schema s USING (schema_id)),
    place AS MATERIALIZED (
      SELECT coalesce((SELECT f.path FROM folder f WHERE f.table_id = $2 AND f.is_live LIMIT 1),
                      CASE WHEN $2 IS NULL THEN (SELECT value FROM data_path) END) || $3 AS uri),
    inside AS MATERIALIZED (
      SELECT f.table_id FROM folder f, place p WHERE starts_with(p.uri, f.path))
    SELECT EXISTS (SELECT FROM inside) AND NOT EXISTS (
        SELECT FROM inside i WHERE i.table_id IS DISTINCT FROM $2
          AND i.table_id NOT IN (SELECT duckicelake.direct_writable($1)))
      AND NOT EXISTS (
        SELECT FROM %1$I.ducklake_data_file f, place p WHERE NOT f.path_is_relative
          AND f.path COLLATE "C" = p.uri AND f.table_id IS DISTINCT FROM $2)
      AND NOT EXISTS (
        SELECT FROM %1$I.ducklake_delete_file f, place p WHERE NOT f.path_is_relative
          AND f.path COLLATE "C" = p.uri AND f.table_id IS DISTINCT FROM $2)
    $sql$, lake) INTO is_own USING lake, of_table, file;
  RETURN coalesce(is_own, false);
END $fn$;
)sql";

}  // namespace duckicelake::store
