// SPDX-License-Identifier: Apache-2.0
// The adapter against a server that misbehaves; what a real store answers is in live/.
#include "objstore/s3_object_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>

#include "objstore/endpoint.h"
#include "objstore/sts.h"
#include "objstore/testing/object_store_contract.h"
#include "objstore/testing/scripted_server.h"

namespace duckicelake::objstore {
namespace {

using std::chrono::milliseconds;

S3Config config_for(const std::string& url) {
  S3Config config;
  config.endpoint = url;
  config.bucket = "lake";
  config.access_key = "AKIDTEST";
  config.secret_key = Secret("secret-of-test");
  config.connect_timeout = milliseconds(1000);
  config.total_timeout = milliseconds(3000);
  config.retry_budget = milliseconds(1500);
  return config;
}

std::unique_ptr<S3ObjectStore> store_at(const ScriptedServer& server) {
  return std::move(*S3ObjectStore::make(config_for(server.url())));
}

std::string ok(std::string_view body = "", std::string_view headers = "") {
  return ScriptedServer::answer(200, body, headers);
}

std::string failure(int status, std::string_view code) {
  return ScriptedServer::answer(status, fmt::format("<Error><Code>{}</Code></Error>", code));
}

TEST(S3Store, RefusesSettingsThatCannotWork) {
  auto refuses = [](auto change) {
    S3Config config = config_for("http://127.0.0.1:1");
    change(config);
    return !S3ObjectStore::make(std::move(config)).has_value();
  };
  EXPECT_FALSE(refuses([](S3Config&) {}));
  for (const char* url :
       {"", "127.0.0.1", "ftp://h", "http://", "http://h:x", "http://u:p@h", "http://h?x",
        "http://h#f", "http://h:123456", "http://h/%41", "http://[::1"}) {
    EXPECT_TRUE(refuses([&](S3Config& c) { c.endpoint = url; })) << url;
  }
  for (const char* bucket : {"", "ab", "UPPER", "a/b", "a b", "a?b"}) {
    EXPECT_TRUE(refuses([&](S3Config& c) { c.bucket = bucket; })) << bucket;
  }
  EXPECT_TRUE(refuses([](S3Config& c) { c.access_key.clear(); }));
  EXPECT_TRUE(refuses([](S3Config& c) { c.secret_key = Secret(); }));
}

TEST(Endpoint, TakesUrlsApart) {
  auto plain = Endpoint::parse("http://h.example:80/");
  EXPECT_EQ(plain->authority, "h.example");
  EXPECT_EQ(plain->path, "");
  auto deep = Endpoint::parse("https://[::1]:8443/base/s3/");
  EXPECT_EQ(deep->scheme, "https");
  EXPECT_EQ(deep->authority, "[::1]:8443");
  EXPECT_EQ(deep->path, "/base/s3");
}

TEST(S3Store, SendsTheKeyEncodedOnceAndSigned) {
  std::string line;
  std::string head;
  ScriptedServer server([&](const ScriptedRequest& r) {
    line = r.line();
    head = r.head;
    return ok("x");
  });
  auto store = store_at(server);
  EXPECT_EQ(*store->get("a b/../%2F?#+\xff", 10), "x");
  EXPECT_EQ(line, "GET /lake/a%20b/../%252F%3F%23%2B%FF HTTP/1.1");
  EXPECT_NE(head.find("SignedHeaders=host;x-amz-content-sha256;x-amz-date"), std::string::npos);
  EXPECT_EQ(head.find("secret-of-test"), std::string::npos);

  S3Config config = config_for("http://localhost:" + std::to_string(server.port()) + "/base");
  auto with_path = std::move(*S3ObjectStore::make(config));
  EXPECT_TRUE(with_path->get("k", 10).has_value());
  EXPECT_EQ(line, "GET /base/lake/k HTTP/1.1");
}

TEST(S3Store, NamesTheBucketInTheHostForVirtualHostStyle) {
  ScriptedServer server([](const ScriptedRequest& r) {
    return ok(r.has("GET /k HTTP/1.1") && r.has("ost: lake.localhost:") ? "y" : "n");
  });
  S3Config config = config_for("http://localhost:" + std::to_string(server.port()));
  config.addressing = Addressing::kVirtualHost;
  auto store = std::move(*S3ObjectStore::make(config));
  auto got = store->get("k", 10);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_EQ(*got, "y");
}

TEST(S3Store, KeepsConnectionsAcrossCallsAndThreads) {
  ScriptedServer server([](const ScriptedRequest&) { return ok("x"); });
  auto store = store_at(server);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->get("k", 10).has_value());
  std::thread([&] { EXPECT_TRUE(store->get("k", 10).has_value()); }).join();
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(store->counters().connections, 1U);
  EXPECT_EQ(store->counters().of(Operation::kGet, Outcome::kOk), 21U);
}

TEST(S3Store, RetriesServerFaultsAndThenSucceeds) {
  for (int status : {500, 502, 503, 504, 429}) {
    ScriptedServer server([&](const ScriptedRequest& r) {
      return r.number < 3 ? failure(status, "SlowDown") : ok("x");
    });
    auto store = store_at(server);
    auto got = store->get("k", 10);
    ASSERT_TRUE(got.has_value()) << status << got.error().to_string();
    EXPECT_EQ(server.requests(), 3) << status;
    EXPECT_EQ(store->counters().retries, 2U);
  }
}

TEST(S3Store, GivesUpAfterABoundedNumberOfAttempts) {
  ScriptedServer server([](const ScriptedRequest&) { return failure(503, "SlowDown"); });
  auto store = store_at(server);
  auto got = store->get("k", 10);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), Code::kUnavailable);
  EXPECT_LE(server.requests(), 5);
  EXPECT_GE(server.requests(), 2);
  EXPECT_EQ(store->counters().of(Operation::kGet, Outcome::kUnavailable), 1U);
}

