// SPDX-License-Identifier: Apache-2.0
// Commits single-file appends from several clients in rounds, and prints how many went through and
// how long the server took for each. In a round all clients upload manifest and list (which has to
// continue the parent's) first; then all commit at once, and only that is timed: per second means
// per second of committing. bench/commits.py starts it.
#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "iceberg/table_metadata.h"
#include "iceberg/value.h"
#include "json/value.h"
#include "manifest/manifest.h"
#include "objstore/s3_object_store.h"

namespace {

using namespace duckicelake;
using Clock = std::chrono::steady_clock;

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void die(const std::string& what) {
  std::cerr << what << "\n";
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result.has_value()) die(result.error().to_string());
  return std::move(*result);
}

class Http {
 public:
  Http() : handle_(curl_easy_init()) {
    headers_ = curl_slist_append(headers_, "content-type: application/json");
    headers_ = curl_slist_append(headers_, "expect:");
  }
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(handle_);
  }
  // The status; the body is in `body`.
  long call(const std::string& url, const std::string* post) {
    body.clear();
    curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &Http::take);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    if (post != nullptr) {
      curl_easy_setopt(handle_, CURLOPT_POST, 1L);
      curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, post->data());
      curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(post->size()));
    } else {
      curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);
    }
    if (const CURLcode code = curl_easy_perform(handle_); code != CURLE_OK) {
      die(curl_easy_strerror(code));
    }
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  std::string body;

 private:
  static std::size_t take(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Http*>(self)->body.append(data, size * count);
    return size * count;
  }
  CURL* handle_;
  curl_slist* headers_ = nullptr;
};

struct Totals {
  std::atomic<std::int64_t> committed{0};
  std::atomic<std::int64_t> conflicts{0};
  std::atomic<std::int64_t> bytes{0};
};

class Client {
 public:
  Client(objstore::ObjectStore& store, std::string url, unsigned seed, const std::string& data)
      : store_(store), url_(std::move(url)), random_(seed), data_(data) {}

  // `ready` and `done` are passed by all clients in each round; `done` sets `is_over`.
  template <class Ready, class Done>
  void run(Ready& ready, Done& done, const bool& is_over, Totals& totals) {
    load();
    while (!is_over) {
      const std::string body = prepare();
      ready.arrive_and_wait();
      const auto start = Clock::now();
      const long status = http_.call(url_, &body);
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      done.arrive_and_wait();
      if (status == 200) {
        latencies.push_back(ms);
        ++totals.committed;
        totals.bytes += static_cast<std::int64_t>(http_.body.size());
        take(http_.body);
      } else if (status == 409) {
        ++totals.conflicts;
        load();
      } else {
        die("status " + std::to_string(status) + ": " + http_.body);
      }
    }
  }
  std::vector<double> latencies;

 private:
  void load() {
    if (const long status = http_.call(url_, nullptr); status != 200) die(http_.body);
    take(http_.body);
  }

