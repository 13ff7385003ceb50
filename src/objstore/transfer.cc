// SPDX-License-Identifier: Apache-2.0
#include "objstore/transfer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace duckicelake::objstore {
namespace {

constexpr std::size_t kMaxErrorBody = 64U << 10;
constexpr std::size_t kMaxReserve = 1U << 20;
constexpr long kBufferBytes = 128L << 10;
constexpr long kLowSpeedBytes = 1024;

bool starts_with_no_case(std::string_view text, std::string_view lower_prefix) {
  if (text.size() < lower_prefix.size()) return false;
  for (std::size_t i = 0; i < lower_prefix.size(); ++i) {
    char c = text[i];
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != lower_prefix[i]) return false;
  }
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  std::time_t seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds == -1) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Failure failure_of(CURLcode code, bool is_connected) {
  switch (code) {
    case CURLE_OK: return Failure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return Failure::kConnect;
    // A connect timeout is a host that does not answer, not a slow answer.
    case CURLE_OPERATION_TIMEDOUT: return is_connected ? Failure::kTimeout : Failure::kConnect;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER: return Failure::kTls;
    case CURLE_SSL_CONNECT_ERROR: return Failure::kConnect;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT: return Failure::kLocal;
    default: return Failure::kTransfer;
  }
}

}  // namespace

Transfer::~Transfer() {
  curl_slist_free_all(headers_);
  curl_easy_cleanup(easy_);
}

bool Transfer::begin(Exchange& next, const TransportConfig& config, RequestSigner& signer,
                     std::chrono::milliseconds time_left) {
  exchange = &next;
  next.failure = Failure::kNone;
  next.failure_text.clear();
  next.status = 0;
  next.response.clear();
  next.etag.clear();
  next.content_range.clear();
  next.bucket_region.clear();
  next.content_length.reset();
  next.last_modified.reset();
  next.date.reset();
  ++next.attempts;
  sent_ = bytes_in = bytes_out = 0;
  is_too_large_ = is_cut_ = has_local_error_ = was_rewound_ = false;
  error_.fill(0);

  auto headers = signer.sign(next.request);
  if (!headers.has_value()) {
    next.failure = Failure::kLocal;
    next.failure_text = headers.error().message();
    return false;
  }
  if (next.sink_fd >= 0 &&
      (::ftruncate(next.sink_fd, 0) != 0 || ::lseek(next.sink_fd, 0, SEEK_SET) != 0)) {
    next.failure = Failure::kLocal;
    next.failure_text = "cannot rewind the local file";
    return false;
  }
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  for (const sign::Header& h : *headers) {
    headers_ = curl_slist_append(headers_, (h.name + ": " + h.value).c_str());
  }
  // Curl's own additions: no pause for 100-continue, no guessed content type.
  headers_ = curl_slist_append(headers_, "expect:");
  headers_ = curl_slist_append(headers_, "accept:");
  set_options(config, time_left);
  return true;
}

void Transfer::set_options(const TransportConfig& config, std::chrono::milliseconds time_left) {
  curl_easy_reset(easy_);
  auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, exchange->url.c_str());
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_USERAGENT, "duckicelake");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);  // a key may hold "/../"
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kBufferBytes);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(config.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(time_left.count())));
  set(CURLOPT_LOW_SPEED_LIMIT, kLowSpeedBytes);
  auto low_speed = std::chrono::ceil<std::chrono::seconds>(config.low_speed_time);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(low_speed.count()));
  if (!config.ca_file.empty()) set(CURLOPT_CAINFO, config.ca_file.c_str());
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_write);
  set(CURLOPT_WRITEDATA, this);
  set_body();
}

void Transfer::set_body() {
  auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  const std::string& method = exchange->request.method;
  if (method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
    return;
  }
  if (method == "PUT" || method == "POST") {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &Transfer::on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_SEEKFUNCTION, &Transfer::on_seek);
    set(CURLOPT_SEEKDATA, this);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body_size()));
  }
  if (method != "GET" && method != "PUT") set(CURLOPT_CUSTOMREQUEST, method.c_str());
}

std::uint64_t Transfer::body_size() const {
  return exchange->file.fd >= 0 ? exchange->file.length : exchange->body.size();
}