TEST(S3Store, DoesNotRetryWhatCannotGetBetter) {
  const std::pair<int, Code> cases[] = {{400, Code::kInternal},    {401, Code::kInternal},
                                        {403, Code::kInternal},    {404, Code::kNotFound},
                                        {301, Code::kInternal},    {307, Code::kInternal},
                                        {501, Code::kUnsupported}, {416, Code::kInvalidArgument}};
  for (auto [status, code] : cases) {
    ScriptedServer server([&](const ScriptedRequest&) {
      return ScriptedServer::answer(status, "", "location: http://127.0.0.1:1/elsewhere\r\n");
    });
    auto store = store_at(server);
    auto got = store->get("k", 10);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code(), code) << status;
    EXPECT_EQ(server.requests(), 1) << status;
  }
  ScriptedServer server([](const ScriptedRequest&) { return failure(404, "NoSuchBucket"); });
  EXPECT_EQ(store_at(server)->get("k", 10).error().code(), Code::kInternal);
}

TEST(S3Store, ReportsAStoreThatIsAwayAndRecoversWithIt) {
  auto server = std::make_unique<ScriptedServer>([](const ScriptedRequest&) { return ok("x"); });
  int port = server->port();
  auto store = store_at(*server);
  EXPECT_TRUE(store->get("k", 10).has_value());
  server.reset();
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(store->get("k", 10).error().code(), Code::kUnavailable);
  EXPECT_EQ(store->put("k", "v", {}).error().code(), Code::kUnavailable);
  std::vector<GetObject> many(400, GetObject{"k", 10});
  for (auto& r : store->get_many(many)) {
    EXPECT_EQ(r.error().code(), Code::kUnavailable);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  server = std::make_unique<ScriptedServer>([](const ScriptedRequest&) { return ok("y"); }, port);
  EXPECT_EQ(*store->get("k", 10), "y");
  for (auto& r : store->get_many(many)) {
    EXPECT_EQ(*r, "y");
  }
}

TEST(S3Store, LetsOneBrokenObjectNotSpoilABatch) {
  ScriptedServer server([](const ScriptedRequest& r) {
    return r.has("/broken") ? failure(500, "InternalError") : ok("x");
  });
  std::vector<GetObject> many(100, GetObject{"k", 10});
  many[3].key = "broken";
  auto got = store_at(server)->get_many(many);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].has_value(), i != 3) << i;
  }
  EXPECT_EQ(got[3].error().code(), Code::kUnavailable);
}

