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

// Row security on DuckLake's tables. Roles outside of the groups keep what they are granted: one
// permissive policy lets everybody pass, restrictive ones bind the groups. A table of which nothing
// is known here is not granted to them.
inline constexpr pg::Sql kDirectArming = R"sql(
-- What the groups may do with a table: rules of the rows; null: nothing.
CREATE FUNCTION duckicelake.direct_rules(lake text, name text, OUT sees text, OUT writer_sees text,
  OUT adds text, OUT changes text, OUT removes text, OUT columns text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $fn$
DECLARE
  everything text := format('(SELECT duckicelake.direct_sees_all(%L)) OR ', lake);
  writable text := format('table_id IN (SELECT duckicelake.direct_writable(%L))', lake);
  is_new text := format('duckicelake.direct_is_new_file(%L, data_file_id)', lake);
  is_path text := format('duckicelake.direct_is_place(%L, table_id, path, path_is_relative)', lake);
  of_table bigint;
BEGIN
  CASE
    WHEN name IN ('ducklake_table', 'ducklake_column', 'ducklake_column_tag', 'ducklake_data_file',
        'ducklake_delete_file', 'ducklake_file_column_stats', 'ducklake_file_variant_stats',
        'ducklake_file_partition_value', 'ducklake_table_stats', 'ducklake_table_column_stats',
        'ducklake_partition_info', 'ducklake_partition_column', 'ducklake_sort_info',
        'ducklake_sort_expression', 'ducklake_column_mapping', 'ducklake_schema_versions',
        'ducklake_inlined_data_tables') THEN
      sees := everything || format('table_id IN (SELECT duckicelake.direct_tables(%L))', lake);
    WHEN name = 'ducklake_name_mapping' THEN
      sees := format('mapping_id IN (SELECT m.mapping_id FROM %I.ducklake_column_mapping m)', lake);
    WHEN name = 'ducklake_view' THEN
      sees := everything || format('view_id IN (SELECT duckicelake.direct_views(%L))', lake);
    WHEN name = 'ducklake_schema' THEN
      -- DuckDB wants its own schema there; the name is everywhere the same.
      sees := everything || format('schema_name = ''main'' OR schema_id IN '
        '(SELECT duckicelake.direct_schemas(%L))', lake);
    WHEN name = 'ducklake_tag' THEN
      sees := everything || format('object_id IN (SELECT duckicelake.direct_ids(%L))', lake);
    WHEN name = 'ducklake_macro' THEN
      sees := everything || format('schema_id IN (SELECT duckicelake.direct_spaces(%L))', lake);
    WHEN name IN ('ducklake_macro_impl', 'ducklake_macro_parameters') THEN
      sees := format('macro_id IN (SELECT m.macro_id FROM %I.ducklake_macro m)', lake);
    WHEN name = 'ducklake_metadata' THEN
      sees := everything || format('CASE WHEN scope IS NULL THEN key = ANY (%L) '
        'WHEN scope = ''table'' THEN scope_id IN (SELECT duckicelake.direct_tables(%L)) '
        'WHEN scope = ''schema'' THEN scope_id IN (SELECT duckicelake.direct_spaces(%L)) '
        'ELSE false END', ARRAY['version', 'created_by', 'data_path', 'encrypted',
        'data_inlining_row_limit', 'target_file_size', 'parquet_compression',
        'parquet_compression_level', 'parquet_version', 'parquet_row_group_size',
        'parquet_row_group_size_bytes', 'hive_file_pattern', 'require_commit_message',
        'rewrite_delete_threshold', 'delete_older_than', 'expire_older_than', 'auto_compact',
        'per_thread_output', 'sort_on_insert', 'write_deletion_vectors'], lake, lake);
    WHEN name = 'ducklake_snapshot' THEN
      sees := format('EXISTS (SELECT FROM duckicelake.direct_session(%L))', lake);
    WHEN name = 'ducklake_snapshot_changes' THEN
      sees := everything || format('snapshot_id IN (SELECT duckicelake.direct_snapshots(%L))', lake);
      writer_sees := everything || format('duckicelake.direct_sees_changes(%L, snapshot_id)', lake);
    WHEN name = 'ducklake_files_scheduled_for_deletion' THEN
      sees := NULL;
    WHEN name ~ '^ducklake_inlined_data_[0-9]{1,18}_[0-9]{1,18}$' THEN
      -- The table whose rows it holds is what DuckLake says, not what the name says.
      EXECUTE format('SELECT max(i.table_id) FROM %I.ducklake_inlined_data_tables i '
        'WHERE i.table_name = $1 HAVING count(DISTINCT i.table_id) = 1', lake)
        INTO of_table USING name;
    WHEN name ~ '^ducklake_inlined_delete_[0-9]{1,18}$' THEN
      of_table := substring(name FROM '[0-9]+$')::bigint;
    ELSE RETURN;
  END CASE;
  IF of_table IS NOT NULL THEN
    sees := format('(SELECT duckicelake.direct_sees(%L, %L::bigint))', lake, of_table);
  END IF;
  writer_sees := coalesce(writer_sees, sees);
  -- What a commit of DuckDB to tables that are there writes.
  CASE name
    WHEN 'ducklake_snapshot' THEN
      adds := format('duckicelake.direct_may_append(%L, snapshot_id, snapshot_time, schema_version, '
        'next_catalog_id, next_file_id)', lake);
    WHEN 'ducklake_snapshot_changes' THEN
      adds := format('duckicelake.direct_may_say(%L, snapshot_id, changes_made)', lake);
    WHEN 'ducklake_data_file' THEN
      adds := writable || ' AND end_snapshot IS NULL AND mapping_id IS NULL AND ' || is_new || ' AND '
        || is_path || format(' AND duckicelake.direct_is_own(%L, begin_snapshot)', lake);
      changes := writable || format(' AND duckicelake.direct_is_own(%L, end_snapshot)', lake);
      columns := 'end_snapshot';
    WHEN 'ducklake_delete_file' THEN
      adds := writable || format(' AND end_snapshot IS NULL AND '
        'duckicelake.direct_is_new_file(%L, delete_file_id) AND '
        'duckicelake.direct_is_file_of(%L, data_file_id, table_id) AND ', lake, lake) || is_path;
      changes := writable || format(' AND duckicelake.direct_is_own(%L, end_snapshot)', lake);
      columns := 'end_snapshot';
      removes := writable;
    WHEN 'ducklake_file_column_stats', 'ducklake_file_variant_stats',
         'ducklake_file_partition_value' THEN
      adds := writable || ' AND ' || is_new;
    WHEN 'ducklake_table_stats', 'ducklake_table_column_stats' THEN
      adds := writable;
      changes := writable;
      columns := '';
    WHEN 'ducklake_files_scheduled_for_deletion' THEN
      adds := format('duckicelake.direct_is_place(%L, NULL, path, path_is_relative)', lake);
    ELSE
      IF of_table IS NOT NULL AND name LIKE 'ducklake\_inlined\_data\_%' THEN
        changes := format('(SELECT duckicelake.direct_writes(%L, %L::bigint)) AND '
          'duckicelake.direct_is_own(%L, end_snapshot)', lake, of_table, lake);
        columns := 'end_snapshot';
      END IF;
  END CASE;
END $fn$;

-- Makes the rules of one table those above, in the caller's transaction; the grants come last.
-- False: it stays closed.
CREATE FUNCTION duckicelake.direct_arm(lake text, name text) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $fn$
DECLARE
  kin duckicelake.direct_lake;
  rule record;
  old record;
  target text := format('%I.%I', lake, name);
BEGIN
  SELECT * INTO kin FROM duckicelake.direct_lake d WHERE d.metadata_schema = lake;
  SELECT * INTO rule FROM duckicelake.direct_rules(lake, name);
  IF kin.reader_group IS NULL OR (rule.sees IS NULL AND rule.adds IS NULL) THEN RETURN false; END IF;
  -- Takes the table's lock: whoever arms it at the same time comes after.
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
  EXECUTE format('REVOKE ALL ON %s FROM %I, %I', target, kin.reader_group, kin.writer_group);
  FOR old IN SELECT p.polname FROM pg_policy p WHERE p.polrelid = target::regclass
      AND p.polname LIKE 'duckicelake\_%' LOOP
    EXECUTE format('DROP POLICY %I ON %s', old.polname, target);
  END LOOP;
  EXECUTE format('CREATE POLICY duckicelake_others ON %s USING (true) WITH CHECK (true)', target);
  EXECUTE format('CREATE POLICY duckicelake_reader_v1 ON %s AS RESTRICTIVE TO %I USING (%s) '
    'WITH CHECK (false)', target, kin.reader_group, coalesce(rule.sees, 'false'));
  EXECUTE format('CREATE POLICY duckicelake_writer_v1 ON %s AS RESTRICTIVE FOR SELECT TO %I USING (%s)',
    target, kin.writer_group, coalesce(rule.writer_sees, 'false'));
  EXECUTE format('CREATE POLICY duckicelake_writer_adds ON %s AS RESTRICTIVE FOR INSERT TO %I '
    'WITH CHECK (%s)', target, kin.writer_group, coalesce(rule.adds, 'false'));
  -- The row as it was has to be of a writable table; as it becomes it keeps to the whole rule.
  EXECUTE format('CREATE POLICY duckicelake_writer_changes ON %s AS RESTRICTIVE FOR UPDATE TO %I '
    'USING (%s) WITH CHECK (%s)', target, kin.writer_group,
    coalesce(regexp_replace(rule.changes, ' AND duckicelake.direct_is_own.*$', ''), 'false'),
    coalesce(rule.changes, 'false'));
  EXECUTE format('CREATE POLICY duckicelake_writer_removes ON %s AS RESTRICTIVE FOR DELETE TO %I '
    'USING (%s)', target, kin.writer_group, coalesce(rule.removes, 'false'));
  IF rule.sees IS NOT NULL THEN
    EXECUTE format('GRANT SELECT ON %s TO %I, %I', target, kin.reader_group, kin.writer_group);
  END IF;
  IF rule.adds IS NOT NULL THEN
    EXECUTE format('GRANT INSERT ON %s TO %I', target, kin.writer_group);
  END IF;
  IF rule.columns = '' THEN
    EXECUTE format('GRANT UPDATE ON %s TO %I', target, kin.writer_group);
  ELSIF rule.changes IS NOT NULL THEN
    EXECUTE format('GRANT UPDATE (%s) ON %s TO %I', rule.columns, target, kin.writer_group);
  END IF;
  IF rule.removes IS NOT NULL THEN
    EXECUTE format('GRANT DELETE ON %s TO %I', target, kin.writer_group);
  END IF;
  RETURN true;
END $fn$;

-- Tables of the lake that are not as direct_arm makes them. is_known: it would; is_granted: to a group
-- all the same.
CREATE FUNCTION duckicelake.direct_unarmed(lake text)
RETURNS TABLE (name text, is_known boolean, is_granted boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.relname::text, r.sees IS NOT NULL OR r.adds IS NOT NULL, EXISTS (
    SELECT FROM aclexplode(c.relacl) a JOIN pg_roles g ON g.oid = a.grantee
    JOIN duckicelake.direct_lake d ON d.metadata_schema = $1
      AND g.rolname IN (d.reader_group, d.writer_group))
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL duckicelake.direct_rules($1, c.relname::text) r
  WHERE n.nspname = $1 AND c.relname LIKE 'ducklake\_%' AND c.relkind IN ('r', 'p')
    AND EXISTS (SELECT FROM duckicelake.direct_lake d WHERE d.metadata_schema = $1)
    AND NOT (c.relrowsecurity AND 2 = (
      SELECT count(*) FROM pg_policy p
      JOIN duckicelake.direct_lake d ON d.metadata_schema = $1
      JOIN pg_roles g ON g.rolname = CASE p.polname WHEN 'duckicelake_reader_v1' THEN d.reader_group
                                                    ELSE d.writer_group END
      WHERE p.polrelid = c.oid AND g.oid = ANY (p.polroles)
        AND p.polname IN ('duckicelake_reader_v1', 'duckicelake_writer_v1')))
  ORDER BY 1
$$;

-- Arms a payload table as part of the transaction that makes it. Whoever made it may not let us: then
-- it stays closed until its owner does.
CREATE FUNCTION duckicelake.direct_arm_payload(lake text, name text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $fn$
BEGIN
  IF to_regclass(format('%I.%I', lake, name)) IS NULL
     OR NOT EXISTS (SELECT FROM duckicelake.direct_lake d WHERE d.metadata_schema = lake)
     OR EXISTS (SELECT FROM pg_policy p WHERE p.polname = 'duckicelake_reader_v1'
                AND p.polrelid = to_regclass(format('%I.%I', lake, name))) THEN
    RETURN;
  END IF;
  PERFORM duckicelake.direct_arm(lake, name);
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'duckicelake: table % is closed to vended roles: %', name, SQLERRM;
END $fn$;

CREATE FUNCTION duckicelake.arm_inlined() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $fn$
BEGIN
  PERFORM duckicelake.direct_arm_payload(TG_TABLE_SCHEMA, NEW.table_name);
  RETURN NULL;
END $fn$;

CREATE FUNCTION duckicelake.arm_deletes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $fn$
DECLARE
  word record;
BEGIN
  FOR word IN SELECT w[1] AS id FROM regexp_matches(NEW.changes_made, 'inlined_delete:([0-9]{1,18})', 'g') w
  LOOP
    PERFORM duckicelake.direct_arm_payload(TG_TABLE_SCHEMA, 'ducklake_inlined_delete_' || word.id);
  END LOOP;
  RETURN NULL;
END $fn$;

REVOKE ALL ON FUNCTION duckicelake.client_state(text), duckicelake.direct_session(text),
  duckicelake.direct_sees_all(text), duckicelake.direct_objects(text), duckicelake.direct_tables(text),
  duckicelake.direct_writable(text), duckicelake.direct_views(text), duckicelake.direct_spaces(text),
  duckicelake.direct_schemas(text), duckicelake.direct_ids(text), duckicelake.direct_sees(text, bigint),
  duckicelake.direct_writes(text, bigint), duckicelake.direct_words(text, bigint, bigint),
  duckicelake.direct_snapshots(text), duckicelake.direct_sees_changes(text, bigint),
  duckicelake.direct_may_append(text, bigint, timestamptz, bigint, bigint, bigint),
  duckicelake.direct_is_own(text, bigint), duckicelake.direct_is_new_file(text, bigint),
  duckicelake.direct_is_path(text, boolean), duckicelake.direct_is_file_of(text, bigint, bigint),
  duckicelake.direct_may_say(text, bigint, text),
  duckicelake.direct_is_place(text, bigint, text, boolean), duckicelake.direct_rules(text, text),
  duckicelake.direct_arm(text, text), duckicelake.direct_unarmed(text),
  duckicelake.direct_arm_payload(text, text), duckicelake.arm_inlined(), duckicelake.arm_deletes()
FROM PUBLIC;
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
