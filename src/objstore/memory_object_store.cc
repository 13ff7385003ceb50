// SPDX-License-Identifier: Apache-2.0
#include "objstore/memory_object_store.h"

#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "sign/hash.h"

namespace duckicelake::objstore {
namespace {

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Error no_such_object(std::string_view key) {
  return make_error(Code::kNotFound, "no object at '{}'", key);
}

}  // namespace

Status MemoryObjectStore::admit(std::string_view operation, std::string_view key) const {
  return fail_with ? fail_with(operation, key) : Status();
}

Result<std::string> MemoryObjectStore::read(std::string_view key) {
  DIL_CHECK_OK(check_key(key));
  DIL_CHECK_OK(admit("get", key));
  std::lock_guard lock(objects_mutex_);
  auto at = objects_.find(key);
  if (at == objects_.end()) return no_such_object(key);
  return at->second.bytes;
}

Result<std::string> MemoryObjectStore::get(std::string_view key, std::size_t max_bytes) {
  DIL_TRY(std::string bytes, read(key));
  if (bytes.size() > max_bytes) {
    return make_error(Code::kPayloadTooLarge, "the object at '{}' is too large", key);
  }
  return bytes;
}

Result<std::string> MemoryObjectStore::get_range(std::string_view key, ByteRange range) {
  if (range.length == 0) return invalid_argument("an empty byte range");
  DIL_TRY(std::string bytes, read(key));
  if (range.offset >= bytes.size()) {
    return invalid_argument("the byte range begins after the end of '{}'", key);
  }
  return bytes.substr(static_cast<std::size_t>(range.offset), range.length);
}

std::vector<Result<std::string>> MemoryObjectStore::get_many(
    const std::vector<GetObject>& requests) {
  std::vector<Result<std::string>> out;
  for (const GetObject& request : requests) out.push_back(get(request.key, request.max_bytes));
  return out;
}

Status MemoryObjectStore::put(std::string_view key, std::string_view bytes,
                              const PutOptions& options) {
  DIL_CHECK_OK(check_key(key));
  DIL_CHECK_OK(admit("put", key));
  std::lock_guard lock(objects_mutex_);
  if (options.if_none_match_any && objects_.contains(key)) {
    return make_error(Code::kAlreadyExists, "an object exists at '{}'", key);
  }
  objects_.insert_or_assign(std::string(key), Stored{std::string(bytes), now()});
  return {};
}

std::vector<Status> MemoryObjectStore::put_many(const std::vector<PutObject>& objects) {
  std::vector<Status> out;
  for (const PutObject& object : objects) {
    out.push_back(put(object.key, object.bytes, object.options));
  }
  return out;
}

Result<std::optional<ObjectInfo>> MemoryObjectStore::head(std::string_view key) {
  DIL_CHECK_OK(check_key(key));
  DIL_CHECK_OK(admit("head", key));
  std::lock_guard lock(objects_mutex_);
  auto at = objects_.find(key);
  if (at == objects_.end()) return std::optional<ObjectInfo>();
  return std::optional(ObjectInfo{at->first, at->second.bytes.size(),
                                  sign::sha256_hex(at->second.bytes).substr(0, 32),
                                  at->second.modified});
}

Status MemoryObjectStore::remove(std::string_view key) {
  DIL_CHECK_OK(check_key(key));
  DIL_CHECK_OK(admit("remove", key));
  std::lock_guard lock(objects_mutex_);
  if (auto at = objects_.find(key); at != objects_.end()) objects_.erase(at);
  return {};
}

std::vector<Status> MemoryObjectStore::remove_many(const std::vector<std::string>& keys) {
  std::vector<Status> out;
  for (const std::string& key : keys) out.push_back(remove(key));
  return out;
}

Result<ListPage> MemoryObjectStore::list(std::string_view prefix, std::string_view continuation,
                                         std::size_t page_size) {
  DIL_CHECK_OK(admit("list", prefix));
  if (page_size == 0 || page_size > kMaxListPage) return invalid_argument("bad page size");
  std::lock_guard lock(objects_mutex_);
  ListPage page;
  // The continuation is the last key of the page before.
  auto at =
      continuation.empty() ? objects_.lower_bound(prefix) : objects_.upper_bound(continuation);
  for (; at != objects_.end() && at->first.starts_with(prefix); ++at) {
    if (page.objects.size() == page_size) {
      page.continuation = page.objects.back().key;
      break;
    }
    page.objects.push_back({at->first, at->second.bytes.size(),
                            sign::sha256_hex(at->second.bytes).substr(0, 32), at->second.modified});
  }
  return page;
}

Status MemoryObjectStore::put_file(std::string_view key, const std::string& path,
                                   const PutOptions& options) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(Code::kInternal, "a local file cannot be read", path);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return put(key, bytes, options);
}

Status MemoryObjectStore::get_file(std::string_view key, const std::string& path) {
  DIL_TRY(std::string bytes, read(key));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Error(Code::kInternal, "a local file cannot be written", path);
  return {};
}

}  // namespace duckicelake::objstore