TEST(S3Store, TellsAStoreThatHangsFromOneThatIsAway) {
  std::atomic<bool> release{false};
  ScriptedServer server([&](const ScriptedRequest&) {
    while (!release) std::this_thread::sleep_for(milliseconds(10));
    return std::string();
  });
  S3Config config = config_for(server.url());
  config.total_timeout = milliseconds(300);
  auto store = std::move(*S3ObjectStore::make(config));
  auto got = store->get("k", 10);
  EXPECT_EQ(got.error().code(), Code::kDeadlineExceeded) << got.error().to_string();
  EXPECT_EQ(store->counters().of(Operation::kGet, Outcome::kTimeout), 1U);
  release = true;
}

TEST(S3Store, NeverTakesACutAnswerForAWholeOne) {
  ScriptedServer server([](const ScriptedRequest&) {
    return std::string("HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nhalf");
  });
  EXPECT_EQ(store_at(server)->get("k", 100).error().code(), Code::kUnavailable);
}

TEST(S3Store, BoundsWhatItReads) {
  std::string huge(200000, 'x');
  ScriptedServer server([&](const ScriptedRequest& r) {
    if (r.has("/announced")) {
      return std::string(
          "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\nconnection: close\r\n\r\nabc");
    }
    if (r.has("/chunked")) {
      return "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n30d40\r\n" + huge +
             "\r\n0\r\n\r\n";
    }
    return ScriptedServer::answer(404, huge);
  });
  auto store = store_at(server);
  EXPECT_EQ(store->get("announced", 1000).error().code(), Code::kPayloadTooLarge);
  EXPECT_EQ(store->get("chunked", 1000).error().code(), Code::kPayloadTooLarge);
  EXPECT_EQ(store->get("chunked", 200000)->size(), 200000U);
  EXPECT_EQ(store->get("absent", 1000).error().code(), Code::kNotFound);
}

TEST(S3Store, SurvivesAnswersThatAreNoHttp) {
  for (const std::string& answer : std::vector<std::string>{
           "nonsense\r\n\r\nconnection: close", "HTTP/1.1 99 X\r\nconnection: close\r\n\r\n",
           "HTTP/1.1 200 OK\r\ncontent-length: -5\r\nconnection: close\r\n\r\n", ""}) {
    ScriptedServer server([&](const ScriptedRequest&) { return answer; });
    auto got = store_at(server)->get("k", 10);
    if (got.has_value()) {
      EXPECT_LE(got->size(), 10U);
    }
    EXPECT_FALSE(store_at(server)->list("p", "").has_value());
    EXPECT_FALSE(store_at(server)->head("k").has_value());
  }
}

TEST(S3Store, ChecksThatARangeWasServed) {
  ScriptedServer server([](const ScriptedRequest& r) {
    if (r.has("/right"))
      return ScriptedServer::answer(206, "abc", "content-range: bytes 5-7/100\r\n");
    if (r.has("/wrong"))
      return ScriptedServer::answer(206, "abc", "content-range: bytes 6-8/100\r\n");
    return ok("abc");
  });
  auto store = store_at(server);
  EXPECT_EQ(*store->get_range("right", {5, 3}), "abc");
  EXPECT_EQ(store->get_range("wrong", {5, 3}).error().code(), Code::kInternal);
  EXPECT_EQ(store->get_range("ignored", {5, 3}).error().code(), Code::kInternal);
  EXPECT_EQ(*store->get_range("ignored", {0, 3}), "abc");
  EXPECT_EQ(store->get_range("k", {UINT64_MAX - 1, 3}).error().code(), Code::kInvalidArgument);
}

