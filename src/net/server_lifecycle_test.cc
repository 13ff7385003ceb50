// SPDX-License-Identifier: Apache-2.0
// Responders on other threads, start, drain and end of the server.
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "net/test_client.h"

namespace duckicelake::net::testing {
namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

// Holds responders back until a test releases them.
class Holder {
 public:
  void hold(Responder respond) {
    std::lock_guard lock(mutex_);
    held_.push_back(std::move(respond));
  }
  std::size_t size() {
    std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::vector<Responder> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Responder> held_;
};

TEST_F(ServerTest, RespondersAnswerFromOtherThreads) {
  Holder holder;
  on_request = [&](Request, Responder respond) { holder.hold(std::move(respond)); };
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (!stop) {
        for (auto& respond : holder.take()) respond(make_json_response(200, "{}"));
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      Client client(port());
      for (int j = 0; j < 50; ++j) answered += client.exchange(kGet).status == 200;
    });
  }
  for (auto& thread : clients) thread.join();
  stop = true;
  for (auto& thread : workers) thread.join();
  EXPECT_EQ(answered, 400);
}

TEST_F(ServerTest, OneHopCompletesManyRequests) {
  Holder holder;
  on_request = [&](Request, Responder respond) { holder.hold(std::move(respond)); };
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send(kGet);
  }
  ASSERT_TRUE(eventually([&] { return holder.size() == 32; }));
  std::map<std::size_t, std::vector<Responder>> by_thread;
  for (auto& respond : holder.take())
    by_thread[respond.thread_index()].push_back(std::move(respond));
  auto body = std::make_shared<const std::string>("shared");
  std::atomic<int> off_thread{0};
  for (auto& [index, batch] : by_thread) {
    EXPECT_TRUE(server_->post(index, [mine = std::move(batch), body, &off_thread]() mutable {
      for (auto& respond : mine) {
        if (!respond.executor().is_current()) ++off_thread;
        Response response;
        response.body.emplace_back(body);
        respond(std::move(response));
      }
    }));
  }
  for (auto& client : clients) {
    EXPECT_EQ(client->receive().body, "shared");
  }
  EXPECT_EQ(off_thread, 0);
}

