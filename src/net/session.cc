// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

#include "net/response_head.h"
#include "net/session_internal.h"

namespace duckicelake::net {
namespace {

using namespace std::chrono_literals;

// What an idle connection keeps allocated, and what a body is read in pieces of.
constexpr std::size_t kIdleBufferBytes = 8 * 1024;
// A body of which the rest is read and dropped, so that the connection can go on.
constexpr std::uint64_t kShortBodyBytes = 64 * 1024;
// How long a connection that could be starting a request may stay when the server drains.
constexpr auto kDrainGrace = 100ms;

std::string address_text(const Socket& socket) {
  error_code ec;
  auto endpoint = socket.remote_endpoint(ec);
  if (ec) return {};
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

}  // namespace

void ReadBuffer::consume(std::size_t count) {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

asio::mutable_buffer ReadBuffer::prepare(std::size_t capacity) {
  if (end_ == capacity_ && begin_ > 0) {
    std::copy(block_.get() + begin_, block_.get() + end_, block_.get());
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) {
    std::size_t larger = std::min(std::max(capacity_ * 2, kIdleBufferBytes), capacity);
    larger = std::max(larger, end_ + 1);
    std::unique_ptr<char[]> block(new char[larger]);
    std::copy(block_.get(), block_.get() + end_, block.get());
    block_ = std::move(block);
    capacity_ = larger;
  }
  return {block_.get() + end_, capacity_ - end_};
}

void ReadBuffer::shrink(std::size_t capacity) {
  if (capacity_ <= capacity) return;
  block_.reset();
  capacity_ = begin_ = end_ = 0;
}

// What responders hold on to: it knows whether the session still lives.
class Session::Sink final : public ResponseSink, public std::enable_shared_from_this<Sink> {
 public:
  Sink(Session* session, std::shared_ptr<Mailbox> mailbox)
      : session_(session), executor_(std::move(mailbox)) {}

  void complete(std::uint64_t ticket, std::optional<Response> response) override {
    if (executor_.is_current()) {
      if (session_ != nullptr) session_->complete(ticket, std::move(response));
      return;
    }
    executor_.post([self = shared_from_this(), ticket, response = std::move(response)]() mutable {
      if (self->session_ != nullptr) self->session_->complete(ticket, std::move(response));
    });
  }
  void receive_body(std::uint64_t ticket, std::size_t max_bytes, BodyTaker take) override {
    if (executor_.is_current()) {
      if (session_ != nullptr) session_->want_body(ticket, max_bytes, std::move(take));
      return;
    }
    executor_.post(
        [self = shared_from_this(), ticket, max_bytes, take = std::move(take)]() mutable {
          if (self->session_ != nullptr) {
            self->session_->want_body(ticket, max_bytes, std::move(take));
          }
        });
  }
  Executor executor() const override { return executor_; }
  void detach() { session_ = nullptr; }

 private:
  Session* session_;  // used on the I/O thread only
  const Executor executor_;
};

Session::Session(IoThread& thread, Socket socket, Admission admission)
    : thread_(thread),
      shared_(thread.shared()),
      socket_(std::move(socket)),
      admission_(admission),
      peer_address_(address_text(socket_)),
      sink_(std::make_shared<Sink>(this, thread.mailbox())) {
  error_code ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  if (shared_.tls) {
    tls_context_ = shared_.tls->current();
    tls_ = std::make_unique<asio::ssl::stream<Socket&>>(socket_, *tls_context_);
  }
  thread_.add_session(*this);
}

Session::~Session() {
  sink_->detach();
  shared_.body_bytes.fetch_sub(reserved_body_bytes_);
  thread_.remove_session(*this);
  if (admission_ == Admission::kRefuse) shared_.refusing.fetch_sub(1);
  shared_.connection_gone();
}

void Session::enter(Phase phase, Clock::duration timeout) {
  phase_ = phase;
  deadline_ = Clock::now() + timeout;
  timed_out_ = false;
}

void Session::check_deadline(Clock::time_point now) {
  if (now < deadline_) return;
  timed_out_ = true;
  if (phase_ == Phase::kHandling) {
    continue_handling();
  } else {
    // Repeated every tick until the coroutine has moved on: a cancel that meets an operation which
    // is just completing has no effect.
    error_code ignored;
    socket_.cancel(ignored);
  }
}

void Session::begin_drain(Clock::time_point now) {
  if (phase_ == Phase::kIdle) deadline_ = std::min(deadline_, now + Clock::duration(kDrainGrace));
}

void Session::begin_request() {
  if (buffer_.empty()) buffer_.shrink(kIdleBufferBytes);
  scanner_.reset();
  skipped_blank_line_ = false;
  fault_.reset();
  request_id_.clear();
  request_.method = Method::kOther;
  request_.body.clear();
  request_.body_to_come = 0;
  take_body_ = nullptr;
  has_body_left_ = false;
  is_body_packed_ = false;
  is_head_request_ = false;
  // The first request of a connection is due at once.
  Clock::duration timeout =
      ticket_ == 0 ? shared_.config.header_timeout : shared_.config.idle_timeout;
  if (shared_.draining.load(std::memory_order_relaxed)) {
    timeout = std::min<Clock::duration>(timeout, kDrainGrace);
  }
  enter(Phase::kIdle, timeout);
}

void Session::assign_request_id() {
  std::string_view given = request_.header("x-request-id");
  if (is_valid_request_id(given)) {
    request_id_ = given;
  } else {
    request_id_ = thread_.make_request_id();
  }
}

bool Session::take_head() {
  // One empty line before a request line is forgiven (RFC 9112 §2.2).
  if (!skipped_blank_line_ && buffer_.view().starts_with("\r\n")) {
    skipped_blank_line_ = true;
    buffer_.consume(2);
    scanner_.reset();
  }
  std::string_view view = buffer_.view();
  auto found = scanner_.scan(view);
  if (found.fault) {
    fault_ = found.fault;
    return true;
  }
  std::size_t limit = shared_.config.max_header_bytes;
  if (found.end > limit || (found.end == 0 && view.size() >= limit)) {
    if (scanner_.has_request_line()) {
      fault_ = Fault{FaultKind::kHeadTooLarge, 431, "the request header is too large"};
    } else {
      fault_ = Fault{FaultKind::kTargetTooLong, 414, "the request line is too long"};
    }
    return true;
  }
  if (found.end == 0) return false;
  HeadLimits limits;
  limits.max_target_bytes = shared_.config.max_target_bytes;
  fault_ = parse_request_head(view.substr(0, found.end), limits, request_, info_);
  buffer_.consume(found.end);
  is_head_request_ = request_.method == Method::kHead;
  if (!fault_) assign_request_id();
  return true;
}

// Whether what is left of the body can be skipped: it is on its way, and not much.
bool Session::is_body_short() const {
  return !info_.is_chunked && info_.content_length <= kShortBodyBytes &&
         !(info_.expects_continue && buffer_.empty());
}

void Session::dispatch() {
  bump(thread_.counters().requests);
  ++ticket_;
  has_response_ = false;
  keep_alive_ = info_.keep_alive;
  has_body_left_ = info_.has_body();
  if (has_body_left_) {
    request_.body_to_come = info_.is_chunked ? kUnknownLength : info_.content_length;
  }
  request_.peer_address = peer_address_;
  request_.request_id = request_id_;
  request_.tls = tls_ != nullptr;
  shared_.handler.handle(std::move(request_), Responder(sink_, ticket_));
}

void Session::complete(std::uint64_t ticket, std::optional<Response> response) {
  if (ticket != ticket_ || has_response_) return;
  has_response_ = true;
  if (response) {
    response_ = std::move(*response);
  } else {
    bump(thread_.counters().dropped_responders);
    response_ = make_error_response(500, "the request was not answered");
  }
  if (phase_ == Phase::kHandling) continue_handling();
}

void Session::want_body(std::uint64_t ticket, std::size_t max_bytes, BodyTaker take) {
  if (ticket != ticket_ || has_response_ || !has_body_left_ || take_body_) return;
  max_body_bytes_ = std::min(max_bytes, shared_.config.max_body_bytes);
  take_body_ = std::move(take);
  if (phase_ == Phase::kHandling) continue_handling();
}

// The session may be gone when it returns.
void Session::continue_handling() {
  if (Task resume = take_waiting()) resume();
}

Response Session::make_error_response(int status, std::string_view message) const {
  std::string_view type = error_type_name(status);
  Response response = make_json_response(status, shared_.config.error_body(status, type, message));
  if (status == 503) response.add_header("retry-after", "1");
  return response;
}

void Session::count_response() const {
  auto klass = static_cast<std::size_t>(response_.status / 100);
  bump(thread_.counters().responses_by_class[std::min<std::size_t>(klass, 5)]);
}

void Session::compose() {
  keep_alive_ = keep_alive_ && !response_.close_connection &&
                !shared_.draining.load(std::memory_order_relaxed) &&
                (!has_body_left_ || is_body_short());
  ResponseFraming framing;
  framing.date = thread_.http_date();
  framing.request_id = request_id_;
  if (!keep_alive_) {
    framing.connection = ConnectionOption::kClose;
  } else if (info_.is_http_1_0) {
    framing.connection = ConnectionOption::kKeepAlive;
  }
  if (!compose_response_head(response_, framing, head_)) {
    response_ = make_error_response(500, "the response could not be written");
    compose_response_head(response_, framing, head_);
  }
  pending_.clear();
  pending_.emplace_back(head_.data(), head_.size());
  if (!is_head_request_ && status_allows_body(response_.status)) {
    for (const Chunk& chunk : response_.body) {
      std::string_view bytes = chunk.bytes();
      if (!bytes.empty()) pending_.emplace_back(bytes.data(), bytes.size());
    }
  }
  count_response();
}

void Session::advance_pending(std::size_t count) {
  bump(thread_.counters().bytes_sent, count);
  auto first = pending_.begin();
  while (first != pending_.end() && count >= first->size()) {
    count -= first->size();
    ++first;
  }
  pending_.erase(pending_.begin(), first);
  if (!pending_.empty()) pending_.front() += count;
}

bool Session::write_now() {
  error_code ec;
  while (!pending_.empty()) {
    std::size_t count = socket_.write_some(pending_, ec);
    if (ec == asio::error::would_block) return false;
    if (ec) {
      broken_ = true;
      return true;
    }
    advance_pending(count);
  }
  return true;
}

}  // namespace duckicelake::net
