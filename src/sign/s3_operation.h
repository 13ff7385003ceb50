// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sign/sigv4.h"

// What an S3 request would do, to whom: read off before anybody signs it. Pure. Only requests that
// are understood whole have a meaning here; each query parameter and each x-amz- header has to be
// one that is known not to name another object, another version, a grant or a configuration.
namespace duckicelake::sign {

enum class S3Verb {
  kGet,  // and GET of a part
  kHead,
  kPut,           // PutObject
  kCopy,          // CopyObject: `source` is read
  kStartUpload,   // CreateMultipartUpload
  kPutPart,       // UploadPart
  kCopyPart,      // UploadPartCopy: `source` is read
  kFinishUpload,  // CompleteMultipartUpload
  kAbortUpload,
  kListParts,
  kList,  // ListObjects, versions 1 and 2: `key` is the prefix
  kDelete,
  kDeleteMany,  // DeleteObjects: the keys are in the body
};
std::string_view verb_name(S3Verb verb);  // "GetObject", …; for audit and metrics
bool is_write(S3Verb verb);               // including deletes and what belongs to uploads

struct S3Operation {
  S3Verb verb = S3Verb::kGet;
  std::string bucket;
  std::string key;                    // decoded; of kList: the prefix; of kDeleteMany: empty
  std::optional<std::string> source;  // key of the object that is copied, of the same bucket
};

// Where the bucket's objects are: the authority "host[:port]" of the endpoint, and whether the
// bucket may also stand in the host name ("bucket.host").
struct S3Place {
  std::string authority;
  std::string path;  // of the endpoint: "" or "/base"
  std::string bucket;
};

struct S3Request {
  std::string method;
  std::string host;              // of the URI, or the Host header
  std::string path;              // decoded once, beginning with '/'
  std::vector<Parameter> query;  // decoded; without those of a presigned URL
  std::vector<Header> headers;   // any case
};

// kPermissionDenied, with the reason, for everything that is not understood, and for keys that
// stores may read in more than one way (empty and dotted segments, '\', control characters, not
// UTF-8).
Result<S3Operation> read_operation(const S3Request& request, const S3Place& place);

// The keys of a DeleteObjects body, at most 1000. kPermissionDenied for anything that is no such
// body: other elements, versions, entities, text where none belongs.
Result<std::vector<std::string>> read_delete_keys(std::string_view xml);

}  // namespace duckicelake::sign
