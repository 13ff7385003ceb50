// SPDX-License-Identifier: Apache-2.0
#include "sign/s3_operation.h"

#include <gtest/gtest.h>

namespace duckicelake::sign {
namespace {

const S3Place kPlace{"127.0.0.1:9000", "", "lake"};

S3Request request(std::string method, std::string path, std::string_view query = {},
                  std::vector<Header> headers = {}) {
  return {std::move(method), "127.0.0.1:9000", std::move(path), *parse_query(query),
          std::move(headers)};
}

// "GetObject data/t/f", "CopyObject data/t/f < data/t/g", or "refused".
std::string meaning(const S3Request& one, const S3Place& place = kPlace) {
  auto found = read_operation(one, place);
  if (!found) {
    EXPECT_EQ(found.error().code(), Code::kPermissionDenied);
    return "refused";
  }
  EXPECT_EQ(found->bucket, "lake");
  std::string out = std::string(verb_name(found->verb)) + " " + found->key;
  if (found->source) out += " < " + *found->source;
  return out;
}

TEST(S3Operation, ReadsWhatClientsDo) {
  struct Case {
    S3Request request;
    const char* meaning;
  };
  const std::vector<Case> cases = {
      {request("GET", "/lake/d/t/f"), "GetObject d/t/f"},
      {request("GET", "/lake/d/t/f", "x-id=GetObject"), "GetObject d/t/f"},
      {request("GET", "/lake/d/t/f", "", {{"Range", "bytes=0-1"}}), "GetObject d/t/f"},
      {request("HEAD", "/lake/d/t/f", "", {{"x-amz-checksum-mode", "ENABLED"}}),
       "HeadObject d/t/f"},
      {request("PUT", "/lake/d/t/f", "", {{"X-Amz-Checksum-Crc32", "AAAAAA=="}}),
       "PutObject d/t/f"},
      {request("PUT", "/lake/d/t/f", "", {{"x-amz-meta-a", "b"}, {"If-None-Match", "*"}}),
       "PutObject d/t/f"},
      {request("PUT", "/lake/d/t/f", "", {{"x-amz-copy-source", "/lake/d/t/g"}}),
       "CopyObject d/t/f < d/t/g"},
      {request("PUT", "/lake/d/t/f", "", {{"x-amz-copy-source", "lake/d/t/g%20h"}}),
       "CopyObject d/t/f < d/t/g h"},
      {request("POST", "/lake/d/t/f", "uploads"), "CreateMultipartUpload d/t/f"},
      {request("POST", "/lake/d/t/f", "uploads=&x-id=CreateMultipartUpload"),
       "CreateMultipartUpload d/t/f"},
      {request("PUT", "/lake/d/t/f", "partNumber=1&uploadId=u"), "UploadPart d/t/f"},
      {request("PUT", "/lake/d/t/f", "partNumber=1&uploadId=u",
               {{"x-amz-copy-source", "lake/d/t/g"}, {"x-amz-copy-source-range", "bytes=0-1"}}),
       "UploadPartCopy d/t/f < d/t/g"},
      {request("POST", "/lake/d/t/f", "uploadId=u"), "CompleteMultipartUpload d/t/f"},
      {request("DELETE", "/lake/d/t/f", "uploadId=u"), "AbortMultipartUpload d/t/f"},
      {request("GET", "/lake/d/t/f", "uploadId=u&max-parts=10"), "ListParts d/t/f"},
      {request("DELETE", "/lake/d/t/f"), "DeleteObject d/t/f"},
      {request("POST", "/lake", "delete"), "DeleteObjects "},
      {request("POST", "/lake/", "delete="), "DeleteObjects "},
      {request("GET", "/lake", "list-type=2&prefix=d/t/"), "ListObjects d/t/"},
      {request("GET", "/lake/", "prefix=d/t/data/&delimiter=/&max-keys=5&encoding-type=url"),
       "ListObjects d/t/data/"},
      {request("GET", "/lake", "list-type=2&prefix=d/t/da&continuation-token=x%2F"),
       "ListObjects d/t/da"},
      {request("GET", "/lake/d/t/k=%C3%BC"), "GetObject d/t/k=%C3%BC"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(meaning(one.request), one.meaning);
  }
}

TEST(S3Operation, ReadsBothAddressingStyles) {
  S3Request one = request("GET", "/d/t/f");
  one.host = "lake.127.0.0.1:9000";
  EXPECT_EQ(meaning(one), "GetObject d/t/f");
  one.host = "LAKE.127.0.0.1:9000";
  EXPECT_EQ(meaning(one), "GetObject d/t/f");
  one = request("GET", "/", "list-type=2&prefix=d/t/");
  one.host = "lake.127.0.0.1:9000";
  EXPECT_EQ(meaning(one), "ListObjects d/t/");
  const S3Place deep{"store", "/base", "lake"};
  one = request("GET", "/base/lake/d/t/f");
  one.host = "store";
  EXPECT_EQ(meaning(one, deep), "GetObject d/t/f");
  one.path = "/lake/d/t/f";
  EXPECT_EQ(meaning(one, deep), "refused");
}

TEST(S3Operation, RefusesOtherHostsAndBuckets) {
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:9001", "evil:9000", "lake2.127.0.0.1:9000",
                           "other.127.0.0.1:9000", "127.0.0.1:9000.evil", "x@127.0.0.1:9000"}) {
    S3Request one = request("GET", "/lake/d/t/f");
    one.host = host;
    EXPECT_EQ(meaning(one), "refused") << host;
  }
  for (const char* path : {"/lake2/d/t/f", "/lak/d/t/f", "/", "", "lake/d", "//lake/d/t/f",
                           "/lakehouse", "/LAKE/d/t/f", "/lake%2Fd"}) {
    EXPECT_EQ(meaning(request("GET", path)), "refused") << path;
  }
}

TEST(S3Operation, RefusesPathsThatCanBeReadInTwoWays) {
  for (const char* key : {"d/../x/f", "d/./f", "d//f", "/d/f", "..", "d/t/..", "d\\t", "d/t/f\n",
                          "d/t/\x01", "\xFF", "d/t/"}) {
    EXPECT_EQ(meaning(request("GET", std::string("/lake/") + key)), "refused") << key;
  }
}

TEST(S3Operation, RefusesSubresourcesThatItDoesNotKnow) {
  for (const char* query : {"versionId=null",
                            "versionId=x",
                            "acl",
                            "policy",
                            "tagging",
                            "torrent",
                            "retention",
                            "legal-hold",
                            "attributes",
                            "restore",
                            "select",
                            "select-type=2",
                            "uploads",
                            "delete",
                            "website",
                            "cors",
                            "VersionId=null",
                            "acl=&x-id=GetObject",
                            "response-content-type=a",
                            "X-Amz-Acl=x",
                            "partNumber=1&partNumber=2",
                            "x-id=a&x-id=b",
                            "prefix=d",
                            "list-type=2"}) {
    EXPECT_EQ(meaning(request("GET", "/lake/d/t/f", query)), "refused") << query;
  }
  for (const char* query :
       {"versionId=null", "acl", "tagging", "retention", "legal-hold", "uploads", "partNumber=1",
        "uploadId=u", "uploadId=u&partNumber=1&acl", "append"}) {
    EXPECT_EQ(meaning(request("PUT", "/lake/d/t/f", query)), "refused") << query;
  }
  for (const char* query : {"", "restore", "select&select-type=2", "uploads&uploadId=u",
                            "uploadId=u&versionId=v", "delete"}) {
    EXPECT_EQ(meaning(request("POST", "/lake/d/t/f", query)), "refused") << query;
  }
  EXPECT_EQ(meaning(request("DELETE", "/lake/d/t/f", "versionId=null")), "refused");
  EXPECT_EQ(meaning(request("DELETE", "/lake/d/t/f", "tagging")), "refused");
  for (const char* query : {"",
                            "acl",
                            "policy",
                            "policyStatus",
                            "versions",
                            "versions&prefix=d/t/",
                            "uploads",
                            "uploads&prefix=d/t/",
                            "location",
                            "versioning",
                            "lifecycle",
                            "notification",
                            "encryption",
                            "list-type=2",
                            "list-type=2&prefix=",
                            "list-type=3&prefix=d/t/",
                            "prefix=d",
                            "list-type=2&prefix=d/t/&versions",
                            "prefix=d/t/&prefix=x/y/",
                            "prefix=/",
                            "prefix=d//t",
                            "prefix=../x/",
                            "prefix=d/../x/",
                            "prefix=d/%00/",
                            "prefix=d%5C/x",
                            "list-type=2&prefix=d/t/&optional-object-attributes=x"}) {
    EXPECT_EQ(meaning(request("GET", "/lake", query)), "refused") << query;
  }
  for (const char* method : {"PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get", "TRACE"}) {
    EXPECT_EQ(meaning(request(method, "/lake")), "refused") << method;
  }
  for (const char* method : {"OPTIONS", "PATCH", "TRACE", "get", "COPY", ""}) {
    EXPECT_EQ(meaning(request(method, "/lake/d/t/f")), "refused") << method;
  }
}

TEST(S3Operation, RefusesHeadersThatItDoesNotKnow) {
  for (const char* name :
       {"x-amz-acl", "X-Amz-Acl", "x-amz-grant-read", "x-amz-grant-full-control", "x-amz-tagging",
        "x-amz-website-redirect-location", "x-amz-object-lock-mode",
        "x-amz-object-lock-retain-until-date", "x-amz-bypass-governance-retention", "x-amz-mfa",
        "x-amz-request-payer", "x-amz-server-side-encryption-customer-key",
        "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-rename-source",
        "x-amz-write-offset-bytes", "x-amz-tagging-directive", "x-amz-something-new",
        "x-amz-optional-object-attributes", "x-amz-source-expected-bucket-owner"}) {
    EXPECT_EQ(meaning(request("PUT", "/lake/d/t/f", "", {{name, "v"}})), "refused") << name;
  }
}

TEST(S3Operation, RefusesCopySourcesThatAreNotSurelyInTheBucket) {
  for (const char* source :
       {"", "/", "lake", "lake/", "other/d/t/g", "/lake2/d/t/g", "lake/d/t/g?versionId=null",
        "lake/d/t/g%3FversionId=null", "lake/../other/g", "lake/d/%2e%2e/g", "lake//g",
        "lake/d/t/g%2525", "lake/d/t/g%", "//lake/d/t/g", "lake/d\\g",
        "arn:aws:s3:us-east-1:1:accesspoint/x/object/d/t/g"}) {
    EXPECT_EQ(meaning(request("PUT", "/lake/d/t/f", "", {{"x-amz-copy-source", source}})),
              "refused")
        << source;
  }
  EXPECT_EQ(
      meaning(request("PUT", "/lake/d/t/f", "",
                      {{"x-amz-copy-source", "lake/d/t/g"}, {"X-Amz-Copy-Source", "lake/d/t/g"}})),
      "refused");
  EXPECT_EQ(meaning(request("GET", "/lake/d/t/f", "", {{"x-amz-copy-source", "lake/d/t/g"}})),
            "refused");
  EXPECT_EQ(meaning(request("POST", "/lake/d/t/f", "uploads", {{"x-amz-copy-source", "lake/d/g"}})),
            "refused");
  EXPECT_EQ(meaning(request("PUT", "/lake/d/t/f", "", {{"x-amz-copy-source-range", "bytes=0-1"}})),
            "refused");
}

std::vector<std::string> keys_of(std::string_view xml) {
  auto keys = read_delete_keys(xml);
  if (!keys) {
    EXPECT_EQ(keys.error().code(), Code::kPermissionDenied);
    return {};
  }
  return *keys;
}

TEST(DeleteKeys, ReadsBothFormsOfTheBody) {
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys_of("<Delete><Object><Key>a/b</Key></Object></Delete>"), Keys{"a/b"});
  EXPECT_EQ(keys_of("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
                    "  <Object>\n <Key>a&amp;b&lt;</Key>\n </Object>"
                    "<Object><Key>c d</Key></Object><Quiet>true</Quiet></Delete>\n"),
            (Keys{"a&b<", "c d"}));
}

