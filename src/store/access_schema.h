// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg/sql.h"

// The tables of access.h, key_policy.h and audit.h, for the migrations.
namespace duckicelake::store {

inline constexpr pg::Sql kAccessTables = R"sql(
-- One row; the clients below are those of all catalogs. Part of the head that every request reads.
CREATE TABLE duckicelake.access_version (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  value bigint NOT NULL DEFAULT 0);
INSERT INTO duckicelake.access_version DEFAULT VALUES;

CREATE TABLE duckicelake.client (
  client_id text PRIMARY KEY,
  scope text NOT NULL,
  roles text[] NOT NULL DEFAULT '{}',
  account text NOT NULL DEFAULT '',
  is_disabled boolean NOT NULL DEFAULT false,
  tokens_from bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now());

CREATE TABLE duckicelake.client_secret (
  serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id text NOT NULL REFERENCES duckicelake.client ON DELETE CASCADE,
  hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz);
CREATE INDEX client_secret_client ON duckicelake.client_secret (client_id);

CREATE TABLE duckicelake.role (
  catalog_id text NOT NULL,
  role_name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, role_name));

CREATE TABLE duckicelake.role_grant (
  catalog_id text NOT NULL,
  role_name text NOT NULL,
  principal text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, role_name, principal),
  FOREIGN KEY (catalog_id, role_name) REFERENCES duckicelake.role);
CREATE INDEX role_grant_principal ON duckicelake.role_grant (catalog_id, principal);

CREATE TABLE duckicelake.object_grant (
  catalog_id text NOT NULL,
  object_kind text NOT NULL CHECK (object_kind IN ('schema', 'table', 'view')),
  object_id bigint NOT NULL,
  privilege text NOT NULL CHECK (privilege IN ('select', 'modify')),
  role_name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, object_kind, object_id, privilege, role_name),
  FOREIGN KEY (catalog_id, role_name) REFERENCES duckicelake.role);
CREATE INDEX object_grant_role ON duckicelake.object_grant (catalog_id, role_name);

CREATE TABLE duckicelake.static_s3_key (
  catalog_id text NOT NULL,
  principal text NOT NULL,
  access_key_id text NOT NULL,
  secret_access_key text,
  note text NOT NULL DEFAULT '',
  confined boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, principal));

CREATE FUNCTION duckicelake.raise_access() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  UPDATE duckicelake.access_version SET value = value + 1;
  RETURN NULL;
END $$;

CREATE TRIGGER raise_access AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON duckicelake.client
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_access();
CREATE TRIGGER raise_access AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON duckicelake.role
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_access();
CREATE TRIGGER raise_access AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON duckicelake.role_grant
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_access();
CREATE TRIGGER raise_access AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON duckicelake.object_grant
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_access();
CREATE TRIGGER raise_access AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON duckicelake.static_s3_key
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_access();
)sql";

// See key_policy.h. Deleting a key forgets what was known of it.
inline constexpr pg::Sql kKeyPolicies = R"sql(
CREATE TABLE duckicelake.bucket_policy (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  sid text NOT NULL DEFAULT 'Duckicelake' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12));
INSERT INTO duckicelake.bucket_policy DEFAULT VALUES;

CREATE TABLE duckicelake.static_key_policy (
  catalog_id text NOT NULL,
  principal text NOT NULL,
  access_key_id text NOT NULL,
  opens text NOT NULL,
  is_proved boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (catalog_id, principal),
  FOREIGN KEY (catalog_id, principal) REFERENCES duckicelake.static_s3_key ON DELETE CASCADE);
)sql";

inline constexpr pg::Sql kAuditTable = R"sql(
CREATE TABLE duckicelake.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  catalog_id text NOT NULL,
  at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  repeats bigint NOT NULL DEFAULT 1,
  principal text NOT NULL,
  subject text NOT NULL,
  actor text,
  channel text,
  operation text NOT NULL,
  object text NOT NULL,
  schema_id bigint,
  object_id bigint,
  decision text NOT NULL,
  reason text NOT NULL,
  request_id text NOT NULL,
  last_request_id text NOT NULL,
  key_id text,
  masked_cols text[],
  applied_policies text[],
  detail jsonb);
CREATE INDEX audit_catalog ON duckicelake.audit (catalog_id, id);
CREATE INDEX audit_principal ON duckicelake.audit (catalog_id, principal, id);
CREATE INDEX audit_age ON duckicelake.audit (at);

-- Rows are added; they go only when they are older than the retention that the server states.
CREATE FUNCTION duckicelake.keep_audit() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
DECLARE
  days integer := coalesce(nullif(current_setting('duckicelake.audit_retention_days', true), ''), '0')::integer;
BEGIN
  IF TG_OP = 'DELETE' AND days > 0 AND OLD.at < now() - make_interval(days => days) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'duckicelake.audit is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON duckicelake.audit
  FOR EACH ROW EXECUTE FUNCTION duckicelake.keep_audit();
CREATE TRIGGER keep_audit_whole BEFORE TRUNCATE ON duckicelake.audit
  FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.keep_audit();
)sql";

}  // namespace duckicelake::store
