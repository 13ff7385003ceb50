// SPDX-License-Identifier: Apache-2.0
// What hostile, broken and slow clients get.
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "net/gzip.h"
#include "net/test_client.h"

namespace duckicelake::net::testing {
namespace {

class ServerLimitsTest : public ServerTest {
 protected:
  // Sends the bytes on a new connection; expects the error answer and the end of the connection.
  void expect_refused(const std::string& bytes, int status) {
    Client client(port());
    ASSERT_TRUE(client.connected());
    client.send(bytes);
    auto response = client.receive(bytes.starts_with("HEAD"));
    EXPECT_EQ(response.status, status) << bytes.substr(0, 200);
    EXPECT_TRUE(response.has_header("content-type: application/json"));
    EXPECT_TRUE(response.has_header("connection: close"));
    EXPECT_TRUE(is_valid_request_id(response.header("x-request-id")));
    if (!bytes.starts_with("HEAD")) {
      EXPECT_TRUE(response.body.starts_with("{\"error\":{\"message\":\"")) << response.body;
      EXPECT_TRUE(response.body.ends_with(",\"code\":" + std::to_string(status) + "}}"));
    }
    client.shutdown_send();
    EXPECT_TRUE(client.is_closed_by_server()) << bytes.substr(0, 200);
  }

