// SPDX-License-Identifier: Apache-2.0
// The coroutines of a connection. For g++ 12 no aggregate is made inside an expression with
// co_await.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "net/gzip.h"
#include "net/session_internal.h"

namespace duckicelake::net {
namespace {

constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kTlsBlockBytes = 64 * 1024;
// Inflating this much takes about as long as a dozen requests; then others get their turn.
constexpr std::size_t kInflateStepBytes = 256 * 1024;
// What is read and thrown away after an error before the connection is cut.
constexpr std::size_t kMaxDiscardBytes = 16UL * 1024 * 1024;

constexpr Fault kOverload{FaultKind::kOverload, 503, "too many connections"};
constexpr Fault kHeadTimeout{FaultKind::kTimeout, 408, "the request header took too long"};
constexpr Fault kBodyTimeout{FaultKind::kTimeout, 408, "the request body took too long"};
constexpr Fault kBodyTooLarge{FaultKind::kBodyTooLarge, 413, "the body is too large"};

Clock::duration time_for(std::chrono::milliseconds base, std::size_t bytes, std::size_t rate) {
  return base + std::chrono::seconds(bytes / std::max<std::size_t>(rate, 1));
}

bool is_gzip(std::string_view coding) { return coding == "gzip" || coding == "x-gzip"; }

}  // namespace

Awaitable<void> Session::serve(std::unique_ptr<Session> session) {
  // Only memory exhaustion gets here; it costs this connection, not the thread.
  try {
    co_await session->run();
  } catch (const std::exception&) {
    session->broken_ = true;
  }
}

Awaitable<void> Session::run() {
  if (admission_ == Admission::kRefuse) {
    // Without a handshake there is no way to tell a TLS client.
    if (!tls_) co_await refuse(kOverload);
    co_return;
  }
  if (tls_) {
    bool ok = co_await handshake();
    if (!ok) co_return;
  }
  do {
    begin_request();
    while (!take_head()) {
      if (phase_ == Phase::kIdle && !buffer_.empty()) {
        enter(Phase::kHead, shared_.config.header_timeout);
      }
      Reading reading = co_await read_some(shared_.config.max_header_bytes);
      if (reading == Reading::kEnd) co_return;
      if (reading == Reading::kTimeout && phase_ == Phase::kIdle) {
        bump(thread_.counters().idle_closes);
        co_return;
      }
      if (reading == Reading::kTimeout) {
        fault_ = kHeadTimeout;
        break;
      }
    }
    if (!fault_ && info_.has_body()) fault_ = check_body_headers();
    if (!fault_) {
      dispatch();
      while (!has_response_ && !fault_) {
        if (take_body_) {
          fault_ = co_await receive_body();
          if (broken_) co_return;
        } else {
          co_await wait_for_handler();
        }
      }
    }
    if (fault_) {
      Fault fault = *fault_;
      co_await refuse(fault);
      co_return;
    }
    compose();
    if (tls_) {
      co_await write_tls();
    } else if (!write_now()) {
      co_await write_rest();
    }
    response_ = Response();
    if (reserved_body_bytes_ > 0)
      shared_.body_bytes.fetch_sub(std::exchange(reserved_body_bytes_, 0));
    if (keep_alive_ && has_body_left_) co_await skip_body();
    if (broken_) co_return;
  } while (keep_alive_);
  co_await close_gently();
}

Awaitable<bool> Session::handshake() {
  enter(Phase::kHandshake, shared_.config.header_timeout);
  auto [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, kUseTuple);
  if (ec) bump(thread_.counters().tls_handshake_failures);
  co_return !ec;
}

Awaitable<Session::Reading> Session::read_some(std::size_t capacity) {
  asio::mutable_buffer room = buffer_.prepare(capacity);
  error_code ec;
  std::size_t count = 0;
  if (tls_) {
    std::tie(ec, count) = co_await tls_->async_read_some(room, kUseTuple);
  } else {
    std::tie(ec, count) = co_await socket_.async_read_some(room, kUseTuple);
  }
  bump(thread_.counters().bytes_received, count);
  buffer_.commit(count);
  if (count > 0) co_return Reading::kProgress;
  co_return timed_out_ ? Reading::kTimeout : Reading::kEnd;
}

std::optional<Fault> Session::check_body_headers() {
  if (info_.content_length > shared_.config.max_body_bytes) return kBodyTooLarge;
  std::string_view coding = request_.header("content-encoding");
  if (!coding.empty() && !is_gzip(coding) && coding != "identity") {
    return Fault{FaultKind::kContentCoding, 415, "only the content coding gzip is supported"};
  }
  is_body_packed_ = is_gzip(coding);
  if (is_body_packed_) {
    std::erase_if(request_.headers, [](const auto& header) {
      return header.first == "content-encoding" || header.first == "content-length";
    });
  }
  return std::nullopt;
}

std::optional<Fault> Session::reserve_body_memory() {
  std::size_t size = body_.size();
  if (size <= reserved_body_bytes_) return std::nullopt;
  std::size_t more = size - reserved_body_bytes_;
  reserved_body_bytes_ = size;
  if (shared_.body_bytes.fetch_add(more) + more > shared_.config.max_total_body_bytes) {
    return Fault{FaultKind::kOverload, 503, "too many large requests at a time"};
  }
  return std::nullopt;
}

// Reads the body for whom asked for it, and hands it over. On a fault he is let go.
Awaitable<std::optional<Fault>> Session::receive_body() {
  BodyTaker take = std::exchange(take_body_, nullptr);
  std::optional<Fault> fault = co_await read_body(max_body_bytes_);
  if (!fault && !broken_ && is_body_packed_) fault = co_await inflate_body();
  if (fault || broken_) {
    ++ticket_;  // his answer finds no taker
    co_return fault;
  }
  has_body_left_ = false;
  // He may answer from here.
  take(std::exchange(body_, {}));
  co_return std::nullopt;
}

// Appends to body_ what comes.
Awaitable<std::optional<Fault>> Session::read_body(std::size_t max_bytes) {
  body_.clear();
  if (info_.content_length > max_bytes) co_return kBodyTooLarge;
  const ServerConfig& config = shared_.config;
  const auto start = Clock::now();
  enter(Phase::kBody, config.body_timeout);
  if (info_.expects_continue && buffer_.empty()) {
    bool ok = co_await send_continue();
    if (!ok) co_return std::nullopt;
  }
  ChunkedDecoder decoder(max_bytes);
  std::size_t received = 0;
  for (;;) {
    std::size_t taken = 0;
    bool is_complete = false;
    if (info_.is_chunked) {
      auto progress = decoder.feed(buffer_.view(), body_);
      if (progress.fault) co_return progress.fault;
      taken = progress.consumed;
      is_complete = progress.is_complete;
    } else {
      taken = std::min(buffer_.view().size(),
                       static_cast<std::size_t>(info_.content_length) - body_.size());
      body_.append(buffer_.view().substr(0, taken));
      is_complete = body_.size() == info_.content_length;
    }
    buffer_.consume(taken);
    received += taken;
    if (auto fault = reserve_body_memory()) co_return fault;
    if (is_complete) break;
    deadline_ = start + time_for(config.body_timeout, received, config.min_bytes_per_second);
    Reading reading = co_await read_some(kBodyReadBytes);
    if (reading == Reading::kTimeout) co_return kBodyTimeout;
    if (reading == Reading::kEnd) {
      broken_ = true;
      co_return std::nullopt;
    }
  }
  co_return std::nullopt;
}

// Reads and drops what is left of a short body, so that the next request can be found.
Awaitable<void> Session::skip_body() {
  info_.expects_continue = false;
  const std::optional<Fault> fault = co_await read_body(shared_.config.max_body_bytes);
  body_ = std::string();
  shared_.body_bytes.fetch_sub(std::exchange(reserved_body_bytes_, 0));
  has_body_left_ = false;
  if (fault) broken_ = true;
}

Awaitable<std::optional<Fault>> Session::inflate_body() {
  const std::string compressed = std::exchange(body_, {});
  Gunzip inflater(compressed, max_body_bytes_);
  for (;;) {
    auto complete = inflater.step(kInflateStepBytes);
    if (!complete.has_value()) {
      if (complete.error().code() == Code::kPayloadTooLarge) co_return kBodyTooLarge;
      co_return Fault{FaultKind::kContentCoding, 400, "the body is not valid gzip"};
    }
    if (*complete) break;
    co_await asio::post(thread_.executor(), asio::use_awaitable_t<IoExecutor>());
  }
  body_ = inflater.take_output();
  co_return reserve_body_memory();
}

Awaitable<bool> Session::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  pending_.assign(1, asio::const_buffer(kContinue.data(), kContinue.size()));
  if (tls_) {
    co_await write_tls();
  } else if (!write_now()) {
    co_await write_rest();
  }
  enter(Phase::kBody, shared_.config.body_timeout);
  co_return !broken_;
}

