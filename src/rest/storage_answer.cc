// SPDX-License-Identifier: Apache-2.0
#include "rest/storage_answer.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/bytes.h"
#include "json/writer.h"
#include "net/url.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

using Config = std::map<std::string, std::string>;
using Kind = catalog::StorageGrant::Kind;

constexpr std::size_t kMarkBytes = 9;

Config deployment_config(const StorageSettings& storage) {
  Config out;
  if (!storage.region.empty()) {
    out["client.region"] = storage.region;
    out["s3.region"] = storage.region;
  }
  if (!storage.endpoint.empty()) out["s3.endpoint"] = storage.endpoint;
  out["s3.path-style-access"] = storage.path_style ? "true" : "false";
  out["s3.url-style"] = storage.path_style ? "path" : "vhost";
  return out;
}

// The members that differ from one grant of keys to the next.
Config key_config(const catalog::VendedKeys& keys) {
  Config out;
  out["s3.access-key-id"] = keys.access_key;
  out["s3.secret-access-key"] = keys.secret_key.reveal();
  if (!keys.session_token.empty()) out["s3.session-token"] = keys.session_token.reveal();
  out["s3.session-token-expires-at-ms"] =
      std::to_string(keys.expiration.time_since_epoch().count() * 1000);
  out["s3.credentials-expiration"] = iso_time(keys.expiration);
  return out;
}

// Where the gateway is, in the place of the store.
void point_to_gateway(Config& config, const std::string& url) {
  config["s3.endpoint"] = url;
  config["s3.path-style-access"] = "true";
  config["s3.url-style"] = "path";
}

void write_config(json::Writer& json, const Config& config) {
  json.begin_object();
  for (const auto& [name, value] : config) json.member(name, value);
  json.end_object();
}

std::string to_json(const Config& config) {
  std::string out;
  json::Writer json(out);
  write_config(json, config);
  return out;
}

void write_credential(json::Writer& json, const std::string& prefix, const Config& config) {
  json.begin_object();
  json.member("prefix", prefix);
  json.key("config");
  write_config(json, config);
  json.end_object();
}

std::string common_prefix(const std::vector<std::string>& routes) {
  std::string out = routes.front();
  for (const std::string& route : routes) {
    const auto [end, other] = std::mismatch(out.begin(), out.end(), route.begin(), route.end());
    (void)other;
    out.erase(end, out.end());
  }
  return out;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string lower_word(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string iso_time(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

catalog::DelegationRequest delegation_of(const net::Request& request) {
  catalog::DelegationRequest out;
  for (const auto& [name, value] : request.headers) {
    if (name != "x-iceberg-access-delegation") continue;
    std::string_view list = value;
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string word = lower_word(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
      if (word == "vended-credentials") out.wants_keys = true;
      if (word == "remote-signing") out.wants_signing = true;
    }
  }
  return out;
}

std::string table_path(std::string_view catalog_id, const catalog::TableRef& table) {
  std::string space;
  for (const std::string& level : table.levels) {
    if (!space.empty()) space.append("%1F");
    space.append(net::encode_component(level));
  }
  return fmt::format("v1/{}/namespaces/{}/tables/{}", net::encode_component(catalog_id), space,
                     net::encode_component(table.name));
}

StorageAnswer storage_answer(const StorageSettings& storage, std::string_view catalog_id,
                             const catalog::StorageGrant& grant, const catalog::TableRef& table,
                             const std::string& server_url, const std::string& gateway_url) {
  StorageAnswer out;
  Config members = deployment_config(storage);
  const std::string path = table_path(catalog_id, table);
  switch (grant.kind) {
    case Kind::kNone:
    // As wide as all that the principal may do: not for one table.
    case Kind::kStaticKeys: break;
    case Kind::kKeys:
    case Kind::kGatewayKeys: {
      const Config keys = key_config(*grant.keys);
      if (grant.kind == Kind::kGatewayKeys) point_to_gateway(members, gateway_url);
      members["s3.remote-signing-enabled"] = "false";
      members["client.refresh-credentials-endpoint"] = path + "/credentials";
      members.insert(keys.begin(), keys.end());
      json::Writer json(out.credentials);
      json.begin_array();
      for (const std::string& route : grant.keys->routes) write_credential(json, route, keys);
      json.end_array();
      out.has_keys = true;
      break;
    }
    case Kind::kSigning: {
      std::string sign_path = path + "/sign";
      if (!grant.staged_token.empty()) sign_path += "?staged=" + grant.staged_token;
      members["s3.remote-signing-enabled"] = "true";
      members["s3.signer"] = "S3V4RestSigner";
      members["s3.signer.uri"] = server_url;
      members["s3.signer.endpoint"] = sign_path;
      members["signer.uri"] = server_url;
      members["signer.endpoint"] = sign_path;
      members["py-io-impl"] = "pyiceberg.io.fsspec.FsspecFileIO";
      break;
    }
  }
  out.config = to_json(members);
  out.mark = to_hex(sign::sha256(out.config + '\n' + out.credentials).substr(0, kMarkBytes));
  return out;
}

std::string credentials_body(const StorageSettings& storage, const catalog::StorageGrant& grant,
                             const std::string& gateway_url) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.key("storage-credentials");
  json.begin_array();
  if (grant.keys) {
    Config keys = key_config(*grant.keys);
    Config members = deployment_config(storage);
    if (grant.kind == Kind::kGatewayKeys) point_to_gateway(members, gateway_url);
    keys.insert(members.begin(), members.end());
    write_credential(json, common_prefix(grant.keys->routes), keys);
  }
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace duckicelake::rest
