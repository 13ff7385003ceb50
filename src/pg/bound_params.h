// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

#include <vector>

#include "pg/statement.h"

namespace duckicelake::pg {

// libpq's arrays for the parameters of one statement; it points into them.
struct BoundParams {
  explicit BoundParams(const Statement& statement) : BoundParams(statement.params) {}
  explicit BoundParams(const std::vector<Param>& params) {
    for (const Param& param : params) {
      types.push_back(param.type_oid());
      values.push_back(param.bytes() ? param.bytes()->c_str() : nullptr);
      lengths.push_back(param.bytes() ? static_cast<int>(param.bytes()->size()) : 0);
      formats.push_back(param.is_binary() ? 1 : 0);
    }
  }
  int size() const { return static_cast<int>(values.size()); }

  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace duckicelake::pg