  std::atomic<int> handled_{0};
  void count_requests() {
    on_request = [this](Request request, Responder respond) {
      ++handled_;
      respond(echo(request));
    };
  }
};

TEST_F(ServerLimitsTest, RefusesBadFraming) {
  count_requests();
  std::mutex mutex;
  std::vector<std::string> logged;
  ServerConfig config;
  config.on_fault = [&](const Fault& fault, std::string_view peer) {
    std::lock_guard lock(mutex);
    logged.push_back(std::string(fault_name(fault.kind)) + " " + std::string(peer));
  };
  start(config);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  expect_refused(post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  expect_refused(post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400);
  expect_refused(post + "Content-Length: +5\r\n\r\nabcde", 400);
  expect_refused(post + "Content-Length : 5\r\n\r\nabcde", 400);
  expect_refused(post + "Transfer-Encoding: gzip\r\n\r\n", 501);
  expect_refused(post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400);
  expect_refused(post + "X: a\r\n b\r\n\r\n", 400);
  expect_refused(post + "X: a\x01\r\n\r\n", 400);
  expect_refused(post + "Expect: miracles\r\nContent-Length: 3\r\n\r\nabc", 417);
  expect_refused(post + "Content-Encoding: br\r\nContent-Length: 3\r\n\r\nabc", 415);
  expect_refused(post + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 400);
  expect_refused("GET / HTTP/1.1\nHost: h\n\n", 400);
  expect_refused("GET / HTTP/1.1\r\n\r\n", 400);
  expect_refused("HEAD / HTTP/1.1\r\n\r\n", 400);
  expect_refused("HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nContent-Encoding: x\r\n\r\n",
                 415);
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400);
  expect_refused("GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505);
  expect_refused("CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n", 405);
  expect_refused("\x16\x03\x01\x02\n", 400);
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(faults(FaultKind::kFraming), 3U);
  EXPECT_EQ(faults(FaultKind::kHost), 3U);
  EXPECT_EQ(faults(FaultKind::kContentCoding), 3U);
  EXPECT_EQ(server_->stats().responses_by_class[4] + server_->stats().responses_by_class[5], 19U);
  std::lock_guard lock(mutex);
  EXPECT_EQ(logged.size(), 19U);
  EXPECT_EQ(logged[0], "framing 127.0.0.1");
}

TEST_F(ServerLimitsTest, NothingBehindARefusedRequestIsRead) {
  count_requests();
  start();
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n" + smuggled, 501);
  expect_refused(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" +
          smuggled,
      400);
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerLimitsTest, BoundsTheHead) {
  count_requests();
  ServerConfig config;
  config.max_header_bytes = 4096;
  config.max_target_bytes = 1000;
  start(config);
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(5000, 'x') + "\r\n\r\n", 431);
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(50'000, 'x'), 431);
  expect_refused("GET /" + std::string(5000, 'x'), 414);
  expect_refused("GET /" + std::string(2000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414);
  EXPECT_EQ(handled_, 0);
  Client client(port());
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  const std::string fits = head + std::string(4096 - head.size() - 4, 'x') + "\r\n\r\n";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.exchange(fits).status, 200);
  EXPECT_EQ(faults(FaultKind::kHeadTooLarge), 2U);
  EXPECT_EQ(faults(FaultKind::kTargetTooLong), 2U);
}

TEST_F(ServerLimitsTest, BoundsTheBody) {
  count_requests();
  ServerConfig config;
  config.max_body_bytes = 100'000;
  start(config);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  expect_refused(post + "Content-Length: 100001\r\n\r\n" + std::string(100'001, 'x'), 413);
  expect_refused(post + "Content-Length: 999999999999999999\r\nExpect: 100-continue\r\n\r\n", 413);
  expect_refused(post + "Transfer-Encoding: chunked\r\n\r\n186A1\r\n", 413);
  auto bomb = gzip_compress(std::string(100'001, 'x'), 9);
  expect_refused(post + "Content-Encoding: gzip\r\nContent-Length: " +
                     std::to_string(bomb->size()) + "\r\n\r\n" + *bomb,
                 413);
  EXPECT_EQ(handled_, 0);
  Client client(port());
  const std::string body(100'000, 'x');
  EXPECT_EQ(client.exchange(post + "Content-Length: 100000\r\n\r\n" + body).body, "POST /|" + body);
  EXPECT_EQ(
      client.exchange(post + "Transfer-Encoding: chunked\r\n\r\n186A0\r\n" + body + "\r\n0\r\n\r\n")
          .body,
      "POST /|" + body);
}

TEST_F(ServerLimitsTest, KeepsNoBodyThatNobodyAskedFor) {
  handler_.reads_bodies = false;
  on_request = [](Request request, Responder respond) {
    respond(make_json_response(request.body_to_come > 0 ? 401 : 200, "{}"));
  };
  start();
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (std::string head : {"Content-Length: 60000000\r\n", "Transfer-Encoding: chunked\r\n",
                           "Content-Length: 3\r\nExpect: 100-continue\r\n"}) {
    Client client(port());
    client.send(post + head + "\r\n");
    const auto response = client.receive();
    EXPECT_EQ(response.status, 401) << head;
    EXPECT_TRUE(response.has_header("connection: close")) << head;
    EXPECT_TRUE(client.is_closed_by_server()) << head;
  }
  // A short one is skipped, and the connection goes on; what follows is no part of it.
  Client client(port());
  client.send(post + "Content-Length: 5\r\n\r\n");
  EXPECT_EQ(client.receive().status, 401);
  client.send("GET /GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  // One that never comes ends it.
  ServerConfig config;
  config.body_timeout = 100ms;
  start(config);
  Client slow(port());
  slow.send(post + "Content-Length: 5\r\n\r\nab");
  EXPECT_EQ(slow.receive().status, 401);
  EXPECT_TRUE(slow.is_closed_by_server());
}

TEST_F(ServerLimitsTest, AHandlerMayTakeLessThanTheServer) {
  handler_.reads_bodies = false;
  std::atomic<int> taken{0};
  on_request = [&](Request, Responder respond) {
    auto held = std::make_shared<Responder>(std::move(respond));
    std::thread([held, &taken] {
      held->receive_body(4, [held, &taken](std::string body) {
        ++taken;
        (*held)(make_json_response(200, std::move(body)));
      });
    }).detach();
  };
  start();
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  Client client(port());
  EXPECT_EQ(client.exchange(post + "Content-Length: 4\r\n\r\nabcd").body, "abcd");
  EXPECT_EQ(client.exchange(post + "Content-Length: 5\r\n\r\nabcde").status, 413);
  expect_refused(post + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 413);
  auto packed = gzip_compress("aaaaa", 9);
  expect_refused(post + "Content-Encoding: gzip\r\nContent-Length: " +
                     std::to_string(packed->size()) + "\r\n\r\n" + *packed,
                 413);
  EXPECT_EQ(taken, 1);
}

TEST_F(ServerLimitsTest, BoundsAllBodiesTogether) {
  std::mutex mutex;
  std::vector<Responder> held;
  on_request = [&](Request, Responder respond) {
    std::lock_guard lock(mutex);
    held.push_back(std::move(respond));
  };
  ServerConfig config;
  config.max_total_body_bytes = 150'000;
  start(config);
  const std::string request =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x');
  Client first(port());
  first.send(request);
  ASSERT_TRUE(eventually([&] {
    std::lock_guard lock(mutex);
    return held.size() == 1;
  }));
  {
    Client second(port());
    second.send(request);
    auto response = second.receive();
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.header("retry-after"), "1");
  }
  {
    std::lock_guard lock(mutex);
    held[0](make_json_response(200, "{}"));
  }
  EXPECT_EQ(first.receive().status, 200);
  ASSERT_TRUE(eventually([&] { return server_->stats().connections_open == 1; }));
  Client third(port());
  third.send(request);
  EXPECT_TRUE(eventually([&] {
    std::lock_guard lock(mutex);
    return held.size() == 2;
  }));
  std::lock_guard lock(mutex);
  held.clear();
}

TEST_F(ServerLimitsTest, ClientSeesTheAnswerToAnUploadNobodyReads) {
  ServerConfig config;
  config.max_body_bytes = 1000;
  start(config);
  for (int i = 0; i < 10; ++i) {
    Client client(port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n");
    client.send(std::string(3'000'000, 'x'));
    EXPECT_EQ(client.receive().status, 413);
  }
}

TEST_F(ServerLimitsTest, SlowHeadGets408) {
  ServerConfig config;
  config.header_timeout = 120ms;
  start(config);
  Client client(port());
  auto begin = std::chrono::steady_clock::now();
  client.send("GET / HTTP/1.1\r\n");
  std::thread dripper([&] {
    for (int i = 0; i < 20; ++i) {
      client.send("X: y\r\n");
      std::this_thread::sleep_for(20ms);
    }
  });
  auto response = client.receive();
  auto took = std::chrono::steady_clock::now() - begin;
  dripper.join();
  EXPECT_EQ(response.status, 408);
  EXPECT_GE(took, 120ms);
  EXPECT_LT(took, 2s);
  EXPECT_EQ(faults(FaultKind::kTimeout), 1U);
}

TEST_F(ServerLimitsTest, SilentConnectionsAreClosed) {
  ServerConfig config;
  config.header_timeout = 60ms;
  config.idle_timeout = 150ms;
  start(config);
  Client silent(port());
  EXPECT_TRUE(silent.is_closed_by_server());
  Client idle(port());
  EXPECT_EQ(idle.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(idle.is_closed_by_server());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
  EXPECT_EQ(server_->stats().idle_closes, 2U);
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
}

TEST_F(ServerLimitsTest, SlowBodyGets408AndSteadyBodyDoesNot) {
  ServerConfig config;
  config.body_timeout = 150ms;
  config.min_bytes_per_second = 1000;
  start(config);
  Client slow(port());
  slow.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow.receive().status, 408);

  // 500 ms in all, but each second is paid for with 1000 bytes.
  Client steady(port());
  steady.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    steady.send(std::string(2000, 'x'));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(steady.receive().status, 200);
}

TEST_F(ServerLimitsTest, ReaderThatStallsIsCutOff) {
  auto body = std::make_shared<const std::string>(std::string(20'000'000, 'x'));
  on_request = [&](Request, Responder respond) {
    Response response;
    response.body.emplace_back(body);
    respond(std::move(response));
  };
  ServerConfig config;
  config.write_timeout = 100ms;
  config.min_bytes_per_second = 1'000'000'000;
  start(config);
  Client client(port(), 4096);
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return server_->stats().requests == 1; }));
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
  EXPECT_EQ(body.use_count(), 1);
}

TEST_F(ServerLimitsTest, SlowReaderGetsEverything) {
  auto body = std::make_shared<const std::string>(std::string(20'000'000, 'x'));
  on_request = [&](Request, Responder respond) {
    Response response;
    for (int i = 0; i < 3; ++i) response.body.emplace_back(body);
    respond(std::move(response));
  };
  start();
  Client client(port(), 4096);
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(client.receive().body.size(), 60'000'000U);
}

TEST_F(ServerLimitsTest, OverTheConnectionLimitGets503) {
  ServerConfig config;
  config.max_connections = 2;
  start(config);
  {
    Client first(port());
    Client second(port());
    EXPECT_EQ(first.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    EXPECT_EQ(second.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    for (int i = 0; i < 3; ++i) {
      Client third(port());
      third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      auto response = third.receive();
      EXPECT_EQ(response.status, 503);
      EXPECT_NE(response.body.find("ServiceUnavailableException"), std::string::npos);
      third.close();
    }
    EXPECT_EQ(first.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  }
  ASSERT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
  Client again(port());
  EXPECT_EQ(again.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  EXPECT_EQ(server_->stats().connections_refused, 3U);
}

TEST_F(ServerLimitsTest, HandlerThatNeverAnswersGets504) {
  std::mutex mutex;
  std::vector<Responder> held;
  on_request = [&](Request request, Responder respond) {
    if (request.target == "/ok") return respond(echo(request));
    std::lock_guard lock(mutex);
    held.push_back(std::move(respond));
  };
  ServerConfig config;
  config.handler_timeout = 100ms;
  start(config);
  Client client(port());
  EXPECT_EQ(client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 504);
  client.shutdown_send();
  EXPECT_TRUE(client.is_closed_by_server());
  std::lock_guard lock(mutex);
  held[0](make_json_response(200, "late"));
  EXPECT_EQ(server_->stats().handler_timeouts, 1U);
}

TEST_F(ServerLimitsTest, ClientsThatLeaveMidwayCostNothing) {
  count_requests();
  start();
  for (std::string part :
       {"G", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    Client client(port());
    client.send(part);
    client.shutdown_send();
    EXPECT_TRUE(client.is_closed_by_server()) << part;
  }
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerLimitsTest, ErrorBodyCanBeReplaced) {
  ServerConfig config;
  config.error_body = [](int status, std::string_view type, std::string_view) {
    return std::to_string(status) + " " + std::string(type);
  };
  start(config);
  Client client(port());
  EXPECT_EQ(client.exchange("GET / HTTP/1.1\r\n\r\n").body, "400 BadRequestException");
}

}  // namespace
}  // namespace duckicelake::net::testing
