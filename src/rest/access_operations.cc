// SPDX-License-Identifier: Apache-2.0
// Operations about who may come in and what is granted: …/governance/{roles, role-grants,
// object-grants, static-s3-keys, audit} and …/admin/clients. Members of bodies are written with
// hyphens; the same names with underscores are taken as well.
#include <algorithm>
#include <charconv>
#include <chrono>

#include "catalog/access_admin.h"
#include "json/writer.h"
#include "rest/answers.h"
#include "rest/body.h"
#include "rest/call.h"
#include "rest/operations.h"
#include "rest/requests.h"
#include "rest/write_context.h"

namespace duckicelake::rest {
namespace {

constexpr std::int64_t kMaxAuditPage = 10'000;

Result<const catalog::AccessAdmin*> admin_of(const Call& call) {
  const catalog::AccessAdmin* admin = call.at->api.access_admin();
  if (admin == nullptr) return Error(Code::kUnsupported, "access is not administered here");
  return admin;
}

Answered status_answer(std::string_view status,
                       std::initializer_list<std::pair<std::string_view, std::string_view>> more) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("status", status);
  for (const auto& [name, value] : more) json.member(name, value);
  json.end_object();
  return json_answer(std::move(body));
}

Result<store::RoleGrant> read_role_grant(const Call& call) {
  DIL_TRY(const Body body, Body::parse(call.request.body));
  store::RoleGrant out;
  DIL_TRY(out.role, body.text("role"));
  DIL_TRY(out.principal, body.text("principal"));
  return out;
}

struct ObjectGrantBody {
  catalog::GrantTarget target;
  std::string privilege;
  std::string role;
};
Result<ObjectGrantBody> read_object_grant(const Call& call) {
  DIL_TRY(const Body body, Body::parse(call.request.body));
  ObjectGrantBody out;
  DIL_TRY(const std::string kind, body.text("object-kind"));
  const std::optional<store::ObjectKind> known = store::object_kind_of(kind);
  if (!known) return invalid_argument("object-kind is schema, table or view, not \"{}\"", kind);
  out.target.kind = *known;
  const std::optional<json::Value> schema = body.find("schema");
  if (!schema) return invalid_argument("{} is missing", "schema");
  if (schema->kind() == json::Kind::kArray) {
    DIL_TRY(out.target.levels, read_levels(*schema));
  } else {
    DIL_TRY(const std::string_view joined, schema->as_string());
    DIL_TRY(out.target.levels, split_levels(joined));
  }
  DIL_TRY(const std::optional<std::string> object, body.optional_text("object"));
  out.target.object = object.value_or("");
  DIL_TRY(out.privilege, body.text("privilege"));
  DIL_TRY(out.role, body.text("role"));
  return out;
}

void write_texts(json::Writer& json, std::string_view name,
                 const std::vector<std::string>& values) {
  json.key(name);
  json.begin_array();
  for (const std::string& value : values) json.value(value);
  json.end_array();
}

void write_client(json::Writer& json, const store::ClientRow& client) {
  json.member("client-id", client.id);
  json.member("scope", client.scope);
  write_texts(json, "roles", client.roles);
  json.member("account", client.account);
  json.member("disabled", client.is_disabled);
  if (client.created_at > 0) json.member("created-at", client.created_at);
  if (client.tokens_from > 0) json.member("tokens-from", client.tokens_from);
}

Answered secret_answer(const catalog::ClientWithSecret& made) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  write_client(json, made.client);
  json.member("client-secret", made.secret.reveal());
  json.end_object();
  net::Response response = net::make_json_response(200, std::move(body));
  response.add_header("cache-control", "no-store");
  return response;
}

Answered record_answer(const store::ClientRecord& record) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  write_client(json, record.client);
  json.key("secrets");
  json.begin_array();
  for (const store::ClientSecretRow& secret : record.secrets) {
    json.begin_object();
    json.member("serial", secret.serial);
    json.member("created-at", secret.created_at);
    json.member("expires-at", secret.expires_at);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json_answer(std::move(body));
}

Result<std::optional<std::int64_t>> number_parameter(const Call& call, std::string_view name,
                                                     std::int64_t least, std::int64_t most) {
  DIL_TRY(const std::optional<std::string_view> text, call.parameter(name));
  if (!text || text->empty()) return std::optional<std::int64_t>();
  std::int64_t out = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (failure != std::errc() || end != text->data() + text->size() || out < least || out > most) {
    return invalid_argument("{} is a number from {} to {}", name, least, most);
  }
  return std::optional<std::int64_t>(out);
}

