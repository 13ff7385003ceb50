// SPDX-License-Identifier: Apache-2.0
#include "sign/s3_operation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/bytes.h"
#include "sign/session_policy.h"

namespace duckicelake::sign {
namespace {

Error refused(std::string_view why) { return Error(Code::kPermissionDenied, std::string(why)); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

template <std::size_t N>
bool is_among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Headers that change no more than how bytes travel, or describe the object that is written.
constexpr std::array<std::string_view, 15> kPlainHeaders = {"x-amz-date",
                                                            "x-amz-content-sha256",
                                                            "x-amz-security-token",
                                                            "x-amz-user-agent",
                                                            "x-amz-decoded-content-length",
                                                            "x-amz-trailer",
                                                            "x-amz-te",
                                                            "x-amz-sdk-checksum-algorithm",
                                                            "x-amz-checksum-algorithm",
                                                            "x-amz-checksum-mode",
                                                            "x-amz-checksum-type",
                                                            "x-amz-expected-bucket-owner",
                                                            "x-amz-storage-class",
                                                            "x-amz-server-side-encryption",
                                                            "x-amz-mp-object-size"};
constexpr std::array<std::string_view, 5> kChecksums = {
    "x-amz-checksum-crc32", "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1", "x-amz-checksum-sha256"};
constexpr std::array<std::string_view, 6> kCopyHeaders = {"x-amz-copy-source-range",
                                                          "x-amz-copy-source-if-match",
                                                          "x-amz-copy-source-if-none-match",
                                                          "x-amz-copy-source-if-modified-since",
                                                          "x-amz-copy-source-if-unmodified-since",
                                                          "x-amz-metadata-directive"};

constexpr std::array<std::string_view, 1> kObjectQuery = {"x-id"};
constexpr std::array<std::string_view, 2> kReadQuery = {"x-id", "partNumber"};
constexpr std::array<std::string_view, 2> kStartQuery = {"x-id", "uploads"};
constexpr std::array<std::string_view, 3> kPartQuery = {"x-id", "uploadId", "partNumber"};
constexpr std::array<std::string_view, 2> kUploadQuery = {"x-id", "uploadId"};
constexpr std::array<std::string_view, 5> kPartsQuery = {"x-id", "uploadId", "max-parts",
                                                         "part-number-marker", "encoding-type"};
constexpr std::array<std::string_view, 10> kListQuery = {
    "x-id",   "list-type",          "prefix",      "delimiter",   "max-keys",
    "marker", "continuation-token", "start-after", "fetch-owner", "encoding-type"};
constexpr std::array<std::string_view, 2> kDeleteManyQuery = {"x-id", "delete"};

constexpr std::size_t kMaxDeleteKeys = 1000;
constexpr std::size_t kMaxDeleteBytes = std::size_t{2} << 20;

class Reader {
 public:
  Reader(const S3Request& request, const S3Place& place) : request_(request), place_(place) {}

  Result<S3Operation> read() {
    DIL_CHECK_OK(read_path());
    DIL_CHECK_OK(read_headers());
    for (std::size_t i = 0; i < request_.query.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (request_.query[i].name == request_.query[j].name) {
          return refused("a query parameter is given twice");
        }
      }
    }
    DIL_CHECK_OK(key_.empty() ? read_bucket_operation() : read_object_operation());
    out_.bucket = place_.bucket;
    if (copy_source_ && out_.verb != S3Verb::kCopy && out_.verb != S3Verb::kCopyPart) {
      return refused("x-amz-copy-source without a copy");
    }
    if (has_copy_option_ && !copy_source_) return refused("an option of a copy without a source");
    return std::move(out_);
  }

 private:
  const std::string* parameter(std::string_view name) const {
    for (const Parameter& one : request_.query) {
      if (one.name == name) return &one.value;
    }
    return nullptr;
  }

  template <std::size_t N>
  Status only(const std::array<std::string_view, N>& names) const {
    for (const Parameter& one : request_.query) {
      if (!is_among(one.name, names)) {
        return refused(fmt::format("the query parameter {} is not served",
                                   one.name.size() <= 40 ? one.name : std::string("(long)")));
      }
    }
    return {};
  }

  Status read_path() {
    std::string_view path = request_.path;
    const std::string host = lower(request_.host);
    if (host == place_.authority) {
      const std::string root = place_.path + "/" + place_.bucket;
      if (path == root) {
        path = {};
      } else if (path.starts_with(root + "/")) {
        path.remove_prefix(root.size() + 1);
      } else {
        return refused("the request is for another bucket");
      }
    } else if (host == lower(place_.bucket) + "." + place_.authority) {
      const std::string root = place_.path + "/";
      if (!path.starts_with(root)) return refused("the request is for another place");
      path.remove_prefix(root.size());
    } else {
      return refused("the request is for another host");
    }
    if (path.empty()) return {};
    if (Status plain = check_plain_key(path); !plain) return refused(plain.error().message());
    key_ = path;
    return {};
  }

  Status read_headers() {
    for (const Header& header : request_.headers) {
      const std::string name = lower(header.name);
      if (!name.starts_with("x-amz-")) continue;
      if (name == "x-amz-copy-source") {
        if (copy_source_) return refused("x-amz-copy-source is given twice");
        DIL_TRY(copy_source_, read_source(header.value));
      } else if (is_among(name, kCopyHeaders)) {
        has_copy_option_ = true;
      } else if (!is_among(name, kPlainHeaders) && !is_among(name, kChecksums) &&
                 !name.starts_with("x-amz-meta-")) {
        return refused(fmt::format("the header {} is not served",
                                   name.size() <= 60 ? name : std::string("(long)")));
      }
    }
    return {};
  }

  // "/bucket/key" or "bucket/key", percent-encoded; "?versionId=" behind it names a version.
  Result<std::string> read_source(std::string_view value) const {
    if (value.find('?') != std::string_view::npos) return refused("a copy of a version");
    DIL_TRY(const std::string decoded, decode(value));
    std::string_view path = decoded;
    if (path.starts_with('/')) path.remove_prefix(1);
    const std::string root = place_.bucket + "/";
    // A store might decode it another time, or not at all.
    if (decoded.find_first_of("%?#+") != std::string::npos) {
      return refused("a copy source that can be read in two ways");
    }
    if (!path.starts_with(root)) return refused("a copy from another bucket");
    path.remove_prefix(root.size());
    if (Status plain = check_plain_key(path); !plain) return refused(plain.error().message());
    return std::string(path);
  }

  static Result<std::string> decode(std::string_view text) {
    Result<std::string> out = uri_decode(text);
    if (!out) return refused("malformed percent-encoding");
    return out;
  }

  Status read_object_operation() {
    out_.key = key_;
    const std::string& method = request_.method;
    const bool has_upload = parameter("uploadId") != nullptr;
    if (method == "GET" && has_upload) return become(S3Verb::kListParts, kPartsQuery);
    if (method == "GET") return become(S3Verb::kGet, kReadQuery);
    if (method == "HEAD") return become(S3Verb::kHead, kReadQuery);
    if (method == "PUT" && (has_upload || parameter("partNumber") != nullptr)) {
      if (!has_upload || parameter("partNumber") == nullptr) return refused("half a part");
      out_.source = copy_source_;
      return become(copy_source_ ? S3Verb::kCopyPart : S3Verb::kPutPart, kPartQuery);
    }
    if (method == "PUT") {
      out_.source = copy_source_;
      return become(copy_source_ ? S3Verb::kCopy : S3Verb::kPut, kObjectQuery);
    }
    if (method == "POST" && parameter("uploads") != nullptr) {
      return become(S3Verb::kStartUpload, kStartQuery);
    }
    if (method == "POST" && has_upload) return become(S3Verb::kFinishUpload, kUploadQuery);
    if (method == "DELETE" && has_upload) return become(S3Verb::kAbortUpload, kUploadQuery);
    if (method == "DELETE") return become(S3Verb::kDelete, kObjectQuery);
    return refused("this method is not served on objects");
  }

  Status read_bucket_operation() {
    const std::string& method = request_.method;
    if (method == "POST" && parameter("delete") != nullptr) {
      return become(S3Verb::kDeleteMany, kDeleteManyQuery);
    }
    if (method != "GET") return refused("this method is not served on the bucket");
    const std::string* type = parameter("list-type");
    if (type != nullptr && *type != "2") return refused("a listing of an unknown version");
    const std::string* prefix = parameter("prefix");
    if (prefix == nullptr || prefix->empty()) return refused("a listing without a prefix");
    // The part behind the last '/' may be half a name.
    const std::size_t slash = prefix->rfind('/');
    if (slash == std::string::npos) return refused("a listing of a name's beginning");
    if (Status plain = check_plain_key(std::string_view(*prefix).substr(0, slash)); !plain) {
      return refused(plain.error().message());
    }
    if (slash + 1 < prefix->size()) {
      if (Status plain = check_plain_key(*prefix); !plain) return refused(plain.error().message());
    }
    out_.key = *prefix;
    return become(S3Verb::kList, kListQuery);
  }

  template <std::size_t N>
  Status become(S3Verb verb, const std::array<std::string_view, N>& query) {
    out_.verb = verb;
    return only(query);
  }

  const S3Request& request_;
  const S3Place& place_;
  std::string key_;
  std::optional<std::string> copy_source_;
  bool has_copy_option_ = false;
  S3Operation out_;
};

// A pull reader of the few elements that a DeleteObjects body has.
class DeleteBody {
 public:
  explicit DeleteBody(std::string_view xml) : rest_(xml) {}

