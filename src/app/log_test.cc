// SPDX-License-Identifier: Apache-2.0
#include "app/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "app/request_log.h"

namespace duckicelake::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// Everything that was written to a pipe so far; the writer is closed first.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  int writer() const { return ends_[1]; }
  std::string read_all() {
    close_writer();
    std::string out;
    char buffer[4096];
    for (::ssize_t n = 0; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;) {
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  int ends_[2] = {-1, -1};
};

TEST(LogLine, IsOneJsonObjectWhateverItQuotes) {
  const std::string line = format_log_line(LogFormat::kJson, 1'700'000'000'123'456,
                                           LogLevel::kWarning, "a.b", "x\ny\"\xff",
                                           {{"text", std::string_view("t\r\n")},
                                            {"number", std::int64_t{-5}},
                                            {"size", std::uint64_t{18446744073709551615U}},
                                            {"ratio", 0.5},
                                            {"flag", true}});
  EXPECT_EQ(line,
            "{\"ts\":\"2023-11-14T22:13:20.123Z\",\"level\":\"WARNING\",\"logger\":\"a.b\","
            "\"message\":\"x\\ny\\\"\xef\xbf\xbd\",\"text\":\"t\\r\\n\",\"number\":-5,"
            "\"size\":18446744073709551615,\"ratio\":0.5,\"flag\":true}\n");
}

TEST(LogLine, IsOneLineOfTextWhateverItQuotes) {
  const std::string line =
      format_log_line(LogFormat::kText, 1'700'000'000'000'000, LogLevel::kInfo, "a", "all well",
                      {{"plain", std::string_view("v")},
                       {"odd", std::string_view("a b\n\x1b[0m")},
                       {"empty", std::string_view()},
                       {"n", std::int64_t{1}}});
  EXPECT_EQ(line,
            "2023-11-14T22:13:20.000Z INFO a: all well plain=v odd=\"a b\\n\\u001b[0m\" empty=\"\" "
            "n=1\n");
  const std::string injected =
      format_log_line(LogFormat::kText, 0, LogLevel::kInfo, "a", "x\n2023 CRITICAL forged", {});
  EXPECT_EQ(std::count(injected.begin(), injected.end(), '\n'), 1);
}

TEST(Logger, WritesLinesOfTheLevelAndAboveInOrder) {
  Pipe pipe;
  {
    Logger logger(LogLevel::kInfo, LogFormat::kText, pipe.writer());
    logger.log(LogLevel::kDebug, "t", "hidden");
    for (int i = 0; i < 100; ++i) {
      logger.log(LogLevel::kInfo, "t", "line", {{"i", std::int64_t{i}}});
    }
    logger.log_error(LogLevel::kError, "t", "failed", Error(Code::kInternal, "msg", "why"));
    logger.flush();
  }
  const std::string text = pipe.read_all();
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 101);
  EXPECT_LT(text.find(" i=8\n"), text.find(" i=9\n"));
  EXPECT_THAT(text, HasSubstr("ERROR t: failed error=internal detail=msg cause=why\n"));
}

TEST(Logger, DropsAndCountsWhatAStuckReaderDoesNotTake) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string text;
  std::thread reader;
  {
    Logger logger(LogLevel::kInfo, LogFormat::kText, ends[1]);
    const std::string big(std::size_t{1} << 20, 'x');
    // Nobody reads: the pipe fills, then the buffer, and logging returns all the same.
    for (int i = 0; i < 40; ++i) logger.log(LogLevel::kInfo, "t", big);
    reader = std::thread([&] {
      std::string buffer(65536, '\0');
      for (::ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        text.append(buffer, 0, static_cast<std::size_t>(n));
      }
    });
    logger.flush();
  }
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_LT(text.size(), 2 * Logger::kMaxPending + (std::size_t{2} << 20));
  EXPECT_THAT(text.substr(text.size() - 200), HasSubstr("log lines were dropped lines="));
}

TEST(Logger, TakesLinesFromManyThreads) {
  Pipe pipe;
  {
    Logger logger(LogLevel::kInfo, LogFormat::kJson, pipe.writer());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) logger.log(LogLevel::kInfo, "t", "m");
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::string text = pipe.read_all();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 200);
}

TEST(RequestLog, WritesAccessAtItsLevelAndFailuresWithTheirCause) {
  for (const AccessLog access : {AccessLog::kOff, AccessLog::kDebug, AccessLog::kInfo}) {
    Pipe pipe;
    RequestMetrics metrics;
    {
      Logger logger(LogLevel::kInfo, LogFormat::kText, pipe.writer());
      RequestLog log(logger, metrics, access);
      rest::RequestRecord record;
      record.status = 200;
      record.request_id = "id-1";
      record.target = "/x";
      log.on_request(record);
      record.status = 500;
      record.request_id = "id-2";
      record.message = "went wrong";
      record.cause = "because";
      record.error = Code::kInternal;
      log.on_request(record);
    }
    const std::string text = pipe.read_all();
    EXPECT_EQ(text.find("request_id=id-1") != std::string::npos, access == AccessLog::kInfo);
    EXPECT_THAT(text, HasSubstr("ERROR duckicelake.request: went wrong request_id=id-2"));
    EXPECT_THAT(text, HasSubstr("cause=because"));
  }
}

}  // namespace
}  // namespace duckicelake::app
