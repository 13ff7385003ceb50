// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "catalog/direct.h"
#include "json/writer.h"
#include "rest/answers.h"
#include "rest/call.h"
#include "rest/credentials.h"
#include "rest/operations.h"
#include "rest/storage_answer.h"

namespace duckicelake::rest {
namespace {

bool is_false(std::string_view text) {
  return text.empty() || text == "0" || text == "false" || text == "no";
}

Result<catalog::DirectRequest> read_request(const Call& call) {
  catalog::DirectRequest out;
  out.levels = call.levels;
  DIL_TRY(const auto table, call.parameter("table"));
  if (table) {
    if (table->empty()) return invalid_argument("table is empty");
    out.table = std::string(*table);
  }
  DIL_TRY(const auto duration, call.parameter("duration_seconds"));
  if (duration) {
    std::int64_t seconds = 0;
    const char* last = duration->data() + duration->size();
    const auto [end, failure] = std::from_chars(duration->data(), last, seconds);
    if (failure != std::errc() || end != last || seconds < 0) {
      return invalid_argument("duration_seconds must be a number of seconds");
    }
    out.duration = std::chrono::seconds(seconds);
  }
  DIL_TRY(const auto write, call.parameter("write"));
  if (write) {
    if (!is_true(*write) && !is_false(*write)) return invalid_argument("write must be 1 or 0");
    out.is_write = is_true(*write);
  }
  return out;
}

void write_keys(json::Writer& json, const Context& context, const Call& call,
                const catalog::DirectGrant& grant) {
  json.key("s3");
  if (!grant.storage.keys) return json.null();
  const catalog::VendedKeys& keys = *grant.storage.keys;
  const bool is_gateway = grant.storage.kind == catalog::StorageGrant::Kind::kGatewayKeys;
  const StorageSettings& store = context.config.storage;
  json.begin_object();
  json.member("endpoint", is_gateway ? call.at->storage->gateway()->url() : store.endpoint);
  json.member("region", store.region);
  json.member("path-style-access", is_gateway || store.path_style ? "true" : "false");
  json.member("access-key-id", keys.access_key);
  json.member("secret-access-key", keys.secret_key.reveal());
  const bool is_static = grant.storage.kind == catalog::StorageGrant::Kind::kStaticKeys;
  json.key("session-token");
  if (is_gateway || is_static) {
    json.null();
  } else {
    json.value(keys.session_token.reveal());
  }
  json.key("expiration");
  if (is_static) {
    json.null();
  } else {
    json.value(iso_time(keys.expiration));
  }
  if (is_gateway) json.member("enforcement", "gateway");
  if (is_static) {
    json.member("enforcement", grant.storage.enforcement);
    json.member("static-key", true);
  }
  json.end_object();
}

std::string body_of(const Context& context, const Call& call, const catalog::DirectGrant& grant) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.member("ducklake_dsn", grant.dsn.reveal());
  json.member("ducklake_data_path", grant.data_path);
  json.member("ducklake_attach_sql", grant.attach_sql.reveal());
  json.member("pg_role", grant.role);
  json.member("pg_valid_until", iso_time(grant.valid_until));
  if (grant.is_write) {
    json.member("write", true);
  } else {
    // Masks and filters: nobody has any.
    json.key("post_attach_sql");
    json.begin_array();
    json.end_array();
    for (const std::string_view none : {"masked_view", "mask_signature"}) {
      json.key(none);
      json.null();
    }
    json.member("transparent", false);
    json.member("file_layer", false);
    for (const std::string_view none : {"mask_projection", "row_filter", "scan_files"}) {
      json.key(none);
      json.null();
    }
  }
  write_keys(json, context, call, grant);
  if (!grant.why_no_keys.empty()) json.member("s3_note", grant.why_no_keys);
  json.end_object();
  return out;
}

}  // namespace

Answered attach_lake(const Context& context, Call& call) {
  if (call.at->direct == nullptr) {
    return Error(Code::kUnsupported, "there is no DuckLake-direct access here");
  }
  DIL_TRY(const catalog::DirectRequest request, read_request(call));
  DIL_TRY(const catalog::DirectGrant grant, call.at->direct->grant(call.caller, request));
  net::Response response = net::make_json_response(200, body_of(context, call, grant));
  response.add_header("cache-control", "private, no-store");
  return response;
}

}  // namespace duckicelake::rest
