// SPDX-License-Identifier: Apache-2.0
#include "objstore/s3_xml.h"

#include <gtest/gtest.h>

namespace duckicelake::objstore {
namespace {

constexpr std::string_view kNs = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

std::string listing(std::string_view contents,
                    std::string_view tail = "<IsTruncated>false</IsTruncated>") {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult{}><Name>b</Name>"
      "<EncodingType>url</EncodingType>{}{}</ListBucketResult>",
      kNs, contents, tail);
}

std::string object(std::string_view key, std::string_view size = "5",
                   std::string_view modified = "2026-11-29T19:43:45.123Z") {
  return fmt::format(
      "<Contents><Key>{}</Key><ETag>&#34;abc&#34;</ETag><Size>{}</Size>"
      "<LastModified>{}</LastModified></Contents>",
      key, size, modified);
}

TEST(ListXml, DecodesKeysAndFields) {
  auto page = parse_list(listing(object("p/a+b%2Bc%2520%26%E1%88%B4%01") + object("q")));
  ASSERT_TRUE(page.has_value()) << page.error().to_string();
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects[0].key, "p/a b+c%20&\xe1\x88\xb4\x01");
  EXPECT_EQ(page->objects[0].etag, "abc");
  EXPECT_EQ(page->objects[0].size, 5U);
  EXPECT_EQ(page->objects[0].last_modified.time_since_epoch().count(), 1795981425);
  EXPECT_FALSE(page->continuation.has_value());
}

TEST(ListXml, LeavesKeysAloneWhenTheyAreNotEncoded) {
  std::string body = listing(object("a+b%20&amp;c"));
  body.replace(body.find("url"), 3, "");
  EXPECT_EQ(parse_list(body)->objects[0].key, "a+b%20&c");
}

TEST(ListXml, GivesTheContinuation) {
  auto page = parse_list(listing(object("a"),
                                 "<IsTruncated>true</IsTruncated>"
                                 "<NextContinuationToken>t/&lt;k+=</NextContinuationToken>"));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->continuation, "t/<k+=");
}

TEST(ListXml, RefusesWhatIsNoListing) {
  std::string too_many;
  for (int i = 0; i < 1001; ++i) too_many += object("k");
  for (const std::string& bad :
       std::vector<std::string>{"",
                                "<",
                                "{}",
                                "<a/>",
                                "<ListBucketResult>",
                                "<ListBucketResult/>",
                                listing("", ""),
                                listing("", "<IsTruncated>true</IsTruncated>"),
                                listing("", "<IsTruncated>maybe</IsTruncated>"),
                                listing(object("")),
                                listing(object("%")),
                                listing(object("%zz")),
                                listing(object("a", "")),
                                listing(object("a", "-1")),
                                listing(object("a", "5x")),
                                listing(object("a", "99999999999999999999999")),
                                listing(object("a", "5", "yesterday")),
                                listing(object("a", "5", "2026-13-01T00:00:00Z")),
                                listing(too_many),
                                std::string(kMaxXmlBytes + 1, ' ')}) {
    auto page = parse_list(bad);
    ASSERT_FALSE(page.has_value()) << bad.substr(0, 200);
    EXPECT_EQ(page.error().code(), Code::kCorruptData);
  }
}

TEST(ListXml, IgnoresDoctypesAndEntities) {
  std::string body = listing(object("&evil;"));
  body.insert(body.find("<ListBucketResult"),
              "<!DOCTYPE x [<!ENTITY evil SYSTEM \"file:///etc/passwd\">]>");
  auto page = parse_list(body);
  if (page.has_value()) {
    EXPECT_EQ(page->objects[0].key, "&evil;");
  }
}

TEST(ErrorXml, ReadsS3AndStsErrors) {
  EXPECT_EQ(
      parse_error(
          "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>a\nb</Message></Error>")
          .code,
      "NoSuchKey");
  EXPECT_EQ(parse_error("<Error><Code>x</Code><Message>a\nb</Message></Error>").message, "a b");
  EXPECT_EQ(
      parse_error("<ErrorResponse "
                  "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
                  "<Code>AccessDenied</Code></Error></ErrorResponse>")
          .code,
      "AccessDenied");
  EXPECT_EQ(parse_error("<Error><Code>a b</Code></Error>").code, "");
  EXPECT_EQ(parse_error("<Error><Code>" + std::string(65, 'a') + "</Code></Error>").code, "");
  EXPECT_EQ(parse_error("<Error><Message>" + std::string(5000, 'm') + "</Message></Error>")
                .message.size(),
            300U);
  EXPECT_EQ(parse_error("not xml").code, "");
  EXPECT_EQ(parse_error("").code, "");
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "<a>";
  EXPECT_EQ(parse_error(deep).code, "");
}