  Result<std::vector<std::string>> read() {
    std::vector<std::string> keys;
    skip_blanks();
    if (rest_.starts_with("<?xml")) {
      const std::size_t end = rest_.find("?>");
      if (end == std::string_view::npos) return refused(kMalformed);
      rest_.remove_prefix(end + 2);
    }
    DIL_CHECK_OK(open("Delete"));
    while (true) {
      skip_blanks();
      if (at("</")) break;
      if (at_name("Quiet")) {
        DIL_TRY(const std::string ignored, text_of("Quiet"));
        (void)ignored;
        continue;
      }
      DIL_CHECK_OK(open("Object"));
      skip_blanks();
      DIL_TRY(std::string key, text_of("Key"));
      skip_blanks();
      DIL_CHECK_OK(close("Object"));
      keys.push_back(std::move(key));
      if (keys.size() > kMaxDeleteKeys) return refused("more keys than one request may have");
    }
    DIL_CHECK_OK(close("Delete"));
    skip_blanks();
    if (!rest_.empty() || keys.empty()) return refused(kMalformed);
    return keys;
  }

 private:
  static constexpr std::string_view kMalformed = "the body lists no keys in a form that is known";

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' ||
                              rest_.front() == '\r' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool at(std::string_view text) const { return rest_.starts_with(text); }
  bool at_name(std::string_view name) const {
    return rest_.size() > name.size() + 1 && rest_.front() == '<' &&
           rest_.substr(1).starts_with(name) &&
           (rest_[name.size() + 1] == '>' || rest_[name.size() + 1] == ' ');
  }

