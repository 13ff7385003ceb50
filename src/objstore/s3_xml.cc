// SPDX-License-Identifier: Apache-2.0
#include "objstore/s3_xml.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "base/bytes.h"
#include "sign/uri.h"

namespace duckicelake::objstore {
namespace {

constexpr unsigned kParseFlags = pugi::parse_escapes;
constexpr std::size_t kMaxErrorMessage = 300;
constexpr std::size_t kMaxToken = 4096;

Error corrupt(std::string_view what) {
  return make_error(Code::kCorruptData, "the object store sent a malformed {}", what);
}

// Element names are compared without a namespace prefix.
std::string_view local_name(const pugi::xml_node& node) {
  std::string_view name = node.name();
  std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

pugi::xml_node child(const pugi::xml_node& node, std::string_view name) {
  for (pugi::xml_node c : node.children()) {
    if (local_name(c) == name) return c;
  }
  return {};
}

std::string_view text(const pugi::xml_node& node, std::string_view name) {
  return child(node, name).child_value();
}

// The root element, if it is called `name`.
Result<pugi::xml_node> load(pugi::xml_document& document, std::string_view body,
                            std::string_view name, std::string_view what) {
  if (body.size() > kMaxXmlBytes) return corrupt(what);
  if (!document.load_buffer(body.data(), body.size(), kParseFlags, pugi::encoding_utf8)) {
    return corrupt(what);
  }
  pugi::xml_node root = document.document_element();
  if (local_name(root) != name) return corrupt(what);
  return root;
}

ServiceError read_error(const pugi::xml_node& error) {
  ServiceError out;
  std::string_view code = text(error, "Code");
  bool is_plain = std::all_of(code.begin(), code.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (is_plain && code.size() <= 64) out.code = code;
  out.message = text(error, "Message").substr(0, kMaxErrorMessage);
  std::replace_if(
      out.message.begin(), out.message.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

// In listings '+' is a space (form encoding), and a plus sign comes as %2B.
Result<std::string> decode_key(std::string_view text, bool is_url_encoded) {
  if (!is_url_encoded) return std::string(text);
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '+', ' ');
  return sign::uri_decode(plain);
}

std::string without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

Result<ObjectInfo> read_object(const pugi::xml_node& contents, bool is_url_encoded) {
  ObjectInfo out;
  auto key = decode_key(text(contents, "Key"), is_url_encoded);
  if (!key.has_value() || key->empty()) return corrupt("listing");
  out.key = std::move(*key);
  std::string_view size = text(contents, "Size");
  auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), out.size);
  if (error != std::errc() || end != size.data() + size.size()) return corrupt("listing");
  out.etag = without_quotes(text(contents, "ETag"));
  auto modified = parse_iso_time(text(contents, "LastModified"));
  if (!modified.has_value()) return corrupt("listing");
  out.last_modified = *modified;
  return out;
}

void append_escaped(std::string& out, std::string_view text) {
  for (char c : text) {
    switch (c) {
      case '&': out.append("&amp;"); break;
      case '<': out.append("&lt;"); break;
      case '>': out.append("&gt;"); break;
      case '"': out.append("&quot;"); break;
      default: out.push_back(c);
    }
  }
}

void wipe(std::string& bytes) {
  volatile char* at = bytes.data();
  for (std::size_t i = 0; i < bytes.size(); ++i) at[i] = 0;
}

Result<AssumedRole> read_assumed_role(const pugi::xml_node& root) {
  pugi::xml_node credentials = child(child(root, "AssumeRoleResult"), "Credentials");
  AssumedRole out;
  out.access_key = text(credentials, "AccessKeyId");
  out.secret_key = Secret(std::string(text(credentials, "SecretAccessKey")));
  out.session_token = Secret(std::string(text(credentials, "SessionToken")));
  if (out.access_key.empty() || out.secret_key.empty() || out.session_token.empty()) {
    return corrupt("AssumeRole answer");
  }
  auto expiration = parse_iso_time(text(credentials, "Expiration"));
  if (!expiration.has_value()) return corrupt("AssumeRole answer");
  out.expiration = *expiration;
  return out;
}

}  // namespace

ServiceError parse_error(std::string_view body) {
  if (body.size() > kMaxXmlBytes) return {};
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size(), kParseFlags, pugi::encoding_utf8)) return {};
  pugi::xml_node root = document.document_element();
  if (local_name(root) == "Error") return read_error(root);
  if (local_name(root) == "ErrorResponse") return read_error(child(root, "Error"));
  return {};
}

