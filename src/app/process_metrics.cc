// SPDX-License-Identifier: Apache-2.0
#include "app/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/settings_sources.h"
#include "app/version.h"

namespace duckicelake::app {
namespace {

// Fields of /proc/self/stat behind the program's name, which may hold blanks; [0] is field 3 of
// proc(5).
std::vector<std::uint64_t> stat_fields(std::string_view text) {
  std::vector<std::uint64_t> out;
  text = text.substr(std::min(text.size(), text.rfind(')') + 1));
  while (!text.empty()) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text = text.substr(std::min(text.size(), word.size() + 1));
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    out.push_back(value);
  }
  return out;
}

// Seconds since the epoch at which the system started.
std::optional<double> boot_time() {
  const Result<std::string> text = read_small_file("/proc/stat");
  if (!text) return std::nullopt;
  const std::size_t at = text->find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t seconds = 0;
  const char* digits = text->data() + at + 7;
  if (std::from_chars(digits, text->data() + text->size(), seconds).ec != std::errc()) {
    return std::nullopt;
  }
  return static_cast<double>(seconds);
}

}  // namespace

void write_process_metrics(MetricsText& out) {
  if (const Result<std::string> text = read_small_file("/proc/self/stat")) {
    const std::vector<std::uint64_t> fields = stat_fields(*text);
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    constexpr std::size_t kUser = 11, kSystem = 12, kThreads = 17, kStart = 19, kVirtual = 20,
                          kResident = 21;
    if (fields.size() > kResident) {
      out.family("process_cpu_seconds_total", "counter", "User and system time");
      out.sample(static_cast<double>(fields[kUser] + fields[kSystem]) / ticks);
      out.gauge("process_resident_memory_bytes", "Resident memory",
                static_cast<double>(fields[kResident]) * page);
      out.gauge("process_virtual_memory_bytes", "Virtual memory",
                static_cast<double>(fields[kVirtual]));
      out.gauge("process_threads", "Threads", static_cast<double>(fields[kThreads]));
      if (const std::optional<double> boot = boot_time()) {
        out.gauge("process_start_time_seconds", "Start, in seconds since the epoch",
                  *boot + static_cast<double>(fields[kStart]) / ticks);
      }
    }
  }
  std::error_code failure;
  double open = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", failure);
       !failure && it != std::filesystem::directory_iterator(); it.increment(failure)) {
    ++open;
  }
  if (!failure) out.gauge("process_open_fds", "Open file descriptors", open);
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.gauge("process_max_fds", "Open file descriptors at most",
              static_cast<double>(limit.rlim_cur));
  }
  out.gauge("duckicelake_build_info", "Always 1; the labels tell", 1,
            {{"version", kVersion}, {"compiler", kCompiler}});
}

}  // namespace duckicelake::app
