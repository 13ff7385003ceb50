// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "pg/migrations.h"
#include "store/access_schema.h"
#include "store/direct_schema.h"
#include "store/direct_schema_arming.h"
#include "store/direct_schema_writes.h"
#include "store/sidecar.h"

namespace duckicelake::store {
namespace {

using pg::Sql;

constexpr Sql kTables = R"sql(
CREATE TABLE duckicelake.catalog (
  catalog_id text PRIMARY KEY,
  metadata_schema text NOT NULL UNIQUE,
  indexed_to bigint NOT NULL DEFAULT -1,
  created_at timestamptz NOT NULL DEFAULT now());

-- Raised by changes that take no DuckLake snapshot. A row of its own: only maintenance and sidecar writes lock it.
CREATE TABLE duckicelake.revision (
  metadata_schema text PRIMARY KEY,
  value bigint NOT NULL DEFAULT 0);

CREATE TABLE duckicelake.table_change (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  is_compaction boolean NOT NULL,
  PRIMARY KEY (catalog_id, table_id, snapshot_id));

CREATE TABLE duckicelake.table_state (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  version bigint NOT NULL,
  through_snapshot bigint NOT NULL,
  next_file_id bigint NOT NULL,
  revision bigint NOT NULL,
  retired_serial bigint NOT NULL,
  metadata_location text NOT NULL,
  document text NOT NULL,
  manifests bytea NOT NULL,
  ranges bigint[] NOT NULL,
  totals bigint[] NOT NULL,
  inlined_keys bigint[] NOT NULL,
  must_rewrite boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, table_id));

CREATE TABLE duckicelake.snapshot (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  document text NOT NULL,
  is_hidden boolean NOT NULL DEFAULT false,
  PRIMARY KEY (catalog_id, table_id, snapshot_id));

CREATE TABLE duckicelake.inlined_file (
  file_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  inlined_table text NOT NULL,
  begin_snapshot bigint NOT NULL,
  path text NOT NULL,
  record_count bigint NOT NULL,
  file_size_bytes bigint NOT NULL,
  row_ids bigint[] NOT NULL,
  stats text NOT NULL,
  UNIQUE (catalog_id, table_id, inlined_table, begin_snapshot));

-- Rows that left ducklake_data_file. Written by a trigger, so the metadata schema stands for the catalog.
CREATE TABLE duckicelake.retired_file (
  serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  metadata_schema text NOT NULL,
  table_id bigint NOT NULL,
  data_file_id bigint NOT NULL,
  begin_snapshot bigint NOT NULL,
  end_snapshot bigint,
  path text NOT NULL,
  path_is_relative boolean NOT NULL,
  is_gone boolean NOT NULL DEFAULT false);
CREATE INDEX retired_file_table ON duckicelake.retired_file (metadata_schema, table_id, serial);
CREATE INDEX retired_file_id ON duckicelake.retired_file (metadata_schema, data_file_id);
CREATE INDEX retired_file_gone ON duckicelake.retired_file (metadata_schema, table_id) WHERE is_gone;

CREATE TABLE duckicelake.namespace (
  catalog_id text NOT NULL,
  schema_id bigint NOT NULL,
  levels text[] NOT NULL,
  PRIMARY KEY (catalog_id, schema_id),
  UNIQUE (catalog_id, levels));

CREATE TABLE duckicelake.table_property (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (catalog_id, table_id, key));
)sql";

// SECURITY DEFINER: the roles of DuckDB users write to ducklake_* and have no right on the sidecar.
constexpr Sql kFunctions = R"sql(
CREATE FUNCTION duckicelake.raise_revision() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO duckicelake.revision AS r (metadata_schema, value) VALUES (TG_TABLE_SCHEMA, 1)
  ON CONFLICT (metadata_schema) DO UPDATE SET value = r.value + 1;
  RETURN NULL;
END $$;

