// SPDX-License-Identifier: Apache-2.0
#include "objstore/s3_object_store.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "objstore/endpoint.h"
#include "objstore/s3_errors.h"
#include "objstore/s3_xml.h"
#include "objstore/transport.h"
#include "sign/hash.h"

namespace duckicelake::objstore {
namespace {

constexpr std::size_t kDeleteBatch = 1000;  // DeleteObjects takes no more

bool is_bucket_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

TransportConfig transport_config(const S3Config& config) {
  TransportConfig out;
  out.connect_timeout = config.connect_timeout;
  out.low_speed_time = config.low_speed_time;
  out.retry_budget = config.retry_budget;
  out.max_connections = config.max_connections;
  out.ca_file = config.ca_file;
  return out;
}

Result<std::string> take_body(Exchange& exchange, std::string_view key) {
  if (!exchange.is_ok()) return error_of(exchange, key);
  return std::move(exchange.response);
}

}  // namespace

Result<std::unique_ptr<S3ObjectStore>> S3ObjectStore::make(S3Config config) {
  if (!is_bucket_name(config.bucket)) return invalid_argument("not a bucket name");
  if (config.access_key.empty() || config.secret_key.empty()) {
    return invalid_argument("the object store needs an access key and a secret key");
  }
  if (config.part_size < (5U << 20)) return invalid_argument("parts have at least 5 MiB");
  DIL_TRY(Endpoint endpoint, Endpoint::parse(config.endpoint));
  std::unique_ptr<S3ObjectStore> out(new S3ObjectStore(std::move(config)));
  const S3Config& c = out->config_;
  bool is_path_style = c.addressing == Addressing::kPath;
  out->host_ = is_path_style ? endpoint.authority : c.bucket + "." + endpoint.authority;
  out->base_url_ = endpoint.scheme + "://" + out->host_;
  out->base_path_ = endpoint.path + (is_path_style ? "/" + c.bucket : "");
  return out;
}

S3ObjectStore::S3ObjectStore(S3Config config)
    : config_(std::move(config)),
      signer_(std::make_unique<RequestSigner>(
          sign::Credentials{config_.access_key, config_.secret_key,
                            config_.session_token.value_or(Secret())},
          config_.region, "s3")),
      transport_(std::make_unique<Transport>(transport_config(config_))) {}

S3ObjectStore::~S3ObjectStore() = default;

Counters S3ObjectStore::counters() const { return transport_->counters(); }

Exchange S3ObjectStore::bucket_exchange(Operation operation, std::string_view method) const {
  Exchange out;
  out.operation = operation;
  out.request.method = method;
  out.request.path = base_path_.empty() ? "/" : base_path_;
  out.request.headers = {{"host", host_}};
  out.request.payload_hash = sign::kEmptyPayloadHash;
  out.timeout = config_.total_timeout;
  out.max_response = kMaxXmlBytes;
  return out;
}

Exchange S3ObjectStore::object_exchange(Operation operation, std::string_view method,
                                        std::string_view key) const {
  Exchange out = bucket_exchange(operation, method);
  out.request.path = base_path_ + "/";
  out.request.path.append(key);
  return out;
}

void S3ObjectStore::finish_url(Exchange& exchange) const {
  exchange.url = base_url_ + sign::uri_encode(exchange.request.path, sign::Slash::kKeep);
  if (!exchange.request.query.empty()) {
    exchange.url.append("?").append(sign::canonical_query(exchange.request.query));
  }
}

void S3ObjectStore::run(Exchange& exchange) {
  finish_url(exchange);
  transport_->run({&exchange, 1}, *signer_);
}

Result<std::string> S3ObjectStore::get(std::string_view key, std::size_t max_bytes) {
  DIL_CHECK_OK(check_key(key));
  Exchange exchange = object_exchange(Operation::kGet, "GET", key);
  exchange.max_response = max_bytes;
  run(exchange);
  return take_body(exchange, key);
}

Result<std::string> S3ObjectStore::get_range(std::string_view key, ByteRange range) {
  DIL_CHECK_OK(check_key(key));
  if (range.length == 0 || range.offset > UINT64_MAX - range.length) {
    return invalid_argument("an empty byte range, or one without an end");
  }
  Exchange exchange = object_exchange(Operation::kGet, "GET", key);
  exchange.request.headers.push_back(
      {"range", fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1)});
  exchange.max_response = range.length;
  run(exchange);
  DIL_TRY(std::string body, take_body(exchange, key));
  // A store that ignores the range answers 200 with other bytes than asked for.
  bool is_whole_from_start = exchange.status == 200 && range.offset == 0;
  std::string wanted = fmt::format("bytes {}-{}/", range.offset, range.offset + body.size() - 1);
  if (!is_whole_from_start && !exchange.content_range.starts_with(wanted)) {
    return Error(
        Code::kInternal, "the object store did not serve the byte range",
        fmt::format("HTTP {} content-range '{}'", exchange.status, exchange.content_range));
  }
  return body;
}

