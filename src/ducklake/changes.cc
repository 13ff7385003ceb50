// SPDX-License-Identifier: Apache-2.0
#include "ducklake/changes.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace duckicelake::ducklake {
namespace {

struct Word {
  std::string_view text;
  ChangeKind kind;
};

constexpr std::array kWords = {
    Word{"created_schema", ChangeKind::kCreatedSchema},
    Word{"dropped_schema", ChangeKind::kDroppedSchema},
    Word{"created_table", ChangeKind::kCreatedTable},
    Word{"dropped_table", ChangeKind::kDroppedTable},
    Word{"altered_table", ChangeKind::kAlteredTable},
    Word{"created_view", ChangeKind::kCreatedView},
    Word{"dropped_view", ChangeKind::kDroppedView},
    Word{"altered_view", ChangeKind::kAlteredView},
    Word{"created_scalar_macro", ChangeKind::kCreatedMacro},
    Word{"created_table_macro", ChangeKind::kCreatedMacro},
    Word{"dropped_scalar_macro", ChangeKind::kDroppedMacro},
    Word{"dropped_table_macro", ChangeKind::kDroppedMacro},
    Word{"inserted_into_table", ChangeKind::kInsertedIntoTable},
    Word{"deleted_from_table", ChangeKind::kDeletedFromTable},
    Word{"inlined_insert", ChangeKind::kInlinedInsert},
    Word{"inlined_delete", ChangeKind::kInlinedDelete},
    Word{"inline_flush", ChangeKind::kInlineFlush},
    Word{"flushed_inlined", ChangeKind::kInlineFlush},
    Word{"merge_adjacent", ChangeKind::kMergeAdjacent},
    Word{"rewrite_delete", ChangeKind::kRewriteDelete},
    Word{"compacted_table", ChangeKind::kCompactedTable},
};

ChangeKind kind_of(std::string_view word) {
  for (const Word& w : kWords) {
    if (w.text == word) return w.kind;
  }
  return ChangeKind::kOther;
}

void append_quoted(std::string_view name, std::string& out) {
  out.push_back('"');
  for (const char c : name) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

Error corrupt(std::string_view text) {
  return Error(Code::kCorruptData, "a snapshot's changes_made does not parse",
               std::string(text.substr(0, 200)));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Change>> run() {
    std::vector<Change> out;
    while (at_ < text_.size()) {
      DIL_TRY(Change change, one());
      out.push_back(std::move(change));
      if (at_ == text_.size()) break;
      if (text_[at_] != ',') return corrupt(text_);
      ++at_;
      if (at_ == text_.size()) return corrupt(text_);
    }
    return out;
  }

 private:
  Result<Change> one() {
    std::size_t colon = at_;
    while (colon < text_.size() && text_[colon] != ':' && text_[colon] != ',') ++colon;
    if (colon == text_.size() || text_[colon] != ':') return corrupt(text_);
    Change change;
    change.kind = kind_of(text_.substr(at_, colon - at_));
    at_ = colon + 1;
    if (at_ < text_.size() && text_[at_] == '"') {
      DIL_TRY(change.schema_name, quoted());
      if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        if (at_ == text_.size() || text_[at_] != '"') return corrupt(text_);
        DIL_TRY(change.name, quoted());
      }
      return change;
    }
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    auto [end, ec] = std::from_chars(first, last, change.id);
    if (ec != std::errc() || change.id < 0) {
      if (change.kind != ChangeKind::kOther) return corrupt(text_);
      // A later version's word may carry something else: step over it up to the next comma.
      change.id = -1;
      while (at_ < text_.size() && text_[at_] != ',') ++at_;
      return change;
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return change;
  }

  Result<std::string> quoted() {
    std::string out;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        out.push_back(text_[at_]);
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        out.push_back('"');
        ++at_;
      } else {
        ++at_;
        return out;
      }
    }
    return corrupt(text_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Change>> parse_changes(std::string_view text) { return Parser(text).run(); }

std::string changes_text(std::span<const Change> changes) {
  std::string out;
  for (const Change& change : changes) {
    if (!out.empty()) out.push_back(',');
    const auto word = std::find_if(kWords.begin(), kWords.end(),
                                   [&](const Word& w) { return w.kind == change.kind; });
    if (word == kWords.end()) continue;
    out.append(word->text).push_back(':');
    if (change.id >= 0) {
      out.append(std::to_string(change.id));
      continue;
    }
    append_quoted(change.schema_name, out);
    if (change.kind == ChangeKind::kCreatedSchema) continue;
    out.push_back('.');
    append_quoted(change.name, out);
  }
  return out;
}

}  // namespace duckicelake::ducklake