CREATE FUNCTION duckicelake.note_retired() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO duckicelake.retired_file
    (metadata_schema, table_id, data_file_id, begin_snapshot, end_snapshot, path, path_is_relative)
  SELECT TG_TABLE_SCHEMA, table_id, data_file_id, begin_snapshot, end_snapshot, path,
         coalesce(path_is_relative, true)
  FROM retired WHERE table_id IS NOT NULL;
  RETURN NULL;
END $$;

CREATE FUNCTION duckicelake.note_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  UPDATE duckicelake.retired_file f SET is_gone = true FROM removed
  WHERE f.metadata_schema = TG_TABLE_SCHEMA AND f.data_file_id = removed.data_file_id AND NOT f.is_gone;
  INSERT INTO duckicelake.revision AS r (metadata_schema, value) VALUES (TG_TABLE_SCHEMA, 1)
  ON CONFLICT (metadata_schema) DO UPDATE SET value = r.value + 1;
  RETURN NULL;
END $$;
)sql";

// What the use cases about namespaces, views and names keep.
constexpr Sql kDefinitionTables = R"sql(
CREATE TABLE duckicelake.namespace_property (
  catalog_id text NOT NULL,
  schema_id bigint NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (catalog_id, schema_id, key));

-- The Iceberg metadata of views made over REST; document is its JSON, as the object at metadata_location has it.
CREATE TABLE duckicelake.view_state (
  catalog_id text NOT NULL,
  view_id bigint NOT NULL,
  metadata_location text NOT NULL,
  document text NOT NULL,
  PRIMARY KEY (catalog_id, view_id));

CREATE TABLE duckicelake.metrics_report (
  serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  principal text NOT NULL,
  report text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX metrics_report_table ON duckicelake.metrics_report (catalog_id, table_id, serial);

-- error: the name of its code, body is its message then.
CREATE TABLE duckicelake.idempotency (
  catalog_id text NOT NULL,
  key uuid NOT NULL,
  principal text NOT NULL,
  operation text NOT NULL,
  body_hash text NOT NULL,
  error text,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, key));
CREATE INDEX idempotency_age ON duckicelake.idempotency (created_at);
)sql";

// What Iceberg clients commit and DuckLake has no place for.
constexpr Sql kCommits = R"sql(
ALTER TABLE duckicelake.table_state
  ADD COLUMN refs text NOT NULL DEFAULT '{}',
  ADD COLUMN is_dirty boolean NOT NULL DEFAULT false,
  ADD COLUMN spec_binding bigint,
  ADD COLUMN sort_binding bigint,
  ADD COLUMN main_after bigint NOT NULL DEFAULT -1;

ALTER TABLE duckicelake.snapshot ADD COLUMN is_main boolean NOT NULL DEFAULT true;

-- Snapshots that clients made, under the ids that they chose. ducklake_snapshot_id is the DuckLake
-- snapshot that each became; snapshots of branches and staged ones are not part of DuckLake's rows.
CREATE TABLE duckicelake.client_snapshot (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  client_id bigint NOT NULL,
  ducklake_snapshot_id bigint NOT NULL,
  is_main boolean NOT NULL,
  is_published boolean NOT NULL DEFAULT false,
  parent_id bigint,
  schema_id integer,
  summary text NOT NULL,
  manifest_list text NOT NULL,
  first_row_id bigint,
  added_rows bigint,
  key_id text,
  PRIMARY KEY (catalog_id, table_id, client_id));
CREATE INDEX client_snapshot_main ON duckicelake.client_snapshot
  (catalog_id, table_id, ducklake_snapshot_id);

-- Manifest entries of data files as clients wrote them: metrics and partition tuples that DuckLake's
-- rows cannot say. One Avro manifest holds the entries of many files.
CREATE TABLE duckicelake.committed_manifest (
  serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  entries bytea NOT NULL);
CREATE TABLE duckicelake.committed_file (
  catalog_id text NOT NULL,
  table_id bigint NOT NULL,
  data_file_id bigint NOT NULL,
  manifest_serial bigint NOT NULL,
  entry_index integer NOT NULL,
  PRIMARY KEY (catalog_id, table_id, data_file_id));

