// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duckicelake::json {

// Appends `text` as a JSON string with its quotes: escapes '"', '\\' and control characters (RFC
// 8259 section 7), keeps all other UTF-8. Bytes that are not UTF-8 become U+FFFD: the output is
// always JSON.
void append_string(std::string& out, std::string_view text);

// Shortest text that reads back as the same number, always with '.' or an exponent ("1.0",
// "1e+300"). Pre-condition: finite (anything else is written as null).
void append_number(std::string& out, double value);
void append_number(std::string& out, float value);

// Writes JSON by appending to a string that the caller owns; nothing is buffered here. Commas are
// set between elements; balancing of begin and end, and a key before each member, are left to the
// caller.
class Writer {
 public:
  // The first value is written without a comma before it, whatever `out` ends with.
  explicit Writer(std::string& out) : out_(out) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string& out() { return out_; }

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null() { raw("null"); }
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(double number);
  template <std::same_as<bool> T>
  void value(T flag) {
    raw(flag ? "true" : "false");
  }
  template <std::signed_integral T>
  void value(T number) {
    integer(number);
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void value(T number) {
    unsigned_integer(number);
  }
  // A JSON text made elsewhere, as it is.
  void raw(std::string_view json);

  template <class T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  // Nothing at all when absent.
  template <class T>
  void member(std::string_view name, const std::optional<T>& content) {
    if (content.has_value()) member(name, *content);
  }
  void member_raw(std::string_view name, std::string_view json) {
    key(name);
    raw(json);
  }

 private:
  void separate() {
    if (comma_) out_.push_back(',');
    comma_ = true;
  }
  void open(char c) {
    separate();
    out_.push_back(c);
    comma_ = false;
  }
  void close(char c) {
    out_.push_back(c);
    comma_ = true;
  }
  void integer(std::int64_t number);
  void unsigned_integer(std::uint64_t number);

  std::string& out_;
  bool comma_ = false;
};

}  // namespace duckicelake::json
