// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/secret.h"
#include "objstore/counters.h"
#include "objstore/object_store.h"

namespace duckicelake::objstore {

class Transport;
class RequestSigner;
struct Exchange;

enum class Addressing { kPath, kVirtualHost };  // host/bucket/key or bucket.host/key

struct S3Config {
  std::string endpoint;  // "http://127.0.0.1:9000"; a path behind the host is kept
  std::string region = "us-east-1";
  std::string bucket;
  std::string access_key;
  Secret secret_key;
  std::optional<Secret> session_token;
  Addressing addressing = Addressing::kPath;

  std::chrono::milliseconds connect_timeout{3000};
  std::chrono::milliseconds total_timeout{
      30000};  // one call, retries included; a file: file_timeout
  std::chrono::milliseconds file_timeout{900000};
  std::chrono::milliseconds low_speed_time{20000};  // no progress for so long ends a transfer
  std::chrono::milliseconds retry_budget{5000};     // retries begin within this time; 0: none
  std::size_t max_connections = 64;                 // in use at once, over all threads
  std::string ca_file;                              // empty: the system's

  std::uint64_t multipart_threshold = 64U << 20;  // put_file: larger files go in parts
  std::uint64_t part_size = 16U << 20;            // grows where 10,000 parts would not do
};

struct BucketState {
  bool exists = false;
  std::string region;                              // as the store says; often empty outside AWS
  std::optional<std::chrono::seconds> clock_lead;  // the store's clock minus ours
};

// One bucket behind the S3 protocol (SigV4, ListObjectsV2). Thread-safe; keeps a pool of
// connections. Idempotent requests are repeated on lost connections, 500, 502, 503 and 504 with
// jittered backoff; a write with if_none_match_any only where the store surely did not act on the
// attempt before, so that a kAlreadyExists is never caused by this very call.
class S3ObjectStore : public ObjectStore {
 public:
  // Makes no request. kInvalidArgument: no http(s) endpoint, a bucket name that cannot be one, no
  // keys.
  static Result<std::unique_ptr<S3ObjectStore>> make(S3Config config);
  ~S3ObjectStore() override;

  const std::string& bucket() const override { return config_.bucket; }
  Result<std::string> get(std::string_view key, std::size_t max_bytes) override;
  Result<std::string> get_range(std::string_view key, ByteRange range) override;
  std::vector<Result<std::string>> get_many(const std::vector<GetObject>& requests) override;
  Status put(std::string_view key, std::string_view bytes, const PutOptions& options) override;
  std::vector<Status> put_many(const std::vector<PutObject>& objects) override;
  Result<std::optional<ObjectInfo>> head(std::string_view key) override;
  Status remove(std::string_view key) override;
  std::vector<Status> remove_many(const std::vector<std::string>& keys) override;
  Result<ListPage> list(std::string_view prefix, std::string_view continuation,
                        std::size_t page_size = kMaxListPage) override;
  Status put_file(std::string_view key, const std::string& path,
                  const PutOptions& options) override;
  Status get_file(std::string_view key, const std::string& path) override;

  // HEAD of the bucket. kInternal when it is somebody else's or the keys are refused.
  Result<BucketState> check_bucket();
  // kAlreadyExists when it is there already, whoever owns it.
  Status create_bucket();

  // The bucket's policy; empty: it has none. kPermissionDenied: the server's keys may not.
  Result<std::string> bucket_policy();
  // In place of the one before; empty: none. kInvalidArgument: the store does not take it, and the
  // one before stays.
  Status put_bucket_policy(const std::string& policy);

  Counters counters() const;

 private:
  explicit S3ObjectStore(S3Config config);

  Exchange bucket_exchange(Operation operation, std::string_view method) const;
  Exchange object_exchange(Operation operation, std::string_view method,
                           std::string_view key) const;
  void add_body(Exchange& exchange, const std::string& body) const;
  Exchange put_exchange(std::string_view key, std::string_view bytes,
                        const PutOptions& options) const;
  Exchange delete_objects_exchange(const std::string& body) const;
  // Puts the query into the URL; call it when the request is complete.
  void finish_url(Exchange& exchange) const;
  void run(Exchange& exchange);

  Status put_small_file(std::string_view key, int fd, std::uint64_t size,
                        const PutOptions& options);
  Status put_large_file(std::string_view key, int fd, std::uint64_t size,
                        const PutOptions& options);
  Result<std::string> create_upload(std::string_view key, const PutOptions& options);
  Result<std::vector<std::string>> put_parts(std::string_view key, int fd, std::uint64_t size,
                                             const std::string& upload_id);
  Status complete_upload(std::string_view key, const std::string& upload_id,
                         const std::vector<std::string>& etags, const PutOptions& options);
  void abort_upload(std::string_view key, const std::string& upload_id);

  const S3Config config_;
  std::string base_url_;  // scheme://authority
  std::string host_;
  std::string base_path_;  // before the key: "/bucket" or ""
  std::unique_ptr<RequestSigner> signer_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace duckicelake::objstore
