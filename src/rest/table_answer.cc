// SPDX-License-Identifier: Apache-2.0
#include "rest/table_answer.h"

#include <utility>

#include "base/bytes.h"
#include "json/writer.h"
#include "net/gzip.h"
#include "rest/handler.h"
#include "rest/storage_answer.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

constexpr std::string_view kGzipMark = ".gz";
constexpr std::size_t kSignatureBytes = 6;

// Clients may keep the answer but must ask each time; what is composed for one caller is not for
// another.
void add_cache_headers(net::Response& response, std::string etag,
                       std::string cache_control = "private, no-cache") {
  response.add_header("etag", std::move(etag));
  response.add_header("cache-control", std::move(cache_control));
  response.add_header("vary", "Accept-Encoding, Authorization, X-Iceberg-Access-Delegation");
}

std::string quoted(std::string_view tag, std::string_view mark = {}) {
  std::string out;
  out.reserve(tag.size() + mark.size() + 2);
  out.push_back('"');
  out.append(tag).append(mark).push_back('"');
  return out;
}

std::size_t body_size(const catalog::TableAnswer& answer, const std::string& suffix) {
  return answer.metadata->size() + answer.metadata_location.size() + suffix.size();
}

std::string body_prefix(const catalog::TableAnswer& answer) {
  std::string prefix;
  prefix.reserve(answer.metadata_location.size() + 48);
  prefix.append("{\"metadata-location\":");
  json::append_string(prefix, answer.metadata_location);
  prefix.append(",\"metadata\":");
  return prefix;
}

}  // namespace

std::string storage_config_json(const StorageSettings& storage) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  if (!storage.region.empty()) json.member("client.region", storage.region);
  if (!storage.endpoint.empty()) json.member("s3.endpoint", storage.endpoint);
  json.member("s3.path-style-access", storage.path_style ? "true" : "false");
  if (!storage.region.empty()) json.member("s3.region", storage.region);
  json.member("s3.url-style", storage.path_style ? "path" : "vhost");
  json.end_object();
  return out;
}

bool none_match_names(std::string_view value, std::string_view tag) {
  std::size_t i = 0;
  const auto skip_blanks = [&] {
    while (i < value.size() && (value[i] == ' ' || value[i] == '\t' || value[i] == ',')) ++i;
  };
  skip_blanks();
  if (value.substr(i) == "*") return true;
  while (i < value.size()) {
    if (value.substr(i).starts_with("W/")) i += 2;
    if (i >= value.size() || value[i] != '"') return false;
    const std::size_t end = value.find('"', i + 1);
    if (end == std::string_view::npos) return false;
    std::string_view named = value.substr(i + 1, end - i - 1);
    // Ours, and what proxies that compress by themselves add.
    for (std::string_view mark : {kGzipMark, std::string_view("-gzip")}) {
      if (named.ends_with(mark)) named.remove_suffix(mark.size());
    }
    if (named == tag) return true;
    i = end + 1;
    skip_blanks();
  }
  return false;
}

TableAnswers::TableAnswers(Settings settings)
    : settings_(std::move(settings)),
      suffix_(std::make_shared<const std::string>(",\"config\":" + settings_.config_json + "}")),
      signature_(to_hex(sign::sha256(settings_.version + '\n' + settings_.config_json)
                            .substr(0, kSignatureBytes))) {}

std::string TableAnswers::tag(const catalog::TableAnswer& answer) const {
  std::string out;
  out.reserve(answer.version_tag.size() + signature_.size() + 1);
  return out.append(answer.version_tag).append("-").append(signature_);
}

net::Response TableAnswers::plain(const catalog::TableAnswer& answer, std::string_view tag) const {
  net::Response response;
  response.headers.reserve(4);
  response.add_header("content-type", "application/json");
  add_cache_headers(response, quoted(tag));
  response.body.reserve(3);
  response.body.emplace_back(body_prefix(answer));
  response.body.emplace_back(answer.metadata);
  response.body.emplace_back(suffix_);
  return response;
}

net::Response TableAnswers::respond_fresh(const catalog::TableAnswer& answer) const {
  return plain(answer, tag(answer));
}

