// SPDX-License-Identifier: Apache-2.0
#include "avro/codec.h"

#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/bytes.h"

namespace duckicelake::avro {
namespace {

constexpr int kRawDeflate = -15;  // windowBits: no zlib header, no checksum
// Manifests are written on the path of a query: level 3 costs a third of level 6 for a few per cent
// more.
constexpr int kDeflateLevel = 3;
// fastavro makes raw deflate of a zlib stream and leaves a part of its checksum at the end.
constexpr uInt kZlibChecksum = 4;
constexpr int kZstdLevel = 3;
// Refuses frames that want more window than this (2^x bytes), whatever they really hold.
constexpr int kZstdMaxWindowLog = 26;
constexpr std::size_t kFirstGuess = 4;  // decompressed : compressed
constexpr std::size_t kMinBuffer = 4096;
// No snappy stream expands more: a copy of 64 bytes takes 3 bytes.
constexpr std::size_t kSnappyMaxRatio = 32;

Error too_large(std::size_t max_bytes) {
  return invalid_argument("an Avro block of more than {} bytes", max_bytes);
}

Bytef* zlib_bytes(const char* p) { return reinterpret_cast<Bytef*>(const_cast<char*>(p)); }

std::string deflate_block(std::string_view plain) {
  z_stream stream{};
  // The only failure for these arguments is a lack of memory.
  DIL_ASSERT(deflateInit2(&stream, kDeflateLevel, Z_DEFLATED, kRawDeflate, 8, Z_DEFAULT_STRATEGY) ==
             Z_OK);
  DIL_ASSERT(plain.size() <= std::numeric_limits<uInt>::max());
  std::string out(deflateBound(&stream, static_cast<uLong>(plain.size())), '\0');
  DIL_ASSERT(out.size() <= std::numeric_limits<uInt>::max());
  stream.next_in = zlib_bytes(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = zlib_bytes(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  DIL_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::size_t first_buffer(std::size_t compressed, std::size_t max_bytes) {
  return std::min(max_bytes, std::max(kMinBuffer, compressed * kFirstGuess));
}

Result<std::string> inflate_block(std::string_view compressed, std::size_t max_bytes) {
  constexpr std::size_t kStep = std::numeric_limits<uInt>::max() / 2;
  if (compressed.size() > kStep || max_bytes > kStep) return too_large(kStep);
  z_stream stream{};
  DIL_ASSERT(inflateInit2(&stream, kRawDeflate) == Z_OK);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);
  stream.next_in = zlib_bytes(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out(first_buffer(compressed.size(), max_bytes), '\0');
  while (true) {
    const std::size_t used = stream.total_out;
    stream.next_out = zlib_bytes(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) break;
    if (code != Z_OK && code != Z_BUF_ERROR) return invalid_argument("a corrupt deflate block");
    if (stream.avail_out != 0) return invalid_argument("a truncated deflate block");
    if (out.size() == max_bytes) return too_large(max_bytes);
    out.resize(std::min(max_bytes, out.size() * 2));
  }
  if (stream.avail_in > kZlibChecksum) {
    return invalid_argument("bytes after the end of a deflate block");
  }
  out.resize(stream.total_out);
  return out;
}

std::string zstd_block(std::string_view plain) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size =
      ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kZstdLevel);
  DIL_ASSERT(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

Result<std::string> unzstd_block(std::string_view compressed, std::size_t max_bytes) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  DIL_ASSERT(context != nullptr);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kZstdMaxWindowLog);
  std::string out(first_buffer(compressed.size(), max_bytes), '\0');
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  std::size_t used = 0;
  while (true) {
    ZSTD_outBuffer output{out.data(), out.size(), used};
    const std::size_t code = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(code) != 0) return invalid_argument("a corrupt zstandard block");
    used = output.pos;
    // A block may hold several frames; 0 means that one has ended.
    if (code == 0 && input.pos == input.size) break;
    if (output.pos < output.size) {
      if (input.pos == input.size) return invalid_argument("a truncated zstandard block");
      continue;
    }
    if (out.size() == max_bytes) return too_large(max_bytes);
    out.resize(std::min(max_bytes, out.size() * 2));
  }
  out.resize(used);
  return out;
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, zlib_bytes(bytes.data()), bytes.size()));
}

std::string snappy_block(std::string_view plain) {
  std::size_t size = snappy_max_compressed_length(plain.size());
  std::string out(size, '\0');
  DIL_ASSERT(snappy_compress(plain.data(), plain.size(), out.data(), &size) == SNAPPY_OK);
  out.resize(size);
  append_big_endian(out, crc_of(plain));
  return out;
}

Result<std::string> unsnappy_block(std::string_view compressed, std::size_t max_bytes) {
  if (compressed.size() < 4) return invalid_argument("a snappy block without its checksum");
  const std::string_view body = compressed.substr(0, compressed.size() - 4);
  const auto checksum = read_big_endian<std::uint32_t>(compressed.substr(body.size()));
  std::size_t size = 0;
  if (snappy_uncompressed_length(body.data(), body.size(), &size) != SNAPPY_OK) {
    return invalid_argument("a corrupt snappy block");
  }
  if (size > max_bytes) return too_large(max_bytes);
  if (size / kSnappyMaxRatio > body.size()) return invalid_argument("a corrupt snappy block");
  std::string out(size, '\0');
  if (snappy_uncompress(body.data(), body.size(), out.data(), &size) != SNAPPY_OK ||
      size != out.size()) {
    return invalid_argument("a corrupt snappy block");
  }
  if (crc_of(out) != checksum) return invalid_argument("a snappy block with a wrong checksum");
  return out;
}

}  // namespace

std::string_view codec_name(Codec codec) {
  switch (codec) {
    case Codec::kNull: return "null";
    case Codec::kDeflate: return "deflate";
    case Codec::kZstandard: return "zstandard";
    case Codec::kSnappy: return "snappy";
  }
  return {};
}

Result<Codec> parse_codec(std::string_view name) {
  for (const Codec codec : {Codec::kNull, Codec::kDeflate, Codec::kZstandard, Codec::kSnappy}) {
    if (codec_name(codec) == name) return codec;
  }
  return invalid_argument("the Avro codec \"{}\" is not supported", name.substr(0, 32));
}

std::string compress(Codec codec, std::string_view plain) {
  switch (codec) {
    case Codec::kNull: return std::string(plain);
    case Codec::kDeflate: return deflate_block(plain);
    case Codec::kZstandard: return zstd_block(plain);
    case Codec::kSnappy: return snappy_block(plain);
  }
  return {};
}

Result<std::string> decompress(Codec codec, std::string_view compressed, std::size_t max_bytes) {
  switch (codec) {
    case Codec::kNull:
      if (compressed.size() > max_bytes) return too_large(max_bytes);
      return std::string(compressed);
    case Codec::kDeflate: return inflate_block(compressed, max_bytes);
    case Codec::kZstandard: return unzstd_block(compressed, max_bytes);
    case Codec::kSnappy: return unsnappy_block(compressed, max_bytes);
  }
  return invalid_argument("an unknown Avro codec");
}

}  // namespace duckicelake::avro
