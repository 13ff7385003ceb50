// SPDX-License-Identifier: Apache-2.0
// put_file and get_file: local files in and out without holding them in memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "objstore/s3_errors.h"
#include "objstore/s3_object_store.h"
#include "objstore/s3_xml.h"
#include "objstore/transport.h"
#include "sign/hash.h"

namespace duckicelake::objstore {
namespace {

constexpr std::size_t kMaxParts = 10000;
constexpr std::size_t kHashBuffer = 256U << 10;
// Parts that are hashed and sent as one batch: bounds the time between hashing and sending.
constexpr std::size_t kPartsPerRun = 4;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Error local_error(std::string_view what, const std::string& path) {
  return Error(Code::kInternal, fmt::format("a local file cannot be {}", what),
               fmt::format("{}: {}", path, std::strerror(errno)));
}

Result<std::string> hash_of(const FileSlice& slice) {
  sign::Sha256Stream hash;
  std::string buffer(kHashBuffer, '\0');
  for (std::uint64_t done = 0; done < slice.length;) {
    std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), slice.length - done));
    ssize_t n = ::pread(slice.fd, buffer.data(), wanted, static_cast<off_t>(slice.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error(Code::kInternal, "a local file changed while it was read");
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    done += static_cast<std::uint64_t>(n);
  }
  return to_hex(hash.finish());
}

}  // namespace

Status S3ObjectStore::put_file(std::string_view key, const std::string& path,
                               const PutOptions& options) {
  DIL_CHECK_OK(check_key(key));
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) return local_error("read", path);
  if (!S_ISREG(info.st_mode)) {
    return Error(Code::kInternal, "a local path is not a regular file", path);
  }
  auto size = static_cast<std::uint64_t>(info.st_size);
  return size > config_.multipart_threshold ? put_large_file(key, file.fd(), size, options)
                                            : put_small_file(key, file.fd(), size, options);
}

Status S3ObjectStore::put_small_file(std::string_view key, int fd, std::uint64_t size,
                                     const PutOptions& options) {
  Exchange exchange = put_exchange(key, "", options);
  exchange.file = {fd, 0, size};
  exchange.timeout = config_.file_timeout;
  DIL_TRY(exchange.request.payload_hash, hash_of(exchange.file));
  transport_->run({&exchange, 1}, *signer_);
  return put_status(exchange, key);
}

Status S3ObjectStore::put_large_file(std::string_view key, int fd, std::uint64_t size,
                                     const PutOptions& options) {
  DIL_TRY(std::string upload_id, create_upload(key, options));
  auto etags = put_parts(key, fd, size, upload_id);
  Status done = etags.has_value() ? complete_upload(key, upload_id, *etags, options)
                                  : Status(std::move(etags).error());
  if (!done.has_value()) abort_upload(key, upload_id);
  return done;
}

Result<std::string> S3ObjectStore::create_upload(std::string_view key, const PutOptions& options) {
  Exchange exchange = object_exchange(Operation::kMultipart, "POST", key);
  exchange.request.query = {{"uploads", ""}};
  exchange.request.headers.push_back({"content-type", options.content_type});
  run(exchange);
  if (!exchange.is_ok()) return error_of(exchange, key);
  return parse_upload_id(exchange.response);
}

Result<std::vector<std::string>> S3ObjectStore::put_parts(std::string_view key, int fd,
                                                          std::uint64_t size,
                                                          const std::string& upload_id) {
  std::uint64_t part_size = std::max(config_.part_size, (size + kMaxParts - 1) / kMaxParts);
  std::vector<std::string> etags;
  for (std::uint64_t at = 0; at < size;) {
    std::vector<Exchange> parts;
    for (; at < size && parts.size() < kPartsPerRun; at += part_size) {
      Exchange part = object_exchange(Operation::kMultipart, "PUT", key);
      part.request.query = {{"partNumber", std::to_string(etags.size() + parts.size() + 1)},
                            {"uploadId", upload_id}};
      part.file = {fd, at, std::min(part_size, size - at)};
      part.timeout = config_.file_timeout;
      DIL_TRY(part.request.payload_hash, hash_of(part.file));
      finish_url(part);
      parts.push_back(std::move(part));
    }
    transport_->run(parts, *signer_);
    for (Exchange& part : parts) {
      if (!part.is_ok()) return error_of(part, key);
      if (part.etag.empty()) {
        return Error(Code::kInternal, "the object store gave no ETag for a part");
      }
      etags.push_back("\"" + part.etag + "\"");
    }
  }
  return etags;
}

Status S3ObjectStore::complete_upload(std::string_view key, const std::string& upload_id,
                                      const std::vector<std::string>& etags,
                                      const PutOptions& options) {
  std::string body = complete_upload_body(etags);
  Exchange exchange = object_exchange(Operation::kMultipart, "POST", key);
  exchange.request.query = {{"uploadId", upload_id}};
  exchange.request.headers.push_back({"content-type", "application/xml"});
  if (options.if_none_match_any) exchange.request.headers.push_back({"if-none-match", "*"});
  exchange.request.payload_hash = sign::sha256_hex(body);
  exchange.body = body;
  exchange.timeout = config_.file_timeout;
  // After a success that we did not see, a repetition would fail with NoSuchUpload.
  exchange.resend = Resend::kIfNotApplied;
  run(exchange);
  if (!exchange.is_ok()) {
    Error error = error_of(exchange, key);
    bool is_lost = error.code() == Code::kNotFound || exchange.maybe_applied;
    if (!is_lost) return error;
    return Error(Code::kUnavailable, "the outcome of a write to the object store is unknown",
                 error.cause());
  }
  DIL_TRY(ServiceError refused, parse_complete_upload(exchange.response));
  if (refused.code.empty()) return {};
  if (refused.code == "PreconditionFailed") {
    return make_error(Code::kAlreadyExists, "an object exists at '{}'", key);
  }
  return Error(Code::kUnavailable, "the object store did not complete an upload", refused.code);
}

void S3ObjectStore::abort_upload(std::string_view key, const std::string& upload_id) {
  // Best effort: what it leaves behind is invisible and falls to the bucket's lifecycle rule.
  Exchange exchange = object_exchange(Operation::kMultipart, "DELETE", key);
  exchange.request.query = {{"uploadId", upload_id}};
  run(exchange);
}

Status S3ObjectStore::get_file(std::string_view key, const std::string& path) {
  DIL_CHECK_OK(check_key(key));
  std::string temporary = path + ".XXXXXX";
  File file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.fd() < 0) return local_error("made", temporary);
  Exchange exchange = object_exchange(Operation::kGet, "GET", key);
  exchange.sink_fd = file.fd();
  exchange.timeout = config_.file_timeout;
  run(exchange);
  if (!exchange.is_ok()) {
    ::unlink(temporary.c_str());
    return error_of(exchange, key);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = local_error("renamed", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace duckicelake::objstore
