// SPDX-License-Identifier: Apache-2.0
#include "net/socket_watch.h"

#include <fcntl.h>

#include <array>
#include <atomic>
#include <future>

#include "net/test_client.h"

namespace duckicelake::net::testing {
namespace {

// Two ends of a stream, non-blocking.
class Ends {
 public:
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds_.data()), 0); }
  ~Ends() {
    ::close(fds_[0]);
    ::close(fds_[1]);
  }
  int watched() const { return fds_[0]; }
  void send(std::string_view text) const {
    EXPECT_EQ(::write(fds_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void shut() const { EXPECT_EQ(::shutdown(fds_[1], SHUT_RDWR), 0); }

 private:
  std::array<int, 2> fds_{};
};

class Listener : public SocketListener {
 public:
  void on_ready() override {
    ++ready;
    if (when_ready) when_ready();
  }
  void on_deadline() override { ++deadlines; }
  void on_end() override { ++ends; }

  std::function<void()> when_ready;
  std::atomic<int> ready{0};
  std::atomic<int> deadlines{0};
  std::atomic<int> ends{0};
};

class SocketWatchTest : public ServerTest {
 protected:
  // Runs the function on the I/O thread and waits for it.
  void on_thread(const std::function<void()>& function) {
    std::promise<void> done;
    ASSERT_TRUE(server_->post(0, [&] {
      function();
      done.set_value();
    }));
    done.get_future().wait();
  }
  void watch(SocketWatch::Wait events = SocketWatch::Wait::kRead) {
    on_thread([&] {
      watch_ = SocketWatch::make(ends_.watched(), listener_);
      ASSERT_NE(watch_, nullptr);
      watch_->wait(events);
    });
  }
  // Whatever is under way on the I/O thread is over afterwards.
  void settle() {
    for (int i = 0; i < 5; ++i) on_thread([] {});
  }

  Ends ends_;
  Listener listener_;
  std::unique_ptr<SocketWatch> watch_;
};

TEST_F(SocketWatchTest, TellsOnceForEachWaitAlsoWhatIsUnread) {
  start();
  watch();
  settle();
  EXPECT_EQ(listener_.ready, 0);
  ends_.send("ab");
  EXPECT_TRUE(eventually([&] { return listener_.ready == 1; }));
  ends_.send("c");
  settle();
  EXPECT_EQ(listener_.ready, 1);
  // Nobody has read: the next wait ends at once, and two waits are one.
  on_thread([&] {
    watch_->wait(SocketWatch::Wait::kRead);
    watch_->wait(SocketWatch::Wait::kRead);
  });
  EXPECT_TRUE(eventually([&] { return listener_.ready == 2; }));
  settle();
  EXPECT_EQ(listener_.ready, 2);
  on_thread([&] { watch_.reset(); });
}

TEST_F(SocketWatchTest, TellsOfRoomToWriteWhenAsked) {
  start();
  watch(SocketWatch::Wait::kReadOrWrite);
  EXPECT_TRUE(eventually([&] { return listener_.ready == 1; }));
  on_thread([&] { watch_.reset(); });
}

TEST_F(SocketWatchTest, TellsOfTheOtherSidesEnd) {
  start();
  watch();
  ends_.shut();
  EXPECT_TRUE(eventually([&] { return listener_.ready == 1; }));
  on_thread([&] { watch_.reset(); });
}

TEST_F(SocketWatchTest, MayEndInsideItsOwnCall) {
  start();
  listener_.when_ready = [&] { watch_.reset(); };
  watch(SocketWatch::Wait::kReadOrWrite);
  ends_.send("x");
  EXPECT_TRUE(eventually([&] { return listener_.ready == 1; }));
  settle();
  EXPECT_EQ(listener_.ready, 1);
  EXPECT_EQ(watch_, nullptr);
}

TEST_F(SocketWatchTest, TellsNothingAfterItsEndAndLeavesTheSocketOpen) {
  start();
  watch();
  on_thread([&] {
    ends_.send("x");
    watch_.reset();
  });
  settle();
  EXPECT_EQ(listener_.ready, 0);
  EXPECT_NE(fcntl(ends_.watched(), F_GETFD), -1);
  watch();  // it can be watched again
  EXPECT_TRUE(eventually([&] { return listener_.ready == 1; }));
  on_thread([&] { watch_.reset(); });
}

TEST_F(SocketWatchTest, TellsOfItsDeadlineOnce) {
  start();
  watch();
  on_thread([&] { watch_->set_deadline(std::chrono::steady_clock::now() + 20ms); });
  EXPECT_TRUE(eventually([&] { return listener_.deadlines == 1; }));
  std::this_thread::sleep_for(600ms);
  EXPECT_EQ(listener_.deadlines, 1);
  on_thread([&] {
    watch_->set_deadline(std::chrono::steady_clock::now() + 20ms);
    watch_->set_deadline(std::chrono::steady_clock::time_point::max());
  });
  std::this_thread::sleep_for(600ms);
  EXPECT_EQ(listener_.deadlines, 1);
  on_thread([&] { watch_.reset(); });
}

TEST_F(SocketWatchTest, TellsOfTheServersEnd) {
  start();
  watch();
  server_->drain(1s);
  EXPECT_EQ(listener_.ends, 1);
  EXPECT_NE(fcntl(ends_.watched(), F_GETFD), -1);
  watch_->wait(SocketWatch::Wait::kRead);
  watch_.reset();
  EXPECT_EQ(listener_.ready, 0);
}

TEST_F(SocketWatchTest, IsForIoThreadsAndOpenSocketsOnly) {
  EXPECT_EQ(SocketWatch::make(ends_.watched(), listener_), nullptr);
  start();
  on_thread([&] { EXPECT_EQ(SocketWatch::make(-1, listener_), nullptr); });
}

}  // namespace
}  // namespace duckicelake::net::testing