  // "<Name>", or with the one namespace that S3 has.
  Status open(std::string_view name) {
    skip_blanks();
    if (!at_name(name)) return refused(kMalformed);
    rest_.remove_prefix(name.size() + 1);
    skip_blanks();
    if (at("xmlns")) {
      constexpr std::string_view kSpaces[] = {R"(xmlns="http://s3.amazonaws.com/doc/2006-03-01/")",
                                              R"(xmlns='http://s3.amazonaws.com/doc/2006-03-01/')"};
      const auto* found = std::find_if(std::begin(kSpaces), std::end(kSpaces),
                                       [&](std::string_view space) { return at(space); });
      if (found == std::end(kSpaces)) return refused(kMalformed);
      rest_.remove_prefix(found->size());
      skip_blanks();
    }
    if (!at(">")) return refused(kMalformed);
    rest_.remove_prefix(1);
    return {};
  }

  Status close(std::string_view name) {
    const std::string text = fmt::format("</{}>", name);
    if (!at(text)) return refused(kMalformed);
    rest_.remove_prefix(text.size());
    return {};
  }

  Result<std::string> text_of(std::string_view name) {
    DIL_CHECK_OK(open(name));
    const std::size_t end = rest_.find('<');
    if (end == std::string_view::npos) return refused(kMalformed);
    DIL_TRY(std::string text, unescape(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    DIL_CHECK_OK(close(name));
    return text;
  }

  static Result<std::string> unescape(std::string_view text) {
    constexpr std::pair<std::string_view, char> kEntities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string out;
    while (!text.empty()) {
      if (text.front() != '&') {
        out.push_back(text.front());
        text.remove_prefix(1);
        continue;
      }
      const auto* found = std::find_if(std::begin(kEntities), std::end(kEntities),
                                       [&](const auto& e) { return text.starts_with(e.first); });
      if (found == std::end(kEntities)) return refused("an entity that is not served");
      out.push_back(found->second);
      text.remove_prefix(found->first.size());
    }
    return out;
  }

  std::string_view rest_;
};

}  // namespace

std::string_view verb_name(S3Verb verb) {
  switch (verb) {
    case S3Verb::kGet: return "GetObject";
    case S3Verb::kHead: return "HeadObject";
    case S3Verb::kPut: return "PutObject";
    case S3Verb::kCopy: return "CopyObject";
    case S3Verb::kStartUpload: return "CreateMultipartUpload";
    case S3Verb::kPutPart: return "UploadPart";
    case S3Verb::kCopyPart: return "UploadPartCopy";
    case S3Verb::kFinishUpload: return "CompleteMultipartUpload";
    case S3Verb::kAbortUpload: return "AbortMultipartUpload";
    case S3Verb::kListParts: return "ListParts";
    case S3Verb::kList: return "ListObjects";
    case S3Verb::kDelete: return "DeleteObject";
    case S3Verb::kDeleteMany: return "DeleteObjects";
  }
  return "unknown";
}

bool is_write(S3Verb verb) {
  return verb != S3Verb::kGet && verb != S3Verb::kHead && verb != S3Verb::kList;
}

Result<S3Operation> read_operation(const S3Request& request, const S3Place& place) {
  if (!request.path.starts_with('/')) return refused("the path does not begin with '/'");
  return Reader(request, place).read();
}

Result<std::vector<std::string>> read_delete_keys(std::string_view xml) {
  if (xml.size() > kMaxDeleteBytes) return refused("the body is too large");
  return DeleteBody(xml).read();
}

}  // namespace duckicelake::sign
