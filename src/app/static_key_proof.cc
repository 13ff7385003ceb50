// SPDX-License-Identifier: Apache-2.0
#include "app/static_key_proof.h"

#include <algorithm>
#include <thread>

#include "app/store_hand.h"

namespace duckicelake::app {
namespace {

constexpr int kTries = 6;
constexpr std::chrono::seconds kPause{2};
constexpr std::size_t kMaxFolders = 4;  // of each kind that are tried

bool is_below(const std::string& key, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

class Prover {
 public:
  Prover(const Settings& settings, const catalog::ObjectPlace& place, const KeyToProve& key)
      : key_(key),
        place_(place),
        root_(place, place.root, settings.store.ca_file),
        hand_(place, key.keys, settings.store.ca_file),
        ca_file_(settings.store.ca_file),
        aside_(proof_prefix(settings)) {
    // Hidden from engines, and the same nowhere else.
    name_ = "_duckicelake-proof-" + aside_.substr(aside_.size() - 17, 16);
    own_.assign(
        key.opens.read_prefixes.begin(),
        key.opens.read_prefixes.begin() +
            static_cast<std::ptrdiff_t>(std::min(key.opens.read_prefixes.size(), kMaxFolders)));
    for (const std::string& prefix : key.opens.write_prefixes) {
      if (own_.size() < 2 * kMaxFolders && !is_below(prefix, own_)) own_.push_back(prefix);
    }
    closed_.assign(key.closed.begin(), key.closed.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                key.closed.size(), kMaxFolders)));
    closed_.push_back(aside_);
  }

  Result<StorageProof> run() {
    StorageProof out;
    Status ready;
    for (int i = 0; i < kTries; ++i) {
      if (i > 0) std::this_thread::sleep_for(kPause);
      ready = put_probes();
      if (!ready) break;
      out = {};
      out.way = "bucket policy";
      try_all(out);
      if (out.is_right()) break;
    }
    for (const std::vector<std::string>& folders : {own_, closed_}) {
      for (const std::string& folder : folders) {
        for (const char* end : {"", ".new", ".copy"}) {
          (void)root_.send("DELETE", folder + name_ + end, {});
        }
      }
    }
    if (!ready) return std::move(ready).error();
    return out;
  }

 private:
  Status put_probes() {
    for (const std::vector<std::string>& folders : {own_, closed_}) {
      for (const std::string& folder : folders) {
        if (root_.send("PUT", folder + name_, {}, {}, "proof") == 200) continue;
        return make_error(Code::kUnavailable, "the server's own keys cannot write below {}",
                          folder);
      }
    }
    return {};
  }

  void try_all(StorageProof& out) {
    const auto expect = [&](std::string tried, int expected, int found) {
      out.lines.push_back({std::move(tried), expected, found, expected == found});
    };
    for (const std::string& folder : own_) {
      const std::string probe = folder + name_;
      const bool may_write = is_below(folder, key_.opens.write_prefixes);
      if (is_below(folder, key_.opens.read_prefixes)) {
        expect("read in " + folder, 200, hand_.send("GET", probe, {}));
        expect("list " + folder, 200,
               hand_.send("GET", "", {{"list-type", "2"}, {"prefix", folder}}));
      }
      expect("read as a version (versionId=null) in " + folder, 403,
             hand_.send("GET", probe, {{"versionId", "null"}}));
      expect("write in " + folder, may_write ? 200 : 403,
             hand_.send("PUT", probe + ".new", {}, {}, "proof"));
      expect("delete in " + folder, 403, hand_.send("DELETE", probe, {}));
    }
    for (const std::string& folder : closed_) {
      const std::string probe = folder + name_;
      expect("read in " + folder, 403, hand_.send("GET", probe, {}));
      expect("look at an object in " + folder, 403, hand_.send("HEAD", probe, {}));
      expect("list " + folder, 403,
             hand_.send("GET", "", {{"list-type", "2"}, {"prefix", folder}}));
      expect("write in " + folder, 403, hand_.send("PUT", probe + ".new", {}, {}, "proof"));
      expect("delete in " + folder, 403, hand_.send("DELETE", probe, {}));
      if (key_.opens.write_prefixes.empty()) continue;
      const std::string& to = key_.opens.write_prefixes.front();
      expect("copy from " + folder, 403,
             hand_.send("PUT", to + name_ + ".copy", {},
                        {{"x-amz-copy-source", "/" + place_.place.bucket + "/" + probe}}));
    }
    expect("list the bucket", 403, hand_.send("GET", "", {{"list-type", "2"}}));
    expect("read the bucket's policy", 403, hand_.send("GET", "", {{"policy", ""}}));
    for (const std::string& bucket : key_.other_buckets) {
      catalog::ObjectPlace other = place_;
      other.place.bucket = bucket;
      const int found = StoreHand(other, key_.keys, ca_file_).send("GET", "", {{"list-type", "2"}});
      // It may be in another region, or at another store, and then not be there.
      out.lines.push_back({"list bucket " + bucket, 403, found, found >= 300});
    }
  }

  const KeyToProve& key_;
  const catalog::ObjectPlace& place_;
  StoreHand root_;
  StoreHand hand_;
  const std::string& ca_file_;
  const std::string aside_;
  std::string name_;
  std::vector<std::string> own_;
  std::vector<std::string> closed_;
};

}  // namespace

Result<StorageProof> prove_static_key(const Settings& settings, const catalog::ObjectPlace& place,
                                      const KeyToProve& key) {
  return Prover(settings, place, key).run();
}

}  // namespace duckicelake::app