-- Objects of dropped tables that are part of another one again, in the forms that DuckLake
-- schedules.
CREATE TABLE duckicelake.revived_path (
  metadata_schema text NOT NULL,
  path text NOT NULL,
  PRIMARY KEY (metadata_schema, path));

CREATE FUNCTION duckicelake.keep_revived() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (SELECT FROM duckicelake.revived_path r
             WHERE r.metadata_schema = TG_TABLE_SCHEMA AND r.path = NEW.path) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
)sql";

// Files that snapshots beside main (of branches, staged) name. DuckLake does not show them, and its
// orphan cleanup removes what it does not know: each is a row of ducklake_data_file that no
// snapshot shows (begin_snapshot = end_snapshot = -1), which DuckLake's expire takes for one that
// nobody needs. The triggers put it back and keep its object off the schedule, as long as it is
// listed here and its table is live. Files of main that a snapshot beside main builds on become
// such files when main lets go of them.
constexpr Sql kSideFiles = R"sql(
CREATE TABLE duckicelake.side_file (
  metadata_schema text NOT NULL,
  table_id bigint NOT NULL,
  path text NOT NULL,
  scheduled_path text NOT NULL,  -- as DuckLake schedules it
  PRIMARY KEY (metadata_schema, path));
CREATE INDEX side_file_scheduled ON duckicelake.side_file (metadata_schema, scheduled_path);
CREATE INDEX side_file_table ON duckicelake.side_file (metadata_schema, table_id);

CREATE OR REPLACE FUNCTION duckicelake.note_retired() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO duckicelake.retired_file
    (metadata_schema, table_id, data_file_id, begin_snapshot, end_snapshot, path, path_is_relative)
  SELECT TG_TABLE_SCHEMA, table_id, data_file_id, begin_snapshot, end_snapshot, path,
         coalesce(path_is_relative, true)
  FROM retired WHERE table_id IS NOT NULL AND begin_snapshot >= 0;
  IF NOT EXISTS (
      SELECT FROM retired r JOIN duckicelake.client_snapshot c ON c.table_id = r.table_id
      JOIN duckicelake.catalog k ON k.catalog_id = c.catalog_id
      WHERE k.metadata_schema = TG_TABLE_SCHEMA AND NOT c.is_main) THEN
    RETURN NULL;
  END IF;
  EXECUTE format($sql$
    DELETE FROM duckicelake.side_file s USING retired r
    WHERE s.metadata_schema = %2$L AND s.table_id = r.table_id AND NOT EXISTS (
      SELECT FROM %1$I.ducklake_table t WHERE t.table_id = r.table_id AND t.end_snapshot IS NULL)
    $sql$, TG_TABLE_SCHEMA, TG_TABLE_SCHEMA);
  EXECUTE format($sql$
    WITH folder AS (
      SELECT t.table_id, m.value AS data_path,
        CASE WHEN NOT coalesce(t.path_is_relative, true) THEN t.path
             WHEN NOT coalesce(s.path_is_relative, true) THEN s.path || coalesce(t.path, '')
             ELSE m.value || coalesce(s.path, '') || coalesce(t.path, '') END AS path
      FROM %1$I.ducklake_metadata m, %1$I.ducklake_table t JOIN %1$I.ducklake_schema s USING (schema_id)
      WHERE m.key = 'data_path' AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL
        AND t.table_id IN (SELECT r.table_id FROM retired r)),
    gone AS (
      SELECT r.data_file_id, r.table_id, r.begin_snapshot, r.end_snapshot, r.record_count,
        r.file_size_bytes, f.data_path,
        CASE WHEN coalesce(r.path_is_relative, true) THEN f.path || r.path ELSE r.path END AS uri
      FROM retired r JOIN folder f USING (table_id)),
    kept AS (
      SELECT g.* FROM gone g
      WHERE EXISTS (SELECT FROM duckicelake.side_file s
                    WHERE s.metadata_schema = %2$L AND s.path = g.uri)
         OR EXISTS (
        SELECT FROM duckicelake.client_snapshot c
        JOIN duckicelake.catalog k ON k.catalog_id = c.catalog_id
        JOIN duckicelake.snapshot base ON base.catalog_id = c.catalog_id
          AND base.table_id = c.table_id AND base.snapshot_id = c.parent_id AND base.is_main
        WHERE k.metadata_schema = %2$L AND c.table_id = g.table_id AND NOT c.is_main
          AND g.begin_snapshot >= 0 AND g.begin_snapshot <= c.parent_id
          AND (g.end_snapshot IS NULL OR c.parent_id < g.end_snapshot)
          AND EXISTS (
            SELECT FROM duckicelake.client_snapshot d WHERE d.catalog_id = c.catalog_id
              AND d.table_id = c.table_id AND NOT d.is_main
              AND d.ducklake_snapshot_id >= c.ducklake_snapshot_id
              AND NOT EXISTS (SELECT FROM duckicelake.snapshot h WHERE h.catalog_id = d.catalog_id
                AND h.table_id = d.table_id AND h.snapshot_id = d.client_id AND h.is_hidden)))),
    listed AS (
      INSERT INTO duckicelake.side_file (metadata_schema, table_id, path, scheduled_path)
      SELECT %2$L, table_id, uri, CASE WHEN starts_with(uri, data_path)
                                       THEN substr(uri, length(data_path) + 1) ELSE uri END
      FROM kept ON CONFLICT DO NOTHING)
    INSERT INTO %1$I.ducklake_data_file (data_file_id, table_id, begin_snapshot, end_snapshot,
      path, path_is_relative, file_format, record_count, file_size_bytes)
    SELECT data_file_id, table_id, -1, -1, uri, false, 'parquet', record_count, file_size_bytes
    FROM kept
    $sql$, TG_TABLE_SCHEMA, TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION duckicelake.keep_revived() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (SELECT FROM duckicelake.revived_path r
             WHERE r.metadata_schema = TG_TABLE_SCHEMA AND r.path = NEW.path)
     OR EXISTS (SELECT FROM duckicelake.side_file s
                WHERE s.metadata_schema = TG_TABLE_SCHEMA AND s.scheduled_path = NEW.path) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
)sql";

