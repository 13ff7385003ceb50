// SPDX-License-Identifier: Apache-2.0
// Feeds requests (method, path, query, headers, split at NUL; then a body) through what verifies
// and reads S3 requests before they are signed, and names through the text of session policies.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sign/s3_operation.h"
#include "sign/session_policy.h"
#include "sign/verify.h"

namespace sign = duckicelake::sign;

namespace {

const duckicelake::Secret kSecret("secret");

void read_as_operation(const sign::ReceivedRequest& received) {
  auto path = sign::uri_decode(received.path);
  auto query = sign::parse_query(received.query);
  if (!path || !query) return;
  const sign::S3Place place{"h", "", "lake"};
  auto operation =
      sign::read_operation({received.method, "h", *path, *query, received.headers}, place);
  if (!operation) return;
  DIL_ASSERT(operation->bucket == "lake");
  DIL_ASSERT(operation->key.find("..") == std::string::npos ||
             sign::check_plain_key(operation->key).has_value() ||
             operation->verb == sign::S3Verb::kList);
  DIL_ASSERT(operation->verb == sign::S3Verb::kList || operation->key.empty() ||
             *path == "/lake/" + operation->key);
}

void write_policy(std::string_view name) {
  sign::SessionScope scope;
  scope.bucket = "lake";
  scope.read_prefixes = {"data/" + std::string(name) + "/"};
  auto policy = sign::session_policy(scope, {});
  if (!policy) return;
  for (char c : policy->text) DIL_ASSERT(c >= 0x20 && c < 0x7F);
  DIL_ASSERT(policy->text.size() <= 2048);
  DIL_ASSERT(policy->text.find("${") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto next = [&] {
    std::size_t end = input.find('\0');
    std::string_view piece = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    return piece;
  };
  sign::ReceivedRequest request;
  request.method = next();
  request.path = next();
  request.query = next();
  const std::string_view body = next();
  while (!input.empty()) {
    std::string_view name = next();
    request.headers.push_back({std::string(name), std::string(next())});
  }
  if (auto presented = sign::parse_presented(request)) {
    (void)sign::check_fresh(*presented, presented->time);
    (void)sign::verify_signature(request, *presented, kSecret);
    if (presented->payload == sign::Payload::kSignedChunks ||
        presented->payload == sign::Payload::kUnsignedTrailer) {
      sign::ChunkedPayload chunks(*presented, kSecret);
      std::string out;
      (void)chunks.feed(body, out);
      DIL_ASSERT(out.size() <= body.size());
    }
  }
  read_as_operation(request);
  write_policy(request.path);
  if (auto keys = sign::read_delete_keys(body)) DIL_ASSERT(keys->size() <= 1000);
  return 0;
}
