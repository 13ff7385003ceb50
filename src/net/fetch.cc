// SPDX-License-Identifier: Apache-2.0
#include "net/fetch.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

namespace duckicelake::net {
namespace {

struct Sink {
  std::string body;
  std::size_t limit;
};

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* to) {
  auto* sink = static_cast<Sink*>(to);
  const std::size_t length = size * count;
  if (length > sink->limit - sink->body.size()) return 0;  // ends the transfer
  sink->body.append(bytes, length);
  return length;
}

struct Cleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

Error unavailable(const std::string& url, std::string_view why) {
  return Error(Code::kUnavailable, "a document could not be fetched",
               fmt::format("{}: {}", url, why));
}

}  // namespace

Result<std::string> fetch(const std::string& url, const FetchLimits& limits) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, Cleanup> handle(curl_easy_init());
  if (!handle) return unavailable(url, "no handle");
  Sink sink{{}, limits.max_bytes};
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(limits.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
  if (!limits.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, limits.ca_file.c_str());
  const CURLcode done = curl_easy_perform(curl);
  if (done != CURLE_OK) return unavailable(url, curl_easy_strerror(done));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return unavailable(url, fmt::format("status {}", status));
  return std::move(sink.body);
}

}  // namespace duckicelake::net
