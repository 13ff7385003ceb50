// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>

#include "objstore/transport.h"

namespace duckicelake::objstore {

// One attempt at one exchange on a curl easy handle. Not movable while curl knows its address.
class Transfer {
 public:
  explicit Transfer(CURL* easy) : easy_(easy) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* easy() const { return easy_; }
  // Resets the outcome of the exchange, signs it and sets the handle up. False: exchange.failure is
  // set.
  bool begin(Exchange& exchange, const TransportConfig& config, RequestSigner& signer,
             std::chrono::milliseconds time_left);
  // Turns curl's verdict into the outcome of the exchange.
  void end(CURLcode code);

  Exchange* exchange = nullptr;
  std::size_t index = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_read(char* data, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);

  void set_options(const TransportConfig& config, std::chrono::milliseconds time_left);
  void set_body();
  void read_header(std::string_view line);
  bool write(std::string_view bytes);
  std::uint64_t body_size() const;

  CURL* easy_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::uint64_t sent_ = 0;  // position in the body
  bool is_too_large_ = false;
  bool is_cut_ = false;  // an error body was longer than needed
  bool has_local_error_ = false;
  bool was_rewound_ = false;  // curl sent the body again on another connection
};

}  // namespace duckicelake::objstore
