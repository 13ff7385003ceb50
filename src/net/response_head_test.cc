// SPDX-License-Identifier: Apache-2.0
#include "net/response_head.h"

#include <gtest/gtest.h>

#include "net/server.h"

namespace duckicelake::net {
namespace {

TEST(ResponseHead, WritesTheHead) {
  Response response = make_json_response(404, "{}");
  response.add_header("etag", "\"a\"");
  ResponseFraming framing;
  framing.date = "D";
  framing.request_id = "r";
  framing.connection = ConnectionOption::kClose;
  std::string head = "old";
  ASSERT_TRUE(compose_response_head(response, framing, head));
  EXPECT_EQ(head,
            "HTTP/1.1 404 Not Found\r\ndate: D\r\ncontent-length: 2\r\nx-request-id: r\r\n"
            "connection: close\r\ncontent-type: application/json\r\netag: \"a\"\r\n\r\n");
}

// Whatever stands around them: bytes are looked at several at a time.
TEST(ResponseHead, JudgesEachByteOfAHeaderWhereverItStands) {
  for (std::size_t before : {0U, 1U, 7U, 8U, 13U}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text =
          std::string(before, 'a') + static_cast<char>(byte) + std::string(before, 'z');
      std::string out;
      Response value = make_response(200, "text/plain", "");
      value.add_header("x-value", text);
      const bool is_value = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
      EXPECT_EQ(compose_response_head(value, {}, out), is_value) << byte << " after " << before;
      if (is_value) {
        EXPECT_NE(out.find("\r\nx-value: " + text + "\r\n"), std::string::npos);
        EXPECT_EQ(out.find('\0'), std::string::npos);
      }
      Response name = make_response(200, "text/plain", "");
      name.add_header(text, "v");
      const bool is_name = byte > 0x20 && byte < 0x7f && byte != ':';
      EXPECT_EQ(compose_response_head(name, {}, out), is_name) << byte << " after " << before;
    }
  }
}

TEST(ResponseHead, RefusesUnsafeHeaders) {
  for (const std::string& bad :
       {std::string("a\rb"), std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f")}) {
    Response response;
    std::string head;
    response.add_header("x", bad);
    EXPECT_FALSE(compose_response_head(response, {}, head));
    response.headers.clear();
    response.add_header("x" + bad, "v");
    EXPECT_FALSE(compose_response_head(response, {}, head));
  }
  Response response;
  std::string head;
  response.status = 101;
  EXPECT_FALSE(compose_response_head(response, {}, head));
}

TEST(ResponseHead, FormatsDates) {
  EXPECT_EQ(format_http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format_http_date(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST(ResponseHead, ErrorBodiesHaveTheIcebergShape) {
  EXPECT_EQ(default_error_body(400, "BadRequestException", "a \"b\"\\\n"),
            "{\"error\":{\"message\":\"a \\\"b\\\"\\\\\\u000a\",\"type\":\"BadRequestException\","
            "\"code\":400}}");
}

}  // namespace
}  // namespace duckicelake::net
