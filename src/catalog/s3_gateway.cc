// SPDX-License-Identifier: Apache-2.0
#include "catalog/s3_gateway.h"

#include <algorithm>
#include <array>

#include "sign/uri.h"
#include "store/names.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxNames = 10'000;

Error denied(std::string_view why) { return Error(Code::kPermissionDenied, std::string(why)); }

// Headers that go on to the store, beside x-amz- ones.
constexpr std::array<std::string_view, 12> kPassedHeaders = {"cache-control",
                                                             "content-disposition",
                                                             "content-encoding",
                                                             "content-language",
                                                             "content-md5",
                                                             "content-type",
                                                             "expires",
                                                             "if-match",
                                                             "if-modified-since",
                                                             "if-none-match",
                                                             "if-unmodified-since",
                                                             "range"};

// Those that are about the way to us.
constexpr std::array<std::string_view, 4> kOwnHeaders = {
    "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "x-amz-user-agent"};

template <std::size_t N>
bool is_among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "aws-chunked, gzip" -> "gzip".
std::string without_aws_chunked(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    std::string_view word = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word.empty() || word == "aws-chunked") continue;
    if (!out.empty()) out.append(", ");
    out.append(word);
  }
  return out;
}

std::string_view host_of(const sign::ReceivedRequest& request) {
  for (const sign::Header& header : request.headers) {
    if (header.name == "host") return header.value;
  }
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// For the record, when the table cannot be asked for its name any more.
GateTarget named(const GatewayClaims& claims) {
  if (claims.table.value < 0) return {claims.staged, std::nullopt, claims.schema};
  return {{{}, claims.uuid}, claims.table, claims.schema};
}

}  // namespace

Result<Caller> gateway_caller(Guard& guard, const GatewayCatalog& catalog,
                              const GatewayClaims& claims, std::int64_t access_version,
                              pg::Deadline until) {
  Caller out;
  DIL_TRY(out.access, catalog.rules.load(access_version, until));
  const Principal& then = claims.principal;
  if (guard.mode() == AuthMode::kOn) {
    if (!then.subject) {
      return Error(Code::kUnauthenticated, "the keys were made while authentication was off");
    }
    auto identity = std::make_shared<Identity>();
    identity->id = then.subject->id;
    identity->client_id = then.subject->client_id;
    identity->issuer = then.subject->issuer;
    identity->account = then.subject->account;
    identity->roles = then.subject->token_roles;
    identity->scopes = then.subject->scopes;
    if (then.is_named) {
      // A broker's, without that word since it acts for another. Whether it still is one follows
      // from the rules of now.
      DIL_TRY(identity->scopes, auth::ScopeSet::parse(then.subject->scopes.to_text() + " broker"));
    }
    identity->issued_at = then.subject->issued_at;
    identity->expires_at = then.subject->expires_at;
    identity->is_external = then.subject->client_id.empty();
    KnownToken token(Secret(), std::move(identity));
    DIL_TRY(out.principal, guard.authenticator().principal(token, *out.access));
    if (!reaches_account(out.principal, catalog.account)) return denied("no such access key");
  }
  if (!then.is_named) return out;
  ActingAs as;
  as.is_delegated = true;
  as.principal = then.id;
  as.actor = then.actor;
  as.channel = then.channel;
  DIL_TRY(out.principal, guard.authenticator().act_as(std::move(out.principal), as, *out.access));
  return out;
}

Result<GatewayRequest> read_gateway_request(const GatewayKeys& keys,
                                            const sign::ReceivedRequest& request,
                                            std::chrono::sys_seconds now) {
  GatewayRequest out;
  DIL_TRY(out.presented, sign::parse_presented(request));
  const sign::Presented& presented = out.presented;
  DIL_TRY(out.claims, GatewayKeys::parse(presented.access_key));
  out.secret_key = keys.secret_of(presented.access_key);
  DIL_CHECK_OK(sign::verify_signature(request, presented, out.secret_key));
  DIL_CHECK_OK(sign::check_fresh(presented, now));
  if (now >= out.claims.expiration) return denied("the keys have expired");
  if (!presented.session_token.empty() && presented.session_token != GatewayKeys::kSessionToken) {
    return denied("the session token is of other keys");
  }
  return out;
}

Result<S3Gateway::Passed> S3Gateway::admit(const sign::ReceivedRequest& request,
                                           GatewayRequest read, const std::string& request_id) {
  Result<Passed> out = decide(request, std::move(read), request_id);
  ++(out ? passed_ : denied_);
  return out;
}

