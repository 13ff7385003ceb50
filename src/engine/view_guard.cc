// SPDX-License-Identifier: Apache-2.0
#include "engine/view_guard.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/lake_attach.h"
#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

// They read nothing, or the lake as the role may.
constexpr std::array<std::string_view, 15> kHarmless = {"range",
                                                        "generate_series",
                                                        "unnest",
                                                        "repeat",
                                                        "repeat_row",
                                                        "json_each",
                                                        "json_tree",
                                                        "ducklake_snapshots",
                                                        "snapshots",
                                                        "table_changes",
                                                        "table_insertions",
                                                        "table_deletions",
                                                        "ducklake_table_changes",
                                                        "ducklake_table_insertions",
                                                        "ducklake_table_deletions"};

constexpr std::size_t kMaxTexts = 10'000;       // live views and macros of one lake
constexpr std::size_t kMaxTextBytes = 1 << 20;  // of one query

Operation reading_views() { return {"reading the lake's views", Code::kUnavailable}; }

// Lower-cased name -> texts, since DuckDB's names do not differ by case.
using Texts = std::multimap<std::string, std::string>;

std::string metadata_table(const std::string& schema, std::string_view table) {
  return fmt::format("{}.{}.{}", quote_identifier(fmt::format("__ducklake_metadata_{}", kLakeName)),
                     quote_identifier(schema), table);
}

std::string resolve_placeholder(std::string text) {
  constexpr std::string_view kPlaceholder = "{DUCKLAKE_CATALOG}";
  for (std::size_t at = text.find(kPlaceholder); at != std::string::npos;
       at = text.find(kPlaceholder, at)) {
    text.replace(at, kPlaceholder.size(), kLakeName);
  }
  return text;
}

Result<Texts> load_texts(Session& session, const std::string& sql) {
  DIL_TRY(Rows rows, session.query(sql, {}, reading_views()));
  Texts texts;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return texts;
    if (texts.size() == kMaxTexts) return invalid_argument("the lake has too many views to check");
    if (rows.is_null(0) || rows.is_null(1)) continue;
    texts.emplace(rows.text(0), resolve_placeholder(std::string(rows.text(1))));
  }
}

Result<Texts> load_views(Session& session, const std::string& schema) {
  return load_texts(session,
                    fmt::format("SELECT lower(view_name), sql FROM {} WHERE end_snapshot IS NULL",
                                metadata_table(schema, "ducklake_view")));
}

// A scalar macro's body is an expression: SELECT makes a query of it.
Result<Texts> load_macros(Session& session, const std::string& schema) {
  return load_texts(
      session,
      fmt::format(
          "SELECT lower(m.macro_name), CASE WHEN i.type = 'scalar' THEN 'SELECT ' || i.sql "
          "ELSE i.sql END FROM {} m JOIN {} i USING (macro_id) WHERE m.end_snapshot IS NULL",
          metadata_table(schema, "ducklake_macro"), metadata_table(schema, "ducklake_macro_impl")));
}

struct Names {
  std::set<std::string> tables;
  std::set<std::string> table_functions;
  std::set<std::string> other_functions;
};

// All names that a query mentions, read from its parse tree.
Result<Names> names_in(Session& session, const std::string& text) {
  if (text.size() > kMaxTextBytes) return invalid_argument("a view's query is too long to check");
  const Operation operation{"checking a view's query", Code::kInvalidArgument};
  const Parameter parameters[] = {text};
  DIL_TRY(
      Rows rows,
      session.query("WITH parsed AS MATERIALIZED (SELECT json_serialize_sql($1::VARCHAR) AS tree) "
                    "SELECT 'error', coalesce(tree->>'$.error', 'true') FROM parsed UNION ALL "
                    "SELECT CASE WHEN key = 'table_name' THEN 'table' WHEN path LIKE "
                    "'%.function' THEN 'table_function' ELSE 'function' END, "
                    "lower(coalesce(value->>'$', '')) FROM parsed, json_tree(tree) "
                    "WHERE key IN ('table_name', 'function_name')",
                    parameters, operation));
  Names names;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return names;
    const std::string_view kind = rows.text(0);
    std::string value(rows.text(1));
    if (kind == "error" && value != "false")
      return invalid_argument("a view's query does not parse");
    if (kind == "table") names.tables.insert(std::move(value));
    if (kind == "function") names.other_functions.insert(std::move(value));
    if (kind == "table_function") names.table_functions.insert(std::move(value));
  }
}

bool is_harmless(const std::string& name) {
  for (std::string_view allowed : kHarmless) {
    if (name == allowed) return true;
  }
  return false;
}

// Texts still to check, each once.
class Worklist {
 public:
  void add(const Texts& texts, const std::string& name) {
    const auto [begin, end] = texts.equal_range(name);
    for (auto at = begin; at != end; ++at) {
      if (seen_.insert(&at->second).second) pending_.push_back(&at->second);
    }
  }
  const std::string* take() {
    if (pending_.empty()) return nullptr;
    const std::string* text = pending_.back();
    pending_.pop_back();
    return text;
  }

 private:
  std::set<const std::string*> seen_;
  std::vector<const std::string*> pending_;
};

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

Result<std::set<std::string>> system_table_functions(Session& session) {
  DIL_TRY(Rows rows, session.query("SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
                                   "WHERE function_type IN ('table', 'table_macro', 'pragma')",
                                   {}, {"listing the functions of DuckDB", Code::kInternal}));
  std::set<std::string> names;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return names;
    names.emplace(rows.text(0));
  }
}

Status check_view_functions(Session& session, const std::string& metadata_schema,
                            const std::set<std::string>& system_functions,
                            const std::string& view_name) {
  DIL_TRY(const Texts views, load_views(session, metadata_schema));
  DIL_TRY(const Texts macros, load_macros(session, metadata_schema));
  if (!views.contains(lower(view_name))) return invalid_argument("there is no view {}", view_name);
  Worklist worklist;
  worklist.add(views, lower(view_name));
  while (const std::string* text = worklist.take()) {
    DIL_TRY(const Names names, names_in(session, *text));
    for (const std::string& name : names.tables) worklist.add(views, name);
    for (const std::string& name : names.other_functions) worklist.add(macros, name);
    for (const std::string& name : names.table_functions) {
      const bool is_macro = macros.contains(name) && !system_functions.contains(name);
      if (!is_macro && !is_harmless(name)) {
        return invalid_argument("the view calls {}, which is not allowed when it is described",
                                name);
      }
      worklist.add(macros, name);
    }
  }
  return {};
}

}  // namespace duckicelake::engine
