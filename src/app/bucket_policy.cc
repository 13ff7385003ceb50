// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "app/backends.h"
#include "app/commands.h"
#include "app/doctor_store.h"
#include "app/guard_parts.h"
#include "app/static_key_proof.h"
#include "app/storage_parts.h"
#include "catalog/key_policy.h"
#include "objstore/s3_object_store.h"
#include "pg/pool.h"
#include "pg/transaction.h"
#include "sign/bucket_policy.h"
#include "store/key_policy.h"
#include "store/registry.h"
#include "store/sidecar.h"

namespace duckicelake::app {
namespace {

constexpr std::chrono::minutes kPatience{15};

void say(std::string_view text) { fmt::print(stderr, "bucket-policy: {}\n", text); }

// ARNs begin with this, as the role's does; "aws" where there is none.
std::string partition_of(std::string_view arn) {
  if (!arn.starts_with("arn:")) return "aws";
  arn.remove_prefix(4);
  return std::string(arn.substr(0, arn.find(':')));
}

struct PlannedCatalog {
  std::string id;
  std::vector<catalog::KeyPlan> keys;
  // Its data is in another bucket: what is known of its keys is what the run there found out.
  bool is_elsewhere = false;
};

// Of one catalog, not of PostgreSQL or the store: the keys of the others do not wait for it.
bool is_fault_of_catalog(const Error& error) {
  switch (error.code()) {
    case Code::kNotFound:
    case Code::kUnsupported:
    case Code::kInvalidArgument:
    case Code::kCorruptData: return true;
    default: return false;
  }
}

class BucketPolicy {
 public:
  explicit BucketPolicy(const Settings& settings)
      : settings_(settings),
        until_(pg::deadline_after(kPatience)),
        logger_(LogLevel::kWarning, settings.log_format, STDERR_FILENO) {}

  Status print() {
    DIL_CHECK_OK(open());
    DIL_CHECK_OK(plan());
    if (!policy_.empty()) fmt::print("{}\n", policy_);
    DIL_TRY(const bool is_there, sign::has_statements(found_, statements_, sid_));
    say(is_there ? "the bucket has these statements"
                 : "the bucket has other statements: `bucket-policy --apply` puts these");
    return {};
  }

  // Whether every key opens what it must.
  Result<bool> apply() {
    DIL_CHECK_OK(open());
    // Held by its connection: two at once would each prove the other's policy.
    DIL_TRY(pg::Lease lock, pool_->acquire(until_));
    constexpr pg::Sql kLock =
        "SELECT pg_advisory_lock(hashtextextended('duckicelake.bucket-policy', 0))";
    DIL_TRY(auto locked, lock->exec(pg::Statement{kLock, {}, pg::Prepare::kOnce, "lock policy"}));
    (void)locked;
    const Status done = apply_locked();
    lock.discard();
    DIL_CHECK_OK(done);
    return report_.failures() == 0;
  }

 private:
  Status open() {
    DIL_TRY(pool_, pg::Pool::make(postgres_config(settings_)));
    DIL_TRY(store_, objstore::S3ObjectStore::make(store_config(settings_)));
    DIL_TRY(place_, object_place(settings_));
    DIL_TRY(pg::Lease lease, pool_->acquire(until_));
    DIL_CHECK_OK(store::migrate_sidecar(*lease));
    DIL_TRY(sid_, store::load_policy_sid(*lease));
    DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(settings_.postgres.schema));
    DIL_TRY(store::Lake own, store::open_lake(*lease, settings_.catalog_id, schema));
    DIL_TRY(guard_, make_guard(settings_, *pool_, own, logger_));
    if (guard_->mode() == catalog::AuthMode::kOff) {
      say("authentication is off by these settings, so scopes bind nobody: run it with those of "
          "the server");
    }
    return {};
  }

  // Every key of the database is in the plan: on some stores one that no statement names opens the
  // whole bucket.
  Status plan() {
    DIL_TRY(pg::Lease lease, pool_->acquire(until_));
    DIL_TRY(const std::vector<store::CatalogRow> rows, store::load_catalogs(*lease));
    DIL_TRY(auto keys, store::load_all_keys_in_force(*lease));
    for (const store::CatalogRow& row : rows) {
      const Result<objstore::S3Uri> place = objstore::parse_s3_uri(row.data_path);
      if (place && place->bucket != settings_.store.bucket) other_buckets_.insert(place->bucket);
      const auto found = keys.find(row.id);
      if (found == keys.end()) continue;
      DIL_CHECK_OK(plan_row(*lease, row, std::move(found->second)));
      keys.erase(found);
    }
    for (auto& [id, its] : keys) plan_nothing(id, std::move(its), "there is no such catalog");
    for (const PlannedCatalog& planned : catalogs_) {
      for (const catalog::KeyPlan& plan : planned.keys) DIL_CHECK_OK(note_plan(planned, plan));
    }
    return compose();
  }

