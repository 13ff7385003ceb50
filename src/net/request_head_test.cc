// SPDX-License-Identifier: Apache-2.0
#include "net/request_head.h"

#include <gtest/gtest.h>

namespace duckicelake::net {
namespace {

struct Parsed {
  std::optional<Fault> fault;
  Request request;
  HeadInfo info;
};

Parsed parse(std::string_view head) {
  Parsed parsed;
  parsed.fault = parse_request_head(head, HeadLimits(), parsed.request, parsed.info);
  return parsed;
}

// A head with a good request line and Host, and these lines besides.
std::string with(const std::string& lines) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n";
}

int status_of(const std::string& head) {
  auto parsed = parse(head);
  return parsed.fault ? parsed.fault->status : 200;
}

TEST(RequestHead, ReadsAnOrdinaryHead) {
  auto parsed = parse(
      "POST /v1/x?y=z HTTP/1.1\r\nHost: example.org:8181\r\nContent-Length: 12\r\n"
      "Accept:\t*/* \r\nX-Empty:\r\nX-High: \xe4\r\n\r\n");
  ASSERT_FALSE(parsed.fault);
  EXPECT_EQ(parsed.request.method, Method::kPost);
  EXPECT_EQ(parsed.request.target, "/v1/x?y=z");
  EXPECT_EQ(parsed.request.header("accept"), "*/*");
  EXPECT_EQ(parsed.request.header("x-high"), "\xe4");
  EXPECT_TRUE(parsed.request.has_header("x-empty"));
  EXPECT_EQ(parsed.info.content_length, 12U);
  EXPECT_TRUE(parsed.info.keep_alive);
  EXPECT_TRUE(parsed.info.has_body());
}

TEST(RequestHead, RefusesBadRequestLines) {
  struct Case {
    std::string line;
    int status;
  };
  for (const Case& c : {Case{"", 400},
                        Case{"GET", 400},
                        Case{"GET /", 400},
                        Case{"GET  / HTTP/1.1", 400},
                        Case{"GET /  HTTP/1.1", 400},
                        Case{" GET / HTTP/1.1", 400},
                        Case{"GET / HTTP/1.1 ", 400},
                        Case{"GET\t/ HTTP/1.1", 400},
                        Case{"GET /a b HTTP/1.1", 400},
                        Case{"G(T / HTTP/1.1", 400},
                        Case{"GET /\x01 HTTP/1.1", 400},
                        Case{"GET /\x7f HTTP/1.1", 400},
                        Case{std::string("GET /\0 HTTP/1.1", 15), 400},
                        Case{"GET /a#b HTTP/1.1", 400},
                        Case{"GET a HTTP/1.1", 400},
                        Case{"GET * HTTP/1.1", 400},
                        Case{"GET / http/1.1", 400},
                        Case{"GET / HTTP/1.10", 400},
                        Case{"GET / HTTP/11", 400},
                        Case{"GET / HTTP/1.2", 505},
                        Case{"GET / HTTP/2.0", 505},
                        Case{"PRI * HTTP/2.0", 505},
                        Case{"GET / HTTP/0.9", 505},
                        Case{"CONNECT h:443 HTTP/1.1", 405},
                        Case{"TRACE / HTTP/1.1", 200},
                        Case{"BREW / HTTP/1.1", 200},
                        Case{"GET ftp://h/ HTTP/1.1", 400},
                        Case{"GET http:///x HTTP/1.1", 400},
                        Case{"GET http://u@h/ HTTP/1.1", 400},
                        Case{"GET http://h\\/ HTTP/1.1", 400},
                        Case{"GET /\r HTTP/1.1", 400},
                        Case{std::string(33, 'A') + " / HTTP/1.1", 400},
                        Case{"GET /" + std::string(16 * 1024, 'a') + " HTTP/1.1", 414},
                        Case{"OPTIONS * HTTP/1.1", 200},
                        Case{"get / HTTP/1.1", 200},
                        Case{"GET /ä HTTP/1.1", 200},
                        Case{"GET HTTPS://h?q HTTP/1.1", 200}}) {
    EXPECT_EQ(status_of(c.line + "\r\nHost: h\r\n\r\n"), c.status) << c.line;
  }
}

TEST(RequestHead, RefusesBadHeaderLines) {
  for (std::string lines :
       {"X : 1\r\n", "X\t: 1\r\n", " X: 1\r\n", "X: 1\r\n folded\r\n", "X: 1\r\n\tfolded\r\n",
        ": 1\r\n", "X\r\n", "X: a\rb\r\n", "X: a\x01\r\n", "X: \x7f\r\n", "X(: 1\r\n",
        "X\xc3: 1\r\n", "X: a\nY: b\r\n", "X: \x1b[31m\r\n"}) {
    EXPECT_EQ(status_of(with(lines)), 400) << lines;
  }
  EXPECT_EQ(status_of(with(std::string("X: a\0b\r\n", 8))), 400);
  EXPECT_EQ(status_of(with(std::string("X\0: b\r\n", 7))), 400);
  std::string many;
  for (int i = 0; i < 200; ++i) many += "X: 1\r\n";
  EXPECT_EQ(status_of(with(many)), 431);
}

TEST(RequestHead, RefusesAmbiguousFraming) {
  struct Case {
    std::string lines;
    int status;
  };
  for (const Case& c : {Case{"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400},
                        Case{"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400},
                        Case{"Content-Length: 1\r\nContent-Length: 2\r\n", 400},
                        Case{"Content-Length: 1\r\nContent-Length: 1\r\n", 400},
                        Case{"Content-Length: 1, 1\r\n", 400},
                        Case{"Content-Length: +5\r\n", 400},
                        Case{"Content-Length: -5\r\n", 400},
                        Case{"Content-Length: 5 5\r\n", 400},
                        Case{"Content-Length: 0x5\r\n", 400},
                        Case{"Content-Length:\r\n", 400},
                        Case{"Content-Length: 5.0\r\n", 400},
                        Case{"Content-Length: 99999999999999999999\r\n", 413},
                        Case{"Transfer-Encoding: gzip\r\n", 501},
                        Case{"Transfer-Encoding: gzip, chunked\r\n", 501},
                        Case{"Transfer-Encoding: chunked, chunked\r\n", 501},
                        Case{"Transfer-Encoding: identity\r\n", 501},
                        Case{"Transfer-Encoding: xchunked\r\n", 501},
                        Case{"Transfer-Encoding:\r\n", 501},
                        Case{"Transfer-Encoding: \"chunked\"\r\n", 501},
                        Case{"Transfer-Encoding: \x0b"
                             "chunked\r\n",
                             400},
                        Case{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
                        Case{"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400},
                        Case{"Transfer_Encoding: chunked\r\n", 200},
                        Case{"Transfer-Encoding: Chunked\r\n", 200},
                        Case{"Content-Length: 0000000000000005\r\n", 200}}) {
    EXPECT_EQ(status_of(with(c.lines)), c.status) << c.lines;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestHead, AsksForExactlyOneHost) {
  EXPECT_EQ(parse("GET / HTTP/1.1\r\n\r\n").fault->kind, FaultKind::kHost);
  EXPECT_EQ(parse(with("Host: h\r\n")).fault->kind, FaultKind::kHost);
  EXPECT_EQ(parse("GET http://h/ HTTP/1.1\r\n\r\n").fault->kind, FaultKind::kHost);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").fault);
  for (std::string host : {"a b", "a/b", "u@h", "h,h2 x", "ä", "h\\", "\"h\"", "h?"}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), 400) << host;
  }
  for (std::string host : {"", "h", "h:1", "[::1]:8181", "a_b.example", "127.0.0.1"}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), 200) << host;
  }
}

TEST(RequestHead, RefusesRepeatedCredentialsAndTypes) {
  EXPECT_EQ(status_of(with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n")), 400);
  EXPECT_EQ(status_of(with("Content-Type: a/b\r\nContent-Type: a/c\r\n")), 400);
}

TEST(RequestHead, ReadsConnectionOptions) {
  EXPECT_TRUE(parse(with("")).info.keep_alive);
  EXPECT_FALSE(parse(with("Connection: close\r\n")).info.keep_alive);
  EXPECT_FALSE(parse(with("Connection: x,\tCLOSE\r\n")).info.keep_alive);
  EXPECT_FALSE(parse(with("Connection: keep-alive, close\r\n")).info.keep_alive);
  EXPECT_TRUE(parse(with("Connection: closed\r\n")).info.keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").info.keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").info.keep_alive);
}

TEST(RequestHead, ReadsExpectations) {
  EXPECT_TRUE(parse(with("Expect: 100-continue\r\n")).info.expects_continue);
  EXPECT_EQ(status_of(with("Expect: 200-ok\r\n")), 417);
  EXPECT_EQ(status_of(with("Expect: 100-continue\r\nExpect: 100-continue\r\n")), 417);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").info.expects_continue);
}

TEST(RequestHead, ReducesAbsoluteForm) {
  auto parsed = parse("GET http://a.example:1/x?y HTTP/1.1\r\nHost: b\r\n\r\n");
  ASSERT_FALSE(parsed.fault);
  EXPECT_EQ(parsed.request.target, "/x?y");
  EXPECT_EQ(parsed.request.header("host"), "a.example:1");
  EXPECT_EQ(parse("GET http://a HTTP/1.0\r\n\r\n").request.header("host"), "a");
}

TEST(RequestHead, ScannerFindsTheEndInPieces) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  HeadScanner scanner;
  for (std::size_t size = 0; size < head.size(); ++size) {
    auto found = scanner.scan(std::string_view(head).substr(0, size));
    EXPECT_EQ(found.end, 0U);
    EXPECT_FALSE(found.fault);
    EXPECT_EQ(scanner.has_request_line(), size >= 16);
  }
  EXPECT_EQ(scanner.scan(head + "more").end, head.size());
}

TEST(RequestHead, ScannerRefusesBareLineFeeds) {
  for (std::string bytes :
       {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n"}) {
    HeadScanner scanner;
    EXPECT_TRUE(scanner.scan(bytes).fault) << bytes;
  }
}

TEST(RequestHead, JudgesRequestIds) {
  EXPECT_TRUE(is_valid_request_id("aZ09._-"));
  EXPECT_TRUE(is_valid_request_id(std::string(128, 'a')));
  EXPECT_FALSE(is_valid_request_id(std::string(129, 'a')));
  EXPECT_FALSE(is_valid_request_id(""));
  EXPECT_FALSE(is_valid_request_id("a\r\nb"));
}

}  // namespace
}  // namespace duckicelake::net