TEST(S3Store, NeverRepeatsAConditionalWriteThatMayHaveHappened) {
  PutOptions once;
  once.if_none_match_any = true;
  // The answer is lost.
  ScriptedServer lossy([](const ScriptedRequest&) { return std::string(); });
  EXPECT_EQ(store_at(lossy)->put("k", "v", once).error().code(), Code::kUnavailable);
  EXPECT_EQ(lossy.requests(), 1);
  // A fault inside the store.
  ScriptedServer faulty([](const ScriptedRequest&) { return failure(500, "InternalError"); });
  EXPECT_EQ(store_at(faulty)->put("k", "v", once).error().code(), Code::kUnavailable);
  EXPECT_EQ(faulty.requests(), 1);
  // Turned away before anything happened: repeated.
  ScriptedServer slow([](const ScriptedRequest& r) {
    EXPECT_TRUE(r.has("if-none-match: *"));
    return r.number == 1   ? failure(503, "SlowDown")
           : r.number == 2 ? failure(409, "ConditionalRequestConflict")
                           : ok();
  });
  EXPECT_TRUE(store_at(slow)->put("k", "v", once).has_value());
  EXPECT_EQ(slow.requests(), 3);
  for (int status : {409, 412}) {
    ScriptedServer taken(
        [&](const ScriptedRequest&) { return failure(status, "PreconditionFailed"); });
    EXPECT_EQ(store_at(taken)->put("k", "v", once).error().code(), Code::kAlreadyExists);
  }
}

TEST(S3Store, DoesNotBlameOthersWhenCurlItselfRepeatedAWrite) {
  // The kept connection dies with the second request, which curl then sends again by itself; the
  // first copy may have made the object that the answer is about.
  ScriptedServer server([](const ScriptedRequest& r) {
    if (r.number == 1) return ok();
    if (r.number == 2) return std::string();
    return failure(412, "PreconditionFailed");
  });
  auto store = store_at(server);
  PutOptions once;
  once.if_none_match_any = true;
  ASSERT_TRUE(store->put("first", "v", once).has_value());
  auto put = store->put("second", "v", once);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), Code::kUnavailable) << put.error().to_string();
}

TEST(S3Store, RepeatsAPlainWriteAfterALostAnswer) {
  ScriptedServer server([](const ScriptedRequest& r) {
    EXPECT_EQ(r.body, "value");
    return r.number < 3 ? std::string() : ok();
  });
  EXPECT_TRUE(store_at(server)->put("k", "value", {}).has_value());
}

TEST(S3Store, ReportsEachKeyThatWasNotDeleted) {
  ScriptedServer server([](const ScriptedRequest& r) {
    if (r.has("DELETE /lake/control%01")) return ScriptedServer::answer(204, "");
    EXPECT_TRUE(r.has("POST /lake?delete="));
    EXPECT_TRUE(r.has("content-md5: "));
    return ok(
        "<DeleteResult><Error><Key>b&amp;</Key><Code>AccessDenied</Code></Error></DeleteResult>");
  });
  auto store = store_at(server);
  auto removed = store->remove_many({"a", "b&", "control\x01", "", "c"});
  ASSERT_EQ(removed.size(), 5U);
  EXPECT_TRUE(removed[0].has_value());
  EXPECT_EQ(removed[1].error().code(), Code::kInternal);
  EXPECT_TRUE(removed[2].has_value());
  EXPECT_EQ(removed[3].error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(removed[4].has_value());

  ScriptedServer silent([](const ScriptedRequest&) { return ok("<html/>"); });
  for (auto& s : store_at(silent)->remove_many({"a", "b"})) {
    EXPECT_EQ(s.error().code(), Code::kCorruptData);
  }
}

TEST(S3Store, DeletesInBatchesOfAThousand) {
  ScriptedServer server([](const ScriptedRequest&) { return ok("<DeleteResult/>"); });
  std::vector<std::string> keys;
  for (int i = 0; i < 2500; ++i) keys.push_back("k" + std::to_string(i));
  for (auto& s : store_at(server)->remove_many(keys)) {
    EXPECT_TRUE(s.has_value());
  }
  EXPECT_EQ(server.requests(), 3);
}

class PartsOfFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/parts-" + std::to_string(::getpid());
    std::ofstream(path_, std::ios::binary) << std::string(12U << 20, 'p');
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  std::unique_ptr<S3ObjectStore> store(const ScriptedServer& server) {
    S3Config config = config_for(server.url());
    config.multipart_threshold = 6U << 20;
    config.part_size = 5U << 20;
    return std::move(*S3ObjectStore::make(config));
  }

  std::string path_;
};