  Status plan_row(pg::Connection& connection, const store::CatalogRow& row,
                  std::vector<store::KeyInForce> keys) {
    if (row.state != store::CatalogState::kOpen) {
      plan_nothing(row.id, std::move(keys), "its catalog is not open");
      return {};
    }
    Result<std::vector<catalog::KeyPlan>> planned = Error(Code::kNotFound, "");
    const Result<pg::SqlIdent> schema = pg::SqlIdent::make(row.metadata_schema);
    Result<store::Lake> lake = schema ? store::open_lake(connection, row.id, *schema)
                                      : Result<store::Lake>(schema.error());
    if (lake && !store_->key_of(lake->data_path)) {
      plan_nothing(row.id, std::move(keys), "its catalog is in another bucket").is_elsewhere = true;
      return {};
    }
    if (lake) planned = plan_catalog(row, *lake);
    const Error* const error = !lake ? &lake.error() : !planned ? &planned.error() : nullptr;
    if (error == nullptr) {
      catalogs_.push_back({row.id, std::move(*planned), false});
      return {};
    }
    if (!is_fault_of_catalog(*error)) return *error;
    faults_.emplace_back(row.id, *error);
    plan_nothing(row.id, std::move(keys), error->message());
    return {};
  }

  PlannedCatalog& plan_nothing(const std::string& id, std::vector<store::KeyInForce> keys,
                               std::string_view why) {
    PlannedCatalog& planned = catalogs_.emplace_back(PlannedCatalog{id, {}, false});
    for (store::KeyInForce& key : keys) {
      catalog::KeyPlan& plan = planned.keys.emplace_back();
      plan.key = std::move(key);
      plan.opens.bucket = settings_.store.bucket;
      plan.why_nothing = std::string(why);
    }
    return planned;
  }

  Result<std::vector<catalog::KeyPlan>> plan_catalog(const store::CatalogRow& row,
                                                     const store::Lake& lake) {
    catalog::KeyPlanner::Config config;
    config.mode = guard_->mode();
    config.account = row.account;
    config.principal = [this](const std::string& id, const catalog::Access& access) {
      return guard_->authenticator().absent_principal(id, access);
    };
    config.wildcards = wildcards_of(settings_.store.endpoint);
    config.until = until_;
    return catalog::KeyPlanner(std::move(config), *pool_, *store_, lake).plan();
  }

  static std::string name_of(const PlannedCatalog& planned, const catalog::KeyPlan& plan) {
    return fmt::format("key of {} in {}", plan.key.key.principal, planned.id);
  }

  Status note_plan(const PlannedCatalog& planned, const catalog::KeyPlan& plan) const {
    const std::string who = name_of(planned, plan);
    // A policy that denies the server the bucket could not be taken back with its own keys.
    if (plan.key.key.access_key_id == settings_.store.root_key) {
      return invalid_argument("{}: it is the server's own key; remove it", who);
    }
    if (!plan.why_nothing.empty()) say(fmt::format("{} opens nothing: {}", who, plan.why_nothing));
    for (const std::string& one : plan.left_out) say(fmt::format("{} leaves out {}", who, one));
    return {};
  }

  // The keys, by the store's names for their users. A user with several is nobody's: a key given
  // out in one catalog would open what is in another.
  Result<std::map<std::string, catalog::KeyPlan*>> plans_by_name() {
    std::map<std::string, std::vector<catalog::KeyPlan*>> by_name;
    for (PlannedCatalog& planned : catalogs_) {
      for (catalog::KeyPlan& plan : planned.keys) {
        const store::StaticKey& key = plan.key.key;
        if (settings_.store.policy_principal.empty()) {
          return invalid_argument(
              "how does the store name the user of a static key in a policy? Set "
              "DUCKICELAKE_S3_POLICY_PRINCIPAL, such as arn:aws:iam::<account>:user/{{principal}} "
              "or {{access-key-id}}, or DUCKICELAKE_HETZNER_PROJECT_ID");
        }
        Result<std::string> name = catalog::store_principal(settings_.store.policy_principal,
                                                            key.principal, key.access_key_id);
        if (!name) {
          return std::move(name).error().with_context(name_of(planned, plan));
        }
        by_name[std::move(*name)].push_back(&plan);
      }
    }
    std::map<std::string, catalog::KeyPlan*> out;
    for (const auto& [name, plans] : by_name) {
      if (plans.size() > 1) {
        say(fmt::format("{} opens nothing: {} static keys are its own", name, plans.size()));
        for (catalog::KeyPlan* plan : plans) plan->opens.tables.clear();
      }
      out[name] = plans.front();
    }
    return out;
  }