// Sent with each DuckLake snapshot, whoever makes it: see store/eager.h.
constexpr Sql kAnnouncement = R"sql(
CREATE FUNCTION duckicelake.announce_snapshot() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  PERFORM pg_notify('duckicelake_snapshot', TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
)sql";

// DuckDB makes an inlined table with its first small insert where the table has none, under a new
// schema version that it does not write to ducklake_schema_versions. DuckDB looks the columns of an
// inlined table up there, and without a row takes those with which the table was made: once columns
// have changed its reads end in an internal error. Works at the end of the transaction, because who
// changes columns writes both rows, in either order.
constexpr Sql kInlinedVersions = R"sql(
CREATE FUNCTION duckicelake.note_inlined() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  EXECUTE format($sql$
    INSERT INTO %1$I.ducklake_schema_versions (begin_snapshot, schema_version, table_id)
    SELECT s.snapshot_id, $1, $2
    FROM (SELECT snapshot_id, schema_version FROM %1$I.ducklake_snapshot
          ORDER BY snapshot_id DESC LIMIT 1) s
    WHERE s.schema_version = $1 AND NOT EXISTS (
      SELECT FROM %1$I.ducklake_schema_versions v WHERE v.table_id = $2 AND v.schema_version = $1)
    $sql$, TG_TABLE_SCHEMA) USING NEW.schema_version, NEW.table_id;
  RETURN NULL;
END $$;
)sql";

// Catalogs that every process of the database serves, and where all of them keep their data. The
// version of the registry lies in the row that every head reads anyway.
constexpr Sql kRegistry = R"sql(
CREATE SEQUENCE duckicelake.catalog_registration;
ALTER TABLE duckicelake.catalog
  ADD COLUMN data_path text,
  ADD COLUMN account_id text NOT NULL DEFAULT '',
  ADD COLUMN is_shared boolean NOT NULL DEFAULT false,
  ADD COLUMN state text NOT NULL DEFAULT 'open' CHECK (state IN ('making', 'open', 'closed')),
  ADD COLUMN registration bigint NOT NULL DEFAULT nextval('duckicelake.catalog_registration');

