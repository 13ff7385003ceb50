// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_store.h"

#include <cstdio>
#include <cstdlib>

#include "app/backends.h"
#include "app/storage_proof.h"
#include "app/store_hand.h"

namespace duckicelake::app {
namespace {

using objstore::S3ObjectStore;

// The first step that fails, named.
Status probe_objects(S3ObjectStore& store, const std::string& prefix) {
  const std::string key = prefix + "probe";
  const std::string bytes = "duckicelake doctor\n";
  if (Status put = store.put(key, bytes, {}); !put) {
    return std::move(put).error().with_context("write");
  }
  const Result<std::string> got = store.get(key, 1024);
  if (!got) return Error(got.error()).with_context("read");
  if (*got != bytes) return make_error(Code::kCorruptData, "read: other bytes than were written");
  const auto page = store.list(prefix, "");
  if (!page) return Error(page.error()).with_context("list");
  if (page->objects.size() != 1)
    return make_error(Code::kCorruptData, "list: not what was written");
  if (Status removed = store.remove(key); !removed) {
    return std::move(removed).error().with_context("delete");
  }
  return {};
}

}  // namespace

void Report::ok(std::string_view name, std::string_view detail) {
  fmt::print("ok    {}: {}\n", name, detail);
  std::fflush(stdout);
}

void Report::warn(std::string_view name, std::string_view detail) {
  fmt::print("warn  {}: {}\n", name, detail);
  std::fflush(stdout);
}

void Report::fail(std::string_view name, std::string_view detail) {
  ++failures_;
  fmt::print("FAIL  {}: {}\n", name, detail);
  std::fflush(stdout);
}

void Report::fail(std::string_view name, const Error& error) {
  std::string detail = error.message();
  // One line, whatever a library said.
  if (!error.cause().empty()) detail += " [" + error.cause() + "]";
  for (char& c : detail) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  fail(name, detail);
}

void check_store(Report& report, const Settings& settings) {
  auto store = S3ObjectStore::make(store_config(settings));
  if (!store) return report.fail("object store", store.error());
  const auto state = (*store)->check_bucket();
  if (!state) return report.fail("object store", state.error());
  if (!state->exists) {
    return report.fail("object store", fmt::format("there is no bucket {}; run `duckicelake init`",
                                                   settings.store.bucket));
  }
  if (state->clock_lead) {
    const auto lead = state->clock_lead->count();
    const std::string detail = fmt::format("{} s ahead of ours", lead);
    // Signatures are refused when the clocks are 15 minutes apart.
    if (std::abs(lead) > 300) {
      report.fail("clock of the object store", detail);
    } else if (std::abs(lead) > 2) {
      report.warn("clock of the object store", detail);
    } else {
      report.ok("clock of the object store", detail);
    }
  } else {
    report.warn("clock of the object store", "it did not say");
  }
  if (const Status probed = probe_objects(**store, proof_prefix(settings)); !probed) {
    return report.fail("object store", probed.error());
  }
  report.ok("object store", fmt::format("bucket {} at {}: write, read, list and delete work",
                                        settings.store.bucket, settings.store.endpoint));
}

void check_sts(Report& report, const Settings& settings) {
  if (settings.store.sts_endpoint.empty()) {
    return report.ok("sts", "none, as DUCKICELAKE_STS_ENDPOINT says");
  }
  const Result<StorageProof> proof = prove_storage(settings);
  if (!proof && proof.error().code() == Code::kUnsupported) {
    return report.warn("sts", fmt::format("there is none at {}", settings.store.sts_endpoint));
  }
  if (!proof) return report.fail("sts", proof.error());
  for (const ProofLine& line : proof->lines) {
    if (line.is_right) continue;
    return report.fail("sts", fmt::format("{}: {} where {} is right; see `doctor --storage`",
                                          line.tried, line.found, line.expected));
  }
  report.ok("sts", fmt::format("{} makes narrow keys for {}", settings.store.sts_endpoint,
                               settings.store.sts_role_arn));
}

void check_keys(Report& report, const Settings& settings) {
  const Result<StorageProof> proof = prove_storage(settings);
  if (!proof && proof.error().code() == Code::kUnsupported) {
    return report.warn(
        "keys", fmt::format("{}; clients reach bytes by signed requests{}", proof.error().message(),
                            settings.gateway.is_enabled ? " and the gateway" : ""));
  }
  if (!proof) return report.fail("keys", proof.error());
  for (const ProofLine& line : proof->lines) {
    const bool is_open = line.found == 200;
    if (line.is_right) {
      report.ok(line.expected == 200 ? "open" : "closed",
                fmt::format("{}: {}", line.tried, line.found));
    } else if (is_open) {
      report.fail("open that must be closed", line.tried);
    } else {
      report.fail("not as it must be",
                  fmt::format("{}: {} instead of {}", line.tried, line.found, line.expected));
    }
  }
  if (proof->is_right()) {
    report.ok("keys", fmt::format("{} open what they name and nothing else", proof->way));
  } else {
    report.fail("keys",
                "this store does not keep to session policies as they are meant: set "
                "DUCKICELAKE_STS_ENDPOINT=none");
  }
}

}  // namespace duckicelake::app