std::vector<Result<std::string>> S3ObjectStore::get_many(const std::vector<GetObject>& requests) {
  std::vector<Result<std::string>> out(requests.size(), Result<std::string>(std::string()));
  std::vector<Exchange> exchanges;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (Status ok = check_key(requests[i].key); !ok.has_value()) {
      out[i] = std::move(ok).error();
      continue;
    }
    Exchange exchange = object_exchange(Operation::kGet, "GET", requests[i].key);
    exchange.max_response = requests[i].max_bytes;
    finish_url(exchange);
    exchanges.push_back(std::move(exchange));
    index.push_back(i);
  }
  transport_->run(exchanges, *signer_);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    out[index[i]] = take_body(exchanges[i], requests[index[i]].key);
  }
  return out;
}

Exchange S3ObjectStore::put_exchange(std::string_view key, std::string_view bytes,
                                     const PutOptions& options) const {
  Exchange out = object_exchange(Operation::kPut, "PUT", key);
  out.request.headers.push_back({"content-type", options.content_type});
  if (options.if_none_match_any) {
    out.request.headers.push_back({"if-none-match", "*"});
    out.resend = Resend::kIfNotApplied;
  }
  out.request.payload_hash = sign::sha256_hex(bytes);
  out.body = bytes;
  finish_url(out);
  return out;
}

Status S3ObjectStore::put(std::string_view key, std::string_view bytes, const PutOptions& options) {
  DIL_CHECK_OK(check_key(key));
  Exchange exchange = put_exchange(key, bytes, options);
  transport_->run({&exchange, 1}, *signer_);
  return put_status(exchange, key);
}

std::vector<Status> S3ObjectStore::put_many(const std::vector<PutObject>& objects) {
  std::vector<Status> out(objects.size());
  std::vector<Exchange> exchanges;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    out[i] = check_key(objects[i].key);
    if (!out[i].has_value()) continue;
    exchanges.push_back(put_exchange(objects[i].key, objects[i].bytes, objects[i].options));
    index.push_back(i);
  }
  transport_->run(exchanges, *signer_);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    out[index[i]] = put_status(exchanges[i], objects[index[i]].key);
  }
  return out;
}

Result<std::optional<ObjectInfo>> S3ObjectStore::head(std::string_view key) {
  DIL_CHECK_OK(check_key(key));
  Exchange exchange = object_exchange(Operation::kHead, "HEAD", key);
  run(exchange);
  if (exchange.failure == Failure::kNone && exchange.status == 404) {
    return std::optional<ObjectInfo>();
  }
  if (!exchange.is_ok()) return error_of(exchange, key);
  if (!exchange.content_length.has_value()) {
    return Error(Code::kInternal, "the object store does not tell an object's size",
                 std::string(key));
  }
  return std::optional(ObjectInfo{std::string(key), *exchange.content_length, exchange.etag,
                                  exchange.last_modified.value_or(std::chrono::sys_seconds())});
}

Status S3ObjectStore::remove(std::string_view key) {
  return std::move(remove_many({std::string(key)}).front());
}

Exchange S3ObjectStore::delete_objects_exchange(const std::string& body) const {
  Exchange out = bucket_exchange(Operation::kDelete, "POST");
  out.request.query = {{"delete", ""}};
  out.request.headers.push_back({"content-type", "application/xml"});
  add_body(out, body);
  finish_url(out);
  return out;
}

// For operations that demand a checksum of the body; every store understands this one.
void S3ObjectStore::add_body(Exchange& exchange, const std::string& body) const {
  if (std::string md5 = sign::md5_base64(body); !md5.empty()) {
    exchange.request.headers.push_back({"content-md5", std::move(md5)});
  } else {
    exchange.request.headers.push_back({"x-amz-checksum-sha256", to_base64(sign::sha256(body))});
  }
  exchange.request.payload_hash = sign::sha256_hex(body);
  exchange.body = body;
}

