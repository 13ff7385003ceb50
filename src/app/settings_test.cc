// SPDX-License-Identifier: Apache-2.0
#include "app/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/settings_table.h"

namespace duckicelake::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// A folder for .env and duckicelake.toml, and an environment of its own.
class SettingsIn : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("dil-settings-{}-{}", ::getpid(), ++count_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Result<SettingValues> load(const std::vector<std::string>& environment = {}) {
    std::vector<const char*> entries;
    for (const std::string& entry : environment) entries.push_back(entry.c_str());
    entries.push_back(nullptr);
    return SettingValues::load({entries.data(), folder_.string()});
  }
  Result<Settings> make(const std::vector<std::string>& environment = {}) {
    DIL_TRY(const SettingValues values, load(environment));
    return make_settings(values);
  }
  std::string refusal(const std::vector<std::string>& environment = {}) {
    const Result<Settings> made = make(environment);
    return made ? "accepted" : made.error().to_string();
  }

  std::filesystem::path folder_;
  static inline int count_ = 0;
};

TEST(SettingTable, HasEachNameOnceAndDefaultsThatFit) {
  std::set<std::string_view> names;
  for (const SettingSpec& spec : setting_specs()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_TRUE(spec.name.starts_with(kSettingPrefix));
    EXPECT_FALSE(is_tool_variable(spec.name)) << spec.name;
    EXPECT_FALSE(spec.meaning.empty()) << spec.name;
    const Status checked = check_setting(spec, spec.standard);
    EXPECT_TRUE(checked.has_value()) << checked.error().to_string();
  }
}

TEST(SettingTable, KnowsTheNamesOfTheContract) {
  for (const char* name : {"CONFIG_FILE",
                           "PG_HOST",
                           "PG_PORT",
                           "PG_USER",
                           "PG_DATABASE",
                           "PG_PASSWORD",
                           "CATALOG",
                           "S3_ENDPOINT",
                           "S3_REGION",
                           "S3_BUCKET",
                           "S3_ROOT_KEY",
                           "S3_ROOT_SECRET",
                           "S3_PATH_STYLE",
                           "S3_PREFIX",
                           "STS_ENDPOINT",
                           "STS_ROLE_ARN",
                           "STS_MAX_DURATION",
                           "HETZNER_PROJECT_ID",
                           "SUPPRESS_ROOT_CREDS",
                           "TRANSPARENT_MASKING",
                           "RLS",
                           "READER_GROUP_ROLE",
                           "AGENT_FILE_LAYER",
                           "GOVERNANCE_FAIL_CLOSED",
                           "PUBLIC_URL",
                           "SIGNER_CACHE_TTL",
                           "S3_GATEWAY_ENABLED",
                           "S3_GATEWAY_SECRET",
                           "S3_GATEWAY_URL",
                           "S3_GATEWAY_TTL",
                           "CRED_CACHE_TTL",
                           "CACHE_MAX",
                           "DEFAULT_FORMAT_VERSION",
                           "DISABLE_NOTIFY",
                           "MAX_ACTIVE_CATALOGS",
                           "MASKED_RETAIN_SNAP_DIRS",
                           "MASKED_RETAIN_GRACE_SECONDS",
                           "MASKED_EXPORT_TTL_DAYS",
                           "MASKED_EXPORT_FILE_SIZE",
                           "AUDIT_RETENTION_DAYS",
                           "REQUIRE_AUTH",
                           "OAUTH_CLIENTS",
                           "OAUTH_CLIENTS_FILE",
                           "OAUTH_JWT_SECRET",
                           "OAUTH_TTL_SECONDS",
                           "OAUTH_ISSUER",
                           "LOG_LEVEL",
                           "LOG_FORMAT",
                           "URL",
                           "MCP_BROKER",
                           "MCP_PRINCIPAL",
                           "MCP_HOST",
                           "MCP_PORT",
                           "SMCP_CONFIG",
                           "SMCP_PRINCIPAL"}) {
    EXPECT_NE(find_setting(std::string(kSettingPrefix) + name), nullptr) << name;
  }
}

