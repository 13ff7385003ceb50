// SPDX-License-Identifier: Apache-2.0
#include "net/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace duckicelake::net {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib's way to ask for the gzip wrapper

Bytef* zlib_input(std::string_view bytes) {
  // zlib does not write through next_in; its type lacks const without ZLIB_CONST.
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

uInt clamp_to_uint(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

Result<std::string> gzip_compress(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, std::clamp(level, 1, 9), Z_DEFLATED, kGzipWindowBits, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return make_error(Code::kInternal, "gzip could not be set up");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  std::size_t consumed = 0;
  std::size_t produced = 0;
  int rc = Z_OK;
  while (rc == Z_OK) {
    if (produced == out.size()) out.resize(out.size() + out.size() / 2 + 64);
    uInt in = clamp_to_uint(bytes.size() - consumed);
    uInt room = clamp_to_uint(out.size() - produced);
    stream.next_in = zlib_input(bytes.substr(consumed));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + produced);
    stream.avail_out = room;
    rc = deflate(&stream, consumed + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    consumed += in - stream.avail_in;
    produced += room - stream.avail_out;
  }
  deflateEnd(&stream);
  if (rc != Z_STREAM_END) return make_error(Code::kInternal, "gzip failed");
  out.resize(produced);
  return out;
}

struct Gunzip::State {
  z_stream stream{};
  bool ready = false;
  bool in_member = true;
  std::string_view input;
  std::size_t max_output = 0;
  std::string output;
};

Gunzip::Gunzip(std::string_view input, std::size_t max_output) : state_(std::make_unique<State>()) {
  state_->input = input;
  state_->max_output = max_output;
  state_->ready = inflateInit2(&state_->stream, kGzipWindowBits) == Z_OK;
}

Gunzip::~Gunzip() {
  if (state_->ready) inflateEnd(&state_->stream);
}

Result<bool> Gunzip::step(std::size_t max_step) {
  State& s = *state_;
  if (!s.ready) return make_error(Code::kInternal, "gunzip could not be set up");
  std::size_t old_size = s.output.size();
  // One byte beyond the limit may be produced: that is how an overlong stream shows itself.
  std::size_t room = std::min(max_step, s.max_output - old_size + 1);
  s.output.resize(old_size + room);
  std::size_t produced = 0;
  bool complete = false;
  Status failure;
  while (produced < room && !complete && failure.has_value()) {
    if (!s.in_member) {
      if (s.input.empty()) {
        complete = true;
        break;
      }
      inflateReset(&s.stream);
      s.in_member = true;
    }
    uInt in = clamp_to_uint(s.input.size());
    uInt out = clamp_to_uint(room - produced);
    s.stream.next_in = zlib_input(s.input);
    s.stream.avail_in = in;
    s.stream.next_out = reinterpret_cast<Bytef*>(s.output.data() + old_size + produced);
    s.stream.avail_out = out;
    int rc = inflate(&s.stream, Z_NO_FLUSH);
    s.input.remove_prefix(in - s.stream.avail_in);
    produced += out - s.stream.avail_out;
    if (rc == Z_STREAM_END) {
      s.in_member = false;
      complete = s.input.empty();
    } else if (rc != Z_OK) {
      failure = invalid_argument("the body is not valid gzip");
    } else if (s.input.empty() && s.stream.avail_out > 0) {
      failure = invalid_argument("the gzip body is cut off");
    }
  }
  s.output.resize(old_size + produced);
  DIL_CHECK_OK(failure);
  if (s.output.size() > s.max_output) {
    return make_error(Code::kPayloadTooLarge, "the decompressed body is larger than {} bytes",
                      s.max_output);
  }
  return complete;
}

std::string Gunzip::take_output() { return std::move(state_->output); }

Result<std::string> gunzip(std::string_view bytes, std::size_t max_output) {
  Gunzip inflater(bytes, max_output);
  for (;;) {
    DIL_TRY(bool complete, inflater.step(64 * 1024));
    if (complete) return inflater.take_output();
  }
}

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// "0.5" -> 500; a malformed weight counts as 0: what is not understood is not served compressed.
int weight_in_thousandths(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1') || text.size() > 5) return 0;
  int weight = (text[0] - '0') * 1000;
  if (text.size() == 1) return weight;
  if (text[1] != '.') return 0;
  int unit = 100;
  for (char c : text.substr(2)) {
    if (c < '0' || c > '9') return 0;
    weight += (c - '0') * unit;
    unit /= 10;
  }
  return weight > 1000 ? 0 : weight;
}

int coding_weight(std::string_view parameters) {
  while (!parameters.empty()) {
    std::size_t end = parameters.find(';');
    std::string_view one = trim(parameters.substr(0, end));
    parameters = end == std::string_view::npos ? std::string_view() : parameters.substr(end + 1);
    if (one.size() >= 2 && (one[0] == 'q' || one[0] == 'Q') && one[1] == '=') {
      return weight_in_thousandths(one.substr(2));
    }
  }
  return 1000;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<int> gzip;
  std::optional<int> any;
  int identity = 0;  // acceptable unless excluded, but never preferred when it is not named
  while (!accept_encoding.empty()) {
    std::size_t comma = accept_encoding.find(',');
    std::string_view item = accept_encoding.substr(0, comma);
    accept_encoding =
        comma == std::string_view::npos ? std::string_view() : accept_encoding.substr(comma + 1);
    std::size_t semicolon = item.find(';');
    std::string_view coding = trim(item.substr(0, semicolon));
    int weight =
        semicolon == std::string_view::npos ? 1000 : coding_weight(item.substr(semicolon + 1));
    if (equals_ignoring_case(coding, "gzip") || equals_ignoring_case(coding, "x-gzip")) {
      gzip = std::max(gzip.value_or(0), weight);
    } else if (coding == "*") {
      any = weight;
    } else if (equals_ignoring_case(coding, "identity")) {
      identity = weight;
    }
  }
  int effective = gzip.value_or(any.value_or(0));
  return effective > 0 && effective >= identity;
}

bool accepts_gzip(const Request& request) {
  return accepts_gzip(request.header("accept-encoding"));
}

}  // namespace duckicelake::net
