// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg/sql.h"

// What binds PostgreSQL roles that are given to DuckDB users, for the migrations. docs/adr/0011
// says why, docs/operations/direct.md what it comes to for each table.
//
// All functions are SECURITY DEFINER with a pinned search_path (pg_temp last: else it is searched
// first for types and relations) and without JIT, which costs seconds where they take a
// millisecond; they go by session_user, and are executable by the two groups alone. No reader may
// use schema duckicelake, so policies call them and nobody else does.
namespace duckicelake::store {

inline constexpr pg::Sql kDirectTables = R"sql(
-- The groups of a lake. The triggers below know them from here.
CREATE TABLE duckicelake.direct_lake (
  metadata_schema text PRIMARY KEY,
  reader_group text NOT NULL,
  writer_group text NOT NULL);

-- Each role that was made for somebody, and what the gate knew of him then. Roles are dropped only
-- when they are listed here.
CREATE TABLE duckicelake.pg_principal (
  pg_role text PRIMARY KEY,
  catalog_id text NOT NULL,
  registration bigint NOT NULL,     -- of the catalog: one that is made anew has another
  is_writer boolean NOT NULL,
  principal text NOT NULL,          -- whose grants count
  subject text NOT NULL,            -- who asked
  subject_client text,              -- the client of its token
  issued_at bigint NOT NULL,        -- of its token
  clients jsonb NOT NULL,           -- clients of PostgreSQL that stand behind it: id -> what they were
  roles text[] NOT NULL,            -- held by other ways than grants
  sees_all boolean NOT NULL,        -- not bound by grants, and reads everywhere
  reads_everywhere boolean NOT NULL,
  reads jsonb NOT NULL,             -- levels of namespaces
  writes_everywhere boolean NOT NULL,
  writes jsonb NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  retry_at timestamptz);            -- it could not be dropped: not tried again before
CREATE INDEX pg_principal_expiry ON duckicelake.pg_principal (expires_at);
)sql";

inline constexpr pg::Sql kDirectFunctions = R"sql(
-- What a client may do, as a value that changes with it.
CREATE FUNCTION duckicelake.client_state(client text) RETURNS jsonb LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT jsonb_build_array(scope, roles, account, extract(epoch FROM created_at)::text)
  FROM duckicelake.client WHERE client_id = $1 AND NOT is_disabled
$$;

-- The session's record, while it is good for the lake: no row otherwise, and all else is hidden.
CREATE FUNCTION duckicelake.direct_session(lake text) RETURNS SETOF duckicelake.pg_principal
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT p.* FROM duckicelake.pg_principal p
  JOIN duckicelake.catalog c ON c.catalog_id = p.catalog_id AND c.metadata_schema = $1
    AND c.registration = p.registration AND c.state = 'open'
  WHERE p.pg_role = session_user::text AND p.expires_at > clock_timestamp()
    AND NOT EXISTS (
      SELECT FROM jsonb_each(p.clients) k
      WHERE duckicelake.client_state(k.key) IS DISTINCT FROM k.value)
    AND NOT EXISTS (
      SELECT FROM duckicelake.client l WHERE l.client_id = p.subject_client
        AND p.clients ? l.client_id AND l.tokens_from > p.issued_at)
$$;

CREATE FUNCTION duckicelake.direct_sees_all(lake text) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT coalesce((SELECT sees_all FROM duckicelake.direct_session($1)), false)
$$;

-- What the gate allows the session: catalog/authorize.h, catalog/access.h. Live objects only.
CREATE FUNCTION duckicelake.direct_objects(lake text)
RETURNS TABLE (kind text, id bigint, schema_id bigint, is_writable boolean) LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
#variable_conflict use_column
DECLARE
  me duckicelake.pg_principal;
  held text[];