// Until there is a response, or somebody asks for the body.
Awaitable<void> Session::wait_for_handler() {
  enter(Phase::kHandling, shared_.config.handler_timeout);
  // No timer and no queue between the answer and its writing: this is the hot path.
  asio::use_awaitable_t<IoExecutor> token;
  auto keep = [this](auto handler) { resume_ = Task(std::move(handler)); };
  co_await asio::async_initiate<asio::use_awaitable_t<IoExecutor>, void()>(keep, token);
  if (!has_response_ && !take_body_) {
    bump(thread_.counters().handler_timeouts);
    ++ticket_;  // a late answer finds no taker
    has_response_ = true;
    response_ = make_error_response(504, "the request took too long");
    keep_alive_ = false;
  }
  phase_ = Phase::kWriting;
}

Awaitable<bool> Session::write_rest() {
  enter(Phase::kWriting, time_for(shared_.config.write_timeout, asio::buffer_size(pending_),
                                  shared_.config.min_bytes_per_second));
  while (!write_now()) {
    auto [ec] = co_await socket_.async_wait(asio::socket_base::wait_write, kUseTuple);
    if (ec || timed_out_) broken_ = true;
    if (broken_) break;
  }
  co_return !broken_;
}

Awaitable<bool> Session::write_tls() {
  enter(Phase::kWriting, time_for(shared_.config.write_timeout, asio::buffer_size(pending_),
                                  shared_.config.min_bytes_per_second));
  // Head and chunks become one block: each write of its own would be a TLS record and a system
  // call.
  tls_block_.reserve(std::min(asio::buffer_size(pending_), kTlsBlockBytes));
  while (!pending_.empty() && !broken_) {
    tls_block_.clear();
    for (const asio::const_buffer& piece : pending_) {
      std::size_t take = std::min(piece.size(), kTlsBlockBytes - tls_block_.size());
      tls_block_.append(static_cast<const char*>(piece.data()), take);
      if (tls_block_.size() == kTlsBlockBytes) break;
    }
    std::size_t written = 0;
    while (written < tls_block_.size() && !broken_) {
      asio::const_buffer rest(tls_block_.data() + written, tls_block_.size() - written);
      auto [ec, count] = co_await tls_->async_write_some(rest, kUseTuple);
      written += count;
      if (ec) broken_ = true;
    }
    advance_pending(written);
  }
  if (tls_block_.capacity() > kTlsBlockBytes / 2) tls_block_ = std::string();
  co_return !broken_;
}

