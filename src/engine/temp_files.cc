// SPDX-License-Identifier: Apache-2.0
#include "engine/temp_files.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace duckicelake::engine {

Result<std::unique_ptr<TempFolder>> TempFolder::make(const std::string& parent) {
  std::error_code failure;
  std::filesystem::path folder = parent.empty() ? std::filesystem::temp_directory_path(failure)
                                                : std::filesystem::path(parent);
  if (!failure) std::filesystem::create_directories(folder, failure);
  if (failure) {
    return Error(Code::kInternal, "the data engine's temporary folder cannot be made",
                 failure.message());
  }
  std::string path = (folder / "duckicelake-engine-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return Error(Code::kInternal, "the data engine's temporary folder cannot be made",
                 std::strerror(errno));
  }
  return std::unique_ptr<TempFolder>(new TempFolder(std::move(path)));
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::next_file(const std::string& suffix) {
  return fmt::format("{}/{}{}", path_, counter_.fetch_add(1), suffix);
}

ScopedFile::~ScopedFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Result<std::string> ScopedFile::read_all() const {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path_, failure);
  std::ifstream stream(path_, std::ios::binary);
  if (failure || !stream) {
    return Error(Code::kInternal, "a temporary file of the data engine is gone", failure.message());
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.gcount() != static_cast<std::streamsize>(bytes.size())) {
    return make_error(Code::kInternal, "a temporary file of the data engine is short");
  }
  return bytes;
}

}  // namespace duckicelake::engine
