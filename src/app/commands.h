// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/settings.h"
#include "base/result.h"

namespace duckicelake::app {

// The subcommands. Each answers the process's exit code and has then said on standard output what
// it did and on standard error what went wrong.

// Makes or takes the lake: bucket, DuckLake, sidecar, indexes, triggers, view role. Changes nothing
// that is there already; any number may run at once.
int run_init(const Settings& settings);

// Adds the example tables of engine/seed.h where they are missing.
int run_seed(const Settings& settings);

// One line for each check: "ok", "warn" or "FAIL", its name and what was found. 1 when one failed.
enum class DoctorScope : bool { kAll, kStorage };  // kStorage: only what keys for clients open
int run_doctor(const Settings& settings, DoctorScope scope);

// What a bucket's policy has to say so that static keys open what their principals may see: prints
// the policy (JSON), or puts it there, reads it back and tries it with the keys themselves, with a
// line for each key. 1: it could not be had or put, or a key opens less or more than it must.
enum class BucketPolicyUse : bool { kPrint, kApply };
int run_bucket_policy(const Settings& settings, BucketPolicyUse use);

// Serves until SIGTERM or SIGINT, then lets running requests end. SIGHUP reads the certificate
// again.
int run_serve(const Settings& settings, const std::vector<std::string>& without_effect);

}  // namespace duckicelake::app