net::Response TableAnswers::respond_fresh_with(const catalog::TableAnswer& answer,
                                               const StorageAnswer& storage) const {
  net::Response response;
  response.headers.reserve(4);
  response.add_header("content-type", "application/json");
  add_cache_headers(response, quoted(tag(answer) + "-" + storage.mark),
                    storage.has_keys ? "private, no-store" : "private, no-cache");
  std::string suffix = ",\"config\":" + storage.config;
  if (!storage.credentials.empty()) suffix += ",\"storage-credentials\":" + storage.credentials;
  suffix.push_back('}');
  response.body.reserve(3);
  response.body.emplace_back(body_prefix(answer));
  response.body.emplace_back(answer.metadata);
  response.body.emplace_back(std::move(suffix));
  return response;
}

net::Response TableAnswers::respond_with(const net::Request& request,
                                         const catalog::TableAnswer& answer,
                                         const StorageAnswer& storage) const {
  const std::string name = tag(answer) + "-" + storage.mark;
  for (const auto& [header, value] : request.headers) {
    if (header != "if-none-match" || value.find_first_not_of(" \t,") == std::string::npos) continue;
    // "*" is not about these keys.
    if (value == "*" || !none_match_names(value, name)) continue;
    net::Response response;
    response.status = 304;
    add_cache_headers(response, quoted(name),
                      storage.has_keys ? "private, no-store" : "private, no-cache");
    return response;
  }
  return respond_fresh_with(answer, storage);
}

std::optional<net::Response> TableAnswers::respond(const net::Request& request,
                                                   const catalog::TableAnswer& answer) {
  const std::string name = tag(answer);
  const bool is_gzip =
      net::accepts_gzip(request) && body_size(answer, *suffix_) >= settings_.gzip_min_bytes;
  // Several header lines are one list (RFC 9110 §5.3); each is looked at alone.
  for (const auto& [header, value] : request.headers) {
    if (header != "if-none-match" || !none_match_names(value, name)) continue;
    net::Response response;
    response.status = 304;
    add_cache_headers(response, quoted(name, is_gzip ? kGzipMark : std::string_view()));
    return response;
  }
  if (!is_gzip) return plain(answer, name);
  Bytes body = find(name);
  if (!body) return std::nullopt;
  net::Response response;
  response.headers.reserve(5);
  response.add_header("content-type", "application/json");
  response.add_header("content-encoding", "gzip");
  add_cache_headers(response, quoted(name, kGzipMark));
  response.body.emplace_back(std::move(body));
  return response;
}

net::Response TableAnswers::compress_and_respond(const catalog::TableAnswer& answer) {
  std::string name = tag(answer);
  std::string text = body_prefix(answer);
  text.reserve(text.size() + answer.metadata->size() + suffix_->size());
  text.append(*answer.metadata).append(*suffix_);
  Result<std::string> packed = net::gzip_compress(text, settings_.gzip_level);
  if (!packed.has_value()) return plain(answer, name);
  Bytes body = std::make_shared<const std::string>(std::move(*packed));
  net::Response response;
  response.add_header("content-type", "application/json");
  response.add_header("content-encoding", "gzip");
  add_cache_headers(response, quoted(name, kGzipMark));
  response.body.emplace_back(body);
  keep(std::move(name), std::move(body));
  return response;
}

TableAnswers::Bytes TableAnswers::find(const std::string& tag) {
  std::lock_guard lock(mutex_);
  auto it = by_tag_.find(tag);
  if (it == by_tag_.end()) {
    ++counters_.misses;
    return nullptr;
  }
  ++counters_.hits;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->body;
}

void TableAnswers::keep(std::string tag, Bytes body) {
  if (body->size() > settings_.gzip_cache_bytes) return;
  std::lock_guard lock(mutex_);
  if (by_tag_.contains(tag)) return;  // another worker was faster
  counters_.bytes += body->size();
  entries_.push_front({std::move(tag), std::move(body)});
  by_tag_.emplace(entries_.front().tag, entries_.begin());
  while (counters_.bytes > settings_.gzip_cache_bytes) {
    const Entry& oldest = entries_.back();
    counters_.bytes -= oldest.body->size();
    by_tag_.erase(oldest.tag);
    entries_.pop_back();
  }
}

TableAnswers::Counters TableAnswers::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace duckicelake::rest