DO $$
DECLARE
  k record;
  found text;
BEGIN
  FOR k IN SELECT catalog_id, metadata_schema FROM duckicelake.catalog LOOP
    BEGIN
      EXECUTE format('SELECT value FROM %I.ducklake_metadata WHERE key = %L AND scope IS NULL',
                     k.metadata_schema, 'data_path') INTO found;
      UPDATE duckicelake.catalog SET data_path = rtrim(found, '/') || '/'
      WHERE catalog_id = k.catalog_id;
    EXCEPTION WHEN undefined_table OR invalid_schema_name OR insufficient_privilege THEN
      NULL;
    END;
  END LOOP;
END $$;

ALTER TABLE duckicelake.access_version ADD COLUMN catalogs bigint NOT NULL DEFAULT 0;
CREATE FUNCTION duckicelake.raise_catalogs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  UPDATE duckicelake.access_version SET catalogs = catalogs + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER raise_catalogs AFTER INSERT OR DELETE OR TRUNCATE
  OR UPDATE OF metadata_schema, data_path, account_id, is_shared, state, registration
  ON duckicelake.catalog FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_catalogs();
)sql";

// Tokens of deleted clients are void also when a client of the same id is made again: those of the
// new one begin after them. Seconds since the epoch.
constexpr Sql kDeletedClients = R"sql(
ALTER TABLE duckicelake.access_version ADD COLUMN deleted_tokens_until bigint NOT NULL DEFAULT 0;
CREATE FUNCTION duckicelake.keep_deleted_client() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  UPDATE duckicelake.access_version
  SET deleted_tokens_until = greatest(deleted_tokens_until, OLD.tokens_from);
  RETURN NULL;
END $$;
CREATE TRIGGER keep_deleted_client AFTER DELETE ON duckicelake.client
  FOR EACH ROW EXECUTE FUNCTION duckicelake.keep_deleted_client();
)sql";

// How many NaN columns of data files have whose writers did not say; how far files were looked at.
constexpr Sql kNanCounts = R"sql(
CREATE TABLE duckicelake.nan_count (
  catalog_id text NOT NULL,
  data_file_id bigint NOT NULL,
  column_id bigint NOT NULL,
  nan_count bigint NOT NULL,
  PRIMARY KEY (catalog_id, data_file_id, column_id));
CREATE TABLE duckicelake.nan_progress (
  catalog_id text PRIMARY KEY,
  through_file bigint NOT NULL);
)sql";

}  // namespace

Status migrate_sidecar(pg::Connection& connection) {
  const std::array<pg::Migration, 14> migrations = {
      pg::Migration{1, "tables of the projection", kTables},
      pg::Migration{2, "functions of the triggers", kFunctions},
      pg::Migration{3, "commits of clients", kCommits},
      pg::Migration{4, "namespaces, views and repeated requests", kDefinitionTables},
      pg::Migration{5, "files of snapshots beside main", kSideFiles},
      pg::Migration{6, "announcement of snapshots", kAnnouncement},
      pg::Migration{7, "schema versions of inlined tables", kInlinedVersions},
      pg::Migration{8, "clients, roles and grants", kAccessTables},
      pg::Migration{9, "record of decisions", kAuditTable},
      pg::Migration{10, "catalogs of all processes", kRegistry},
      pg::Migration{11, "roles for DuckDB users",
                    kDirectTables + kDirectFunctions + kDirectWrites + kDirectArming},
      pg::Migration{12, "tokens of deleted clients", kDeletedClients},
      pg::Migration{13, "policies of static keys", kKeyPolicies},
      pg::Migration{14, "counts of NaN", kNanCounts},
  };
  DIL_TRY(pg::MigrationReport report,
          pg::run_migrations(connection, pg::SqlIdent::constant("duckicelake"), migrations));
  (void)report;
  return {};
}

}  // namespace duckicelake::store