Awaitable<void> Session::refuse(Fault fault) {
  bump(thread_.counters().faults_by_kind[static_cast<std::size_t>(fault.kind)]);
  if (shared_.config.on_fault) shared_.config.on_fault(fault, peer_address_);
  has_fault_ = true;
  keep_alive_ = false;
  if (request_id_.empty()) request_id_ = thread_.make_request_id();
  response_ = make_error_response(fault.status, fault.message);
  // A 405 names what is allowed instead: nothing (RFC 9110 §10.2.1).
  if (fault.status == 405) response_.add_header("allow", "");
  compose();
  if (tls_) {
    co_await write_tls();
  } else if (!write_now()) {
    co_await write_rest();
  }
  if (!broken_) co_await close_gently();
}

Awaitable<void> Session::close_gently() {
  enter(Phase::kLinger, shared_.config.linger_timeout);
  if (tls_ && !has_fault_ && !has_body_left_) {
    co_await tls_->async_shutdown(kUseTuple);
    co_return;
  }
  // Closing with unread input makes the kernel reset the connection, and the client may lose the
  // response: send the end first, then read until the client has seen it.
  error_code ec;
  socket_.shutdown(Tcp::socket::shutdown_send, ec);
  buffer_.consume(buffer_.view().size());
  asio::mutable_buffer room = buffer_.prepare(kBodyReadBytes);
  std::size_t discarded = 0;
  while (!ec && !timed_out_ && discarded < kMaxDiscardBytes) {
    std::size_t count = 0;
    std::tie(ec, count) = co_await socket_.async_read_some(room, kUseTuple);
    discarded += count;
  }
}

}  // namespace duckicelake::net