BEGIN
  SELECT * INTO me FROM duckicelake.direct_session(lake);
  IF NOT FOUND THEN RETURN; END IF;
  held := me.roles || ARRAY(SELECT g.role_name FROM duckicelake.role_grant g
                            WHERE g.catalog_id = me.catalog_id AND g.principal = me.principal);
  RETURN QUERY EXECUTE format($sql$
    WITH granted AS MATERIALIZED (
      SELECT g.object_kind, g.object_id,
        bool_or(g.privilege = 'select') AS limits_reading,
        bool_or(g.privilege = 'modify') AS limits_writing,
        bool_or(g.role_name = ANY ($2)) AS reads,
        bool_or(g.privilege = 'modify' AND g.role_name = ANY ($2)) AS writes
      FROM duckicelake.object_grant g WHERE g.catalog_id = $1 GROUP BY 1, 2),
    spaces AS MATERIALIZED (
      SELECT s.schema_id, s.schema_name, $3 OR v.levels IN (SELECT jsonb_array_elements($4)) AS reads,
        $5 OR v.levels IN (SELECT jsonb_array_elements($6)) AS writes
      FROM %1$I.ducklake_schema s
      LEFT JOIN duckicelake.namespace n ON n.catalog_id = $1 AND n.schema_id = s.schema_id
      CROSS JOIN LATERAL (SELECT to_jsonb(coalesce(n.levels, ARRAY[s.schema_name::text])) AS levels) v
      WHERE s.end_snapshot IS NULL),
    objects AS (
      SELECT 'table' AS kind, t.table_id AS id, t.schema_id FROM %1$I.ducklake_table t
      WHERE t.end_snapshot IS NULL
      UNION ALL
      SELECT 'view', w.view_id, w.schema_id FROM %1$I.ducklake_view w WHERE w.end_snapshot IS NULL
      UNION ALL
      SELECT 'schema', s.schema_id, s.schema_id FROM spaces s)
    SELECT o.kind, o.id, o.schema_id,
      $8 AND s.writes AND ($7 OR coalesce(a.writes, false) OR coalesce(b.writes, false)
        OR NOT (coalesce(a.limits_writing, false) OR coalesce(b.limits_writing, false)))
    FROM objects o JOIN spaces s USING (schema_id)
    LEFT JOIN granted a ON a.object_kind = o.kind AND a.object_id = o.id
    LEFT JOIN granted b ON b.object_kind = 'schema' AND b.object_id = o.schema_id
    WHERE s.reads AND ($7 OR coalesce(a.reads, false) OR coalesce(b.reads, false)
        OR NOT (coalesce(a.limits_reading, false) OR coalesce(b.limits_reading, false)))
    $sql$, lake)
  USING me.catalog_id, held, me.reads_everywhere, me.reads, me.writes_everywhere, me.writes,
    me.sees_all, me.is_writer;
END $fn$;

