// SPDX-License-Identifier: Apache-2.0
#include "rest/route_table.h"

#include <algorithm>
#include <vector>

#include "net/url.h"

namespace duckicelake::rest {
namespace {

enum class SegmentKind : std::uint8_t { kLiteral, kPrefix, kNamespace, kName };

struct Segment {
  SegmentKind kind;
  std::string_view text;
};

// A path template and the routes on it.
struct Pattern {
  std::string_view path;
  std::vector<Segment> segments;
  std::vector<RouteId> ids;
};

SegmentKind kind_of(std::string_view segment) {
  if (!segment.starts_with('{')) return SegmentKind::kLiteral;
  if (segment == "{prefix}") return SegmentKind::kPrefix;
  if (segment == "{namespace}") return SegmentKind::kNamespace;
  DIL_ASSERT(segment == "{table}" || segment == "{view}" || segment == "{function}" ||
             segment == "{role}" || segment == "{principal}" || segment == "{client}" ||
             segment == "{catalog}");
  return SegmentKind::kName;
}

std::vector<Pattern> make_patterns() {
  std::vector<Pattern> out;
  const std::span<const Route> all = routes();
  DIL_ASSERT(all.size() < kNoRoute);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto known = std::find_if(out.begin(), out.end(),
                              [&](const Pattern& p) { return p.path == all[i].path; });
    if (known == out.end()) {
      Pattern pattern{all[i].path, {}, {}};
      const std::optional<RawPath> split = split_path(pattern.path);
      DIL_ASSERT(split.has_value());
      for (std::size_t s = 0; s < split->count; ++s) {
        pattern.segments.push_back({kind_of(split->segments[s]), split->segments[s]});
      }
      known = out.insert(out.end(), std::move(pattern));
    }
    known->ids.push_back(static_cast<RouteId>(i));
  }
  return out;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = make_patterns();
  return all;
}

// Literals may come encoded as well ("%6Eamespaces"): it is the same path (RFC 3986 §6.2.2.2).
bool reads(std::string_view raw, std::string_view literal) {
  if (raw == literal) return true;
  if (raw.find('%') == std::string_view::npos || raw.size() > 3 * literal.size()) return false;
  const Result<std::string> decoded = net::decode_segment(raw);
  return decoded.has_value() && *decoded == literal;
}

bool matches(const Pattern& pattern, const RawPath& path, PathParameters& parameters) {
  if (pattern.segments.size() != path.count) return false;
  for (std::size_t i = 0; i < path.count; ++i) {
    if (pattern.segments[i].kind == SegmentKind::kLiteral &&
        !reads(path.segments[i], pattern.segments[i].text)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < path.count; ++i) {
    switch (pattern.segments[i].kind) {
      case SegmentKind::kLiteral: break;
      case SegmentKind::kPrefix: parameters.prefix = path.segments[i]; break;
      case SegmentKind::kNamespace: parameters.space = path.segments[i]; break;
      case SegmentKind::kName: parameters.name = path.segments[i]; break;
    }
  }
  return true;
}

std::optional<RouteId> route_for(const Pattern& pattern, net::Method method) {
  for (RouteId id : pattern.ids) {
    if (routes()[id].method == method) return id;
  }
  if (method == net::Method::kHead) return route_for(pattern, net::Method::kGet);
  return std::nullopt;
}

template <class Predicate>
std::string method_list(Predicate is_allowed) {
  std::string out;
  for (net::Method method : {net::Method::kGet, net::Method::kHead, net::Method::kPost,
                             net::Method::kPut, net::Method::kDelete, net::Method::kPatch}) {
    if (!is_allowed(method)) continue;
    if (!out.empty()) out.append(", ");
    out.append(method_name(method));
  }
  return out;
}

}  // namespace

RouteMatch match_route(net::Method method, const RawPath& path) {
  RouteMatch out;
  for (const Pattern& pattern : patterns()) {
    if (!matches(pattern, path, out.parameters)) continue;
    out.is_path_known = true;
    out.id = route_for(pattern, method).value_or(kNoRoute);
    return out;
  }
  return out;
}

std::string allowed_methods(const RawPath& path) {
  PathParameters ignored;
  for (const Pattern& pattern : patterns()) {
    if (!matches(pattern, path, ignored)) continue;
    return method_list([&](net::Method method) { return route_for(pattern, method).has_value(); });
  }
  return {};
}

std::string allowed_methods() {
  return method_list([](net::Method method) {
    return std::ranges::any_of(
        patterns(), [&](const Pattern& pattern) { return route_for(pattern, method).has_value(); });
  });
}

std::size_t route_count() { return routes().size(); }

std::string_view route_path(RouteId id) {
  return id < routes().size() ? routes()[id].path : std::string_view("unknown");
}

net::Method route_method(RouteId id) {
  return id < routes().size() ? routes()[id].method : net::Method::kOther;
}

std::string_view method_name(net::Method method) {
  switch (method) {
    case net::Method::kGet: return "GET";
    case net::Method::kHead: return "HEAD";
    case net::Method::kPost: return "POST";
    case net::Method::kPut: return "PUT";
    case net::Method::kDelete: return "DELETE";
    case net::Method::kPatch: return "PATCH";
    case net::Method::kOptions: return "OPTIONS";
    case net::Method::kTrace: return "TRACE";
    case net::Method::kOther: break;
  }
  return "OTHER";
}

}  // namespace duckicelake::rest
