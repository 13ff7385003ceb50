// SPDX-License-Identifier: Apache-2.0
#include "catalog/sign_request.h"

#include <algorithm>
#include <cmath>

#include "catalog/table_places.h"
#include "sign/uri.h"
#include "sign/verify.h"
#include "store/names.h"
#include "store/registry.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

using sign::S3Verb;

constexpr std::size_t kMaxUri = 16 * 1024;
constexpr std::size_t kMaxOwners = 20'000;
constexpr std::chrono::seconds kOwnerLife{60};

Error refused(std::string_view why) { return Error(Code::kPermissionDenied, std::string(why)); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// What is signed beside the host. Others may change on the way, or say nothing about the object.
bool is_signed(std::string_view lower_name) {
  return lower_name.starts_with("x-amz-") || lower_name == "content-md5" ||
         lower_name == "content-type";
}

struct Target {
  std::string authority;  // lower case
  std::string_view path;
  std::string_view query;
};

// Strict: what another parser might read in another way is no URI here.
Result<Target> split_uri(std::string_view uri, std::string_view scheme) {
  if (uri.size() > kMaxUri) return refused("the URI is too long");
  for (char c : uri) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '\\' || c == '"' || c == '<' || c == '>') {
      return refused("the URI has a character that none may have");
    }
  }
  const std::string begin = std::string(scheme) + "://";
  if (lower(uri.substr(0, begin.size())) != begin) return refused("the URI is of another scheme");
  uri.remove_prefix(begin.size());
  if (uri.find('#') != std::string_view::npos) return refused("the URI has a fragment");
  Target out;
  const std::size_t slash = std::min(uri.find_first_of("/?"), uri.size());
  out.authority = lower(uri.substr(0, slash));
  if (out.authority.find('@') != std::string::npos) return refused("the URI has a user");
  const std::string standard_port = scheme == "https" ? ":443" : ":80";
  if (out.authority.ends_with(standard_port)) {
    out.authority.resize(out.authority.size() - standard_port.size());
  }
  uri.remove_prefix(slash);
  const std::size_t question = std::min(uri.find('?'), uri.size());
  out.path = uri.substr(0, question);
  if (out.path.empty()) out.path = "/";
  out.query = uri.substr(std::min(question + 1, uri.size()));
  return out;
}

// The method of a client that cleans up after itself is known, and never granted.
Status refuse_deletes(const sign::S3Operation& operation) {
  if (operation.verb == S3Verb::kDelete || operation.verb == S3Verb::kDeleteMany) {
    return refused("objects are removed by the server only");
  }
  return {};
}

std::string folder_of(const std::string& key) { return key.substr(0, key.rfind('/') + 1); }

}  // namespace

std::optional<Status> check_in_scope(const StorageScope& scope, StorageRight right,
                                     const sign::S3Operation& operation) {
  using Out = std::optional<Status>;
  if (Status kept = refuse_deletes(operation); !kept) return Out(std::move(kept));
  if (operation.bucket != scope.bucket) return Out(refused("the request is for another bucket"));
  if (operation.verb == S3Verb::kList) {
    if (scope.holds_listing(operation.key)) return Out(Status());
    return Out(refused("the listing is not of a folder of the table"));
  }
  bool must_look = false;
  const auto reads = [&](const std::string& key) {
    if (scope.holds(key)) return true;
    must_look = must_look || !scope.has_all_keys;
    return false;
  };
  if (sign::is_write(operation.verb)) {
    if (right != StorageRight::kWrite) return Out(refused("the table may only be read"));
    if (!operation.key.starts_with(scope.location) || operation.key == scope.location) {
      return Out(refused("the object does not lie in the table's folder"));
    }
    // In a folder that is shared only what is not there yet is nobody's.
    must_look = scope.is_location_shared;
    if (operation.source && !reads(*operation.source) && !must_look) {
      return Out(refused("the object that is copied is not the table's"));
    }
    if (must_look) return std::nullopt;
    return Out(Status());
  }
  if (reads(operation.key)) return Out(Status());
  if (must_look) return std::nullopt;
  return Out(refused("the object is not the table's"));
}

std::optional<Status> ObjectGuard::check_cached(TableId table, StorageRight right,
                                                const sign::S3Operation& operation) {
  const auto scope = access_.cached_scope(table);
  if (!scope) return std::nullopt;
  std::optional<Status> out = check_in_scope(*scope, right, operation);
  // The table may have got new files since, or another folder.
  if (out && !*out) return std::nullopt;
  return out;
}

