// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::avro {

// How the blocks of a container file are compressed (Avro spec "Required Codecs", "Optional
// Codecs").
enum class Codec : std::uint8_t { kNull, kDeflate, kZstandard, kSnappy };

std::string_view codec_name(Codec codec);
// kInvalidArgument for codecs that are not supported (bzip2, xz).
Result<Codec> parse_codec(std::string_view name);

std::string compress(Codec codec, std::string_view plain);
// kInvalidArgument when malformed, when anything follows the compressed data, or when the result
// would be larger than `max_bytes`. Memory grows with what is really produced, never with what a
// header claims.
Result<std::string> decompress(Codec codec, std::string_view compressed, std::size_t max_bytes);

}  // namespace duckicelake::avro
