// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_footers.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <vector>

#include "catalog/parallel.h"
#include "parquet/footer.h"

namespace duckicelake::catalog {
namespace {

Error wrong_size(const manifest::DataFile& file) {
  return invalid_argument("{}: file_size_in_bytes is {}, and the object has another size",
                          file.file_path, file.file_size_in_bytes);
}

// Reads one file's footer. Faults of the store and of the file end in nullopt: see CommitFooters.
class FooterReader {
 public:
  FooterReader(objstore::ObjectStore& objects, std::atomic<std::size_t>& large_bytes,
               std::atomic<bool>& is_away)
      : objects_(objects), large_bytes_(large_bytes), is_away_(is_away) {}

  Result<std::optional<parquet::Footer>> read(const manifest::DataFile& file) {
    const Result<std::string> key = objects_.key_of(file.file_path);
    if (!key.has_value() || is_away_) return std::nullopt;
    const auto said = static_cast<std::uint64_t>(file.file_size_in_bytes);
    Found found = read(*key, said);
    if (!found.is_other_size) return std::move(found.footer);
    // Who made a file of another size that is no Parquet file knows why.
    const auto object = objects_.head(*key);
    if (!object.has_value() || !*object) return std::nullopt;
    if (read(*key, (*object)->size).footer) return wrong_size(file);
    return std::nullopt;
  }

 private:
  struct Found {
    std::optional<parquet::Footer> footer;
    bool is_other_size = false;
  };

  // The footer of an object of this size.
  Found read(const std::string& key, std::uint64_t size) {
    const auto tail_size =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, CommitFooters::kTailBytes));
    // One byte more than the file may have tells whether it has.
    const Result<std::string> tail = get(key, size - tail_size, tail_size + 1);
    if (!tail.has_value()) {
      // Invalid: it ends before the range begins.
      return {std::nullopt, tail.error().code() == Code::kInvalidArgument};
    }
    if (tail->size() != tail_size) return {std::nullopt, true};
    if (tail_size < parquet::kTrailerBytes) return {};
    const std::size_t before = tail_size - parquet::kTrailerBytes;
    const auto length = parquet::footer_length(std::string_view(*tail).substr(before));
    if (!length.has_value() || *length > CommitFooters::kMaxFooterBytes ||
        *length > size - parquet::kTrailerBytes) {
      return {};
    }
    std::string footer;
    if (*length <= before) {
      footer = tail->substr(before - *length, *length);
    } else {
      const std::size_t missing = *length - before;
      if (large_bytes_.fetch_add(missing) + missing > CommitFooters::kMaxLargeBytes) return {};
      Result<std::string> head = get(key, size - parquet::kTrailerBytes - *length, missing);
      if (!head.has_value() || head->size() != missing) return {};
      footer = std::move(*head) + tail->substr(0, before);
    }
    Result<parquet::Footer> parsed = parquet::parse_footer(footer);
    if (!parsed.has_value()) return {};
    return {std::move(*parsed), false};
  }

  Result<std::string> get(const std::string& key, std::uint64_t offset, std::size_t length) {
    Result<std::string> bytes = objects_.get_range(key, {offset, length});
    if (!bytes.has_value() && (bytes.error().code() == Code::kUnavailable ||
                               bytes.error().code() == Code::kDeadlineExceeded)) {
      is_away_ = true;  // the others need not wait for it too
    }
    return bytes;
  }

  objstore::ObjectStore& objects_;
  std::atomic<std::size_t>& large_bytes_;
  std::atomic<bool>& is_away_;
};

}  // namespace

Status CommitFooters::read(SnapshotDelta& delta) {
  std::vector<manifest::DataFile*> wanted;
  for (AddedDataFiles& item : delta.added) {
    for (manifest::ManifestEntry& entry : item.entries) {
      manifest::DataFile& file = entry.data_file;
      // A path without a scheme names no object; the footer of an encrypted file is none to read.
      const bool is_readable = file.file_format == "PARQUET" && !file.key_metadata &&
                               file.file_path.find("://") != std::string::npos;
      if (is_readable && translate::needs_footer(file, schema_)) wanted.push_back(&file);
    }
  }
  if (wanted.empty() || files_ + wanted.size() > kMaxFiles) return {};
  if ((files_ + wanted.size()) * translate::leaf_count(schema_) > kMaxColumns) return {};
  files_ += wanted.size();
  // Parsed footers are many times their bytes: of each no more than the table's columns are kept.
  std::vector<std::optional<translate::FileFacts>> found(wanted.size());
  std::atomic<std::size_t> large_bytes{large_bytes_};
  std::atomic<bool> is_away{false};
  DIL_CHECK_OK(parallel_for(wanted.size(), kThreads, [&](std::size_t i) -> Status {
    DIL_TRY(std::optional<parquet::Footer> footer,
            FooterReader(objects_, large_bytes, is_away).read(*wanted[i]));
    if (!footer) return {};
    if (footer->row_count != wanted[i]->record_count) {
      return invalid_argument("{}: record_count is {}, and the file has {} rows",
                              wanted[i]->file_path, wanted[i]->record_count, footer->row_count);
    }
    found[i] = translate::facts_of_footer(*footer, schema_);
    return {};
  }));
  large_bytes_ = large_bytes;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!found[i]) continue;
    translate::correct_metrics(*wanted[i], schema_, *found[i]);
    facts_[wanted[i]->file_path] = std::move(*found[i]);
  }
  return {};
}

const translate::FileFacts* CommitFooters::find(const std::string& path) const {
  const auto it = facts_.find(path);
  return it == facts_.end() ? nullptr : &it->second;
}

}  // namespace duckicelake::catalog
