// SPDX-License-Identifier: Apache-2.0
#include "store/audit.h"

#include "base/bytes.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

// The rows as columns; lists travel as texts of JSON, since arrays of arrays do not unnest by row.
constexpr Sql kInsert =
    "INSERT INTO duckicelake.audit (catalog_id, at, last_at, repeats, principal, subject, actor, "
    "channel, operation, object, schema_id, object_id, decision, reason, request_id, "
    "last_request_id, key_id, masked_cols, applied_policies, detail) "
    "SELECT catalog, to_timestamp(at / 1e6), to_timestamp(last_at / 1e6), repeats, principal, "
    "subject, "
    "nullif(actor, ''), nullif(channel, ''), operation, object, nullif(schema_id, -1), "
    "nullif(object_id, -1), decision, reason, request_id, last_request_id, nullif(key_id, ''), "
    "nullif(string_to_array(masked, E'\\x1f'), '{}'), nullif(string_to_array(policies, "
    "E'\\x1f'), '{}'), nullif(detail, '')::jsonb "
    "FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], "
    "$7::text[], "
    "$8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], "
    "$15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[]) "
    "AS r (catalog, at, last_at, repeats, principal, subject, actor, channel, operation, object, "
    "schema_id, "
    "object_id, decision, reason, request_id, last_request_id, key_id, masked, policies, detail)";

constexpr Sql kLoad =
    "SELECT id, (extract(epoch FROM at) * 1000000)::bigint, (extract(epoch FROM last_at) * "
    "1000000)::bigint, repeats, principal, subject, coalesce(actor, ''), coalesce(channel, ''), "
    "operation, object, schema_id, object_id, decision, reason, request_id, last_request_id, "
    "coalesce(key_id, ''), coalesce(masked_cols, '{}'), coalesce(applied_policies, '{}'), "
    "coalesce(detail::text, '') FROM duckicelake.audit WHERE catalog_id = $1 "
    "AND ($2 = '' OR principal = $2) AND ($3 = '' OR operation = $3) "
    "AND ($4 = '' OR decision = $4) AND ($5 = '' OR object = $5) "
    "AND ($6 = '' OR request_id = $6 OR last_request_id = $6) "
    "AND ($7::bigint IS NULL OR last_at >= to_timestamp($7::bigint / 1e6)) "
    "AND ($8::bigint IS NULL OR at < to_timestamp($8::bigint / 1e6)) "
    "AND ($9::bigint IS NULL OR id < $9::bigint) ORDER BY id DESC LIMIT $10";

constexpr Sql kAllow =
    "SELECT set_config('duckicelake.audit_retention_days', $1::bigint::text, true)";
constexpr Sql kExpire =
    "DELETE FROM duckicelake.audit WHERE ctid = ANY (ARRAY(SELECT ctid FROM duckicelake.audit "
    "WHERE at < now() - make_interval(days => $1::bigint::int) ORDER BY at LIMIT $2))";

constexpr char kSeparator = '\x1F';

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out.push_back(kSeparator);
    out.append(part);
  }
  return out;
}

// What PostgreSQL cannot store in a text: a NUL, bytes that are no UTF-8. Names of requests that
// were refused can hold either.
std::string storable(const std::string& text) {
  if (text.find('\0') == std::string::npos && is_valid_utf8(text)) return text;
  return "0x" + to_hex(text);
}

template <class Of>
Param texts(std::span<const AuditRow> rows, Of of) {
  std::vector<std::string> values;
  values.reserve(rows.size());
  for (const AuditRow& row : rows) values.push_back(storable(of(row)));
  return Param::text_array(values);
}

template <class Of>
Param numbers(std::span<const AuditRow> rows, Of of) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size());
  for (const AuditRow& row : rows) values.push_back(of(row));
  return Param::int64_array(values);
}

Result<std::vector<std::string>> list(const pg::Row& row, std::size_t column) {
  DIL_TRY(auto values, row.text_array(column));
  std::vector<std::string> out;
  for (std::optional<std::string>& value : values) out.push_back(std::move(value).value_or(""));
  return out;
}

}  // namespace

pg::Statement insert_audit_statement(std::span<const AuditRow> rows) {
  using R = const AuditRow&;
  return {kInsert,
          {texts(rows, [](R r) { return r.catalog_id; }),
           numbers(rows, [](R r) { return r.at_micros; }),
           numbers(rows, [](R r) { return r.last_at_micros; }),
           numbers(rows, [](R r) { return r.repeats; }),
           texts(rows, [](R r) { return r.principal; }),
           texts(rows, [](R r) { return r.subject; }),
           texts(rows, [](R r) { return r.actor; }),
           texts(rows, [](R r) { return r.channel; }),
           texts(rows, [](R r) { return r.operation; }),
           texts(rows, [](R r) { return r.object; }),
           numbers(rows, [](R r) { return r.schema_id.value_or(-1); }),
           numbers(rows, [](R r) { return r.object_id.value_or(-1); }),
           texts(rows, [](R r) { return r.decision; }),
           texts(rows, [](R r) { return r.reason; }),
           texts(rows, [](R r) { return r.request_id; }),
           texts(rows, [](R r) { return r.last_request_id; }),
           texts(rows, [](R r) { return r.key_id; }),
           texts(rows, [](R r) { return joined(r.masked_cols); }),
           texts(rows, [](R r) { return joined(r.applied_policies); }),
           texts(rows, [](R r) { return r.detail; })},
          pg::Prepare::kCached,
          "insert audit"};
}

Result<std::vector<AuditRow>> load_audit(pg::Connection& connection, const Lake& lake,
                                         const AuditFilter& filter) {
  DIL_TRY(
      const pg::ResultSet rows,
      connection.exec(Statement{
          kLoad,
          {lake.catalog_id, filter.principal, filter.operation, filter.decision, filter.object,
           filter.request_id, filter.from_micros, filter.to_micros, filter.before_id, filter.limit},
          pg::Prepare::kOnce,  // for a plan that knows which filters are there
          "load audit"}));
  std::vector<AuditRow> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    RowReader in(row);
    AuditRow one;
    one.id = in.int64();
    one.at_micros = in.int64();
    one.last_at_micros = in.int64();
    one.repeats = in.int64();
    one.principal = in.text();
    one.subject = in.text();
    one.actor = in.text();
    one.channel = in.text();
    one.operation = in.text();
    one.object = in.text();
    one.schema_id = in.optional_int64();
    one.object_id = in.optional_int64();
    one.decision = in.text();
    one.reason = in.text();
    one.request_id = in.text();
    one.last_request_id = in.text();
    one.key_id = in.text();
    in.skip();
    in.skip();
    one.detail = in.text();
    DIL_CHECK_OK(in.status());
    DIL_TRY(one.masked_cols, list(row, 17));
    DIL_TRY(one.applied_policies, list(row, 18));
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::int64_t> expire_audit(pg::Connection& connection, std::int64_t days,
                                  std::int64_t limit) {
  pg::Transaction transaction(connection);
  transaction.defer(Statement{kAllow, {days}});
  DIL_TRY(const pg::ResultSet done, transaction.exec(Statement{kExpire, {days, limit}}));
  DIL_CHECK_OK(transaction.commit());
  return done.affected();
}

}  // namespace duckicelake::store