  Status compose() {
    DIL_TRY(const auto plans, plans_by_name());
    sign::BucketPolicyOptions options;
    options.bucket = settings_.store.bucket;
    options.sid = sid_;
    options.wildcards = wildcards_of(settings_.store.endpoint);
    options.partition = partition_of(settings_.store.sts_role_arn);
    options.deny =
        settings_.store.policy_denies_others ? sign::DenyForm::kOthers : sign::DenyForm::kActions;
    DIL_TRY(found_, store_->bucket_policy());
    for (;;) {
      std::vector<sign::KeyGrant> grants;
      for (const auto& [name, plan] : plans)
        grants.push_back({name, catalog::scope_of(plan->opens)});
      DIL_TRY(statements_, sign::key_statements(grants, options));
      Result<std::string> merged = sign::merge_statements(found_, statements_, sid_);
      if (merged) {
        policy_ = std::move(*merged);
        return {};
      }
      const bool is_too_large = merged.error().code() == Code::kPayloadTooLarge;
      if (!is_too_large || !close_largest(plans, merged.error())) return std::move(merged).error();
    }
  }

  // Takes what is opened from those who are opened most (together: they share their statements), so
  // that the rest can be put: one who makes tables must not keep the keys of others as wide as they
  // are. False: nobody is opened anything.
  static bool close_largest(const std::map<std::string, catalog::KeyPlan*>& plans,
                            const Error& error) {
    std::pair<std::size_t, std::string> largest;
    for (const auto& [name, plan] : plans) {
      if (plan->opens.tables.empty()) continue;
      std::string opens = catalog::to_json(plan->opens);
      largest = std::max(largest, {opens.size(), std::move(opens)});
    }
    if (largest.first == 0) return false;
    for (const auto& [name, plan] : plans) {
      if (catalog::to_json(plan->opens) != largest.second) continue;
      plan->why_nothing = fmt::format(
          "{}; its {} tables are the most of all: grant it less, or use the gateway (principals "
          "that may do the same share their statements)",
          error.message(), plan->opens.tables.size());
      plan->is_too_much = true;
      plan->opens.tables.clear();
      say(fmt::format("{} opens nothing: {}", name, plan->why_nothing));
    }
    return true;
  }

  Status apply_locked() {
    DIL_CHECK_OK(plan());
    DIL_TRY(const bool is_there, sign::has_statements(found_, statements_, sid_));
    if (is_there) {
      report_.ok("policy", fmt::format("bucket {} has it already ({} bytes)",
                                       settings_.store.bucket, found_.size()));
    } else {
      DIL_CHECK_OK(put());
    }
    for (const auto& [id, error] : faults_) report_.fail("catalog " + id, error);
    DIL_TRY(const std::vector<std::string> folders, all_folders());
    for (const PlannedCatalog& planned : catalogs_) {
      for (const catalog::KeyPlan& plan : planned.keys) {
        DIL_CHECK_OK(prove(planned, plan, folders));
      }
    }
    return {};
  }

  Status put() {
    // From here until it was tried anew, no key is known to be confined.
    DIL_CHECK_OK(in_transaction(
        [](pg::Transaction& transaction) { return store::forget_applied_keys(transaction); }));
    DIL_CHECK_OK(store_->put_bucket_policy(policy_));
    DIL_TRY(const std::string now, store_->bucket_policy());
    DIL_TRY(const bool is_there, sign::has_statements(now, statements_, sid_));
    if (!is_there) {
      return Error(Code::kInternal, "the object store took the policy and shows another one");
    }
    report_.ok("policy",
               fmt::format("put on bucket {} and read back ({} bytes, {} is all)",
                           settings_.store.bucket, policy_.size(), sign::kMaxBucketPolicyBytes));
    return {};
  }