Result<S3Gateway::Passed> S3Gateway::decide(const sign::ReceivedRequest& request,
                                            GatewayRequest read, const std::string& request_id) {
  const GatewayClaims claims = std::move(read.claims);
  if (claims.catalog_id != backends_.lake.catalog_id) return denied("no such access key");
  Passed out;
  out.presented = std::move(read.presented);
  out.secret_key = std::move(read.secret_key);
  const sign::Presented& presented = out.presented;

  sign::S3Request meant;
  meant.method = request.method;
  meant.host = host_of(request);
  meant.path = presented.decoded_path;
  for (const sign::Parameter& parameter : presented.query) {
    const bool is_ours = presented.expires && parameter.name.starts_with("X-Amz-");
    if (!is_ours) meant.query.push_back(parameter);
  }
  meant.headers = request.headers;
  // Whatever name clients have for us, the bucket is in the path.
  const sign::S3Place here{lower(meant.host), "", config_.place.place.bucket};
  DIL_TRY(out.operation, sign::read_operation(meant, here));
  // What was renamed, dropped, granted or revoked before the request came is known after this.
  DIL_TRY(const HeadProbe::Fresh fresh, probe_.await_blocking(backends_.deadline()));
  DIL_TRY(Caller caller, config_.caller_of(claims, fresh));
  AuditTrail trail(config_.audit, backends_.lake.catalog_id);
  caller.request_id = request_id;
  caller.trail = &trail;
  const Status allowed = check(claims, caller, out.operation);
  if (!allowed && allowed.error().code() == Code::kPermissionDenied) {
    access_.note_refusal(
        caller, "gateway_request", named(claims),
        fmt::format("{}: {}", sign::verb_name(out.operation.verb), allowed.error().message()));
  }
  trail.finish(allowed ? nullptr : &allowed.error());
  DIL_CHECK_OK(allowed);

  const ObjectPlace& there = config_.place;
  sign::Request& on = out.request;
  on.method = request.method;
  const bool is_listing = out.operation.verb == sign::S3Verb::kList;
  on.path = there.path_of(is_listing ? std::string() : out.operation.key);
  on.query = meant.query;
  on.headers.push_back({"host", there.host()});
  out.decodes_chunks = presented.payload == sign::Payload::kSignedChunks;
  for (const sign::Header& header : request.headers) {
    const std::string& name = header.name;
    if (is_among(name, kOwnHeaders)) continue;
    if (!name.starts_with("x-amz-") && !is_among(name, kPassedHeaders)) continue;
    if (out.decodes_chunks && (name == "x-amz-decoded-content-length" || name == "x-amz-trailer" ||
                               name == "x-amz-sdk-checksum-algorithm")) {
      continue;
    }
    if (out.decodes_chunks && name == "content-encoding") {
      std::string rest = without_aws_chunked(header.value);
      if (!rest.empty()) on.headers.push_back({name, std::move(rest)});
      continue;
    }
    on.headers.push_back(header);
  }
  // A body whose hash was signed is checked here and may be signed on as it is.
  on.payload_hash = presented.payload == sign::Payload::kHashed ||
                            presented.payload == sign::Payload::kUnsignedTrailer
                        ? presented.payload_hash
                        : std::string(sign::kUnsignedPayload);
  out.url = there.scheme + "://" + there.host() + sign::uri_encode(on.path, sign::Slash::kKeep);
  if (!on.query.empty()) out.url += "?" + sign::canonical_query(on.query);
  return out;
}

Status S3Gateway::check(const GatewayClaims& claims, const Caller& caller,
                        const sign::S3Operation& operation) {
  if (claims.table.value < 0) return check_staged(claims, caller, operation);
  Result<GateTarget> table = name_of(claims.table);
  if (!table && table.error().code() == Code::kNoSuchTable) return denied("the table is gone");
  if (!table) return std::move(table).error();
  DIL_TRY(const StorageRight allowed, access_.right_of(caller, *table));
  const bool may_write = allowed == StorageRight::kWrite && claims.right == StorageRight::kWrite;
  return guard_.check(claims.table, may_write ? StorageRight::kWrite : StorageRight::kRead,
                      operation);
}

// Until the table is made its folder has to stay its own; afterwards it is a table like others.
Status S3Gateway::check_staged(const GatewayClaims& claims, const Caller& caller,
                               const sign::S3Operation& operation) {
  std::optional<TableId> made;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(made, store::find_table_of_uuid(*lease, backends_.lake, claims.uuid));
  }
  if (made) {
    GatewayClaims of_table = claims;
    of_table.table = *made;
    return check(of_table, caller, operation);
  }
  DIL_TRY(const StorageRight allowed,
          access_.right_of(caller, {claims.staged, std::nullopt, claims.schema}));
  if (allowed != StorageRight::kWrite || claims.right != StorageRight::kWrite) {
    return denied("the table may only be read");
  }
  const auto scope =
      staged_storage_scope(backends_.pool, backends_.deadline(), backends_.objects, backends_.lake,
                           claims.uuid, backends_.objects.uri_of(claims.location));
  if (!scope && scope.error().code() == Code::kUnsupported) {
    return denied("another table has the place by now");
  }
  if (!scope) return scope.error();
  std::optional<Status> known = check_in_scope(**scope, StorageRight::kWrite, operation);
  return known ? std::move(*known) : Status(denied("the object is not the table's"));
}

Result<GateTarget> S3Gateway::name_of(TableId table) {
  const SnapshotId name_change = probe_.last_name_change();
  {
    std::lock_guard lock(names_mutex_);
    const auto known = names_.find(table);
    if (known != names_.end() && known->second.name_change >= name_change) {
      return known->second.target;
    }
  }
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_TRY(const std::optional<store::ObjectOwner> found,
          store::find_live_table(*lease, backends_.lake, table));
  if (!found) return Error(Code::kNoSuchTable, "Table does not exist any more");
  DIL_TRY(const std::vector<store::NamespaceRow> spaces,
          store::list_namespaces(*lease, backends_.lake));
  const auto space = std::find_if(spaces.begin(), spaces.end(),
                                  [&](const auto& row) { return row.schema_id == found->schema; });
  if (space == spaces.end()) return Error(Code::kNoSuchTable, "Table does not exist any more");
  Name name{{{space->levels, found->name}, table, found->schema}, name_change};
  std::lock_guard lock(names_mutex_);
  if (names_.size() >= kMaxNames) names_.clear();
  names_[table] = name;
  return name.target;
}

}  // namespace duckicelake::catalog
