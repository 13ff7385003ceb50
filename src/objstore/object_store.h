// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duckicelake::objstore {

struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  std::string etag;  // as the store sends it, without quotes; may be empty
  std::chrono::sys_seconds last_modified{};
};

struct PutOptions {
  std::string content_type = "application/octet-stream";
  // Write only where nothing is ("If-None-Match: *"); otherwise kAlreadyExists.
  bool if_none_match_any = false;
};

struct PutObject {
  std::string key;
  std::string bytes;
  PutOptions options;
};

struct GetObject {
  std::string key;
  std::size_t max_bytes = 0;
};

struct ByteRange {
  std::uint64_t offset = 0;
  std::size_t length = 0;  // > 0
};

struct ListPage {
  std::vector<ObjectInfo> objects;          // ascending by key bytes on S3
  std::optional<std::string> continuation;  // pass it to the next call; absent on the last page
};

inline constexpr std::size_t kMaxListPage = 1000;

// The objects of one bucket. Keys are bytes (1..1024 of them), never URLs and never
// percent-decoded. Implementations are thread-safe; calls block up to the configured timeouts.
//
// Errors of every call: kInvalidArgument (a key that cannot be one), kUnavailable (not reachable,
// 5xx), kDeadlineExceeded (no answer in time), kInternal (refused credentials, an answer that makes
// no sense; the cause is for the log). After kUnavailable or kDeadlineExceeded a write may or may
// not have happened.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual const std::string& bucket() const = 0;

  // kNotFound; kPayloadTooLarge when the object has more than max_bytes.
  virtual Result<std::string> get(std::string_view key, std::size_t max_bytes) = 0;
  // Fewer bytes when the object ends inside the range; kInvalidArgument when it ends before it.
  virtual Result<std::string> get_range(std::string_view key, ByteRange range) = 0;
  // Bounded parallelism in the calling thread; one result for each request, in order. When the
  // store turns out to be away, requests not yet begun fail at once.
  virtual std::vector<Result<std::string>> get_many(const std::vector<GetObject>& requests) = 0;

  // Atomic: readers see the old object or the new one.
  virtual Status put(std::string_view key, std::string_view bytes, const PutOptions& options) = 0;
  // As get_many.
  virtual std::vector<Status> put_many(const std::vector<PutObject>& objects) = 0;

  // nullopt: there is no such object.
  virtual Result<std::optional<ObjectInfo>> head(std::string_view key) = 0;

  // An object that is not there counts as removed.
  virtual Status remove(std::string_view key) = 0;
  virtual std::vector<Status> remove_many(const std::vector<std::string>& keys) = 0;

  // Objects whose key starts with `prefix`. `continuation`: empty, or that of the page before.
  virtual Result<ListPage> list(std::string_view prefix, std::string_view continuation,
                                std::size_t page_size = kMaxListPage) = 0;

  // Streams a regular local file; nothing becomes visible unless all of it was stored.
  virtual Status put_file(std::string_view key, const std::string& path,
                          const PutOptions& options) = 0;
  // Streams into a file beside `path` and renames it: `path` is complete or untouched. kNotFound.
  virtual Status get_file(std::string_view key, const std::string& path) = 0;

  // The key of an s3://, s3a:// or s3n:// URI, byte by byte as it stands there. kInvalidArgument
  // for another scheme, another bucket, or no key.
  Result<std::string> key_of(std::string_view uri) const;
  // "s3://<bucket>/<key>".
  std::string uri_of(std::string_view key) const;
};

struct S3Uri {
  std::string bucket;
  std::string key;  // may be empty
};

// kInvalidArgument for another scheme or an empty bucket. Nothing is decoded.
Result<S3Uri> parse_s3_uri(std::string_view uri);

// kInvalidArgument unless the key has 1..1024 bytes.
Status check_key(std::string_view key);

// All pages of a prefix. kPayloadTooLarge when there are more than `limit` objects; kCorruptData
// when the store's continuation does not advance.
Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                         std::size_t limit);

}  // namespace duckicelake::objstore