  void take(const std::string& answer) {
    const json::Document document = need(json::Document::parse(answer));
    const json::Object root = need(document.root_object());
    const std::string text = need(root.require("metadata")).to_text();
    metadata_ = need(iceberg::metadata_from_json(text));
    parent_.clear();
    for (const iceberg::Snapshot& snapshot : metadata_.snapshots) {
      if (snapshot.snapshot_id != metadata_.current_snapshot_id) continue;
      const std::string key = need(store_.key_of(snapshot.manifest_list));
      parent_ = need(manifest::decode_manifest_list(need(store_.get(key, 64U << 20)), 100'000));
    }
  }

  std::string prepare() {
    const auto id = static_cast<std::int64_t>(random_() >> 2);
    manifest::ManifestHeader header;
    header.schema = metadata_.schemas.back();
    header.spec = metadata_.partition_specs.front();
    manifest::ManifestEntry entry;
    entry.data_file.file_path = metadata_.location + "/data/" + std::to_string(id) + ".parquet";
    entry.data_file.record_count = 10;
    entry.data_file.file_size_in_bytes =
        data_.empty() ? 1000 : static_cast<std::int64_t>(data_.size());
    entry.data_file.value_counts = {{1, 10}, {2, 10}};
    entry.data_file.null_value_counts = {{1, 0}, {2, 0}};
    entry.data_file.lower_bounds = {{1, iceberg::value_of_long(0)}, {2, "x"}};
    entry.data_file.upper_bounds = {{1, iceberg::value_of_long(9)}, {2, data_.empty() ? "x" : "y"}};
    const std::string bytes = need(manifest::encode_manifest(header, std::vector{entry}));
    manifest::ManifestFile file = need(
        manifest::summarize(header, std::vector{entry}, id, metadata_.last_sequence_number + 1));
    file.manifest_path = metadata_.location + "/metadata/" + std::to_string(id) + "-m0.avro";
    file.manifest_length = static_cast<std::int64_t>(bytes.size());
    file.sequence_number = metadata_.last_sequence_number + 1;
    file.added_snapshot_id = id;
    std::vector<manifest::ManifestFile> list = parent_;
    list.push_back(file);
    manifest::ManifestListHeader list_header;
    list_header.snapshot_id = id;
    list_header.parent_snapshot_id = metadata_.current_snapshot_id;
    list_header.sequence_number = metadata_.last_sequence_number + 1;
    const std::string list_bytes = need(manifest::encode_manifest_list(list_header, list));
    const std::string list_uri =
        metadata_.location + "/metadata/snap-" + std::to_string(id) + ".avro";
    const auto put = [&](const std::string& uri, const std::string& text) {
      const Status done = store_.put(need(store_.key_of(uri)), text, {});
      if (!done.has_value()) die(done.error().to_string());
    };
    if (!data_.empty()) put(entry.data_file.file_path, data_);
    put(file.manifest_path, bytes);
    put(list_uri, list_bytes);
    const std::string parent =
        metadata_.current_snapshot_id ? std::to_string(*metadata_.current_snapshot_id) : "null";
    return R"({"requirements":[{"type":"assert-table-uuid","uuid":")" + metadata_.table_uuid +
           R"("},{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":)" + parent +
           R"(}],"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":)" +
           std::to_string(id) +
           (metadata_.current_snapshot_id ? R"(,"parent-snapshot-id":)" + parent : "") +
           R"(,"sequence-number":)" + std::to_string(list_header.sequence_number) +
           R"(,"timestamp-ms":1,"manifest-list":")" + list_uri +
           R"(","summary":{"operation":"append"},"schema-id":0}},{"action":"set-snapshot-ref",)" +
           R"("ref-name":"main","type":"branch","snapshot-id":)" + std::to_string(id) + "}]}";
  }

  objstore::ObjectStore& store_;
  const std::string url_;
  std::mt19937_64 random_;
  const std::string& data_;  // of each data file; empty: there are none
  Http http_;
  iceberg::TableMetadata metadata_;
  std::vector<manifest::ManifestFile> parent_;
};

double percentile(std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(p * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) die("usage: commit_client SECONDS CLIENTS TABLE_URL...");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  objstore::S3Config config;
  config.endpoint = env("DUCKICELAKE_S3_ENDPOINT");
  config.region = env("DUCKICELAKE_S3_REGION").empty() ? "us-east-1" : env("DUCKICELAKE_S3_REGION");
  config.bucket = env("DUCKICELAKE_S3_BUCKET");
  config.access_key = env("DUCKICELAKE_S3_ROOT_KEY");
  config.secret_key = Secret(env("DUCKICELAKE_S3_ROOT_SECRET"));
  const auto store = need(objstore::S3ObjectStore::make(std::move(config)));
  const int seconds = std::atoi(argv[1]);
  const int clients = std::atoi(argv[2]);
  const std::vector<std::string> urls(argv + 3, argv + argc);
  std::string data;
  if (const std::string path = env("BENCH_DATA_FILE"); !path.empty()) {
    std::ifstream in(path, std::ios::binary);
    data.assign(std::istreambuf_iterator<char>(in), {});
    if (data.empty()) die("cannot read " + path);
  }
  std::vector<std::unique_ptr<Client>> workers;
  std::random_device device;
  for (int i = 0; i < clients; ++i) {
    workers.push_back(std::make_unique<Client>(
        *store, urls[static_cast<std::size_t>(i) % urls.size()], device(), data));
  }
  Totals totals;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  Clock::time_point round_start;
  Clock::duration committing{};
  bool is_over = false;
  std::barrier ready(clients, [&]() noexcept { round_start = Clock::now(); });
  std::barrier done(clients, [&]() noexcept {
    const auto now = Clock::now();
    committing += now - round_start;
    is_over = now > until;
  });
  std::vector<std::thread> threads;
  for (auto& worker : workers) {
    threads.emplace_back([&] { worker->run(ready, done, is_over, totals); });
  }
  for (std::thread& thread : threads) thread.join();
  const double took = std::chrono::duration<double>(committing).count();
  std::vector<double> all;
  for (const auto& worker : workers) {
    all.insert(all.end(), worker->latencies.begin(), worker->latencies.end());
  }
  std::sort(all.begin(), all.end());
  const auto committed = static_cast<double>(totals.committed);
  std::cout << "{\"clients\":" << clients << ",\"tables\":" << urls.size()
            << ",\"commits_per_second\":" << committed / took
            << ",\"conflicts_per_second\":" << static_cast<double>(totals.conflicts) / took
            << ",\"p50_ms\":" << percentile(all, 0.5) << ",\"p99_ms\":" << percentile(all, 0.99)
            << ",\"bytes_per_answer\":"
            << (committed > 0 ? static_cast<double>(totals.bytes) / committed : 0) << "}\n";
  return 0;
}