CREATE FUNCTION duckicelake.direct_tables(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT o.id FROM duckicelake.direct_objects($1) o WHERE o.kind = 'table'
$$;

CREATE FUNCTION duckicelake.direct_writable(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT o.id FROM duckicelake.direct_objects($1) o WHERE o.kind = 'table' AND o.is_writable
$$;

CREATE FUNCTION duckicelake.direct_views(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT o.id FROM duckicelake.direct_objects($1) o WHERE o.kind = 'view'
$$;

-- The schemas themselves, for what belongs to a schema as a whole.
CREATE FUNCTION duckicelake.direct_spaces(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT o.id FROM duckicelake.direct_objects($1) o WHERE o.kind = 'schema'
$$;

-- And those in which something is seen: DuckDB does not read a table without its schema.
CREATE FUNCTION duckicelake.direct_schemas(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT DISTINCT o.schema_id FROM duckicelake.direct_objects($1) o
$$;

-- Objects that comments hang on: they share one counter of ids.
CREATE FUNCTION duckicelake.direct_ids(lake text) RETURNS SETOF bigint LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT o.id FROM duckicelake.direct_objects($1) o
$$;

CREATE FUNCTION duckicelake.direct_sees(lake text, of_table bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT duckicelake.direct_sees_all($1) OR $2 IN (SELECT duckicelake.direct_tables($1))
$$;

CREATE FUNCTION duckicelake.direct_writes(lake text, of_table bigint) RETURNS boolean LANGUAGE sql
STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT $2 IN (SELECT duckicelake.direct_writable($1))
$$;

-- The words of snapshots: whether each is about something that is seen now, and whether it names
-- something. What is no word is not seen.
CREATE FUNCTION duckicelake.direct_words(lake text, first bigint, last bigint)
RETURNS TABLE (snapshot_id bigint, is_seen boolean, has_name boolean, is_writable boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
#variable_conflict use_column
BEGIN
  RETURN QUERY EXECUTE format($sql$
    WITH seen AS MATERIALIZED (SELECT * FROM duckicelake.direct_objects($1)),
    word AS (
      SELECT c.snapshot_id, w[1] AS verb, w[2] AS schema_name, w[3] AS name, w[4]::bigint AS id
      FROM %1$I.ducklake_snapshot_changes c CROSS JOIN LATERAL regexp_matches(c.changes_made,
        '([a-z_]+):(?:"((?:[^"]|"")*)"(?:\."((?:[^"]|"")*)")?|([0-9]{1,18}))', 'g') w
      WHERE c.snapshot_id BETWEEN $2 AND $3)
    SELECT c.snapshot_id, false, true, false FROM %1$I.ducklake_snapshot_changes c
    WHERE c.snapshot_id BETWEEN $2 AND $3 AND regexp_replace(coalesce(c.changes_made, ''),
      '([a-z_]+):(?:"((?:[^"]|"")*)"(?:\."((?:[^"]|"")*)")?|([0-9]{1,18}))', '', 'g') !~ '^[, ]*$'
    UNION ALL
    SELECT w.snapshot_id, CASE
      WHEN w.verb IN ('inserted_into_table', 'deleted_from_table', 'altered_table',
        'compacted_table', 'inlined_insert', 'inlined_delete', 'inline_flush', 'merge_adjacent',
        'rewrite_delete') THEN coalesce(o.kind = 'table', false)
      WHEN w.verb = 'altered_view' THEN coalesce(o.kind = 'view', false)
      WHEN w.verb = 'created_table' THEN EXISTS (
        SELECT FROM %1$I.ducklake_table t JOIN seen ON seen.kind = 'table' AND seen.id = t.table_id
        WHERE t.begin_snapshot = w.snapshot_id AND t.table_name = replace(w.name, '""', '"'))
      WHEN w.verb = 'created_view' THEN EXISTS (
        SELECT FROM %1$I.ducklake_view v JOIN seen ON seen.kind = 'view' AND seen.id = v.view_id
        WHERE v.begin_snapshot = w.snapshot_id AND v.view_name = replace(w.name, '""', '"'))
      WHEN w.verb = 'created_schema' THEN w.schema_name = 'main' OR EXISTS (
        SELECT FROM %1$I.ducklake_schema s JOIN seen ON seen.schema_id = s.schema_id
        WHERE s.begin_snapshot = w.snapshot_id
          AND s.schema_name = replace(w.schema_name, '""', '"'))
      WHEN w.verb IN ('created_scalar_macro', 'created_table_macro') THEN EXISTS (
        SELECT FROM %1$I.ducklake_macro m JOIN seen ON seen.kind = 'schema'
          AND seen.id = m.schema_id
        WHERE m.begin_snapshot = w.snapshot_id AND m.macro_name = replace(w.name, '""', '"'))
      ELSE false END,
      w.id IS NULL, coalesce(o.is_writable AND o.kind = 'table', false)
    FROM word w LEFT JOIN seen o ON o.id = w.id
    $sql$, lake)
  USING lake, first, last;
END $fn$;

-- Snapshots that say nothing of what is hidden.
CREATE FUNCTION duckicelake.direct_snapshots(lake text) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $fn$
BEGIN
  IF NOT EXISTS (SELECT FROM duckicelake.direct_session(lake)) THEN RETURN; END IF;
  RETURN QUERY EXECUTE format($sql$
    SELECT c.snapshot_id FROM %I.ducklake_snapshot_changes c
    WHERE c.snapshot_id NOT IN (
      SELECT w.snapshot_id FROM duckicelake.direct_words($1, 0, $2) w WHERE NOT w.is_seen)
    $sql$, lake)
  USING lake, 9223372036854775807;
END $fn$;

-- For a writer, whose DuckDB must not overlook what others did to its tables: also a snapshot that
-- is about these and about hidden ones, unless it names the hidden. See direct_may_append.
CREATE FUNCTION duckicelake.direct_sees_changes(lake text, snapshot bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT EXISTS (SELECT FROM duckicelake.direct_session($1)) AND coalesce(
    bool_and(w.is_seen) OR (bool_or(w.is_seen) AND NOT bool_or(w.has_name AND NOT w.is_seen)), true)
  FROM duckicelake.direct_words($1, $2, $2) w
$$;
)sql";

// To a lake's groups, once they are there; no more than policies call.
inline constexpr pg::Sql kDirectExecute = R"sql(
GRANT EXECUTE ON FUNCTION duckicelake.direct_session(text), duckicelake.direct_sees_all(text),
  duckicelake.direct_tables(text), duckicelake.direct_views(text), duckicelake.direct_spaces(text),
  duckicelake.direct_schemas(text), duckicelake.direct_ids(text), duckicelake.direct_sees(text, bigint),
  duckicelake.direct_snapshots(text) TO {reader}, {writer};
GRANT EXECUTE ON FUNCTION duckicelake.direct_writable(text), duckicelake.direct_writes(text, bigint),
  duckicelake.direct_sees_changes(text, bigint),
  duckicelake.direct_may_append(text, bigint, timestamptz, bigint, bigint, bigint),
  duckicelake.direct_is_own(text, bigint), duckicelake.direct_is_new_file(text, bigint),
  duckicelake.direct_is_file_of(text, bigint, bigint), duckicelake.direct_may_say(text, bigint, text),
  duckicelake.direct_is_place(text, bigint, text, boolean) TO {writer};
)sql";

}  // namespace duckicelake::store
