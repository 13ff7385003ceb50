// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "catalog/service.h"
#include "net/http.h"

namespace duckicelake::rest {

struct StorageAnswer;
struct StorageSettings;

// The `config` member of a LoadTableResult: a JSON object of strings, without any key.
std::string storage_config_json(const StorageSettings& storage);

// Whether an If-None-Match value (RFC 9110 §13.1.2: "*" or a list) names the entity tag `"<tag>"`
// or its compressed form; weak comparison. A value that is no list of entity tags names nothing.
bool none_match_names(std::string_view if_none_match, std::string_view tag);

// Composes LoadTableResult around the metadata that a cache holds, without copying it, and keeps
// compressed bodies. What depends on the deployment (`config`) is part of the entity tag.
// Thread-safe.
class TableAnswers {
 public:
  // `version` distinguishes answers of different builds of the server.
  struct Settings {
    std::string config_json;
    std::string version;
    int gzip_level = 1;
    std::size_t gzip_min_bytes = 1024;
    std::size_t gzip_cache_bytes = 0;
  };
  explicit TableAnswers(Settings settings);

  // 304 when If-None-Match names the answer; 200 with a body that is plain, or compressed for those
  // who ask. nullopt: it has to be compressed first, which `compress_and_respond` does
  // (milliseconds for a large table: on a worker).
  std::optional<net::Response> respond(const net::Request& request,
                                       const catalog::TableAnswer& answer);
  // Pre-condition: respond(request, answer) was nullopt.
  net::Response compress_and_respond(const catalog::TableAnswer& answer);

  // The answer to a request that made or changed the table: 200, plain.
  net::Response respond_fresh(const catalog::TableAnswer& answer) const;

  // The same with what one caller was given to reach the table's bytes: its ETag is of these very
  // keys, so that 304 means that they are the current ones (cases ). Never compressed and
  // never kept. If-None-Match counts for loads only.
  net::Response respond_with(const net::Request& request, const catalog::TableAnswer& answer,
                             const StorageAnswer& storage) const;
  net::Response respond_fresh_with(const catalog::TableAnswer& answer,
                                   const StorageAnswer& storage) const;
  const std::string& config_json() const { return settings_.config_json; }

  struct Counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t bytes = 0;
  };
  Counters counters() const;

 private:
  using Bytes = std::shared_ptr<const std::string>;
  struct Entry {
    std::string tag;
    Bytes body;
  };
  std::string tag(const catalog::TableAnswer& answer) const;
  net::Response plain(const catalog::TableAnswer& answer, std::string_view tag) const;
  Bytes find(const std::string& tag);
  void keep(std::string tag, Bytes body);

  const Settings settings_;
  const Bytes suffix_;
  const std::string signature_;

  mutable std::mutex mutex_;  // guards the members below
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator>
      by_tag_;  // keys: views of Entry::tag
  Counters counters_;
};

}  // namespace duckicelake::rest