Status ObjectGuard::check(TableId table, StorageRight right, const sign::S3Operation& operation) {
  DIL_TRY(std::shared_ptr<const StorageScope> scope, access_.scope_of(table));
  std::optional<Status> known = check_in_scope(*scope, right, operation);
  if (known && !*known) {
    DIL_TRY(scope, access_.fresh_scope_of(table));
    known = check_in_scope(*scope, right, operation);
  }
  if (known) return std::move(*known);
  const auto is_of_table = [&](const std::string& key) -> Result<bool> {
    if (scope->holds(key)) return true;
    const std::string uri = backends_.objects.uri_of(key);
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    if (!is_in_own_place(backends_.lake, uri)) {
      DIL_TRY(const bool is_foreign, store::touches_other_catalog(*lease, backends_.lake, {uri}));
      if (is_foreign) return false;
    }
    return store::is_file_of(*lease, backends_.lake, table, uri);
  };
  if (sign::is_write(operation.verb)) {
    if (operation.source) {
      DIL_TRY(const bool is_own, is_of_table(*operation.source));
      if (!is_own) return refused("the object that is copied is not the table's");
    }
    if (!scope->is_location_shared) return {};
    DIL_TRY(const auto there, backends_.objects.head(operation.key));
    if (there) return refused("the folder is shared, and the object is there already");
    return {};
  }
  DIL_TRY(const bool is_own, is_of_table(operation.key));
  if (!is_own) return refused("the object is not the table's");
  return {};
}

struct RequestSigning::Read {
  sign::S3Operation operation;
  sign::Request request;  // as it will be signed
  std::string scheme_and_host;
  std::optional<sign::Time> time;  // the client's own
  bool has_payload_header = false;
};

Result<RequestSigning::Read> RequestSigning::read(const SignRequest& request) const {
  DIL_TRY(const Target target, split_uri(request.uri, place_.scheme));
  Read out;
  const auto refuse_coding = [](auto result) {
    return result ? std::move(result) : decltype(result)(refused("malformed percent-encoding"));
  };
  DIL_TRY(out.request.path, refuse_coding(sign::uri_decode(target.path)));
  DIL_TRY(out.request.query, refuse_coding(sign::parse_query(target.query)));
  DIL_TRY(out.operation, sign::read_operation({request.method, target.authority, out.request.path,
                                               out.request.query, request.headers},
                                              place_.place));
  out.request.method = request.method;
  out.request.headers.push_back({"host", target.authority});
  out.request.payload_hash = sign::kUnsignedPayload;
  bool has_trailer = false;
  for (const sign::Header& header : request.headers) {
    const std::string name = lower(header.name);
    if (name == "host" && lower(header.value) != target.authority) {
      return refused("the Host header is not that of the URI");
    }
    if (name == "x-amz-security-token") return refused("the request is signed with other keys");
    if (name == "x-amz-date") {
      if (out.time) return refused("x-amz-date is given twice");
      auto time = sign::parse_amz_date(header.value);
      if (!time) return refused("x-amz-date is no time");
      out.time = *time;
      continue;
    }
    if (name == "x-amz-content-sha256") {
      if (out.has_payload_header) return refused("x-amz-content-sha256 is given twice");
      out.has_payload_header = true;
      out.request.payload_hash = header.value;
      continue;
    }
    has_trailer = has_trailer || name == "x-amz-trailer";
    if (is_signed(name)) out.request.headers.push_back({name, header.value});
  }
  // Chunks that carry signatures of their own need a key that the client has not got.
  const std::string& hash = out.request.payload_hash;
  const bool is_hash =
      hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  constexpr std::string_view kTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
  if (!out.has_payload_header && has_trailer) out.request.payload_hash = kTrailer;
  if (hash != sign::kUnsignedPayload && hash != kTrailer && !is_hash) {
    return refused("x-amz-content-sha256 is of an unknown kind");
  }
  out.scheme_and_host = place_.scheme + "://" + target.authority;
  if (out.operation.verb == S3Verb::kDeleteMany) {
    if (!request.body) return refused("DeleteObjects without its body");
    DIL_TRY(const std::vector<std::string> keys, sign::read_delete_keys(*request.body));
    for (const std::string& key : keys) {
      if (!sign::check_plain_key(key)) return refused("a key that can be read in two ways");
    }
  } else if (request.body && !request.body->empty()) {
    return refused("a body where none is looked at");
  }
  return out;
}

std::shared_ptr<const sign::SigningKey> RequestSigning::key_at(sign::Time time) const {
  sign::Scope scope = sign::Scope::at(time, place_.region, "s3");
  std::lock_guard lock(key_mutex_);
  if (day_key_ == nullptr || day_key_->scope() != scope) {
    day_key_ = std::make_shared<const sign::SigningKey>(
        sign::SigningKey::derive(place_.root.secret_key, std::move(scope)));
  }
  return day_key_;
}

Result<SignedRequest> RequestSigning::make(const Read& read) const {
  const sign::Time now = std::chrono::floor<std::chrono::seconds>(now_());
  const sign::Time time = read.time.value_or(now);
  // A signature holds as long as its date is fresh: none for later.
  if (time - now > sign::kMaxSkew || now - time > sign::kMaxSkew) {
    return refused("x-amz-date is not of now");
  }
  DIL_TRY(std::vector<sign::Header> headers,
          sign::sign_request(read.request, place_.root, *key_at(time), time));
  SignedRequest out;
  out.uri = read.scheme_and_host + sign::uri_encode(read.request.path, sign::Slash::kKeep);
  if (!read.request.query.empty()) out.uri += "?" + sign::canonical_query(read.request.query);
  for (sign::Header& header : headers) {
    const bool is_new = header.name == "authorization" || header.name == "x-amz-security-token" ||
                        (header.name == "x-amz-date" && !read.time) ||
                        (header.name == "x-amz-content-sha256" && !read.has_payload_header);
    if (is_new) out.headers.push_back(std::move(header));
  }
  return out;
}

