// SPDX-License-Identifier: Apache-2.0
// Feeds object-store and STS answers to every XML parser of objstore.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "objstore/s3_xml.h"

namespace objstore = duckicelake::objstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  objstore::ServiceError error = objstore::parse_error(body);
  DIL_ASSERT(error.code.size() <= 64 && error.message.size() <= 300);
  if (auto page = objstore::parse_list(body)) {
    DIL_ASSERT(page->objects.size() <= objstore::kMaxListPage);
    for (const auto& object : page->objects) DIL_ASSERT(!object.key.empty());
  }
  // What we write about any key, we can read back.
  if (objstore::fits_in_xml(body)) {
    std::string answer = objstore::delete_objects_body({body});
    DIL_ASSERT(objstore::parse_error(answer).code.empty());
  }
  (void)objstore::parse_delete_result(body).has_value();
  (void)objstore::parse_upload_id(body).has_value();
  (void)objstore::parse_complete_upload(body).has_value();
  (void)objstore::parse_assume_role(std::string(body)).has_value();
  (void)objstore::parse_iso_time(body).has_value();
  return 0;
}
