// SPDX-License-Identifier: Apache-2.0
// Two scopes, split at a NUL: their texts read back, and narrowing never widens.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "auth/clients.h"
#include "auth/scopes.h"

namespace auth = duckicelake::auth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = std::min(input.find('\0'), input.size());
  const auto a = auth::ScopeSet::parse(input.substr(0, middle));
  const auto b = auth::ScopeSet::parse(input.substr(std::min(middle + 1, input.size())));
  (void)auth::parse_clients(input);
  (void)auth::clients_from_json(input);
  if (!a.has_value() || !b.has_value()) return 0;
  if (const auto again = auth::ScopeSet::parse(a->to_text()); again.has_value()) {
    DIL_ASSERT(*again == *a);
  }
  const auth::ScopeSet both = a->narrowed_by(*b);
  DIL_ASSERT(both == b->narrowed_by(*a));
  DIL_ASSERT(a->narrowed_by(*a) == *a);
  for (const auth::Levels& levels :
       {auth::Levels{"a"}, auth::Levels{"a", "b"}, auth::Levels{"*"}}) {
    DIL_ASSERT(both.rights_in(levels) == (a->rights_in(levels) & b->rights_in(levels)));
  }
  DIL_ASSERT(both.is_superuser() == (a->is_superuser() && b->is_superuser()));
  DIL_ASSERT(both.is_broker() == (a->is_broker() && b->is_broker()));
  return 0;
}
