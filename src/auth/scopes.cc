// SPDX-License-Identifier: Apache-2.0
#include "auth/scopes.h"

#include <algorithm>
#include <optional>

namespace duckicelake::auth {
namespace {

constexpr char kLevelSeparator = '\x1F';

std::optional<Right> right_of(std::string_view text) {
  if (text == "r") return Right::kRead;
  if (text == "w") return Right::kWrite;
  if (text == "rw" || text == "*") return Right::kReadWrite;
  return std::nullopt;
}

std::string_view right_name(Right right) {
  switch (right) {
    case Right::kRead: return "r";
    case Right::kWrite: return "w";
    case Right::kReadWrite: return "rw";
    case Right::kNone: break;
  }
  return "";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// RFC 6749 §3.3 (scope-token), less the characters that the grammar itself uses.
bool is_plain(char c) {
  return c > ' ' && c < '\x7F' && c != '"' && c != '\\' && c != ':' && c != '%';
}

std::optional<Levels> name_of(std::string_view text) {
  Levels out(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ':') return std::nullopt;
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == kLevelSeparator) {
      out.emplace_back();
    } else {
      out.back().push_back(c);
    }
  }
  const bool has_empty =
      std::any_of(out.begin(), out.end(), [](const auto& l) { return l.empty(); });
  if (has_empty) return std::nullopt;
  return out;
}

struct Word {
  enum class Kind : std::uint8_t { kSuperuser, kBroker, kEverywhere, kNamed };
  Kind kind;
  Right right = Right::kNone;
  Levels levels = {};
};

std::optional<Word> parse_word(std::string_view word) {
  if (word == "*" || word == "*:*:*") return Word{Word::Kind::kSuperuser};
  if (word == "broker") return Word{Word::Kind::kBroker};
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<Right> right = right_of(word.substr(colon + 1));
  if (!right) return std::nullopt;
  std::string_view name = word.substr(0, colon);
  if (name == "*" || name == "ns:*") return Word{Word::Kind::kEverywhere, *right};
  if (name.starts_with("ns:")) name.remove_prefix(3);
  std::optional<Levels> levels = name_of(name);
  if (!levels) return std::nullopt;
  return Word{Word::Kind::kNamed, *right, std::move(*levels)};
}

bool is_at_or_below(const Levels& levels, const Levels& parent) {
  return levels.size() >= parent.size() && std::equal(parent.begin(), parent.end(), levels.begin());
}

}  // namespace

ScopeSet ScopeSet::superuser() {
  ScopeSet out;
  out.is_superuser_ = true;
  out.everywhere_ = Right::kReadWrite;
  return out;
}

bool ScopeSet::is_known_word(std::string_view word) { return parse_word(word).has_value(); }

Result<ScopeSet> ScopeSet::parse(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return invalid_argument("the scope is longer than {} bytes", kMaxBytes);
  }
  ScopeSet out;
  std::size_t words = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (++words > kMaxWords) return invalid_argument("the scope has more than {} words", kMaxWords);
    std::optional<Word> parsed = parse_word(word);
    if (!parsed) continue;
    switch (parsed->kind) {
      case Word::Kind::kSuperuser: out.is_superuser_ = true; break;
      case Word::Kind::kBroker: out.is_broker_ = true; break;
      case Word::Kind::kEverywhere: out.everywhere_ = out.everywhere_ | parsed->right; break;
      case Word::Kind::kNamed: out.add(std::move(parsed->levels), parsed->right); break;
    }
  }
  if (out.is_superuser_) return superuser();
  out.normalise();
  return out;
}

void ScopeSet::add(Levels levels, Right right) {
  const auto at = std::lower_bound(named_.begin(), named_.end(), levels,
                                   [](const auto& n, const Levels& l) { return n.first < l; });
  if (at != named_.end() && at->first == levels) {
    at->second = at->second | right;
  } else {
    named_.emplace(at, std::move(levels), right);
  }
}

// Leaves each name only what it has beyond the rights everywhere.
void ScopeSet::normalise() {
  for (auto& [levels, right] : named_) {
    right = static_cast<Right>(static_cast<unsigned>(right) & ~static_cast<unsigned>(everywhere_));
  }
  std::erase_if(named_, [](const auto& n) { return n.second == Right::kNone; });
}

bool ScopeSet::empty() const {
  return !is_superuser_ && !is_broker_ && everywhere_ == Right::kNone && named_.empty();
}

Right ScopeSet::rights_in(const Levels& levels) const {
  if (named_.empty()) return everywhere_;
  const auto at = std::lower_bound(named_.begin(), named_.end(), levels,
                                   [](const auto& n, const Levels& l) { return n.first < l; });
  if (at == named_.end() || at->first != levels) return everywhere_;
  return everywhere_ | at->second;
}

Right ScopeSet::rights_at_or_below(const Levels& parent) const {
  Right out = everywhere_;
  for (const auto& [levels, right] : named_) {
    if (is_at_or_below(levels, parent)) out = out | right;
  }
  return out;
}

ScopeSet ScopeSet::narrowed_by(const ScopeSet& other) const {
  if (is_superuser_) return other;
  if (other.is_superuser_) return *this;
  ScopeSet out;
  out.is_broker_ = is_broker_ && other.is_broker_;
  out.everywhere_ = everywhere_ & other.everywhere_;
  const auto add_named = [&](const ScopeSet& from) {
    for (const auto& [levels, right] : from.named_) {
      const Right both = rights_in(levels) & other.rights_in(levels);
      if (both != Right::kNone) out.add(levels, both);
    }
  };
  add_named(*this);
  add_named(other);
  out.normalise();
  return out;
}

std::string ScopeSet::to_text() const {
  if (is_superuser_) return "*:*:*";
  std::string out;
  const auto word = [&](const std::string& name, Right right) {
    if (!out.empty()) out.push_back(' ');
    out.append(name).append(":").append(right_name(right));
  };
  if (is_broker_) out.append("broker");
  if (everywhere_ != Right::kNone) word("*", everywhere_);
  for (const auto& [levels, right] : named_) word("ns:" + escape_scope_name(levels), right);
  return out;
}

std::string escape_scope_name(const Levels& levels) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  const auto escaped = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4U]);
    out.push_back(kHex[byte & 15U]);
  };
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i > 0) escaped(kLevelSeparator);
    // A namespace that is called "*" is not all of them.
    const bool is_star = levels.size() == 1 && levels[i] == "*";
    for (const char c : levels[i]) {
      if (is_plain(c) && !is_star) {
        out.push_back(c);
      } else {
        escaped(c);
      }
    }
  }
  return out;
}

}  // namespace duckicelake::auth