TEST_F(ServerTest, DroppedResponderAnswers500) {
  on_request = [](Request request, Responder respond) {
    if (request.target == "/elsewhere") {
      std::thread([dropped = std::move(respond)] {}).detach();
    } else if (request.target == "/moved") {
      Responder other = std::move(respond);
      EXPECT_FALSE(respond);  // NOLINT(bugprone-use-after-move)
      other(echo(request));
      EXPECT_FALSE(other);
      other(make_json_response(500, "second call"));
    }
  };
  start();
  Client client(port());
  for (std::string target : {"/inline", "/elsewhere"}) {
    auto response = client.exchange("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(response.status, 500);
    EXPECT_NE(response.body.find("\"type\":\"InternalServerError\""), std::string::npos);
  }
  EXPECT_EQ(client.exchange("GET /moved HTTP/1.1\r\nHost: h\r\n\r\n").body, "GET /moved|");
  EXPECT_EQ(server_->stats().dropped_responders, 2U);
}

TEST_F(ServerTest, RespondersMayOutliveConnectionAndServer) {
  Holder holder;
  on_request = [&](Request, Responder respond) { holder.hold(std::move(respond)); };
  start();
  {
    Client gone(port());
    gone.send(kGet);
    ASSERT_TRUE(eventually([&] { return holder.size() == 1; }));
  }
  for (auto& respond : holder.take()) respond(make_json_response(200, std::string(1'000'000, 'x')));
  Client client(port());
  client.send(kGet);
  ASSERT_TRUE(eventually([&] { return holder.size() == 1; }));
  auto late = holder.take();
  Executor executor = late[0].executor();
  server_.reset();
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_FALSE(executor.post([] { FAIL(); }));
  late[0](make_json_response(200, "{}"));
  late.clear();
}

TEST_F(ServerTest, TasksOfOneThreadRunInOrderOnTheNamedThread) {
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  std::mutex mutex;
  std::vector<int> order;
  std::thread::id ids[2];
  for (int i = 0; i < 100; ++i) {
    for (std::size_t thread : {0U, 1U}) {
      ASSERT_TRUE(server_->post(thread, [&, i, thread] {
        std::lock_guard lock(mutex);
        ids[thread] = std::this_thread::get_id();
        if (thread == 1) order.push_back(i);
      }));
    }
  }
  ASSERT_TRUE(eventually([&] {
    std::lock_guard lock(mutex);
    return order.size() == 100;
  }));
  std::lock_guard lock(mutex);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(ServerTest, UsesAllThreads) {
  std::mutex mutex;
  std::map<std::size_t, int> counts;
  on_request = [&](Request request, Responder respond) {
    {
      std::lock_guard lock(mutex);
      ++counts[respond.thread_index()];
    }
    respond(echo(request));
  };
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  for (int i = 0; i < 64; ++i) {
    Client client(port());
    ASSERT_EQ(client.exchange(kGet).status, 200);
  }
  std::lock_guard lock(mutex);
  EXPECT_EQ(counts.size(), 2U);
}

TEST_F(ServerTest, DrainAnswersRunningRequestsAndClosesIdleOnes) {
  Holder holder;
  on_request = [&](Request, Responder respond) { holder.hold(std::move(respond)); };
  start();
  Client running(port());
  running.send(kGet + kGet);
  Client idle(port());
  ASSERT_TRUE(
      eventually([&] { return holder.size() == 1 && server_->stats().connections_open == 2; }));
  std::thread drainer([&] { server_->drain(10s); });
  EXPECT_TRUE(idle.is_closed_by_server());
  ASSERT_TRUE(eventually([&] { return !Client(port()).connected(); }));
  for (auto& respond : holder.take()) respond(make_json_response(200, "{}"));
  auto response = running.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.has_header("connection: close"));
  // The second request was pipelined behind the answer that announced the close: never handled.
  EXPECT_TRUE(running.is_closed_by_server());
  running.close();
  drainer.join();
  EXPECT_EQ(holder.size(), 0U);
  EXPECT_EQ(server_->stats().connections_open, 0U);
  EXPECT_FALSE(server_->post(0, [] {}));
  server_->drain(1s);
}

TEST_F(ServerTest, DrainUnderLoadLosesNoAcceptedRequest) {
  std::atomic<int> handled{0};
  on_request = [&](Request request, Responder respond) {
    ++handled;
    respond(echo(request));
  };
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  std::atomic<int> answered{0};
  std::atomic<int> broken{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (;;) {
        Client client(port());
        if (!client.connected()) return;
        for (;;) {
          if (!client.send(kGet)) return;
          auto response = client.receive();
          if (response.status == 0) {
            ++broken;
            return;
          }
          ++answered;
          if (response.has_header("connection: close")) return;
        }
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return handled > 500; }));
  server_->drain(10s);
  for (auto& thread : clients) thread.join();
  EXPECT_EQ(answered, handled);
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(server_->stats().connections_open, 0U);
}

TEST_F(ServerTest, DrainEndsAtItsDeadline) {
  Holder holder;
  on_request = [&](Request, Responder respond) { holder.hold(std::move(respond)); };
  start();
  Client client(port());
  client.send(kGet);
  ASSERT_TRUE(eventually([&] { return holder.size() == 1; }));
  auto begin = std::chrono::steady_clock::now();
  server_->drain(150ms);
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 150ms);
  EXPECT_LT(took, 5s);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(ServerTest, StartReportsWhatCannotWork) {
  ServerConfig config;
  config.address = "localhost";
  EXPECT_EQ(Server::start(config, handler_).error().code(), Code::kInvalidArgument);
  config.address = "192.0.2.1";
  EXPECT_EQ(Server::start(config, handler_).error().code(), Code::kUnavailable);
  for (std::size_t threads : {1U, 2U}) {
    start();
    ServerConfig taken;
    taken.port = port();
    taken.io_threads = threads;
    EXPECT_EQ(Server::start(taken, handler_).error().code(), Code::kUnavailable);
  }
}

TEST_F(ServerTest, SecondServerCannotJoinASharedPort) {
  ServerConfig config;
  config.io_threads = 2;
  start(config);
  config.port = port();
  EXPECT_EQ(Server::start(config, handler_).error().code(), Code::kUnavailable);
}

TEST_F(ServerTest, ListensOnIpv6) {
  ServerConfig config;
  config.address = "::1";
  auto server = Server::start(config, handler_);
  if (!server.has_value()) GTEST_SKIP() << "no IPv6 here: " << server.error().to_string();
  EXPECT_GT((*server)->port(), 0);
}

}  // namespace
}  // namespace duckicelake::net::testing
