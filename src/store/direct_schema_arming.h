// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg/sql.h"

// What puts the policies of direct_schema.h on the tables of a lake.
namespace duckicelake::store {

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

}  // namespace duckicelake::store
