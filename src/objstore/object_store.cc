// SPDX-License-Identifier: Apache-2.0
#include "objstore/object_store.h"

#include <array>
#include <utility>

namespace duckicelake::objstore {
namespace {

constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::array<std::string_view, 3> kSchemes = {"s3://", "s3a://", "s3n://"};

}  // namespace

Result<S3Uri> parse_s3_uri(std::string_view uri) {
  for (std::string_view scheme : kSchemes) {
    if (uri.substr(0, scheme.size()) != scheme) continue;
    std::string_view rest = uri.substr(scheme.size());
    std::size_t slash = std::min(rest.find('/'), rest.size());
    if (slash == 0) return invalid_argument("an S3 location without a bucket");
    return S3Uri{std::string(rest.substr(0, slash)),
                 std::string(rest.substr(std::min(slash + 1, rest.size())))};
  }
  return invalid_argument("not an S3 location");
}

Status check_key(std::string_view key) {
  if (key.empty()) return invalid_argument("an object key must not be empty");
  if (key.size() > kMaxKeyBytes) {
    return invalid_argument("an object key has at most {} bytes, this one {}", kMaxKeyBytes,
                            key.size());
  }
  return {};
}

Result<std::string> ObjectStore::key_of(std::string_view uri) const {
  DIL_TRY(S3Uri parsed, parse_s3_uri(uri));
  if (parsed.bucket != bucket()) return invalid_argument("the location is in another bucket");
  DIL_CHECK_OK(check_key(parsed.key));
  return std::move(parsed.key);
}

std::string ObjectStore::uri_of(std::string_view key) const {
  return fmt::format("s3://{}/{}", bucket(), key);
}

Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                         std::size_t limit) {
  std::vector<ObjectInfo> out;
  std::string continuation;
  for (;;) {
    DIL_TRY(ListPage page, store.list(prefix, continuation, kMaxListPage));
    if (page.objects.size() > limit - out.size()) {
      return make_error(Code::kPayloadTooLarge, "more than {} objects under a prefix", limit);
    }
    for (ObjectInfo& object : page.objects) out.push_back(std::move(object));
    if (!page.continuation.has_value()) return out;
    if (*page.continuation == continuation) {
      return make_error(Code::kCorruptData, "the object store repeats a page of its listing");
    }
    continuation = std::move(*page.continuation);
  }
}

}  // namespace duckicelake::objstore
