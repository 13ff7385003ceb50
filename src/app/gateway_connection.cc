// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>

#include "base/bytes.h"
#include "net/chunked.h"
#include "net/url.h"
#include "sign/hash.h"

namespace duckicelake::app {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxHead = 64 * 1024;  // our access keys are long
constexpr std::size_t kPiece = 128 * 1024;
constexpr std::size_t kMaxBody = std::size_t{64} << 30;  // of one request; S3 takes 5 GiB
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string make_request_id() {
  thread_local std::random_device device;
  std::string bytes;
  for (int i = 0; i < 4; ++i) append_big_endian(bytes, static_cast<std::uint32_t>(device()));
  return to_hex(bytes);
}

bool send_all(int socket, std::string_view bytes, milliseconds timeout) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd waiting{socket, POLLOUT, 0};
    if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return false;
  }
  return true;
}

void append_xml_text(std::string& out, std::string_view text) {
  for (char c : text) {
    switch (c) {
      case '<': out.append("&lt;"); break;
      case '>': out.append("&gt;"); break;
      case '&': out.append("&amp;"); break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out.push_back(c);
    }
  }
}

struct S3Error {
  int status;
  std::string_view code;
};

S3Error s3_error(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return {400, "InvalidRequest"};
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
    case Code::kNoSuchTable: return {403, "AccessDenied"};
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kTooManyRequests: return {503, "SlowDown"};
    default: return {500, "InternalError"};
  }
}

std::string error_response(int status, std::string_view code, std::string_view message,
                           std::string_view request_id, bool is_head, bool closes) {
  std::string body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>";
  body.append(code).append("</Code><Message>");
  append_xml_text(body, message);
  body.append("</Message><RequestId>").append(request_id).append("</RequestId></Error>");
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\ncontent-type: application/xml\r\ncontent-length: {}\r\n"
      "x-amz-request-id: {}\r\n{}{}\r\n",
      status, net::reason_phrase(status), body.size(), request_id,
      status == 503 ? "retry-after: 2\r\n" : "", closes ? "connection: close\r\n" : "");
  if (!is_head) out.append(body);
  return out;
}

bool is_passed_back(std::string_view name) {
  return name != "connection" && name != "keep-alive" && name != "transfer-encoding" &&
         name != "server" && name != "upgrade" && name != "trailer" && name != "te" &&
         !name.starts_with("proxy-") && !name.starts_with("access-control-");
}

bool is_plain(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
}

}  // namespace

// The body of one request: taken off the connection, checked against what was signed, handed on in
// pieces. What is proved wrong is never handed on whole.
class GatewayConnection::Body {
 public:
  // `decoded_bytes`: of a body in signed chunks, as its headers say.
  Body(GatewayConnection& connection, const Head& head, const catalog::S3Gateway::Passed& passed,
       std::uint64_t decoded_bytes)
      : connection_(connection),
        info_(head.info),
        left_(head.info.content_length),
        decoded_left_(decoded_bytes),
        http_chunks_(kMaxBody),
        expected_hash_(passed.presented.payload == sign::Payload::kHashed
                           ? passed.presented.payload_hash
                           : std::string()),
        is_raw_over_(!head.info.has_body()) {
    if (passed.decodes_chunks) aws_chunks_.emplace(passed.presented, passed.secret_key);
    if (!expected_hash_.empty()) hash_.emplace();
  }

  // Whether nothing of it is left on the connection.
  bool is_over() const { return is_raw_over_; }

  // The first bytes are there and proved: some stores make an empty object of a body that never
  // begins.
  Status prime() {
    while (offset_ == ready_.size() && !is_finished_) {
      ready_.clear();
      offset_ = 0;
      DIL_CHECK_OK(advance());
    }
    return {};
  }

  Result<std::size_t> read(char* buffer, std::size_t room) {
    DIL_CHECK_OK(prime());
    const std::size_t taken = std::min(room, ready_.size() - offset_);
    std::copy_n(ready_.data() + offset_, taken, buffer);
    offset_ += taken;
    return taken;
  }

 private:
  Status advance() {
    if (!has_begun_) {
      has_begun_ = true;
      if (info_.expects_continue && connection_.buffer_.empty() && info_.has_body() &&
          !connection_.send(kContinue)) {
        return Error(Code::kUnavailable, "the client is gone");
      }
    }
    if (is_raw_over_) return finish();
    std::string raw;
    DIL_CHECK_OK(take_raw(raw));
    connection_.totals_.bytes_in += raw.size();
    if (aws_chunks_) {
      std::string decoded;
      DIL_CHECK_OK(aws_chunks_->feed(raw, decoded));
      if (decoded.size() > decoded_left_) {
        return invalid_argument("the body is longer than its headers say");
      }
      decoded_left_ -= decoded.size();
      raw = std::move(decoded);
    }
    if (hash_) hash_->update(raw);
    if ((hash_ || aws_chunks_) && !raw.empty()) {
      // The last byte waits until the whole is known to be right.
      if (kept_back_) ready_.push_back(*kept_back_);
      kept_back_ = raw.back();
      raw.pop_back();
    }
    ready_.append(raw);
    return {};
  }

