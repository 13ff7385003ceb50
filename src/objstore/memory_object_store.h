// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "objstore/object_store.h"

namespace duckicelake::objstore {

// An object store in memory, for tests. Thread-safe, except `fail_with`, which is set before use.
class MemoryObjectStore : public ObjectStore {
 public:
  explicit MemoryObjectStore(std::string bucket) : bucket_(std::move(bucket)) {}

  // Asked before each operation ("get", "put", "head", "remove", "list") with its key or prefix; an
  // error makes the operation fail with it and change nothing.
  std::function<Status(std::string_view operation, std::string_view key)> fail_with;

  const std::string& bucket() const override { return bucket_; }
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

 private:
  struct Stored {
    std::string bytes;
    std::chrono::sys_seconds modified;
  };

  Status admit(std::string_view operation, std::string_view key) const;
  Result<std::string> read(std::string_view key);

  const std::string bucket_;
  std::mutex objects_mutex_;
  std::map<std::string, Stored, std::less<>> objects_;
};

}  // namespace duckicelake::objstore