Result<SignedRequest> RequestSigning::finish(const Caller& caller, const GateTarget& target,
                                             const Read& read, Status allowed) {
  if (!allowed) {
    if (allowed.error().code() == Code::kPermissionDenied) {
      ++denied_;
      access_.note_refusal(
          caller, "sign_request", target,
          fmt::format("{}: {}", sign::verb_name(read.operation.verb), allowed.error().message()));
    }
    return std::move(allowed).error();
  }
  Result<SignedRequest> out = make(read);
  ++(out ? granted_ : denied_);
  return out;
}

std::optional<Result<SignedRequest>> RequestSigning::sign_cached(const Caller& caller,
                                                                 const GateTarget& target,
                                                                 const SignRequest& request) {
  using Out = std::optional<Result<SignedRequest>>;
  Result<Read> understood = read(request);
  if (!understood) {
    ++denied_;
    return Out(std::move(understood).error());
  }
  if (!access_.cached_scope(*target.id)) return std::nullopt;
  Result<StorageRight> right = access_.right_of(caller, target);
  if (!right) return Out(finish(caller, target, *understood, std::move(right).error()));
  std::optional<Status> allowed = guard_.check_cached(*target.id, *right, understood->operation);
  if (!allowed) return std::nullopt;
  return Out(finish(caller, target, *understood, std::move(*allowed)));
}

Result<SignedRequest> RequestSigning::sign(const Caller& caller, const GateTarget& target,
                                           const SignRequest& request) {
  Result<Read> understood = read(request);
  if (!understood) {
    ++denied_;
    return std::move(understood).error();
  }
  Result<StorageRight> right = access_.right_of(caller, target);
  if (!right) return finish(caller, target, *understood, std::move(right).error());
  return finish(caller, target, *understood,
                guard_.check(*target.id, *right, understood->operation));
}

Result<SignedRequest> RequestSigning::sign_staged(const Caller& caller, const TableRef& table,
                                                  std::string_view token,
                                                  const SignRequest& request) {
  Result<Read> understood = read(request);
  if (!understood) {
    ++denied_;
    return std::move(understood).error();
  }
  const GateTarget target{table, std::nullopt, {}};
  const auto scope = access_.staged_scope(caller, table, token);
  if (!scope) return finish(caller, target, *understood, scope.error());
  std::optional<Status> allowed =
      check_in_scope(**scope, StorageRight::kWrite, understood->operation);
  return finish(caller, target, *understood,
                allowed ? std::move(*allowed) : Status(refused("the object is not the table's")));
}

Result<RequestSigning::Owner> RequestSigning::owner_of(const std::string& key) {
  const std::string folder = folder_of(key);
  const Clock::time_point now = now_();
  const SnapshotId name_change = access_.last_name_change();
  {
    std::lock_guard lock(owners_mutex_);
    const auto known = owners_.find(folder);
    if (known != owners_.end() && known->second.name_change >= name_change &&
        now < known->second.looked_up + kOwnerLife) {
      return known->second;
    }
  }
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_TRY(const std::optional<store::ObjectOwner> found,
          store::find_object_owner(*lease, backends_.lake, backends_.objects.uri_of(key)));
  if (!found) return refused("the object is no table's");
  DIL_TRY(const std::vector<store::NamespaceRow> spaces,
          store::list_namespaces(*lease, backends_.lake));
  const auto space = std::find_if(spaces.begin(), spaces.end(),
                                  [&](const auto& row) { return row.schema_id == found->schema; });
  if (space == spaces.end() || found->name.starts_with("__mask_")) {
    return refused("the object is no table's");
  }
  Owner out{{{space->levels, found->name}, found->table, found->schema}, name_change, now};
  std::lock_guard lock(owners_mutex_);
  if (owners_.size() >= kMaxOwners) owners_.clear();
  owners_[folder] = out;
  return out;
}

Result<SignedRequest> RequestSigning::sign_anywhere(const Caller& caller,
                                                    const SignRequest& request) {
  Result<Read> understood = read(request);
  if (!understood) {
    ++denied_;
    return std::move(understood).error();
  }
  // Nobody learns here which tables there are: strangers are refused as for objects of none.
  if (understood->operation.key.empty())
    return finish(caller, {}, *understood, refused("no object is named"));
  Result<Owner> owner = owner_of(understood->operation.key);
  if (!owner) {
    return finish(caller, {}, *understood, std::move(owner).error());
  }
  Result<StorageRight> right = access_.right_of(caller, owner->target);
  if (!right) {
    const bool is_away = right.error().code() == Code::kUnavailable;
    return finish(caller, owner->target, *understood,
                  is_away ? std::move(right).error() : refused("the object is no table's"));
  }
  return finish(caller, owner->target, *understood,
                guard_.check(*owner->target.id, *right, understood->operation));
}

}  // namespace duckicelake::catalog