Result<store::AuditFilter> read_audit_filter(const Call& call) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  store::AuditFilter out;
  const auto text = [&](std::string_view name, std::string& to) -> Status {
    DIL_TRY(const std::optional<std::string_view> value, call.parameter(name));
    to = value.value_or("");
    return {};
  };
  DIL_CHECK_OK(text("principal", out.principal));
  DIL_CHECK_OK(text("operation", out.operation));
  DIL_CHECK_OK(text("decision", out.decision));
  DIL_CHECK_OK(text("object", out.object));
  DIL_CHECK_OK(text("request-id", out.request_id));
  DIL_TRY(const auto limit, number_parameter(call, "limit", 1, kMaxAuditPage));
  out.limit = limit.value_or(200);
  DIL_TRY(const auto from, number_parameter(call, "from-ms", 0, kMost));
  DIL_TRY(const auto to, number_parameter(call, "to-ms", 0, kMost));
  if (from) out.from_micros = *from * 1000;
  if (to) out.to_micros = *to * 1000;
  DIL_TRY(out.before_id, number_parameter(call, "pageToken", 1, kMost));
  return out;
}

// "2026-11-30T03:31:03.123456Z"
std::string time_text(std::int64_t micros) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(micros)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

void write_audit_row(json::Writer& json, const store::AuditRow& row) {
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) json.member(name, value);
  };
  json.begin_object();
  json.member("id", row.id);
  json.member("ts", time_text(row.at_micros));
  json.member("last-ts", time_text(row.last_at_micros));
  json.member("repeats", row.repeats);
  json.member("principal", row.principal);
  json.member("subject", row.subject);
  text("actor", row.actor);
  text("channel", row.channel);
  json.member("operation", row.operation);
  json.member("object", row.object);
  json.member("schema-id", row.schema_id);
  json.member("object-id", row.object_id);
  json.member("decision", row.decision);
  json.member("reason", row.reason);
  json.member("request-id", row.request_id);
  json.member("last-request-id", row.last_request_id);
  text("key-id", row.key_id);
  write_texts(json, "masked_cols", row.masked_cols);
  write_texts(json, "applied_policies", row.applied_policies);
  if (!row.detail.empty()) json.member_raw("detail", row.detail);
  json.end_object();
}

}  // namespace

Answered create_role(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const Body body, Body::parse(call.request.body));
  DIL_TRY(const std::string name, body.text("name"));
  DIL_CHECK_OK(admin->create_role(write, name));
  return status_answer("created", {{"role", name}});
}

Answered delete_role(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_CHECK_OK(admin->delete_role(write, call.name));
  return status_answer("deleted", {{"role", call.name}});
}

Answered list_roles(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const std::vector<std::string> roles, admin->list_roles(call.caller));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  write_texts(json, "roles", roles);
  json.end_object();
  return json_answer(std::move(body));
}

Answered grant_role(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const store::RoleGrant grant, read_role_grant(call));
  DIL_CHECK_OK(admin->grant_role(write, grant));
  return status_answer("granted", {{"role", grant.role}, {"principal", grant.principal}});
}

Answered revoke_role(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const store::RoleGrant grant, read_role_grant(call));
  DIL_CHECK_OK(admin->revoke_role(write, grant));
  return status_answer("revoked", {{"role", grant.role}, {"principal", grant.principal}});
}

Answered list_role_grants(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const std::vector<store::RoleGrant> grants, admin->list_role_grants(call.caller));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("grants");
  json.begin_array();
  for (const store::RoleGrant& grant : grants) {
    json.begin_object();
    json.member("role", grant.role);
    json.member("principal", grant.principal);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json_answer(std::move(body));
}

Answered grant_object(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const ObjectGrantBody grant, read_object_grant(call));
  DIL_CHECK_OK(admin->grant_object(write, grant.target, grant.privilege, grant.role));
  return status_answer("granted", {});
}

Answered revoke_object(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const ObjectGrantBody grant, read_object_grant(call));
  DIL_CHECK_OK(admin->revoke_object(write, grant.target, grant.privilege, grant.role));
  return status_answer("revoked", {});
}

Answered list_object_grants(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const std::vector<store::NamedGrant> grants, admin->list_object_grants(call.caller));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("grants");
  json.begin_array();
  for (const store::NamedGrant& grant : grants) {
    json.begin_object();
    json.member("object-kind", store::object_kind_name(grant.grant.kind));
    json.key("schema");
    write_levels(json, grant.levels);
    json.member("object", grant.object);
    json.member("privilege", grant.grant.privilege);
    json.member("role", grant.grant.role);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json_answer(std::move(body));
}

