// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "objstore/request_signer.h"
#include "sign/sigv4.h"

namespace duckicelake::objstore {

// Where a relayed request's bytes come from and its answer goes to. Called in the thread of run().
class RelayPeer {
 public:
  virtual ~RelayPeer() = default;
  // Up to `room` bytes of the body; 0: its end. An error ends the request without having been
  // whole.
  virtual Result<std::size_t> read(char* buffer, std::size_t room) = 0;
  // Once, before any bytes. False: the peer is gone.
  virtual bool begin(long status, const std::vector<sign::Header>& headers) = 0;
  virtual bool write(std::string_view bytes) = 0;
};

struct RelayRequest {
  std::string url;
  sign::Request request;  // unsigned; host included, the payload hash set
  bool has_body = false;
  std::optional<std::uint64_t> body_bytes;  // nullopt: as long as it lasts
};

struct RelayConfig {
  std::chrono::milliseconds connect_timeout{3000};
  std::chrono::milliseconds low_speed_time{20000};
  std::string ca_file;
};

// Sends requests to the object store while their bodies arrive, and hands answers on while they
// come: nothing is kept. One request at a time; keeps its connection for the next one. Not
// thread-safe.
class Relay {
 public:
  explicit Relay(RelayConfig config);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // kUnavailable when the store did not answer, kDeadlineExceeded when it stopped doing so; after
  // begin() was called, the answer is then cut short. The error of the peer's read() as it is.
  Status run(const RelayRequest& request, RequestSigner& signer, RelayPeer& peer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace duckicelake::objstore
