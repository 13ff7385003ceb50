// SPDX-License-Identifier: Apache-2.0
#include "sign/scram.h"

#include <gtest/gtest.h>

namespace duckicelake::sign {
namespace {

// The keys of the SCRAM-SHA-256 example in RFC 7677 section 3 (user "user", password "pencil"),
// worked out with another implementation (Python's hashlib.pbkdf2_hmac).
TEST(Scram, MakesTheVerifierOfRfc5803) {
  const std::string salt("\x5b\x6d\x99\x68\x9d\x12\x35\x8e\xec\xa0\x4b\x14\x12\x36\xfa\x81", 16);
  EXPECT_EQ(
      scram_verifier(Secret("pencil"), salt),
      "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
      "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
}

}  // namespace
}  // namespace duckicelake::sign