Result<ListPage> parse_list(std::string_view body) {
  pugi::xml_document document;
  DIL_TRY(pugi::xml_node root, load(document, body, "ListBucketResult", "listing"));
  bool is_url_encoded = text(root, "EncodingType") == "url";
  ListPage page;
  for (pugi::xml_node node : root.children()) {
    if (local_name(node) != "Contents") continue;
    if (page.objects.size() == kMaxListPage) return corrupt("listing");
    DIL_TRY(ObjectInfo object, read_object(node, is_url_encoded));
    page.objects.push_back(std::move(object));
  }
  std::string_view truncated = text(root, "IsTruncated");
  if (truncated == "true") {
    std::string_view token = text(root, "NextContinuationToken");
    if (token.empty() || token.size() > kMaxToken) return corrupt("listing");
    page.continuation = std::string(token);
  } else if (truncated != "false") {
    return corrupt("listing");
  }
  return page;
}

Result<std::vector<DeleteFailure>> parse_delete_result(std::string_view body) {
  pugi::xml_document document;
  DIL_TRY(pugi::xml_node root, load(document, body, "DeleteResult", "delete answer"));
  std::vector<DeleteFailure> out;
  for (pugi::xml_node node : root.children()) {
    if (local_name(node) != "Error") continue;
    out.push_back({std::string(text(node, "Key")), read_error(node)});
  }
  return out;
}

Result<std::string> parse_upload_id(std::string_view body) {
  pugi::xml_document document;
  DIL_TRY(pugi::xml_node root,
          load(document, body, "InitiateMultipartUploadResult", "multipart answer"));
  std::string_view id = text(root, "UploadId");
  if (id.empty() || id.size() > kMaxToken) return corrupt("multipart answer");
  return std::string(id);
}

Result<ServiceError> parse_complete_upload(std::string_view body) {
  ServiceError error = parse_error(body);
  if (!error.code.empty()) return error;
  pugi::xml_document document;
  auto root = load(document, body, "CompleteMultipartUploadResult", "multipart answer");
  if (!root.has_value()) return std::move(root).error();
  return ServiceError{};
}

Result<AssumedRole> parse_assume_role(std::string body) {
  // In place: pugixml makes no second copy of the keys that nobody would wipe.
  pugi::xml_document document;
  Result<AssumedRole> out = corrupt("AssumeRole answer");
  if (body.size() <= kMaxXmlBytes &&
      document.load_buffer_inplace(body.data(), body.size(), kParseFlags, pugi::encoding_utf8)) {
    pugi::xml_node root = document.document_element();
    if (local_name(root) == "AssumeRoleResponse") out = read_assumed_role(root);
  }
  wipe(body);
  return out;
}

bool fits_in_xml(std::string_view key) {
  if (!is_valid_utf8(key)) return false;
  bool has_control = std::any_of(key.begin(), key.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  // U+FFFE and U+FFFF are no XML characters.
  return !has_control && key.find("\xef\xbf\xbe") == std::string_view::npos &&
         key.find("\xef\xbf\xbf") == std::string_view::npos;
}

std::string delete_objects_body(const std::vector<std::string_view>& keys) {
  std::string out = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (std::string_view key : keys) {
    out.append("<Object><Key>");
    append_escaped(out, key);
    out.append("</Key></Object>");
  }
  return out.append("</Delete>");
}

std::string complete_upload_body(const std::vector<std::string>& etags) {
  std::string out = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    out.append("<Part><PartNumber>").append(std::to_string(i + 1)).append("</PartNumber><ETag>");
    append_escaped(out, etags[i]);
    out.append("</ETag></Part>");
  }
  return out.append("</CompleteMultipartUpload>");
}

std::string create_bucket_body(std::string_view region) {
  // us-east-1 is the default and may not be named.
  if (region.empty() || region == "us-east-1") return {};
  std::string out =
      "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<LocationConstraint>";
  append_escaped(out, region);
  return out.append("</LocationConstraint></CreateBucketConfiguration>");
}

Result<std::chrono::sys_seconds> parse_iso_time(std::string_view text) {
  const Error bad = invalid_argument("not an ISO 8601 UTC time");
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kShape.size() + 1 || text.size() > 64 || text.back() != 'Z') return bad;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    bool fits = kShape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kShape[i];
    if (!fits) return bad;
  }
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  if (!fraction.empty() &&
      (fraction.size() < 2 || fraction.front() != '.' ||
       fraction.find_first_not_of("0123456789", 1) != std::string_view::npos)) {
    return bad;
  }
  auto number = [&](std::size_t at, std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + (text[at + i] - '0');
    return value;
  };
  std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                   std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                   std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  int hour = number(11, 2);
  int minute = number(14, 2);
  int second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return bad;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

}  // namespace duckicelake::objstore