  // What the keys of anybody open.
  Result<std::vector<std::string>> all_folders() const {
    std::vector<std::string> out;
    for (const PlannedCatalog& planned : catalogs_) {
      for (const catalog::KeyPlan& plan : planned.keys) {
        for (const catalog::OpenedTable& table : plan.opens.tables) {
          out.insert(out.end(), table.read_prefixes.begin(), table.read_prefixes.end());
        }
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Status prove(const PlannedCatalog& planned, const catalog::KeyPlan& plan,
               const std::vector<std::string>& folders) {
    const store::StaticKey& key = plan.key.key;
    const std::string who = name_of(planned, plan);
    store::AppliedKey applied{key.principal, key.access_key_id, catalog::to_json(plan.opens),
                              false};
    // Of one elsewhere, what the run there proved stays known if it opens nothing here.
    if (planned.is_elsewhere && plan.key.applied) applied = *plan.key.applied;
    KeyToProve wanted;
    wanted.opens = catalog::scope_of(plan.opens);
    wanted.other_buckets.assign(other_buckets_.begin(), other_buckets_.end());
    const std::string opens = fmt::format(
        "opens {} tables, {} of them to write", plan.opens.tables.size(),
        std::count_if(plan.opens.tables.begin(), plan.opens.tables.end(),
                      [](const catalog::OpenedTable& one) { return !one.write_prefixes.empty(); }));
    if (key.secret_access_key.empty()) {
      report_.warn(who, opens +
                            "; not tried, for the server does not know its secret: it is not "
                            "given out");
      applied.is_proved = false;
      return save(planned, applied);
    }
    wanted.keys = {key.access_key_id, key.secret_access_key, Secret()};
    for (const std::string& folder : folders) {
      const bool is_own =
          std::any_of(wanted.opens.read_prefixes.begin(), wanted.opens.read_prefixes.end(),
                      [&](const std::string& own) { return folder.starts_with(own); });
      if (!is_own) wanted.closed.push_back(folder);
    }
    DIL_TRY(const StorageProof proof, prove_static_key(settings_, place_, wanted));
    if (!proof.is_right()) {
      for (const ProofLine& line : proof.lines) {
        if (line.is_right) continue;
        report_.fail(
            who, fmt::format("{}: {} where {} is right", line.tried, line.found, line.expected));
      }
      return forget(planned, key.principal);
    }
    if (plan.is_too_much) {
      report_.fail(who, fmt::format("opens nothing: {}", plan.why_nothing));
    } else {
      report_.ok(who, fmt::format("{}, and nothing else: {} requests", opens, proof.lines.size()));
    }
    if (!planned.is_elsewhere) applied.is_proved = true;
    return save(planned, applied);
  }

  Status save(const PlannedCatalog& planned, const store::AppliedKey& applied) {
    return in_transaction([&](pg::Transaction& transaction) -> Status {
      Status saved = store::save_applied_key(transaction, planned.id, applied);
      // Removed meanwhile; the next run takes it out of the policy.
      if (!saved && saved.error().code() == Code::kNotFound) return {};
      return saved;
    });
  }

  Status forget(const PlannedCatalog& planned, const std::string& principal) {
    return in_transaction([&](pg::Transaction& transaction) {
      return store::forget_applied_key(transaction, planned.id, principal);
    });
  }

  template <class Work>
  Status in_transaction(Work work) {
    DIL_TRY(pg::Lease lease, pool_->acquire(until_));
    pg::Transaction transaction(*lease);
    DIL_CHECK_OK(work(transaction));
    return transaction.commit();
  }

  const Settings& settings_;
  const pg::Deadline until_;
  Logger logger_;
  std::unique_ptr<pg::Pool> pool_;
  std::unique_ptr<objstore::S3ObjectStore> store_;
  catalog::ObjectPlace place_;
  std::unique_ptr<catalog::Guard> guard_;
  std::string sid_;
  std::vector<PlannedCatalog> catalogs_;
  std::vector<std::pair<std::string, Error>> faults_;  // of catalogs
  std::set<std::string> other_buckets_;
  std::vector<std::string> statements_;
  std::string found_;   // the bucket's policy as it was
  std::string policy_;  // as it is to be
  Report report_;
};

}  // namespace

int run_bucket_policy(const Settings& settings, BucketPolicyUse use) {
  BucketPolicy work(settings);
  if (use == BucketPolicyUse::kPrint) {
    const Status printed = work.print();
    if (!printed) say(printed.error().to_string());
    return printed ? 0 : 1;
  }
  const Result<bool> applied = work.apply();
  if (!applied) say(applied.error().to_string());
  return applied && *applied ? 0 : 1;
}

}  // namespace duckicelake::app
