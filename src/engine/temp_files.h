// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace duckicelake::engine {

// A private folder (mode 0700) that goes with everything in it when this dies. Thread-safe.
class TempFolder {
 public:
  static Result<std::unique_ptr<TempFolder>> make(const std::string& parent);
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  const std::string& path() const { return path_; }
  // A path in the folder that was not handed out before; nothing is created.
  std::string next_file(const std::string& suffix);

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::atomic<std::uint64_t> counter_{0};
};

// Removes one file when it dies.
class ScopedFile {
 public:
  explicit ScopedFile(std::string path) : path_(std::move(path)) {}
  ScopedFile(const ScopedFile&) = delete;
  ScopedFile& operator=(const ScopedFile&) = delete;
  ~ScopedFile();

  const std::string& path() const { return path_; }
  Result<std::string> read_all() const;

 private:
  std::string path_;
};

}  // namespace duckicelake::engine
