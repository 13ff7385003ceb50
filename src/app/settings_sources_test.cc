// SPDX-License-Identifier: Apache-2.0
#include "app/settings_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duckicelake::app {
namespace {

using testing::HasSubstr;

// The value of DUCKICELAKE_X in a .env of this text; "refused" or "absent".
std::string dotenv(std::string_view text) {
  const auto found = parse_dotenv(text, ".env");
  if (!found) return "refused";
  const auto it = found->find("DUCKICELAKE_X");
  return it == found->end() ? "absent" : it->second.text.reveal();
}

TEST(Dotenv, ReadsBareAndQuotedValues) {
  EXPECT_EQ(dotenv("DUCKICELAKE_X=a b"), "a b");
  EXPECT_EQ(dotenv("DUCKICELAKE_X=a b  # comment\r\n"), "a b");
  EXPECT_EQ(dotenv("DUCKICELAKE_X=a#b"), "a#b");
  EXPECT_EQ(dotenv("DUCKICELAKE_X="), "");
  EXPECT_EQ(dotenv("DUCKICELAKE_X=# comment"), "");
  EXPECT_EQ(dotenv("  export   DUCKICELAKE_X=1"), "1");
  EXPECT_EQ(dotenv("export\tDUCKICELAKE_X=1"), "1");
  EXPECT_EQ(dotenv("DUCKICELAKE_X='a \"b\" \\n # c' # d"), "a \"b\" \\n # c");
  EXPECT_EQ(dotenv("DUCKICELAKE_X=\"a \\\"b\\\" \\\\ \\$c # d\""), "a \"b\" \\ $c # d");
  EXPECT_EQ(dotenv("DUCKICELAKE_X=a=b"), "a=b");
  EXPECT_EQ(dotenv("# DUCKICELAKE_X=1\n"), "absent");
}

TEST(Dotenv, LeavesLinesOfOthersAlone) {
  EXPECT_EQ(dotenv("PATH='unclosed\nrubbish\x01\xff\nDUCKICELAKE_X=1\n"), "1");
  EXPECT_TRUE(parse_dotenv("DUCKICELAKE_DEPS_DIR='unclosed", ".env").has_value());
}

TEST(Dotenv, RefusesWhatItCannotRead) {
  for (const std::string_view text :
       {"DUCKICELAKE_X", "DUCKICELAKE_X =1", "DUCKICELAKE_ X=1", "DUCKICELAKE_X-Y=1",
        "DUCKICELAKE_X='a", "DUCKICELAKE_X=\"a", "DUCKICELAKE_X=\"a\\", "DUCKICELAKE_X=\"a\\x\"",
        "DUCKICELAKE_X='a'b", "DUCKICELAKE_X=\"a\"b", "DUCKICELAKE_X=\xff",
        "DUCKICELAKE_X=1\nDUCKICELAKE_X=2"}) {
    EXPECT_EQ(dotenv(text), "refused") << text;
  }
}

TEST(Dotenv, NamesTheLineAndNotTheValue) {
  const auto refused = parse_dotenv("\n\nDUCKICELAKE_X='hidden", "f");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("f line 3"));
  EXPECT_THAT(refused.error().to_string(), testing::Not(HasSubstr("hidden")));
}

TEST(Dotenv, TakesAnyBytesWithoutHarm) {
  std::string bytes = "DUCKICELAKE_X=";
  for (int seed = 0; seed < 2000; ++seed) {
    std::string text = bytes;
    unsigned state = static_cast<unsigned>(seed) * 2654435761U + 1;
    for (int i = 0; i < 24; ++i) {
      state = state * 1664525U + 1013904223U;
      constexpr std::string_view kAlphabet = "a\"'\\#=\n\r\t $\0\xc3\xa9X";
      text.push_back(kAlphabet[(state >> 16) % kAlphabet.size()]);
    }
    (void)parse_dotenv(text, "f");
  }
}

std::string toml(std::string_view text, const std::string& name) {
  const auto found = parse_toml(text, "f.toml");
  if (!found) return "refused: " + found.error().message();
  const auto it = found->find(name);
  return it == found->end() ? "absent" : it->second.text.reveal();
}

