// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "objstore/counters.h"
#include "objstore/request_signer.h"
#include "sign/sigv4.h"

namespace duckicelake::objstore {

// When a request may be sent again.
enum class Resend {
  kAlways,        // repeating it changes nothing
  kIfNotApplied,  // only when the service surely did not act on it (not connected, 503)
};

// Why there is no usable answer.
enum class Failure {
  kNone,      // there is a status
  kConnect,   // no connection was made
  kTransfer,  // the connection broke
  kTimeout,
  kTooLarge,    // a 2xx body beyond max_response
  kTls,         // the peer's certificate was refused, or no TLS could be agreed on
  kLocal,       // signing, or a local file
  kNotStarted,  // the service turned out to be away before this one's turn
};

// A part of an open file; the descriptor is borrowed.
struct FileSlice {
  int fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// One request and what came of it. `body` and descriptors are borrowed until run() returns.
struct Exchange {
  Operation operation = Operation::kGet;
  std::string url;
  sign::Request request;         // as signed, host included; the payload hash set
  std::string_view body;         // or
  FileSlice file;                // (fd >= 0)
  std::size_t max_response = 0;  // of a 2xx body in memory
  int sink_fd = -1;              // >= 0: a 2xx body is written there, from the start of the file
  Resend resend = Resend::kAlways;
  std::chrono::milliseconds timeout{30000};  // all attempts together

  Failure failure = Failure::kNone;
  std::string failure_text;  // for the log
  long status = 0;
  std::string response;  // 2xx body, or up to 64 KiB of another
  std::string etag;      // without quotes
  std::string bucket_region;
  std::string content_range;
  std::optional<std::uint64_t> content_length;
  std::optional<std::chrono::sys_seconds> last_modified;
  std::optional<std::chrono::sys_seconds> date;
  int attempts = 0;
  // An attempt broke so late that the service may have acted on it; says nothing about the last
  // one.
  bool maybe_applied = false;

  bool is_ok() const { return failure == Failure::kNone && status >= 200 && status < 300; }
};

struct TransportConfig {
  std::chrono::milliseconds connect_timeout{3000};
  std::chrono::milliseconds low_speed_time{20000};  // no progress (< 1 KiB/s) for so long: give up
  std::chrono::milliseconds retry_budget{
      5000};  // no attempt begins later than this after the first
  int max_attempts = 5;
  std::size_t max_connections = 64;  // in use at once, over all threads
  std::string ca_file;
};

// Exchanges over libcurl with kept-alive connections, retries with jittered backoff, no redirects,
// and no proxy from the environment. Thread-safe; each run() works in the calling thread.
class Transport {
 public:
  static constexpr std::size_t kBatchWidth = 16;  // in flight in one run()

  explicit Transport(TransportConfig config);
  ~Transport();

  // Fills the outcome of every exchange. After one fails for good because the service is away,
  // those that have not begun end as kNotStarted.
  void run(std::span<Exchange> exchanges, RequestSigner& signer);

  Counters counters() const;

 private:
  struct State;
  class Batch;
  friend class Batch;
  const TransportConfig config_;
  std::unique_ptr<State> state_;
};

// The metric label of an exchange that ended.
Outcome outcome_of(const Exchange& exchange);

}  // namespace duckicelake::objstore
