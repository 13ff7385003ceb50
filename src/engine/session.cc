// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/database.h"

namespace duckicelake::engine {
namespace {

// Frees a prepared statement on every way out.
class Prepared {
 public:
  explicit Prepared(const DuckdbApi& api) : api_(api) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    if (handle != nullptr) api_.destroy_prepare(&handle);
  }
  duckdb_prepared_statement handle = nullptr;

 private:
  const DuckdbApi& api_;
};

duckdb_state bind(const DuckdbApi& api, duckdb_prepared_statement statement, idx_t index,
                  const Parameter& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    return api.bind_boolean(statement, index, *flag);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return api.bind_int64(statement, index, *number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return api.bind_varchar_length(statement, index, text->data(), text->size());
  }
  return api.bind_null(statement, index);
}

// duckdb_prepare reports no error type, only text that begins with its name.
duckdb_error_type type_of_text(std::string_view message) {
  constexpr std::pair<std::string_view, duckdb_error_type> kPrefixes[] = {
      {"IO Error", DUCKDB_ERROR_IO},
      {"HTTP Error", DUCKDB_ERROR_HTTP},
      {"Catalog Error", DUCKDB_ERROR_CATALOG},
      {"Binder Error", DUCKDB_ERROR_BINDER},
      {"Parser Error", DUCKDB_ERROR_PARSER},
      {"Invalid Input Error", DUCKDB_ERROR_INVALID_INPUT},
      {"Permission Error", DUCKDB_ERROR_PERMISSION},
      {"INTERRUPT Error", DUCKDB_ERROR_INTERRUPT},
      {"Out of Memory Error", DUCKDB_ERROR_OUT_OF_MEMORY},
      {"TransactionContext Error", DUCKDB_ERROR_TRANSACTION},
      {"FATAL Error", DUCKDB_ERROR_FATAL},
      {"INTERNAL Error", DUCKDB_ERROR_INTERNAL},
  };
  for (const auto& [prefix, type] : kPrefixes) {
    if (message.starts_with(prefix)) return type;
  }
  return DUCKDB_ERROR_INVALID;
}

std::string_view or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

Session::Session(Database* database, duckdb_connection connection, Deadline deadline)
    : database_(database), connection_(connection), deadline_(deadline) {
  watch_ = database_->watchdog_.arm(
      deadline, [api = database->api_, connection] { api->interrupt(connection); });
}

Session::Session(Session&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)),
      deadline_(other.deadline_),
      watch_(other.watch_),
      is_reusable_(other.is_reusable_) {}

Session::~Session() {
  if (database_ == nullptr) return;
  database_->watchdog_.disarm(watch_);
  database_->give_back(connection_, is_reusable_);
}

const DuckdbApi& Session::api() const { return *database_->api_; }

Error Session::fail(duckdb_error_type type, std::string_view message, const Operation& operation) {
  is_reusable_ = false;
  if (Watchdog::Clock::now() >= deadline_) type = DUCKDB_ERROR_INTERRUPT;
  return database_->error(type, message, operation);
}

Status Session::check_deadline(const Operation& operation) const {
  if (Watchdog::Clock::now() < deadline_) return {};
  return make_error(Code::kDeadlineExceeded, "{}: it took too long", operation.what);
}

Result<Rows> Session::query(const std::string& sql, std::span<const Parameter> parameters,
                            const Operation& operation, Fetch fetch) {
  DIL_CHECK_OK(check_deadline(operation));
  if (sql.find('\0') != std::string::npos) {
    return invalid_argument("{}: a name holds a zero byte", operation.what);
  }
  const DuckdbApi& functions = api();
  duckdb_result result{};
  const auto finish = [&](duckdb_state state) -> Result<Rows> {
    if (state == DuckDBSuccess) return Rows(this, operation, result);
    Error error = fail(functions.result_error_type(&result),
                       or_empty(functions.result_error(&result)), operation);
    functions.destroy_result(&result);
    return error;
  };
  // Some of DuckLake's calls refuse to be prepared in one transaction and run in another.
  if (parameters.empty() && fetch == Fetch::kAtOnce) {
    return finish(functions.query(connection_, sql.c_str(), &result));
  }
  Prepared statement(functions);
  if (functions.prepare(connection_, sql.c_str(), &statement.handle) != DuckDBSuccess) {
    const std::string message(or_empty(functions.prepare_error(statement.handle)));
    return fail(type_of_text(message), message, operation);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (bind(functions, statement.handle, i + 1, parameters[i]) != DuckDBSuccess) {
      return fail(DUCKDB_ERROR_INVALID_INPUT, or_empty(functions.prepare_error(statement.handle)),
                  operation);
    }
  }
  const auto run =
      fetch == Fetch::kStreamed ? functions.execute_prepared_streaming : functions.execute_prepared;
  return finish(run(statement.handle, &result));
}

Status Session::execute(const std::string& sql, std::span<const Parameter> parameters,
                        const Operation& operation) {
  DIL_TRY(Rows rows, query(sql, parameters, operation, Fetch::kAtOnce));
  return {};
}

Rows::Rows(Session* session, Operation operation, duckdb_result result)
    : session_(session), operation_(std::move(operation)), result_(result) {
  const idx_t columns = session_->api().column_count(&result_);
  for (idx_t i = 0; i < columns; ++i) types_.push_back(session_->api().column_type(&result_, i));
}