void Transfer::end(CURLcode code) {
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &exchange->status);
  curl_off_t connected_us = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
  exchange->failure = failure_of(code, connected_us > 0);
  if (is_cut_) {
    exchange->failure = Failure::kNone;
  } else if (has_local_error_) {
    exchange->failure = Failure::kLocal;
  } else if (is_too_large_) {
    exchange->failure = Failure::kTooLarge;
  } else if (code == CURLE_OK && exchange->status < 200) {
    exchange->failure = Failure::kTransfer;
  }
  if (exchange->failure != Failure::kNone) {
    exchange->failure_text = error_[0] != 0 ? error_.data() : curl_easy_strerror(code);
  }
  bool broke_late = exchange->failure == Failure::kTransfer ||
                    exchange->failure == Failure::kTimeout ||
                    (exchange->status >= 500 && exchange->status != 503);
  if (broke_late || was_rewound_) exchange->maybe_applied = true;
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Transfer*>(self)->read_header({data, size * count});
  return size * count;
}

void Transfer::read_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    // The status line of a new answer (after a 1xx): what came before does not count.
    exchange->content_length.reset();
    return;
  }
  auto value_of = [&](std::string_view name) -> std::optional<std::string_view> {
    if (!starts_with_no_case(line, name)) return std::nullopt;
    return trim(line.substr(name.size()));
  };
  if (auto etag = value_of("etag:")) {
    if (etag->size() >= 2 && etag->front() == '"' && etag->back() == '"') {
      etag = etag->substr(1, etag->size() - 2);
    }
    exchange->etag = etag->substr(0, 256);
  } else if (auto length = value_of("content-length:")) {
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(length->data(), length->data() + length->size(), value);
    if (error == std::errc() && end == length->data() + length->size()) {
      exchange->content_length = value;
    }
  } else if (auto range = value_of("content-range:")) {
    exchange->content_range = range->substr(0, 128);
  } else if (auto region = value_of("x-amz-bucket-region:")) {
    exchange->bucket_region = region->substr(0, 64);
  } else if (auto modified = value_of("last-modified:")) {
    exchange->last_modified = parse_http_date(*modified);
  } else if (auto date = value_of("date:")) {
    exchange->date = parse_http_date(*date);
  }
}

std::size_t Transfer::on_write(char* data, std::size_t size, std::size_t count, void* self) {
  // Returning another number than was offered makes curl stop.
  return static_cast<Transfer*>(self)->write({data, size * count}) ? size * count : 0;
}

bool Transfer::write(std::string_view bytes) {
  bytes_in += bytes.size();
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200 || status >= 300) {
    exchange->response.append(bytes.substr(0, kMaxErrorBody - exchange->response.size()));
    is_cut_ = exchange->response.size() == kMaxErrorBody;
    return !is_cut_;
  }
  if (exchange->sink_fd >= 0) {
    has_local_error_ = !write_all(exchange->sink_fd, bytes);
    if (has_local_error_) std::snprintf(error_.data(), error_.size(), "cannot write a local file");
    return !has_local_error_;
  }
  std::uint64_t announced = exchange->content_length.value_or(0);
  if (announced > exchange->max_response ||
      bytes.size() > exchange->max_response - exchange->response.size()) {
    is_too_large_ = true;
    return false;
  }
  if (exchange->response.empty()) {
    exchange->response.reserve(std::min<std::size_t>(kMaxReserve, announced));
  }
  exchange->response.append(bytes);
  return true;
}

std::size_t Transfer::on_read(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  Exchange& exchange = *transfer->exchange;
  std::uint64_t left = transfer->body_size() - transfer->sent_;
  std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, size * count));
  if (wanted == 0) return 0;
  std::size_t got = wanted;
  if (exchange.file.fd >= 0) {
    ssize_t n = 0;
    do {
      n = ::pread(exchange.file.fd, data, wanted,
                  static_cast<off_t>(exchange.file.offset + transfer->sent_));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
      // Shorter than it was: the signed length and hash no longer hold.
      transfer->has_local_error_ = true;
      return CURL_READFUNC_ABORT;
    }
    got = static_cast<std::size_t>(n);
  } else {
    std::memcpy(data, exchange.body.data() + transfer->sent_, wanted);
  }
  transfer->sent_ += got;
  transfer->bytes_out += got;
  return got;
}

int Transfer::on_seek(void* self, curl_off_t offset, int origin) {
  auto* transfer = static_cast<Transfer*>(self);
  if (origin != SEEK_SET || offset < 0 ||
      static_cast<std::uint64_t>(offset) > transfer->body_size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer->sent_ = static_cast<std::uint64_t>(offset);
  transfer->was_rewound_ = true;
  return CURL_SEEKFUNC_OK;
}

}  // namespace duckicelake::objstore