  Status take_raw(std::string& raw) {
    std::string& buffer = connection_.buffer_;
    if (buffer.empty() && !connection_.fill(connection_.limits_.io_timeout)) {
      return Error(Code::kUnavailable, "the client is gone, or too slow");
    }
    if (info_.is_chunked) {
      const net::ChunkedDecoder::Progress progress = http_chunks_.feed(buffer, raw);
      if (progress.fault) return invalid_argument("{}", progress.fault->message);
      buffer.erase(0, progress.consumed);
      is_raw_over_ = progress.is_complete;
      return {};
    }
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, buffer.size()));
    raw.assign(buffer, 0, taken);
    buffer.erase(0, taken);
    left_ -= taken;
    is_raw_over_ = left_ == 0;
    return {};
  }

  Status finish() {
    is_finished_ = true;
    if (aws_chunks_ && !aws_chunks_->is_complete()) {
      return Error(Code::kPermissionDenied, "the body ends before its last chunk");
    }
    if (aws_chunks_ && decoded_left_ > 0) {
      return invalid_argument("the body is shorter than its headers say");
    }
    if (hash_) {
      if (to_hex(hash_->finish()) != expected_hash_) {
        return Error(Code::kPermissionDenied, "the body is not the one that was signed");
      }
      hash_.reset();
    }
    if (kept_back_) ready_.push_back(*kept_back_);
    kept_back_.reset();
    return {};
  }

  GatewayConnection& connection_;
  const net::HeadInfo& info_;
  std::uint64_t left_;
  std::uint64_t decoded_left_;
  net::ChunkedDecoder http_chunks_;
  std::optional<sign::ChunkedPayload> aws_chunks_;
  const std::string expected_hash_;
  std::optional<sign::Sha256Stream> hash_;
  std::optional<char> kept_back_;
  std::string ready_;
  std::size_t offset_ = 0;
  bool has_begun_ = false;
  bool is_raw_over_;
  bool is_finished_ = false;
};

// Between the relay and the client.
class GatewayConnection::Peer final : public objstore::RelayPeer {
 public:
  Peer(GatewayConnection& connection, Body& body, bool is_head, bool closes, std::string request_id)
      : connection_(connection),
        body_(body),
        is_head_(is_head),
        closes_(closes),
        request_id_(std::move(request_id)) {}

  Result<std::size_t> read(char* buffer, std::size_t room) override {
    return body_.read(buffer, room);
  }

  bool begin(long status, const std::vector<sign::Header>& headers) override {
    has_begun_ = true;
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n", status, net::reason_phrase(static_cast<int>(status)));
    bool has_length = false;
    for (const sign::Header& header : headers) {
      if (!is_passed_back(header.name) || !is_plain(header.value)) continue;
      if (header.name == "content-length") {
        if (status == 204 || status == 304) continue;
        has_length = true;
      }
      head.append(header.name).append(": ").append(header.value).append("\r\n");
    }
    const bool has_body = !is_head_ && status != 204 && status != 304;
    is_chunked_ = has_body && !has_length;
    if (is_chunked_) head.append("transfer-encoding: chunked\r\n");
    // What the client still sends would be read as its next request.
    closes_ = closes_ || !body_.is_over();
    if (closes_) head.append("connection: close\r\n");
    head.append("x-request-id: ").append(request_id_).append("\r\n\r\n");
    return connection_.send(head);
  }

  bool write(std::string_view bytes) override {
    if (bytes.empty()) return true;
    connection_.totals_.bytes_out += bytes.size();
    if (!is_chunked_) return connection_.send(bytes);
    return connection_.send(fmt::format("{:x}\r\n", bytes.size())) && connection_.send(bytes) &&
           connection_.send("\r\n");
  }

  bool finish() { return !is_chunked_ || connection_.send("0\r\n\r\n"); }
  bool has_begun() const { return has_begun_; }
  bool closes() const { return closes_; }

 private:
  GatewayConnection& connection_;
  Body& body_;
  const bool is_head_;
  bool closes_;
  const std::string request_id_;
  bool has_begun_ = false;
  bool is_chunked_ = false;
};

void GatewayConnection::refuse_busy(int socket) {
  (void)send_all(socket, error_response(503, "SlowDown", "too many connections", "", false, true),
                 milliseconds(100));
}