TEST(Toml, MakesNamesOfSectionsAndKeys) {
  EXPECT_EQ(toml("catalog = 'c'", "DUCKICELAKE_CATALOG"), "c");
  EXPECT_EQ(toml("[pg]\nport = 5432", "DUCKICELAKE_PG_PORT"), "5432");
  EXPECT_EQ(toml("[s3.gateway]\nenabled = true", "DUCKICELAKE_S3_GATEWAY_ENABLED"), "1");
  EXPECT_EQ(toml("[s3]\npath-style = false", "DUCKICELAKE_S3_PATH_STYLE"), "0");
  EXPECT_EQ(toml("s3.region = 'r'", "DUCKICELAKE_S3_REGION"), "r");
  EXPECT_EQ(toml("[signer]\ncache_ttl = 2.5", "DUCKICELAKE_SIGNER_CACHE_TTL"), "2.5");
  EXPECT_EQ(toml("trusted_proxies = ['10.0.0.1', '::1']", "DUCKICELAKE_TRUSTED_PROXIES"),
            "10.0.0.1,::1");
}

TEST(Toml, RefusesWhatIsNoSetting) {
  EXPECT_THAT(toml("a = 1979-05-27", "x"), HasSubstr("refused: f.toml a"));
  EXPECT_THAT(toml("[a]\nb = [1]", "x"), HasSubstr("refused: f.toml [a] b"));
  EXPECT_THAT(toml("[[a]]\nb = 1", "x"), HasSubstr("refused"));
  EXPECT_THAT(toml("\"a b\" = 1", "x"), HasSubstr("refused"));
  EXPECT_THAT(toml("a = ", "x"), HasSubstr("refused: f.toml line 1"));
  EXPECT_THAT(toml("a_b = 1\n[a]\nb = 2", "x"), HasSubstr("twice"));
  EXPECT_THAT(toml("A = 1\na = 2", "x"), HasSubstr("twice"));
  EXPECT_THAT(toml(std::string(100'000, '['), "x"), HasSubstr("refused"));
  EXPECT_THAT(toml("a = " + std::string(100'000, '['), "x"), HasSubstr("refused"));
  std::string deep = "a";
  for (int i = 0; i < 20'000; ++i) deep += ".a";
  for (const std::string& text :
       {deep + " = 1", "[" + deep + "]", "x = {" + deep + " = 1}", "x = [\n{" + deep + " = 1}]",
        "x = " + std::string(10'000, '{'), "\"\"\"" + deep, "x = ['''y'''', {" + deep + " = 1}]",
        "x = ''' '" + deep, std::string(10'000, '"'), std::string(10'000, '\'')}) {
    (void)parse_toml(text, "f.toml");
  }
}

TEST(Toml, IsNotFooledByDotsAndBracketsInStringsAndComments) {
  const std::string many = "..............[[[[[[[[[[[[{{{{{{{{{";
  EXPECT_EQ(toml("# " + many + "\nx = \"" + many + "\\\"" + many + "\" # " + many, "DUCKICELAKE_X"),
            many + "\"" + many);
  EXPECT_EQ(toml("x = '" + many + "'\ny = 1", "DUCKICELAKE_X"), many);
  EXPECT_EQ(toml("x = '''" + many + "'" + many + "'''", "DUCKICELAKE_X"), many + "'" + many);
}

TEST(Toml, TakesAnyBytesWithoutHarm) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::string text;
    unsigned state = seed * 2654435761U + 1;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525U + 1013904223U;
      constexpr std::string_view kAlphabet = "aab.=\"'\\#[]{},\n\n 10-:T\xc3\xa9\xff\r_";
      text.push_back(kAlphabet[(state >> 16) % kAlphabet.size()]);
    }
    (void)parse_toml(text, "f.toml");
  }
}

TEST(Environment, TakesOnlyOurs) {
  const char* entries[] = {"PATH=/bin", "DUCKICELAKE_A=1=2", "DUCKICELAKE_TEST_X=1",
                           "RUBBISH",   "DUCKICELAKE_B=",    nullptr};
  const FoundValues found = read_environment(entries);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at("DUCKICELAKE_A").text.reveal(), "1=2");
  EXPECT_EQ(found.at("DUCKICELAKE_B").text.reveal(), "");
}

TEST(SmallFile, TellsAbsenceAndSize) {
  EXPECT_EQ(read_small_file("/nowhere/at/all").error().code(), Code::kNotFound);
  EXPECT_EQ(read_small_file("/dev/zero").error().code(), Code::kPayloadTooLarge);
  EXPECT_FALSE(read_small_file("/").has_value());
}

}  // namespace
}  // namespace duckicelake::app