Rows::Rows(Rows&& other) noexcept
    : session_(std::exchange(other.session_, nullptr)),
      operation_(std::move(other.operation_)),
      result_(other.result_),
      types_(std::move(other.types_)),
      chunk_(std::exchange(other.chunk_, nullptr)),
      chunk_size_(other.chunk_size_),
      row_(other.row_),
      data_(std::move(other.data_)),
      validity_(std::move(other.validity_)) {}

Rows::~Rows() {
  if (session_ == nullptr) return;
  if (chunk_ != nullptr) session_->api().destroy_data_chunk(&chunk_);
  session_->api().destroy_result(&result_);
}

Status Rows::load_chunk() {
  const DuckdbApi& functions = session_->api();
  if (chunk_ != nullptr) functions.destroy_data_chunk(&chunk_);
  chunk_ = functions.fetch_chunk(result_);
  chunk_size_ = 0;
  row_ = 0;
  if (chunk_ == nullptr) {
    const std::string_view message = or_empty(functions.result_error(&result_));
    if (!message.empty()) {
      return session_->fail(functions.result_error_type(&result_), message, operation_);
    }
    return {};
  }
  chunk_size_ = functions.data_chunk_get_size(chunk_);
  data_.assign(types_.size(), nullptr);
  validity_.assign(types_.size(), nullptr);
  for (std::size_t i = 0; i < types_.size(); ++i) {
    duckdb_vector vector = functions.data_chunk_get_vector(chunk_, i);
    data_[i] = functions.vector_get_data(vector);
    validity_[i] = functions.vector_get_validity(vector);
  }
  return {};
}

Result<bool> Rows::next() {
  if (chunk_ != nullptr && ++row_ < chunk_size_) return true;
  do {
    DIL_CHECK_OK(load_chunk());
  } while (chunk_ != nullptr && chunk_size_ == 0);
  return chunk_ != nullptr;
}

bool Rows::is_null(std::size_t column) const {
  const std::uint64_t* mask = validity_[column];
  return mask != nullptr && (mask[row_ / 64] >> (row_ % 64) & 1) == 0;
}

std::int64_t Rows::int64(std::size_t column) const {
  DIL_ASSERT(types_[column] == DUCKDB_TYPE_BIGINT);
  return static_cast<const std::int64_t*>(data_[column])[row_];
}

std::int64_t Rows::unsigned_as_int64(std::size_t column) const {
  DIL_ASSERT(types_[column] == DUCKDB_TYPE_UBIGINT);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(
      std::min(static_cast<const std::uint64_t*>(data_[column])[row_], kMax));
}

bool Rows::boolean(std::size_t column) const {
  DIL_ASSERT(types_[column] == DUCKDB_TYPE_BOOLEAN);
  return static_cast<const bool*>(data_[column])[row_];
}

namespace {

std::string_view string_at(const void* data, std::uint64_t index) {
  const auto& value = static_cast<const duckdb_string_t*>(data)[index];
  const std::uint32_t length = value.value.inlined.length;
  constexpr std::uint32_t kMaxInlined = 12;
  return {length <= kMaxInlined ? value.value.inlined.inlined : value.value.pointer.ptr, length};
}

}  // namespace

std::string_view Rows::text(std::size_t column) const {
  DIL_ASSERT(types_[column] == DUCKDB_TYPE_VARCHAR);
  return string_at(data_[column], row_);
}

std::optional<std::string> Rows::optional_text(std::size_t column) const {
  if (is_null(column)) return std::nullopt;
  return std::string(text(column));
}

std::vector<std::pair<std::string, Rows::TextMap>> Rows::map_of_text_maps(
    std::size_t column) const {
  DIL_ASSERT(types_[column] == DUCKDB_TYPE_MAP);
  std::vector<std::pair<std::string, TextMap>> out;
  if (is_null(column)) return out;
  const DuckdbApi& functions = session_->api();
  // A MAP is a list of STRUCT(key, value).
  duckdb_vector outer = functions.data_chunk_get_vector(chunk_, column);
  duckdb_vector outer_pairs = functions.list_vector_get_child(outer);
  const void* outer_keys =
      functions.vector_get_data(functions.struct_vector_get_child(outer_pairs, 0));
  duckdb_vector inner = functions.struct_vector_get_child(outer_pairs, 1);
  const auto* inner_entries =
      static_cast<const duckdb_list_entry*>(functions.vector_get_data(inner));
  duckdb_vector inner_pairs = functions.list_vector_get_child(inner);
  const void* inner_keys =
      functions.vector_get_data(functions.struct_vector_get_child(inner_pairs, 0));
  const void* inner_values =
      functions.vector_get_data(functions.struct_vector_get_child(inner_pairs, 1));
  const duckdb_list_entry entry =
      static_cast<const duckdb_list_entry*>(functions.vector_get_data(outer))[row_];
  for (std::uint64_t i = entry.offset; i < entry.offset + entry.length; ++i) {
    TextMap values;
    const duckdb_list_entry& range = inner_entries[i];
    for (std::uint64_t j = range.offset; j < range.offset + range.length; ++j) {
      values.emplace_back(string_at(inner_keys, j), string_at(inner_values, j));
    }
    out.emplace_back(string_at(outer_keys, i), std::move(values));
  }
  return out;
}

}  // namespace duckicelake::engine