std::size_t GatewayConnection::receive(char* buffer, std::size_t room, milliseconds timeout) {
  if (tls_ != nullptr) return tls_->read(buffer, room, timeout);
  pollfd waiting{socket_, POLLIN, 0};
  while (true) {
    const int ready = ::poll(&waiting, 1, static_cast<int>(timeout.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return 0;
    const ssize_t got = ::recv(socket_, buffer, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
}

bool GatewayConnection::send(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->write(bytes, limits_.io_timeout);
  return send_all(socket_, bytes, limits_.io_timeout);
}

bool GatewayConnection::fill(milliseconds timeout) {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kPiece);
  const std::size_t got = receive(buffer_.data() + before, kPiece, timeout);
  buffer_.resize(before + got);
  return got > 0;
}

GatewayConnection::Taken GatewayConnection::take_head(Head& head) {
  net::HeadScanner scanner;
  if (buffer_.empty()) {
    is_idle_ = true;
    if (is_stopping_ || !fill(limits_.idle_timeout)) return Taken::kEnd;
  }
  is_idle_ = false;
  const Clock::time_point until = Clock::now() + limits_.header_timeout;
  while (true) {
    const net::HeadScanner::Found found = scanner.scan(buffer_);
    if (found.fault) {
      (void)send_fault(*found.fault);
      return Taken::kFault;
    }
    if (found.end > 0) {
      const net::HeadLimits limits{kMaxHead, 200};
      const std::string text = buffer_.substr(0, found.end);
      buffer_.erase(0, found.end);
      if (const auto fault = net::parse_request_head(text, limits, head.request, head.info)) {
        (void)send_fault(*fault);
        return Taken::kFault;
      }
      return Taken::kHead;
    }
    if (buffer_.size() > kMaxHead) {
      (void)send_fault({net::FaultKind::kHeadTooLarge, 431, "the head is too large"});
      return Taken::kFault;
    }
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left <= milliseconds(0) || !fill(left)) return Taken::kEnd;
  }
}

bool GatewayConnection::send_fault(const net::Fault& fault) {
  return send(error_response(fault.status, "InvalidRequest", fault.message, make_request_id(),
                             false, true));
}

bool GatewayConnection::send_error(const Error& error, const std::string& request_id, bool is_head,
                                   bool closes) {
  const S3Error kind = s3_error(error.code());
  // What is ours stays ours.
  const std::string_view message =
      kind.status == 500 ? std::string_view("internal error") : std::string_view(error.message());
  return send(error_response(kind.status, kind.code, message, request_id, is_head, closes)) &&
         !closes;
}

void GatewayConnection::serve() {
  while (true) {
    Head head;
    if (take_head(head) != Taken::kHead) break;
    ++totals_.requests;
    if (!answer(head)) break;
  }
  // What was sent last should arrive although the client may still be sending.
  if (tls_ != nullptr) tls_->end();
  ::shutdown(socket_, SHUT_WR);
  std::array<char, 4096> rest{};
  const Clock::time_point until = Clock::now() + milliseconds(1000);
  while (Clock::now() < until && receive(rest.data(), rest.size(), milliseconds(200)) > 0) {
  }
}

bool GatewayConnection::answer(Head& head) {
  const std::string request_id = make_request_id();
  const net::SplitTarget target = net::split_target(head.request.target);
  sign::ReceivedRequest received;
  received.method = head.request.method_text;
  received.path = target.path;
  received.query = target.query;
  for (const auto& [name, value] : head.request.headers) received.headers.push_back({name, value});
  const bool is_head = head.request.method == net::Method::kHead;
  const bool closes = !head.info.keep_alive || is_stopping_;
  Result<catalog::S3Gateway::Passed> passed = gateway_.admit(received, request_id);
  if (!passed) {
    return send_error(passed.error(), request_id, is_head, closes || head.info.has_body());
  }
  if (!head.info.has_body() && passed->presented.payload == sign::Payload::kHashed &&
      passed->presented.payload_hash != sign::kEmptyPayloadHash) {
    return send_error(Error(Code::kPermissionDenied, "the body that was signed is not there"),
                      request_id, is_head, closes);
  }
  return relay(head, *passed, request_id);
}

bool GatewayConnection::relay(Head& head, const catalog::S3Gateway::Passed& passed,
                              const std::string& request_id) {
  const bool is_head = head.request.method == net::Method::kHead;
  objstore::RelayRequest request;
  request.url = passed.url;
  request.request = passed.request;
  request.has_body = head.info.has_body();
  if (!head.info.is_chunked) request.body_bytes = head.info.content_length;
  std::uint64_t decoded_bytes = 0;
  if (passed.decodes_chunks) {
    const std::string_view decoded = head.request.header("x-amz-decoded-content-length");
    const auto [end, error] =
        std::from_chars(decoded.data(), decoded.data() + decoded.size(), decoded_bytes);
    if (decoded.empty() || error != std::errc() || end != decoded.data() + decoded.size()) {
      return send_error(invalid_argument("x-amz-decoded-content-length is missing"), request_id,
                        is_head, true);
    }
    request.body_bytes = decoded_bytes;
  }
  Body body(*this, head, passed, decoded_bytes);
  Peer peer(*this, body, is_head, !head.info.keep_alive || is_stopping_, request_id);
  if (const Status primed = body.prime(); !primed) {
    return send_error(primed.error(), request_id, is_head, true);
  }
  const Status done = relay_.run(request, signer_, peer);
  if (!done && !peer.has_begun()) return send_error(done.error(), request_id, is_head, true);
  if (!done) return false;
  return peer.finish() && !peer.closes() && body.is_over();
}

}  // namespace duckicelake::app
