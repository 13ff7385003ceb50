// SPDX-License-Identifier: Apache-2.0
#include "iceberg/fresh_ids.h"

namespace duckicelake::iceberg {
namespace {

void renumber(std::vector<Field>& fields, FreshSchema& fresh) {
  for (Field& field : fields) {
    std::int32_t id = ++fresh.last_column_id;
    fresh.new_id_of.emplace(field.id.value, id);
    field.id = FieldId(id);
  }
  for (Field& field : fields) renumber(field.type.fields, fresh);
}

}  // namespace

FreshSchema assign_fresh_ids(const Schema& schema) {
  FreshSchema fresh;
  fresh.schema = schema;
  fresh.schema.schema_id = 0;
  renumber(fresh.schema.fields, fresh);
  for (FieldId& id : fresh.schema.identifier_field_ids) id = FieldId(fresh.new_id_of.at(id.value));
  return fresh;
}

}  // namespace duckicelake::iceberg
