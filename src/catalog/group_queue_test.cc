// SPDX-License-Identifier: Apache-2.0
#include "catalog/group_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

namespace duckicelake::catalog {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const auto kNoWait = [] {};
pg::Deadline in(milliseconds time) { return std::chrono::steady_clock::now() + time; }

// Keeps `queue` busy with a group of one until `open` is called.
class Busy {
 public:
  explicit Busy(GroupQueue<int>& queue) {
    thread_ = std::thread([this, &queue] {
      int own = 0;
      EXPECT_TRUE(queue.join(own, in(seconds(60)), kNoWait, [this](std::span<int* const>) {
        begun_.count_down();
        end_.wait();
      }));
    });
    begun_.wait();
  }
  void open() {
    end_.count_down();
    thread_.join();
  }

 private:
  std::latch begun_{1};
  std::latch end_{1};
  std::thread thread_;
};

TEST(GroupQueue, LeadsALoneMemberByItself) {
  GroupQueue<int> queue(8);
  int own = 1;
  std::size_t size = 0;
  EXPECT_TRUE(queue.join(own, in(seconds(60)), kNoWait, [&](std::span<int* const> group) {
    size = group.size();
    *group[0] = 2;
  }));
  EXPECT_EQ(size, 1U);
  EXPECT_EQ(own, 2);
}

TEST(GroupQueue, TakesThoseThatCameWhileAGroupWasAtWorkTogether) {
  GroupQueue<int> queue(8);
  Busy busy(queue);
  std::atomic<int> groups{0};
  std::atomic<int> joined{0};
  std::vector<std::thread> threads;
  std::vector<int> members(8, 0);
  for (int& member : members) {
    threads.emplace_back([&] {
      ++joined;
      EXPECT_TRUE(queue.join(
          member, in(seconds(60)),
          [&] {  // whoever leads lets all others come
            while (joined < 8) std::this_thread::yield();
            std::this_thread::sleep_for(milliseconds(50));
          },
          [&](std::span<int* const> group) {
            ++groups;
            for (int* item : group) *item = 7;
          }));
    });
  }
  busy.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(members, std::vector<int>(8, 7));
  EXPECT_EQ(groups, 1);
}

TEST(GroupQueue, MakesNoGroupLongerThanItMay) {
  GroupQueue<int> queue(3);
  Busy busy(queue);
  std::atomic<std::size_t> longest{0};
  std::atomic<int> led{0};
  std::vector<std::thread> threads;
  std::vector<int> members(20, 0);
  for (int& member : members) {
    threads.emplace_back([&] {
      EXPECT_TRUE(queue.join(member, in(seconds(60)), kNoWait, [&](std::span<int* const> group) {
        longest = std::max(longest.load(), group.size());
        led += static_cast<int>(group.size());
        for (int* item : group) ++*item;
      }));
    });
  }
  busy.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(longest, 3U);
  EXPECT_EQ(led, 20);
  EXPECT_EQ(members, std::vector<int>(20, 1));
}

TEST(GroupQueue, LetsAMemberGoWhoseDeadlinePassesWhileItWaits) {
  GroupQueue<int> queue(8);
  Busy busy(queue);
  int late = 0;
  EXPECT_FALSE(queue.join(late, in(milliseconds(20)), kNoWait, [](std::span<int* const> group) {
    for (int* item : group) *item = 1;
  }));
  busy.open();
  EXPECT_EQ(late, 0);
  // Nobody waits for one that is gone.
  int next = 0;
  EXPECT_TRUE(queue.join(next, in(seconds(60)), kNoWait,
                         [](std::span<int* const> group) { EXPECT_EQ(group.size(), 1U); }));
}

TEST(GroupQueue, NeverOverlapsAndLosesNobodyUnderLoad) {
  GroupQueue<int> queue(4);
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> gone{0};
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> members(8, std::vector<int>(300, 0));
  for (std::size_t t = 0; t < members.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int& member : members[t]) {
        // Some have so little time that they leave while they wait.
        const auto time = t % 4 == 3 ? std::chrono::microseconds(30) : seconds(60);
        const bool was_led = queue.join(member, std::chrono::steady_clock::now() + time, kNoWait,
                                        [&](std::span<int* const> group) {
                                          if (++inside != 1) ++overlaps;
                                          for (int* item : group) ++*item;
                                          --inside;
                                        });
        EXPECT_EQ(member, was_led ? 1 : 0);
        if (!was_led) ++gone;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_LE(gone, 600);
}

}  // namespace
}  // namespace duckicelake::catalog
