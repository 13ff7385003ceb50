// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_store.h"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "app/backends.h"
#include "json/writer.h"

namespace duckicelake::app {
namespace {

using objstore::S3ObjectStore;

// Outside of the lake's data, where nothing else looks: "<prefix>-doctor/<random>/".
std::string probe_prefix(const Settings& settings) {
  std::string prefix = settings.store.prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  std::random_device random;
  return fmt::format("{}-doctor/{:08x}{:08x}/", prefix, random(), random());
}

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

std::string read_only_policy(const Settings& settings, const std::string& prefix) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  writer.member("Version", "2012-10-17");
  writer.key("Statement");
  writer.begin_array();
  writer.begin_object();
  writer.member("Effect", "Allow");
  writer.member("Action", "s3:GetObject");
  writer.member("Resource", fmt::format("arn:aws:s3:::{}/{}*", settings.store.bucket, prefix));
  writer.end_object();
  writer.end_array();
  writer.end_object();
  return out;
}

// What the keys may do beyond reading `inside`; empty: nothing.
Result<std::string> excess_of(S3ObjectStore& narrow, const std::string& inside,
                              const std::string& outside) {
  if (const auto got = narrow.get(inside, 1024); !got) {
    return Error(got.error()).with_context("the keys do not read what they may");
  }
  if (narrow.get(outside, 1024)) return std::string("read outside of their folder");
  if (narrow.put(inside + "-written", "x", {})) return std::string("write");
  if (narrow.list("", "", 1)) return std::string("list the bucket");
  return std::string();
}

Result<std::string> probe_sts(const Settings& settings, S3ObjectStore& store,
                              const std::string& prefix) {
  DIL_TRY(auto sts, objstore::StsClient::make(*sts_config(settings)));
  const std::string inside = prefix + "in/probe";
  const std::string outside = prefix + "out/probe";
  DIL_CHECK_OK(store.put(inside, "x", {}));
  DIL_CHECK_OK(store.put(outside, "x", {}));
  objstore::AssumeRoleRequest request;
  request.role_arn = settings.store.sts_role_arn;
  request.session_name = "duckicelake-doctor";
  request.session_policy = read_only_policy(settings, prefix + "in/");
  request.duration = std::chrono::seconds(900);
  DIL_TRY(const objstore::AssumedRole role, sts->assume_role(request));
  objstore::S3Config config = store_config(settings);
  config.access_key = role.access_key;
  config.secret_key = role.secret_key;
  config.session_token = role.session_token;
  DIL_TRY(auto narrow, S3ObjectStore::make(config));
  return excess_of(*narrow, inside, outside);
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
  if (const Status probed = probe_objects(**store, probe_prefix(settings)); !probed) {
    return report.fail("object store", probed.error());
  }
  report.ok("object store", fmt::format("bucket {} at {}: write, read, list and delete work",
                                        settings.store.bucket, settings.store.endpoint));
}

void check_sts(Report& report, const Settings& settings) {
  if (settings.store.sts_endpoint.empty()) {
    return report.ok("sts", "none, as DUCKICELAKE_STS_ENDPOINT says");
  }
  auto store = S3ObjectStore::make(store_config(settings));
  if (!store) return report.fail("sts", store.error());
  const std::string prefix = probe_prefix(settings);
  const Result<std::string> excess = probe_sts(settings, **store, prefix);
  for (const char* name : {"in/probe", "in/probe-written", "out/probe"}) {
    (void)(*store)->remove(prefix + name);
  }
  if (!excess && excess.error().code() == Code::kUnsupported) {
    return report.warn("sts", fmt::format("there is none at {}", settings.store.sts_endpoint));
  }
  if (!excess) return report.fail("sts", excess.error());
  if (!excess->empty()) {
    return report.fail("sts",
                       fmt::format("keys that were made to read one folder can {}", *excess));
  }
  report.ok("sts", fmt::format("{} makes narrow keys for {}", settings.store.sts_endpoint,
                               settings.store.sts_role_arn));
}

}  // namespace duckicelake::app
