// SPDX-License-Identifier: Apache-2.0
#include "app/storage_proof.h"

#include <algorithm>

#include "app/backends.h"
#include "app/storage_parts.h"
#include "app/store_hand.h"
#include "json/writer.h"
#include "sign/session_policy.h"

namespace duckicelake::app {
namespace {

constexpr std::chrono::seconds kKeyLife{900};

class Prover {
 public:
  Prover(const Settings& settings, objstore::StsClient& sts, catalog::ObjectPlace place)
      : settings_(settings),
        sts_(sts),
        place_(std::move(place)),
        root_(place_, place_.root, settings.store.ca_file),
        folder_(proof_prefix(settings)) {}

  Result<StorageProof> run() {
    for (const char* name : {"in/probe", "in-2/probe", "probe"}) {
      if (root_.send("PUT", folder_ + name, {}, {}, "probe") != 200) {
        return Error(Code::kUnavailable, "the server's own keys cannot write to the bucket");
      }
    }
    const Status tried = try_all();
    for (const char* name : {"in/probe", "in/new", "in/copy", "in-2/probe", "in-2/new", "probe"}) {
      (void)root_.send("DELETE", folder_ + name, {});
    }
    if (!tried) return tried.error();
    return std::move(out_);
  }

 private:
  Result<std::unique_ptr<StoreHand>> hand_for(bool may_write) {
    sign::SessionScope scope;
    scope.bucket = settings_.store.bucket;
    scope.read_prefixes = {folder_ + "in/"};
    if (may_write) scope.write_prefixes = scope.read_prefixes;
    DIL_TRY(sign::SessionPolicy policy, sign::session_policy(scope, {}));
    objstore::AssumeRoleRequest request;
    request.role_arn = settings_.store.sts_role_arn;
    request.session_name = "duckicelake-doctor";
    request.session_policy = std::move(policy.text);
    request.duration = kKeyLife;
    DIL_TRY(objstore::AssumedRole role, sts_.assume_role(request));
    return std::make_unique<StoreHand>(
        place_,
        sign::Credentials{std::move(role.access_key), std::move(role.secret_key),
                          std::move(role.session_token)},
        settings_.store.ca_file);
  }

  void expect(std::string_view who, std::string_view what, int expected, int found) {
    // A copy or an upload that is refused is refused, whatever the store says beside.
    const bool is_right = expected == 200 ? found == 200 : found == expected;
    out_.lines.push_back({fmt::format("{} {}", who, what), expected, found, is_right});
  }

  Status try_all() {
    out_.way = "session keys of " + settings_.store.sts_endpoint;
    DIL_TRY(const std::unique_ptr<StoreHand> reader, hand_for(false));
    DIL_TRY(const std::unique_ptr<StoreHand> writer, hand_for(true));
    const std::string in = folder_ + "in/", beside = folder_ + "in-2/";
    const std::string from = "/" + settings_.store.bucket + "/";
    for (const auto& [who, hand] :
         {std::pair<std::string_view, StoreHand*>{"keys to read one folder", reader.get()},
          std::pair<std::string_view, StoreHand*>{"keys to write one folder", writer.get()}}) {
      const bool writes = hand == writer.get();
      const int if_writer = writes ? 200 : 403;
      expect(who, "read an object in it", 200, hand->send("GET", in + "probe", {}));
      expect(who, "list it", 200, hand->send("GET", "", {{"list-type", "2"}, {"prefix", in}}));
      expect(who, "read an object in a folder beside it", 403,
             hand->send("GET", beside + "probe", {}));
      expect(who, "read an object above it", 403, hand->send("GET", folder_ + "probe", {}));
      expect(who, "read an object in it as a version (versionId=null)", 403,
             hand->send("GET", in + "probe", {{"versionId", "null"}}));
      expect(who, "list a folder beside it", 403,
             hand->send("GET", "", {{"list-type", "2"}, {"prefix", beside}}));
      expect(who, "list by the beginning of its name", 403,
             hand->send("GET", "", {{"list-type", "2"}, {"prefix", folder_ + "in"}}));
      expect(who, "list the bucket", 403, hand->send("GET", "", {{"list-type", "2"}}));
      expect(who, "write an object in it", if_writer, hand->send("PUT", in + "new", {}, {}, "x"));
      expect(who, "write an object in a folder beside it", 403,
             hand->send("PUT", beside + "new", {}, {}, "x"));
      expect(who, "copy an object from beside it", 403,
             hand->send("PUT", in + "copy", {}, {{"x-amz-copy-source", from + beside + "probe"}}));
      expect(who, "delete an object in it", 403, hand->send("DELETE", in + "probe", {}));
    }
    return {};
  }

  const Settings& settings_;
  objstore::StsClient& sts_;
  const catalog::ObjectPlace place_;
  StoreHand root_;
  const std::string folder_;
  StorageProof out_;
};

}  // namespace

bool StorageProof::is_right() const {
  return !lines.empty() && std::all_of(lines.begin(), lines.end(),
                                       [](const ProofLine& line) { return line.is_right; });
}

Result<StorageProof> prove_storage(const Settings& settings) {
  const auto config = sts_config(settings);
  if (!config) return Error(Code::kUnsupported, "there is no STS: no keys are given out");
  DIL_TRY(const std::unique_ptr<objstore::StsClient> sts, objstore::StsClient::make(*config));
  DIL_TRY(catalog::ObjectPlace place, object_place(settings));
  return Prover(settings, *sts, std::move(place)).run();
}

std::string proof_json(const StorageProof& proof) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.member("way", proof.way);
  json.member("ok", proof.is_right());
  json.key("checks");
  json.begin_array();
  for (const ProofLine& line : proof.lines) {
    json.begin_object();
    json.member("tried", line.tried);
    json.member("expected", std::int64_t{line.expected});
    json.member("found", std::int64_t{line.found});
    json.member("ok", line.is_right);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace duckicelake::app