constexpr std::string_view kStarted =
    "<InitiateMultipartUploadResult><UploadId>u 1</UploadId></InitiateMultipartUploadResult>";

TEST_F(PartsOfFile, AreSentAndCompletedInOrder) {
  std::atomic<std::size_t> bytes{0};
  std::string completion;
  ScriptedServer server([&](const ScriptedRequest& r) {
    if (r.has("?uploads=")) return ok(kStarted);
    if (r.has("PUT ")) {
      bytes += r.body.size();
      auto at = r.head.find("partNumber=") + 11;
      return ok("", fmt::format("ETag: \"e{}\"\r\n", r.head.substr(at, 1)));
    }
    completion = r.body;
    EXPECT_TRUE(r.has("POST /lake/k?uploadId=u%201"));
    return ok("<CompleteMultipartUploadResult/>");
  });
  Status put = store(server)->put_file("k", path_, {});
  ASSERT_TRUE(put.has_value()) << put.error().to_string();
  EXPECT_EQ(bytes, 12U << 20);
  EXPECT_NE(completion.find("<PartNumber>3</PartNumber><ETag>&quot;e3&quot;"), std::string::npos);
}

TEST_F(PartsOfFile, AreAbortedWhenOneFails) {
  std::atomic<int> aborts{0};
  ScriptedServer server([&](const ScriptedRequest& r) {
    if (r.has("?uploads=")) return ok(kStarted);
    if (r.has("partNumber=2")) return failure(403, "AccessDenied");
    if (r.has("DELETE /lake/k?uploadId=u%201")) {
      ++aborts;
      return ScriptedServer::answer(204, "");
    }
    EXPECT_FALSE(r.has("POST /lake/k?uploadId")) << "must not be completed";
    return ok("", "ETag: \"e\"\r\n");
  });
  EXPECT_EQ(store(server)->put_file("k", path_, {}).error().code(), Code::kInternal);
  EXPECT_EQ(aborts, 1);
}

TEST_F(PartsOfFile, AreNotTakenForCompleteWhenTheBodySaysOtherwise) {
  ScriptedServer server([&](const ScriptedRequest& r) {
    if (r.has("?uploads=")) return ok(kStarted);
    if (r.has("POST ")) return ok("<Error><Code>InternalError</Code></Error>");
    return ok("", "ETag: \"e\"\r\n");
  });
  EXPECT_EQ(store(server)->put_file("k", path_, {}).error().code(), Code::kUnavailable);
}

TEST_F(PartsOfFile, LeaveTheTargetAloneWhenADownloadBreaks) {
  ScriptedServer server([](const ScriptedRequest&) {
    return std::string("HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nhalf");
  });
  EXPECT_EQ(store(server)->get_file("k", path_).error().code(), Code::kUnavailable);
  EXPECT_EQ(contract::read_file(path_).size(), 12U << 20);
}

TEST(S3Store, ChecksAndMakesItsBucket) {
  ScriptedServer server([](const ScriptedRequest& r) {
    if (r.has("HEAD /lake HTTP/1.1")) {
      return std::string(
          "HTTP/1.1 404 X\r\ncontent-length: 0\r\ndate: Sun, 29 Nov 2026 19:00:00 GMT\r\n\r\n");
    }
    EXPECT_TRUE(r.has("PUT /lake HTTP/1.1"));
    EXPECT_NE(r.body.find("<LocationConstraint>eu-west-1<"), std::string::npos);
    return r.number == 2 ? ok() : failure(409, "BucketAlreadyOwnedByYou");
  });
  S3Config config = config_for(server.url());
  config.region = "eu-west-1";
  auto store = std::move(*S3ObjectStore::make(config));
  auto state = store->check_bucket();
  ASSERT_TRUE(state.has_value());
  EXPECT_FALSE(state->exists);
  EXPECT_TRUE(state->clock_lead.has_value());
  EXPECT_TRUE(store->create_bucket().has_value());
  EXPECT_EQ(store->create_bucket().error().code(), Code::kAlreadyExists);
}