std::vector<Status> S3ObjectStore::remove_many(const std::vector<std::string>& keys) {
  std::vector<Status> out(keys.size());
  std::vector<std::size_t> in_batches;
  std::vector<std::size_t> alone;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = check_key(keys[i]);
    if (!out[i].has_value()) continue;
    (fits_in_xml(keys[i]) ? in_batches : alone).push_back(i);
  }
  if (in_batches.size() == 1) alone.push_back(std::exchange(in_batches, {}).front());

  // bodies must not move: exchanges look into them.
  std::vector<std::string> bodies;
  bodies.reserve(in_batches.size() / kDeleteBatch + 1);
  std::vector<Exchange> exchanges;
  for (std::size_t at = 0; at < in_batches.size(); at += kDeleteBatch) {
    std::vector<std::string_view> batch;
    for (std::size_t i = at; i < std::min(at + kDeleteBatch, in_batches.size()); ++i) {
      batch.push_back(keys[in_batches[i]]);
    }
    bodies.push_back(delete_objects_body(batch));
    exchanges.push_back(delete_objects_exchange(bodies.back()));
  }
  std::size_t batch_count = exchanges.size();
  for (std::size_t i : alone) {
    exchanges.push_back(object_exchange(Operation::kDelete, "DELETE", keys[i]));
    finish_url(exchanges.back());
  }
  transport_->run(exchanges, *signer_);

  for (std::size_t b = 0; b < batch_count; ++b) {
    auto begin = in_batches.begin() + static_cast<std::ptrdiff_t>(b * kDeleteBatch);
    auto end = in_batches.begin() +
               static_cast<std::ptrdiff_t>(std::min((b + 1) * kDeleteBatch, in_batches.size()));
    std::optional<Error> whole;
    std::unordered_map<std::string, ServiceError> failures;
    if (!exchanges[b].is_ok()) {
      whole = error_of(exchanges[b], "");
    } else if (auto parsed = parse_delete_result(exchanges[b].response); !parsed.has_value()) {
      whole = std::move(parsed).error();
    } else {
      for (DeleteFailure& f : *parsed) failures.emplace(std::move(f.key), std::move(f.error));
    }
    for (auto at = begin; at != end; ++at) {
      if (whole.has_value()) out[*at] = *whole;
      auto failed = failures.find(keys[*at]);
      if (failed == failures.end() || failed->second.code == "NoSuchKey") continue;
      out[*at] = Error(Code::kInternal, "the object store did not delete an object",
                       fmt::format("{}: {}", keys[*at], failed->second.code));
    }
  }
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const Exchange& exchange = exchanges[batch_count + i];
    if (exchange.is_ok()) continue;
    Error error = error_of(exchange, keys[alone[i]]);
    if (error.code() != Code::kNotFound) out[alone[i]] = std::move(error);
  }
  return out;
}

Result<ListPage> S3ObjectStore::list(std::string_view prefix, std::string_view continuation,
                                     std::size_t page_size) {
  if (page_size == 0 || page_size > kMaxListPage) return invalid_argument("bad page size");
  Exchange exchange = bucket_exchange(Operation::kList, "GET");
  exchange.request.query = {{"list-type", "2"},
                            {"encoding-type", "url"},
                            {"max-keys", std::to_string(page_size)},
                            {"prefix", std::string(prefix)}};
  if (!continuation.empty()) {
    exchange.request.query.push_back({"continuation-token", std::string(continuation)});
  }
  run(exchange);
  if (!exchange.is_ok()) {
    Error error = error_of(exchange, prefix);
    // A listing of nothing is an empty page, so 404 is about the bucket.
    if (error.code() == Code::kNotFound) {
      return Error(Code::kInternal, "the bucket does not exist", error.cause());
    }
    return error;
  }
  return parse_list(exchange.response);
}

Result<BucketState> S3ObjectStore::check_bucket() {
  Exchange exchange = bucket_exchange(Operation::kBucket, "HEAD");
  run(exchange);
  BucketState out;
  if (exchange.date.has_value()) {
    auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    out.clock_lead = *exchange.date - now;
  }
  out.region = exchange.bucket_region;
  out.exists = exchange.is_ok();
  bool is_absent = exchange.failure == Failure::kNone && exchange.status == 404;
  if (!out.exists && !is_absent) return error_of(exchange, "");
  return out;
}

Status S3ObjectStore::create_bucket() {
  Exchange exchange = bucket_exchange(Operation::kBucket, "PUT");
  std::string body = create_bucket_body(config_.region);
  exchange.request.payload_hash = sign::sha256_hex(body);
  exchange.body = body;
  run(exchange);
  if (exchange.is_ok()) return {};
  Error error = error_of(exchange, "");
  if (error.code() == Code::kAlreadyExists) {
    return Error(Code::kAlreadyExists, "the bucket exists", error.cause());
  }
  return error;
}

Result<std::string> S3ObjectStore::bucket_policy() {
  Exchange exchange = bucket_exchange(Operation::kBucket, "GET");
  exchange.request.query = {{"policy", ""}};
  run(exchange);
  if (exchange.is_ok()) return std::move(exchange.response);
  if (exchange.failure == Failure::kNone && exchange.status == 403) {
    return Error(Code::kPermissionDenied, "the server's keys may not read the bucket's policy",
                 error_of(exchange, "").cause());
  }
  Error error = error_of(exchange, "");
  if (error.code() == Code::kNotFound) return std::string();
  return error;
}

Status S3ObjectStore::put_bucket_policy(const std::string& policy) {
  Exchange exchange = bucket_exchange(Operation::kBucket, policy.empty() ? "DELETE" : "PUT");
  exchange.request.query = {{"policy", ""}};
  if (!policy.empty()) {
    exchange.request.headers.push_back({"content-type", "application/json"});
    add_body(exchange, policy);
  }
  run(exchange);
  if (exchange.is_ok()) return {};
  Error error = error_of(exchange, "");
  if (policy.empty() && error.code() == Code::kNotFound) return {};
  if (exchange.failure == Failure::kNone && exchange.status == 403) {
    return Error(Code::kPermissionDenied, "the server's keys may not change the bucket's policy",
                 error.cause());
  }
  if (exchange.failure == Failure::kNone && exchange.status == 400) {
    return Error(Code::kInvalidArgument, "the object store does not take the bucket's policy",
                 error.cause());
  }
  return error;
}

}  // namespace duckicelake::objstore