// The tables at the end of the document are the table of the code. To write them anew:
// DUCKICELAKE_TEST_WRITE_DOCS=1 app_test
TEST(SettingTable, IsWhatTheDocumentSays) {
  const std::string path = DIL_SOURCE_DIR "/docs/operations/settings.md";
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t start = text.find("\n## Settings\n");
  ASSERT_NE(start, std::string::npos) << path;
  if (std::getenv("DUCKICELAKE_TEST_WRITE_DOCS") != nullptr) {
    text = text.substr(0, start + 1) + settings_markdown();
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_TRUE(text.substr(start + 1) == settings_markdown())
      << path << " is not what the table says; see above this test";
}

TEST_F(SettingsIn, TakesDefaults) {
  const auto settings = make();
  ASSERT_TRUE(settings.has_value()) << settings.error().to_string();
  EXPECT_EQ(settings->catalog_id, "lake");
  EXPECT_EQ(settings->listen.host, "127.0.0.1");
  EXPECT_EQ(settings->listen.port, 8181);
  EXPECT_EQ(settings->postgres.schema, "public");
  EXPECT_EQ(settings->store.data_path(), "s3://lakehouse/data/");
  EXPECT_EQ(settings->store.sts_endpoint, settings->store.endpoint);
  EXPECT_TRUE(settings->store.path_style);
  EXPECT_FALSE(settings->metrics_name_catalogs);
  EXPECT_FALSE(settings->auth.is_required);
  EXPECT_EQ(settings->auth.issuer, "duckicelake");
}

TEST_F(SettingsIn, PrefersTheEnvironmentToDotenvToToml) {
  write("duckicelake.toml", "catalog = \"toml\"\n[pg]\nhost = \"toml\"\nuser = \"toml\"\n");
  write(".env", "DUCKICELAKE_PG_HOST=dotenv\nDUCKICELAKE_PG_USER=dotenv\nOTHER='unclosed\n");
  const auto settings = make({"DUCKICELAKE_PG_HOST=environment", "OTHER=x"});
  ASSERT_TRUE(settings.has_value()) << settings.error().to_string();
  EXPECT_EQ(settings->postgres.host, "environment");
  EXPECT_EQ(settings->postgres.user, "dotenv");
  EXPECT_EQ(settings->catalog_id, "toml");
}

TEST_F(SettingsIn, ReadsTheNamedTomlFile) {
  write("duckicelake.toml", "catalog = \"standard\"\n");
  write("other.toml", "catalog = \"other\"\n");
  const std::string path = (folder_ / "other.toml").string();
  EXPECT_EQ(make({"DUCKICELAKE_CONFIG_FILE=" + path})->catalog_id, "other");
  write(".env", "DUCKICELAKE_CONFIG_FILE=" + path + "\n");
  EXPECT_EQ(make()->catalog_id, "other");
  EXPECT_THAT(refusal({"DUCKICELAKE_CONFIG_FILE=/nowhere/x.toml"}), HasSubstr("/nowhere/x.toml"));
  write("other.toml", "config_file = \"again\"\n");
  EXPECT_THAT(refusal(), HasSubstr("cannot name another file"));
}

TEST_F(SettingsIn, RefusesUnknownNamesByNameAndPlace) {
  EXPECT_THAT(refusal({"DUCKICELAKE_PG_HOTS=x"}),
              HasSubstr("DUCKICELAKE_PG_HOTS (in the environment)"));
  write(".env", "\nDUCKICELAKE_NOPE=1\n");
  EXPECT_THAT(refusal(), HasSubstr("DUCKICELAKE_NOPE (in .env line 2)"));
  write(".env", "");
  write("duckicelake.toml", "[s3]\nbuckt = \"b\"\n");
  EXPECT_THAT(refusal(), HasSubstr("DUCKICELAKE_S3_BUCKT (in duckicelake.toml [s3] buckt)"));
}

TEST_F(SettingsIn, LeavesVariablesOfTheToolsAlone) {
  EXPECT_TRUE(make({"DUCKICELAKE_DEPS_DIR=/x", "DUCKICELAKE_DEPS_FROM=/y", "DUCKICELAKE_BIN=/z",
                    "DUCKICELAKE_TEST_STACK=w", "DIL_ANYTHING=v"})
                  .has_value());
}

TEST_F(SettingsIn, RefusesMalformedValuesByName) {
  for (const char* entry : {"DUCKICELAKE_PORT=http",
                            "DUCKICELAKE_PORT=",
                            "DUCKICELAKE_PORT=70000",
                            "DUCKICELAKE_PORT=-1",
                            "DUCKICELAKE_PORT= 80",
                            "DUCKICELAKE_PORT=80x",
                            "DUCKICELAKE_PORT=99999999999999999999",
                            "DUCKICELAKE_S3_PATH_STYLE=yes",
                            "DUCKICELAKE_RLS=2",
                            "DUCKICELAKE_LOG_LEVEL=loud",
                            "DUCKICELAKE_SIGNER_CACHE_TTL=nan",
                            "DUCKICELAKE_CRED_CACHE_TTL=-1",
                            "DUCKICELAKE_DEFAULT_FORMAT_VERSION=1",
                            "DUCKICELAKE_CATALOG=",
                            "DUCKICELAKE_CATALOG=a/b",
                            "DUCKICELAKE_CATALOG=..",
                            "DUCKICELAKE_PG_HOST=",
                            "DUCKICELAKE_PG_SSLMODE=maybe",
                            "DUCKICELAKE_PG_SCHEMA=",
                            "DUCKICELAKE_PG_SCHEMA=pg_catalog",
                            "DUCKICELAKE_PG_SCHEMA=duckicelake",
                            "DUCKICELAKE_PG_USER=a\nb",
                            "DUCKICELAKE_PG_POOL_MAX=1",
                            "DUCKICELAKE_S3_PREFIX=",
                            "DUCKICELAKE_S3_PREFIX=/data/",
                            "DUCKICELAKE_S3_PREFIX=a//b",
                            "DUCKICELAKE_S3_PREFIX=a/../b",
                            "DUCKICELAKE_S3_ENDPOINT=ftp://x",
                            "DUCKICELAKE_S3_ENDPOINT=",
                            "DUCKICELAKE_STS_ENDPOINT=nowhere",
                            "DUCKICELAKE_LISTEN_HOST=localhost",
                            "DUCKICELAKE_PUBLIC_URL=example.com",
                            "DUCKICELAKE_TRUSTED_PROXIES=10.0.0.0/33",
                            "DUCKICELAKE_TRUSTED_PROXIES=proxy",
                            "DUCKICELAKE_TLS_KEY_FILE=k.pem",
                            "DUCKICELAKE_WORKER_THREADS=0"}) {
    const std::string name = std::string(entry).substr(0, std::string(entry).find('='));
    EXPECT_THAT(refusal({entry}), HasSubstr(name)) << entry;
  }
}

TEST_F(SettingsIn, UnderstandsStsWords) {
  EXPECT_EQ(make({"DUCKICELAKE_STS_ENDPOINT=none"})->store.sts_endpoint, "");
  EXPECT_EQ(
      make({"DUCKICELAKE_STS_ENDPOINT=aws", "DUCKICELAKE_S3_REGION=eu-west-1"})->store.sts_endpoint,
      "https://sts.eu-west-1.amazonaws.com");
}

TEST_F(SettingsIn, ReadsSwitchesAndChoicesInAnyCase) {
  const auto settings =
      make({"DUCKICELAKE_S3_PATH_STYLE=False", "DUCKICELAKE_METRICS_CATALOG_LABELS=TRUE",
            "DUCKICELAKE_LOG_LEVEL=warning", "DUCKICELAKE_LOG_FORMAT=TEXT",
            "DUCKICELAKE_ACCESS_LOG=info"});
  ASSERT_TRUE(settings.has_value());
  EXPECT_FALSE(settings->store.path_style);
  EXPECT_TRUE(settings->metrics_name_catalogs);
  EXPECT_EQ(settings->log_level, LogLevel::kWarning);
  EXPECT_EQ(settings->log_format, LogFormat::kText);
  EXPECT_EQ(settings->access_log, AccessLog::kInfo);
}

TEST_F(SettingsIn, NoticesSettingsOfFeaturesToCome) {
  const auto values = load({"DUCKICELAKE_TRANSPARENT_MASKING=1", "DUCKICELAKE_PORT=1"});
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(values->without_effect(), std::vector<std::string>{"DUCKICELAKE_TRANSPARENT_MASKING"});
}

TEST_F(SettingsIn, TakesThoseOfAuthentication) {
  const auto settings =
      make({"DUCKICELAKE_REQUIRE_AUTH=1", "DUCKICELAKE_OAUTH_CLIENTS=a:b|ns:x:r",
            "DUCKICELAKE_OAUTH_CLIENTS_FILE=clients.json", "DUCKICELAKE_OAUTH_JWT_SECRET=s",
            "DUCKICELAKE_OAUTH_JWT_PREVIOUS_SECRETS=p,q", "DUCKICELAKE_OAUTH_TTL_SECONDS=60",
            "DUCKICELAKE_AUDIT_RETENTION_DAYS=7"});
  ASSERT_TRUE(settings.has_value()) << settings.error().to_string();
  EXPECT_TRUE(settings->auth.is_required);
  EXPECT_EQ(settings->auth.clients.reveal(), "a:b|ns:x:r");
  EXPECT_EQ(settings->auth.clients_file, "clients.json");
  EXPECT_EQ(settings->auth.previous_jwt_secrets.reveal(), "p,q");
  EXPECT_EQ(settings->auth.ttl, std::chrono::seconds(60));
  EXPECT_EQ(settings->auth.audit_retention_days, 7);
  EXPECT_FALSE(make({"DUCKICELAKE_OAUTH_TTL_SECONDS=0"}).has_value());
  EXPECT_FALSE(make({"DUCKICELAKE_OAUTH_ISSUER="}).has_value());
}

TEST_F(SettingsIn, NeverShowsASecret) {
  const std::string secret = "s3cr3t-v4lu3";
  std::vector<std::string> environment;
  std::string toml;
  for (const SettingSpec& spec : setting_specs()) {
    if (spec.kind != SettingKind::kSecret) continue;
    environment.push_back(fmt::format("{}={}", spec.name, secret));
    toml += fmt::format("{} = \"{}\"\n", spec.name.substr(kSettingPrefix.size()), secret);
    EXPECT_THAT(refusal({fmt::format("{}={}\x01", spec.name, secret)}), Not(HasSubstr(secret)));
    EXPECT_THAT(refusal({fmt::format("{}={}\x01", spec.name, secret)}),
                HasSubstr(std::string(spec.name)));
  }
  EXPECT_THAT(refusal({"DUCKICELAKE_PG_PASSWORD=" + secret + " x"}), Not(HasSubstr(secret)));
  EXPECT_THAT(refusal({"DUCKICELAKE_PG_PASSWORD=" + secret + " x"}),
              HasSubstr("DUCKICELAKE_PG_PASSWORD"));
  const auto values = load(environment);
  ASSERT_TRUE(values.has_value());
  EXPECT_THAT(values->print(), Not(HasSubstr(secret)));
  EXPECT_THAT(values->print(), HasSubstr("DUCKICELAKE_PG_PASSWORD=***"));
  EXPECT_THAT(values->print(), Not(HasSubstr("minioadmin\n")));
  write("duckicelake.toml", toml);
  EXPECT_THAT(load()->print(), Not(HasSubstr(secret)));
  // Files that do not parse.
  write("duckicelake.toml", "pg_password = \"" + secret + "\" x\n");
  EXPECT_THAT(refusal(), Not(HasSubstr(secret)));
  write("duckicelake.toml", "[pg]\npassword = {x = \"" + secret + "\"}\n");
  EXPECT_THAT(refusal(), Not(HasSubstr(secret)));
  write("duckicelake.toml", "");
  write(".env", "DUCKICELAKE_PG_PASSWORD='" + secret + "\n");
  EXPECT_THAT(refusal(), Not(HasSubstr(secret)));
}

TEST_F(SettingsIn, PrintsWhereEachValueComesFrom) {
  write(".env", "DUCKICELAKE_CATALOG=c\n");
  const std::string text = load({"DUCKICELAKE_PORT=1234"})->print();
  EXPECT_THAT(text, HasSubstr("DUCKICELAKE_PORT=1234  # the environment\n"));
  EXPECT_THAT(text, HasSubstr("DUCKICELAKE_CATALOG=c  # .env line 1\n"));
  EXPECT_THAT(text, HasSubstr("DUCKICELAKE_PG_HOST=127.0.0.1  # default\n"));
}

}  // namespace
}  // namespace duckicelake::app
