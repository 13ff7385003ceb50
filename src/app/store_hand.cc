// SPDX-License-Identifier: Apache-2.0
#include "app/store_hand.h"

#include <random>

#include "sign/hash.h"
#include "sign/uri.h"

namespace duckicelake::app {
namespace {

constexpr std::size_t kMaxAnswer = 1U << 20;

}  // namespace

StoreHand::StoreHand(const catalog::ObjectPlace& place, sign::Credentials keys,
                     const std::string& ca_file)
    : place_(place),
      signer_(std::move(keys), place.region, "s3"),
      transport_({.ca_file = ca_file}) {}

int StoreHand::send(const std::string& method, const std::string& key,
                    std::vector<sign::Parameter> query, std::vector<sign::Header> headers,
                    const std::string& body) {
  objstore::Exchange exchange;
  exchange.request.method = method;
  exchange.request.path = place_.path_of(key);
  exchange.request.query = std::move(query);
  exchange.request.headers = std::move(headers);
  exchange.request.headers.push_back({"host", place_.host()});
  exchange.request.payload_hash = sign::sha256_hex(body);
  exchange.body = body;
  exchange.max_response = kMaxAnswer;
  exchange.operation = method == "PUT"      ? objstore::Operation::kPut
                       : method == "DELETE" ? objstore::Operation::kDelete
                       : method == "HEAD"   ? objstore::Operation::kHead
                                            : objstore::Operation::kGet;
  exchange.url = place_.scheme + "://" + place_.host() +
                 sign::uri_encode(exchange.request.path, sign::Slash::kKeep);
  if (!exchange.request.query.empty()) {
    exchange.url += "?" + sign::canonical_query(exchange.request.query);
  }
  transport_.run({&exchange, 1}, signer_);
  return exchange.failure == objstore::Failure::kNone ? static_cast<int>(exchange.status) : 0;
}

std::string proof_prefix(const Settings& settings) {
  std::string prefix = settings.store.prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  std::random_device random;
  return fmt::format("{}-doctor/{:08x}{:08x}/", prefix, random(), random());
}

}  // namespace duckicelake::app