TEST(DeleteKeys, RefusesEverythingElse) {
  for (const char* xml :
       {"", "<Delete/>", "<Delete></Delete>", "not xml", "<Delete><Object><Key>a</Key></Object>",
        "<Delete><Object><Key>a</Key><VersionId>null</VersionId></Object></Delete>",
        "<Delete><Object><VersionId>1</VersionId><Key>a</Key></Object></Delete>",
        "<Delete><Object><Key>a</Key><Key>b</Key></Object></Delete>",
        "<Delete><Object><Key>a<!-- x --></Key></Object></Delete>",
        "<Delete><Object><Key><![CDATA[a]]></Key></Object></Delete>",
        "<Delete><Object><Key>&#97;</Key></Object></Delete>",
        "<!DOCTYPE x [<!ENTITY e 'b'>]><Delete><Object><Key>&e;</Key></Object></Delete>",
        "<Delete xmlns=\"urn:other\"><Object><Key>a</Key></Object></Delete>",
        "<x:Delete xmlns:x=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>",
        "<Delete><Object><Key>a</Key></Object></Delete><Delete/>",
        "<Delete><Object><Key>a</Key></Object></Delete>x",
        "<Delete>text<Object><Key>a</Key></Object></Delete>",
        "<delete><Object><Key>a</Key></Object></delete>"}) {
    EXPECT_TRUE(keys_of(xml).empty()) << xml;
  }
  std::string many = "<Delete>";
  for (int i = 0; i < 1000; ++i) many += "<Object><Key>a</Key></Object>";
  EXPECT_EQ(keys_of(many + "</Delete>").size(), 1000U);
  EXPECT_TRUE(keys_of(many + "<Object><Key>a</Key></Object></Delete>").empty());
  EXPECT_TRUE(keys_of(std::string(3U << 20, ' ')).empty());
}

}  // namespace
}  // namespace duckicelake::sign