TEST(S3Store, BoundsItsConnections) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  ScriptedServer server([&](const ScriptedRequest&) {
    int n = ++now;
    int seen = most;
    while (n > seen && !most.compare_exchange_weak(seen, n)) {
    }
    std::this_thread::sleep_for(milliseconds(5));
    --now;
    return ok("x");
  });
  S3Config config = config_for(server.url());
  config.max_connections = 3;
  auto store = std::move(*S3ObjectStore::make(config));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (auto& r : store->get_many(std::vector<GetObject>(20, GetObject{"k", 10}))) {
        EXPECT_TRUE(r.has_value()) << r.error().to_string();
      }
      EXPECT_TRUE(store->get("k", 10).has_value());
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(store->counters().of(Operation::kGet, Outcome::kOk), 84U);
}

std::unique_ptr<StsClient> sts_at(const ScriptedServer& server) {
  StsConfig config;
  config.endpoint = server.url();
  config.region = "us-east-1";
  config.access_key = "AKIDTEST";
  config.secret_key = Secret("s");
  return std::move(*StsClient::make(config));
}

constexpr std::string_view kRole =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId>"
    "<SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
    "<Expiration>2026-11-29T20:43:45Z</Expiration></Credentials></AssumeRoleResult></"
    "AssumeRoleResponse>";

std::string sts_failure(int status, std::string_view code) {
  return ScriptedServer::answer(
      status, fmt::format("<ErrorResponse><Error><Code>{}</Code></Error></ErrorResponse>", code));
}

TEST(Sts, AsksAgainForAnHourWhenLongerIsRefused) {
  std::vector<std::string> bodies;
  ScriptedServer server([&](const ScriptedRequest& r) {
    bodies.push_back(r.body);
    EXPECT_TRUE(r.has("POST / HTTP/1.1"));
    EXPECT_TRUE(r.has("/us-east-1/sts/aws4_request"));
    return r.body.find("DurationSeconds=3600") == std::string::npos
               ? sts_failure(400, "ValidationError")
               : ok(kRole);
  });
  AssumeRoleRequest request{"arn:aws:iam::0:role/r", "s", "{\"a\": 1}", std::chrono::seconds(7200)};
  auto role = sts_at(server)->assume_role(request);
  ASSERT_TRUE(role.has_value()) << role.error().to_string();
  EXPECT_EQ(role->secret_key.reveal(), "S");
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_NE(bodies[0].find("DurationSeconds=7200"), std::string::npos);
  EXPECT_NE(bodies[0].find("Policy=%7B%22a%22%3A%201%7D"), std::string::npos);
  request.duration = std::chrono::seconds(100);
  EXPECT_EQ(sts_at(server)->assume_role(request).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(bodies.size(), 3U);
}

TEST(Sts, TellsFailuresApart) {
  const std::tuple<int, const char*, Code> cases[] = {
      {400, "PackedPolicyTooLarge", Code::kPayloadTooLarge},
      {400, "MalformedPolicyDocument", Code::kInvalidArgument},
      {400, "Throttling", Code::kUnavailable},
      {403, "AccessDenied", Code::kInternal},
      {405, "", Code::kUnsupported},
      {404, "", Code::kUnsupported},
      {501, "NotImplemented", Code::kUnsupported},
      {500, "InternalFailure", Code::kUnavailable}};
  for (const auto& [status, name, code] : cases) {
    ScriptedServer server(
        [&, s = status, n = name](const ScriptedRequest&) { return sts_failure(s, n); });
    auto role = sts_at(server)->assume_role({"arn", "s", "", std::chrono::seconds(900)});
    ASSERT_FALSE(role.has_value());
    EXPECT_EQ(role.error().code(), code) << name << status;
  }
  ScriptedServer odd([](const ScriptedRequest&) { return ok("<html>"); });
  EXPECT_EQ(sts_at(odd)->assume_role({"arn", "s", "", std::chrono::seconds(900)}).error().code(),
            Code::kCorruptData);
}

}  // namespace
}  // namespace duckicelake::objstore
