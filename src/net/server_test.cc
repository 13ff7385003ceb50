// SPDX-License-Identifier: Apache-2.0
// What a well-behaved client sees.
#include "net/server.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "net/gzip.h"
#include "net/test_client.h"

namespace duckicelake::net::testing {
namespace {

TEST_F(ServerTest, AnswersAndKeepsTheConnection) {
  start();
  Client client(port());
  for (int i = 0; i < 100; ++i) {
    auto response = client.exchange("GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_EQ(response.status, 200);
    ASSERT_EQ(response.body, "GET /a?b=c|");
    EXPECT_TRUE(response.has_header("content-length: 11"));
    EXPECT_TRUE(response.has_header("content-type: text/plain"));
    EXPECT_TRUE(response.has_header("x-echo-host: h"));
    EXPECT_EQ(response.header("connection"), "");
    EXPECT_EQ(response.header("date").size(), 29U);
  }
  auto stats = server_->stats();
  EXPECT_EQ(stats.requests, 100U);
  EXPECT_EQ(stats.connections_accepted, 1U);
  EXPECT_EQ(stats.connections_open, 1U);
  EXPECT_EQ(stats.responses_by_class[2], 100U);
  EXPECT_GT(stats.bytes_sent, 100U * 11);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  // Every second answer comes from another thread, so that a later request could overtake.
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  on_request = [&](Request request, Responder respond) {
    if (count++ % 2 == 0) return respond(echo(request));
    threads.emplace_back([request = std::move(request), respond = std::move(respond)]() mutable {
      std::this_thread::sleep_for(1ms);
      respond(echo(request));
    });
  };
  start();
  std::string requests;
  for (int i = 0; i < 40; ++i) {
    requests += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n" +
                std::to_string(10 + i);
  }
  Client client(port());
  client.send(requests);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(client.receive().body, "POST /" + std::to_string(i) + "|" + std::to_string(10 + i));
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(ServerTest, SplitsRequestsAtAnyByte) {
  start();
  const std::string request =
      "\r\nPOST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3;e=1\r\nabc\r\n2\r\nde\r\n"
      "0\r\nTrailer: t\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n";
  for (std::size_t cut = 1; cut < request.size(); cut += 3) {
    Client client(port());
    client.send(request.substr(0, cut));
    std::this_thread::sleep_for(2ms);
    client.send(request.substr(cut));
    EXPECT_EQ(client.receive().body, "POST /x|abcde") << cut;
    EXPECT_EQ(client.receive().body, "GET /y|") << cut;
  }
}

TEST_F(ServerTest, HeadHasTheHeadersOfGetAndNoBody) {
  start();
  Client client(port());
  auto response = client.exchange("HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n", true);
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.has_header("content-length: 10"));
  EXPECT_EQ(client.exchange("GET /n HTTP/1.1\r\nHost: h\r\n\r\n").body, "GET /n|");
}

TEST_F(ServerTest, NoContentAndNotModifiedHaveNoBody) {
  on_request = [](Request request, Responder respond) {
    Response response = echo(request);
    response.status = request.target == "/204" ? 204 : 304;
    response.add_header("etag", "\"x\"");
    respond(std::move(response));
  };
  start();
  Client client(port());
  for (std::string target : {"/204", "/304", "/204"}) {
    auto response = client.exchange("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ("/" + std::to_string(response.status), target);
    EXPECT_EQ(response.header("content-length"), "");
    EXPECT_TRUE(response.has_header("etag: \"x\""));
  }
}

TEST_F(ServerTest, SendsSharedChunksUncopied) {
  auto cached = std::make_shared<const std::string>(std::string(300'000, 'c'));
  on_request = [&](Request, Responder respond) {
    Response response;
    response.body.emplace_back(std::string("["));
    response.body.emplace_back(cached);
    response.body.emplace_back(cached, std::string_view(*cached).substr(10, 5));
    response.body.emplace_back(std::string());
    for (int i = 0; i < 100; ++i) response.body.emplace_back(std::string("x"));
    response.body.emplace_back(std::string("]"));
    respond(std::move(response));
  };
  start();
  Client client(port());
  const std::string expected = "[" + *cached + "ccccc" + std::string(100, 'x') + "]";
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").body == expected);
  }
  EXPECT_TRUE(eventually([&] { return cached.use_count() == 1; }));
}

TEST_F(ServerTest, SpeaksHttp10) {
  start();
  Client once(port());
  auto response = once.exchange("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_EQ(response.body, "GET /old|");
  EXPECT_TRUE(response.has_header("connection: close"));
  EXPECT_TRUE(once.is_closed_by_server());

  Client kept(port());
  for (int i = 0; i < 2; ++i) {
    response = kept.exchange("GET /old HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    EXPECT_EQ(response.body, "GET /old|");
    EXPECT_TRUE(response.has_header("connection: keep-alive"));
  }
}

TEST_F(ServerTest, ClosesWhenEitherSideAsks) {
  on_request = [](Request request, Responder respond) {
    Response response = echo(request);
    response.close_connection = request.target == "/close";
    respond(std::move(response));
  };
  start();
  for (std::string request : {"GET /close HTTP/1.1\r\nHost: h\r\n\r\n",
                              "GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, Close\r\n\r\n"}) {
    Client client(port());
    auto response = client.exchange(request);
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(response.has_header("connection: close"));
    EXPECT_TRUE(client.is_closed_by_server());
  }
}

TEST_F(ServerTest, EchoesOrMakesRequestIds) {
  std::string seen;
  on_request = [&](Request request, Responder respond) {
    seen = request.request_id;
    respond(echo(request));
  };
  start();
  Client client(port());
  auto response = client.exchange("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: a.B-9_\r\n\r\n");
  EXPECT_EQ(response.header("x-request-id"), "a.B-9_");
  EXPECT_EQ(seen, "a.B-9_");
  std::string made;
  for (std::string bad : {"", "a b", "a\"", "\xc3\xa4", "a/b"}) {
    response = client.exchange("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: " + bad + "\r\n\r\n");
    EXPECT_TRUE(is_valid_request_id(response.header("x-request-id")));
    EXPECT_EQ(response.header("x-request-id"), seen);
    EXPECT_NE(seen, bad);
    EXPECT_NE(seen, made);
    made = seen;
  }
}

TEST_F(ServerTest, HandsOverTheWholeRequest) {
  Request seen;
  on_request = [&](Request request, Responder respond) {
    respond(echo(request));
    seen = std::move(request);
  };
  start();
  Client client(port());
  client.exchange(
      "PATCH /p%2Fq?x=%20 HTTP/1.1\r\nHOST: h:1\r\nX-A:  v 1 \r\nX-A: 2\r\nEmpty:\r\n\r\n");
  EXPECT_EQ(seen.method, Method::kPatch);
  EXPECT_EQ(seen.target, "/p%2Fq?x=%20");
  EXPECT_EQ(seen.header("host"), "h:1");
  EXPECT_EQ(seen.header("x-a"), "v 1");
  EXPECT_EQ(seen.headers.size(), 4U);
  EXPECT_TRUE(seen.has_header("empty"));
  EXPECT_EQ(seen.peer_address, "127.0.0.1");
  EXPECT_FALSE(seen.tls);
  client.exchange("PROPFIND http://other.example:80?q=1 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(seen.method, Method::kOther);
  EXPECT_EQ(seen.method_text, "PROPFIND");
  EXPECT_EQ(seen.target, "/?q=1");
  EXPECT_EQ(seen.header("host"), "other.example:80");
}

TEST_F(ServerTest, HandlesExpectContinue) {
  start();
  Client client(port());
  client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  EXPECT_EQ(client.exchange("abc").body, "PUT /|abc");
  // No interim answer when the body is already there, or there is none.
  auto response = client.exchange(
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc");
  EXPECT_EQ(response.body, "PUT /|abc");
  response = client.exchange("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(response.body, "PUT /|");
}

TEST_F(ServerTest, InflatesGzipBodies) {
  start();
  const std::string text(3'000'000, 'z');
  auto packed = gzip_compress(text, 6);
  ASSERT_TRUE(packed.has_value());
  Client client(port());
  for (int i = 0; i < 2; ++i) {
    auto response =
        client.exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: " +
                        std::to_string(packed->size()) + "\r\n\r\n" + *packed);
    EXPECT_TRUE(response.body == "POST /|" + text);
  }
}

TEST_F(ServerTest, RefusesHeadersThatWouldSplitTheResponse) {
  on_request = [](Request request, Responder respond) {
    Response response = echo(request);
    if (request.target == "/value") response.add_header("location", "/x\r\nset-cookie: a=b");
    if (request.target == "/name") response.add_header("a: b\r\nc", "d");
    if (request.target == "/status") response.status = 42;
    respond(std::move(response));
  };
  start();
  Client client(port());
  for (std::string target : {"/value", "/name", "/status"}) {
    auto response = client.exchange("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(response.status, 500) << target;
    EXPECT_NE(response.body.find("InternalServerError"), std::string::npos);
    EXPECT_EQ(response.head.find("set-cookie"), std::string::npos);
  }
  EXPECT_EQ(client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
}

TEST_F(ServerTest, IgnoresTheHandlersFramingHeaders) {
  on_request = [](Request request, Responder respond) {
    Response response = echo(request);
    response.add_header("Content-Length", "1");
    response.add_header("Transfer-Encoding", "chunked");
    response.add_header("Connection", "upgrade");
    respond(std::move(response));
  };
  start();
  Client client(port());
  auto response = client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(response.body, "GET /|");
  EXPECT_EQ(response.head.find("Transfer"), std::string::npos);
  EXPECT_EQ(response.head.find("upgrade"), std::string::npos);
}

}  // namespace
}  // namespace duckicelake::net::testing
