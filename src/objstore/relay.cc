// SPDX-License-Identifier: Apache-2.0
#include "objstore/relay.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace duckicelake::objstore {
namespace {

constexpr long kBufferBytes = 128L << 10;
constexpr long kLowSpeedBytes = 1024;
// A connection that rested longer may be dead, and a body cannot be sent twice.
constexpr long kMaxRestSeconds = 20;
constexpr std::size_t kMaxHeaders = 200;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

struct Relay::State {
  explicit State(RelayConfig config_in) : config(std::move(config_in)), easy(curl_easy_init()) {
    DIL_ASSERT(easy != nullptr);
  }
  ~State() {
    curl_slist_free_all(sent_headers);
    curl_easy_cleanup(easy);
  }

  static std::size_t on_read(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<State*>(self)->read(data, size * count);
  }
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<State*>(self)->take_header({data, size * count}) ? size * count : 0;
  }
  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<State*>(self)->write({data, size * count}) ? size * count : 0;
  }
  // Curl asks to send the body again; what came from the peer is gone.
  static int on_seek(void* self, curl_off_t offset, int origin) {
    const auto* state = static_cast<State*>(self);
    return offset == 0 && origin == SEEK_SET && !state->has_read ? CURL_SEEKFUNC_OK
                                                                 : CURL_SEEKFUNC_FAIL;
  }

  std::size_t read(char* data, std::size_t room) {
    has_read = true;
    Result<std::size_t> got = peer->read(data, room);
    if (got) return *got;
    read_error = std::move(got).error();
    return CURL_READFUNC_ABORT;
  }

  bool take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {
      headers.clear();
      return true;
    }
    line = trim(line);
    if (line.empty()) return finish_head();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || headers.size() >= kMaxHeaders) return true;
    headers.push_back({lower(line.substr(0, colon)), std::string(trim(line.substr(colon + 1)))});
    return true;
  }

  bool finish_head() {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || has_begun) return true;  // 100 Continue; trailers
    has_begun = true;
    return is_peer_there = peer->begin(status, headers);
  }

  bool write(std::string_view bytes) { return is_peer_there = peer->write(bytes); }

  Status set_up(const RelayRequest& request, RequestSigner& signer) {
    DIL_TRY(const std::vector<sign::Header> signed_headers, signer.sign(request.request));
    curl_slist_free_all(sent_headers);
    sent_headers = nullptr;
    for (const sign::Header& h : signed_headers) {
      // An empty value needs another form, or curl leaves the header out.
      const std::string line = h.value.empty() ? h.name + ";" : h.name + ": " + h.value;
      sent_headers = curl_slist_append(sent_headers, line.c_str());
    }
    for (const char* own : {"expect:", "accept:"}) {
      sent_headers = curl_slist_append(sent_headers, own);
    }
    curl_easy_reset(easy);
    auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_ERRORBUFFER, error.data());
    set(CURLOPT_USERAGENT, "duckicelake");
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_MAXAGE_CONN, kMaxRestSeconds);
    set(CURLOPT_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(config.connect_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, kLowSpeedBytes);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(config.low_speed_time.count() / 1000));
    if (!config.ca_file.empty()) set(CURLOPT_CAINFO, config.ca_file.c_str());
    set(CURLOPT_HEADERFUNCTION, &State::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &State::on_write);
    set(CURLOPT_WRITEDATA, this);
    set_method(request);
    set(CURLOPT_HTTPHEADER, sent_headers);
    return {};
  }

  void set_method(const RelayRequest& request) {
    auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
    const std::string& method = request.request.method;
    if (method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (request.has_body) {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_CUSTOMREQUEST, method.c_str());
      set(CURLOPT_READFUNCTION, &State::on_read);
      set(CURLOPT_READDATA, this);
      set(CURLOPT_SEEKFUNCTION, &State::on_seek);
      set(CURLOPT_SEEKDATA, this);
      if (request.body_bytes) {
        set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(*request.body_bytes));
      } else {
        sent_headers = curl_slist_append(sent_headers, "transfer-encoding: chunked");
      }
    } else if (method == "PUT" || method == "POST") {
      set(CURLOPT_POSTFIELDS, "");
      set(CURLOPT_POSTFIELDSIZE, 0L);
      set(CURLOPT_CUSTOMREQUEST, method.c_str());
      // Unless the client sent one, and it is signed.
      const auto& given = request.request.headers;
      if (std::none_of(given.begin(), given.end(),
                       [](const sign::Header& h) { return lower(h.name) == "content-type"; })) {
        sent_headers = curl_slist_append(sent_headers, "content-type:");
      }
    } else {
      set(CURLOPT_CUSTOMREQUEST, method.c_str());
    }
  }

  const RelayConfig config;
  CURL* easy;
  curl_slist* sent_headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  RelayPeer* peer = nullptr;
  std::vector<sign::Header> headers;
  std::optional<Error> read_error;
  bool has_begun = false;
  bool is_peer_there = true;
  bool has_read = false;
};

Relay::Relay(RelayConfig config) : state_(std::make_unique<State>(std::move(config))) {}
Relay::~Relay() = default;

Status Relay::run(const RelayRequest& request, RequestSigner& signer, RelayPeer& peer) {
  State& state = *state_;
  state.peer = &peer;
  state.headers.clear();
  state.read_error.reset();
  state.has_begun = state.has_read = false;
  state.is_peer_there = true;
  state.error.fill(0);
  DIL_CHECK_OK(state.set_up(request, signer));
  const CURLcode code = curl_easy_perform(state.easy);
  if (state.read_error) return std::move(*state.read_error);
  if (!state.is_peer_there) return Error(Code::kUnavailable, "the client is gone");
  if (code == CURLE_OK && state.has_begun) return {};
  const bool is_late = code == CURLE_OPERATION_TIMEDOUT;
  return Error(is_late ? Code::kDeadlineExceeded : Code::kUnavailable,
               is_late ? "the object store does not go on" : "the object store does not answer",
               state.error.data());
}

}  // namespace duckicelake::objstore
