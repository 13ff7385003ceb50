// SPDX-License-Identifier: Apache-2.0
#include "engine/batch_append.h"

#include <utility>

namespace duckicelake::engine {

BatchAppender::BatchAppender(Session& session, Operation operation)
    : session_(session), operation_(std::move(operation)) {}

Result<std::unique_ptr<BatchAppender>> BatchAppender::make(Session& session,
                                                           const std::string& table,
                                                           std::span<const duckdb_type> types,
                                                           Operation operation) {
  const DuckdbApi& api = session.api();
  std::unique_ptr<BatchAppender> self(new BatchAppender(session, std::move(operation)));
  if (api.appender_create(session.handle(), nullptr, table.c_str(), &self->appender_) !=
      DuckDBSuccess) {
    return self->appender_failure();
  }
  std::vector<duckdb_logical_type> logical;
  for (duckdb_type type : types) logical.push_back(api.create_logical_type(type));
  self->chunk_ = api.create_data_chunk(logical.data(), logical.size());
  for (duckdb_logical_type& type : logical) api.destroy_logical_type(&type);
  if (self->chunk_ == nullptr) {
    return session.fail(DUCKDB_ERROR_INVALID, "no data chunk", self->operation_);
  }
  return self;
}

BatchAppender::~BatchAppender() {
  if (chunk_ != nullptr) session_.api().destroy_data_chunk(&chunk_);
  if (appender_ != nullptr) session_.api().appender_destroy(&appender_);
}

void BatchAppender::put_int64(std::size_t column, std::int64_t value) {
  duckdb_vector vector = session_.api().data_chunk_get_vector(chunk_, column);
  static_cast<std::int64_t*>(session_.api().vector_get_data(vector))[row_] = value;
}

void BatchAppender::put_bytes(std::size_t column, std::string_view value) {
  duckdb_vector vector = session_.api().data_chunk_get_vector(chunk_, column);
  session_.api().vector_assign_string_element_len(vector, row_, value.data(), value.size());
}

void BatchAppender::put_null(std::size_t column) {
  const DuckdbApi& api = session_.api();
  duckdb_vector vector = api.data_chunk_get_vector(chunk_, column);
  api.vector_ensure_validity_writable(vector);
  api.validity_set_row_invalid(api.vector_get_validity(vector), row_);
}

Status BatchAppender::end_row() {
  if (++row_ < session_.api().vector_size()) return {};
  return flush();
}

Status BatchAppender::finish() {
  DIL_CHECK_OK(flush());
  if (session_.api().appender_close(appender_) != DuckDBSuccess) return appender_failure();
  return {};
}

Status BatchAppender::flush() {
  if (row_ == 0) return {};
  const DuckdbApi& api = session_.api();
  api.data_chunk_set_size(chunk_, row_);
  if (api.append_data_chunk(appender_, chunk_) != DuckDBSuccess) return appender_failure();
  api.data_chunk_reset(chunk_);
  row_ = 0;
  return {};
}

Error BatchAppender::appender_failure() {
  const char* reason = session_.api().appender_error(appender_);
  const std::string_view message = reason == nullptr ? "" : reason;
  const bool is_memory = message.find("memory") != std::string_view::npos;
  return session_.fail(is_memory ? DUCKDB_ERROR_OUT_OF_MEMORY : DUCKDB_ERROR_INVALID, message,
                       operation_);
}

}  // namespace duckicelake::engine
