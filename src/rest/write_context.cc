// SPDX-License-Identifier: Apache-2.0
#include "rest/write_context.h"

#include "base/bytes.h"
#include "base/uuid.h"
#include "rest/call.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

constexpr std::string_view kHeader = "idempotency-key";
constexpr int kUuidVersion = 7;

// RFC 9562 §5.7: the version is in the upper half of byte 6, the variant in the top bits of byte 8.
bool is_version_7(const Uuid& uuid) {
  return uuid.bytes[6] >> 4U == kUuidVersion && uuid.bytes[8] >> 6U == 0b10;
}

}  // namespace

Result<catalog::WriteContext> write_context(const Call& call) {
  catalog::WriteContext out;
  out.caller = call.caller;
  std::optional<std::string_view> key;
  for (const auto& [name, value] : call.request.headers) {
    if (name != kHeader) continue;
    if (key && *key != value) return Error(Code::kInvalidArgument, "two Idempotency-Keys differ");
    key = value;
  }
  if (!key) return out;
  const Result<Uuid> uuid = Uuid::parse(*key);
  if (!uuid.has_value() || !is_version_7(*uuid)) {
    return Error(Code::kInvalidArgument, "the Idempotency-Key is no UUID of version 7");
  }
  store::IdempotencyRecord record;
  record.key = uuid->to_string();
  record.principal = call.caller.principal.id;
  record.operation = routes()[call.route].operation_id;
  record.body_hash = to_hex(sign::sha256(call.request.target + "\n" + call.request.body));
  out.idempotency = std::move(record);
  return out;
}

}  // namespace duckicelake::rest
