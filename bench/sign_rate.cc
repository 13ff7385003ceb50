// SPDX-License-Identifier: Apache-2.0
// How many requests to the store a process signs in a second, on two threads: from the JSON that a
// client sends to the JSON that it gets, decision included; and how many it could if it did nothing
// but the hashing that a signature takes. Without HTTP and without the look at the lake's head.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "catalog/sign_request.h"
#include "rest/signer.h"
#include "sign/hash.h"
#include "sign/uri.h"

namespace {

using namespace duckicelake;  // NOLINT: a program of one file

constexpr int kThreads = 2;
constexpr std::chrono::seconds kTime{2};
constexpr std::string_view kBody =
    R"({"method":"GET","region":"us-east-1","uri":"http://127.0.0.1:9000/lakehouse/data/shop/orders/)"
    R"(ducklake-019a0000-0000-7000-8000-000000000000.parquet","headers":{"Range":["bytes=4-1048576"],)"
    R"("User-Agent":["Boto3/1.43 md/Botocore#1.43 ua/2.1 os/linux"],"amz-sdk-invocation-id":)"
    R"(["00000000-0000-0000-0000-000000000000"],"amz-sdk-request":["attempt=1"]}})";

double per_second(const std::function<bool()>& once) {
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      std::uint64_t mine = 0;
      while (!is_over.load(std::memory_order_relaxed) && once()) ++mine;
      done += mine;
    });
  }
  std::this_thread::sleep_for(kTime);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(done) / took.count();
}

}  // namespace

int main() {
  const sign::S3Place place{"127.0.0.1:9000", "", "lakehouse"};
  const sign::Credentials root{"ROOTKEY", Secret("root secret"), Secret()};
  const sign::Time now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto key =
      sign::SigningKey::derive(root.secret_key, sign::Scope::at(now, "us-east-1", "s3"));
  catalog::StorageScope scope;
  scope.bucket = place.bucket;
  scope.location = "data/shop/orders/";
  scope.prefixes = {scope.location, "data-iceberg/lake/uuid/"};

  const double ours = per_second([&] {
    const auto request = rest::read_sign_request(kBody);
    if (!request) return false;
    const std::string_view uri =
        std::string_view(request->uri).substr(std::string("http://").size());
    const std::size_t slash = uri.find('/');
    auto path = sign::uri_decode(uri.substr(slash));
    if (!path) return false;
    const auto operation = sign::read_operation(
        {request->method, std::string(uri.substr(0, slash)), *path, {}, request->headers}, place);
    if (!operation) return false;
    const auto allowed = check_in_scope(scope, catalog::StorageRight::kRead, *operation);
    if (!allowed || !*allowed) return false;
    auto headers = sign::sign_request({request->method,
                                       *path,
                                       {},
                                       {{"host", place.authority}},
                                       std::string(sign::kUnsignedPayload)},
                                      root, key, now);
    if (!headers) return false;
    return !rest::sign_body({request->uri, std::move(*headers)}).empty();
  });
  const std::string canonical(420, 'c'), text(140, 't');
  const double hashing =
      per_second([&] { return !sign::sha256_hex(canonical).empty() && !key.sign(text).empty(); });
  if (ours < 1 || hashing < 1) return 1;
  fmt::print(
      "signing: {:.0f} requests/s on {} threads; OpenSSL's hashing alone: {:.0f}/s ({:.0f} %)\n",
      ours, kThreads, hashing, 100 * ours / hashing);
  return 0;
}