TEST(DeleteXml, EscapesKeysAndReadsFailures) {
  EXPECT_EQ(
      delete_objects_body({"a&b", "<c>\"'"}),
      "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
      "<Object><Key>a&amp;b</Key></Object><Object><Key>&lt;c&gt;&quot;'</Key></Object></Delete>");
  auto failures = parse_delete_result(
      "<DeleteResult><Deleted><Key>x</Key></Deleted><Error><Key>a&amp;b</Key><Code>AccessDenied</"
      "Code></Error>"
      "</DeleteResult>");
  ASSERT_TRUE(failures.has_value());
  ASSERT_EQ(failures->size(), 1U);
  EXPECT_EQ((*failures)[0].key, "a&b");
  EXPECT_EQ((*failures)[0].error.code, "AccessDenied");
  EXPECT_FALSE(parse_delete_result("<Error/>").has_value());
  EXPECT_TRUE(fits_in_xml("a b/\xc3\xa4"));
  EXPECT_FALSE(fits_in_xml("a\nb"));
  EXPECT_FALSE(fits_in_xml(std::string_view("a\0b", 3)));
  EXPECT_FALSE(fits_in_xml("\xff"));
  EXPECT_FALSE(fits_in_xml("\xef\xbf\xbf"));
}

TEST(MultipartXml, ReadsUploadIdAndCompletion) {
  EXPECT_EQ(
      *parse_upload_id(
          "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
      "u");
  EXPECT_FALSE(parse_upload_id("<InitiateMultipartUploadResult/>").has_value());
  EXPECT_EQ(parse_complete_upload("<CompleteMultipartUploadResult/>")->code, "");
  EXPECT_EQ(parse_complete_upload("<Error><Code>InternalError</Code></Error>")->code,
            "InternalError");
  EXPECT_FALSE(parse_complete_upload("").has_value());
  EXPECT_FALSE(parse_complete_upload("<Error/>").has_value());
  EXPECT_EQ(
      complete_upload_body({"\"e\""}),
      "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Part>"
      "<PartNumber>1</PartNumber><ETag>&quot;e&quot;</ETag></Part></CompleteMultipartUpload>");
}

TEST(StsXml, ReadsCredentials) {
  std::string body =
      "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</"
      "AccessKeyId><SecretAccessKey>s+/=</SecretAccessKey>"
      "<SessionToken>t&amp;</SessionToken><Expiration>2026-11-29T20:43:45Z</Expiration></"
      "Credentials></AssumeRoleResult>"
      "</AssumeRoleResponse>";
  auto role = parse_assume_role(body);
  ASSERT_TRUE(role.has_value());
  EXPECT_EQ(role->access_key, "A");
  EXPECT_EQ(role->secret_key.reveal(), "s+/=");
  EXPECT_EQ(role->session_token.reveal(), "t&");
  EXPECT_EQ(role->expiration.time_since_epoch().count(), 1795985025);
  for (const char* missing : {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}) {
    std::string bad = body;
    std::size_t at = bad.find(fmt::format("<{}>", missing));
    std::size_t end = bad.find("</", at);
    std::size_t begin = bad.find('>', at) + 1;
    bad.erase(begin, end - begin);
    EXPECT_FALSE(parse_assume_role(bad).has_value()) << missing;
  }
  EXPECT_FALSE(parse_assume_role("").has_value());
}

TEST(IsoTime, RefusesOtherShapes) {
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:01Z")->time_since_epoch().count(), 1);
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:01.999999Z")->time_since_epoch().count(), 1);
  for (const char* bad : {"", "Z", "1970-01-01T00:00:01", "1970-01-01 00:00:01Z",
                          "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:01.Z",
                          "1970-01-01T00:00:01.5x5Z", "1970-01-01T00:00:01+00:00Z"}) {
    EXPECT_FALSE(parse_iso_time(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace duckicelake::objstore
