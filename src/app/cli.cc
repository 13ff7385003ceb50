// SPDX-License-Identifier: Apache-2.0
#include "app/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/settings.h"
#include "app/version.h"

namespace duckicelake::app {
namespace {

constexpr int kWrongSettings = 2;

int refuse(const Error& error) {
  fmt::print(stderr, "duckicelake: {}\n", error.message());
  return kWrongSettings;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App program("An Apache Iceberg REST catalog over DuckLake.", "duckicelake");
  program.footer("Settings: environment, .env, duckicelake.toml; see docs/operations/settings.md.");
  bool shows_version = false;
  bool shows_settings = false;
  program.add_flag("--version", shows_version, "Show the version and exit");
  program.add_flag("--print-config", shows_settings,
                   "Show every setting and where it comes from, without secrets, and exit");
  const CLI::App* serve = program.add_subcommand("serve", "Serve the catalog over HTTP");
  const CLI::App* init =
      program.add_subcommand("init", "Make the lake, or prepare one that is there; safe to repeat");
  const CLI::App* seed = program.add_subcommand("seed", "Add example tables; safe to repeat");
  CLI::App* doctor =
      program.add_subcommand("doctor", "Check PostgreSQL, the lake, the object store and DuckDB");
  bool proves_storage = false;
  doctor->add_flag("--storage", proves_storage,
                   "Try what keys for clients open on the object store, and nothing else");
  CLI::App* bucket_policy = program.add_subcommand(
      "bucket-policy",
      "Print the bucket policy (JSON) that confines the static keys of all catalogs; see "
      "docs/operations/static-keys.md");
  bool applies_policy = false;
  bucket_policy->add_flag("--apply", applies_policy,
                          "Put it on the bucket, read it back and try it with the keys themselves");
  program.require_subcommand(0, 1);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : kWrongSettings;
  }
  if (shows_version) {
    fmt::print("duckicelake {} ({})\n", kVersion, kCompiler);
    return 0;
  }
  const Result<SettingValues> values = SettingValues::load({environ, ""});
  if (!values) return refuse(values.error());
  const Result<Settings> settings = make_settings(*values);
  if (!settings) return refuse(settings.error());
  if (shows_settings) {
    fmt::print("{}", values->print());
    return 0;
  }
  if (*init) return run_init(*settings);
  if (*seed) return run_seed(*settings);
  if (*doctor) {
    return run_doctor(*settings, proves_storage ? DoctorScope::kStorage : DoctorScope::kAll);
  }
  if (*bucket_policy) {
    return run_bucket_policy(*settings,
                             applies_policy ? BucketPolicyUse::kApply : BucketPolicyUse::kPrint);
  }
  if (*serve) return run_serve(*settings, values->without_effect());
  fmt::print("{}", program.help());
  return kWrongSettings;
}

}  // namespace duckicelake::app