Answered set_static_key(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const Body body, Body::parse(call.request.body));
  store::StaticKey key;
  DIL_TRY(key.principal, body.text("principal"));
  DIL_TRY(key.access_key_id, body.text("access-key-id"));
  DIL_TRY(std::optional<std::string> secret, body.optional_text("secret-access-key"));
  if (secret) key.secret_access_key = Secret(std::move(*secret));
  DIL_TRY(const std::optional<std::string> note, body.optional_text("note"));
  key.note = note.value_or("");
  DIL_TRY(const std::optional<bool> confined, body.flag("confined"));
  key.is_confined = confined.value_or(false);
  DIL_CHECK_OK(admin->set_static_key(write, key));
  std::string answer;
  json::Writer json(answer);
  json.begin_object();
  json.member("status", "set");
  json.member("principal", key.principal);
  json.member("access-key-id", key.access_key_id);
  json.member("has-secret", !key.secret_access_key.empty());
  json.member("confined", key.is_confined);
  json.end_object();
  return json_answer(std::move(answer));
}

Answered list_static_keys(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const std::vector<store::StaticKeySummary> keys, admin->list_static_keys(call.caller));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("keys");
  json.begin_array();
  for (const store::StaticKeySummary& one : keys) {
    json.begin_object();
    json.member("principal", one.key.principal);
    json.member("access-key-id", one.key.access_key_id);
    json.member("has-secret", one.has_secret);
    json.member("note", one.key.note);
    json.member("confined", one.key.is_confined);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json_answer(std::move(body));
}

Answered delete_static_key(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_CHECK_OK(admin->delete_static_key(write, call.name));
  return status_answer("deleted", {{"principal", call.name}});
}

Answered list_audit(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(store::AuditFilter filter, read_audit_filter(call));
  const std::int64_t limit = filter.limit;
  ++filter.limit;  // one more tells whether there is another page
  DIL_TRY(std::vector<store::AuditRow> rows, admin->audit(call.caller, filter));
  std::optional<std::int64_t> next;
  if (static_cast<std::int64_t>(rows.size()) > limit) {
    rows.pop_back();
    next = rows.back().id;
  }
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("entries");
  json.begin_array();
  for (const store::AuditRow& row : rows) write_audit_row(json, row);
  json.end_array();
  if (next) json.member("next-page-token", std::to_string(*next));
  json.end_object();
  return json_answer(std::move(body));
}

Answered create_client(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const Body body, Body::parse(call.request.body));
  catalog::NewClient client;
  DIL_TRY(client.id, body.text("client-id"));
  // Said in so many words: nobody gets everything by leaving a member out.
  DIL_TRY(client.scope, body.text("scope"));
  DIL_TRY(auto roles, body.words("roles"));
  if (roles) client.roles = std::move(*roles);
  DIL_TRY(const std::optional<std::string> account, body.optional_text("account"));
  client.account = account.value_or("");
  DIL_TRY(const catalog::ClientWithSecret made, admin->create_client(write, client));
  return secret_answer(made);
}

Answered list_clients(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const std::vector<store::ClientRow> clients, admin->list_clients(call.caller));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("clients");
  json.begin_array();
  for (const store::ClientRow& client : clients) {
    json.begin_object();
    write_client(json, client);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json_answer(std::move(body));
}

Answered load_client(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const store::ClientRecord record, admin->load_client(call.caller, call.name));
  return record_answer(record);
}

Answered update_client(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const Body body, Body::parse(call.request.body));
  store::ClientUpdate update;
  DIL_TRY(update.scope, body.optional_text("scope"));
  DIL_TRY(update.roles, body.words("roles"));
  DIL_TRY(update.account, body.optional_text("account"));
  DIL_TRY(update.is_disabled, body.flag("disabled"));
  DIL_TRY(const std::optional<bool> voids, body.flag("void-tokens"));
  update.voids_tokens = voids.value_or(false);
  DIL_TRY(const store::ClientRecord record, admin->update_client(write, call.name, update));
  return record_answer(record);
}

Answered rotate_client(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  std::int64_t overlap = 0;
  if (!call.request.body.empty()) {
    DIL_TRY(const Body body, Body::parse(call.request.body));
    DIL_TRY(const std::optional<std::int64_t> given, body.number("overlap-seconds"));
    overlap = given.value_or(0);
  }
  DIL_TRY(const catalog::ClientWithSecret made, admin->rotate_client(write, call.name, overlap));
  return secret_answer(made);
}

Answered delete_client(const Context&, Call& call) {
  DIL_TRY(const catalog::AccessAdmin* admin, admin_of(call));
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_CHECK_OK(admin->delete_client(write, call.name));
  return status_answer("deleted", {{"client-id", call.name}});
}

}  // namespace duckicelake::rest
