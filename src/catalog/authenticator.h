// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/clients.h"
#include "auth/issuers.h"
#include "auth/jwt.h"
#include "catalog/access.h"
#include "catalog/authorize.h"
#include "catalog/failure_limit.h"
#include "catalog/issuer_keys.h"

namespace duckicelake::catalog {

// What a proved token says. Immutable.
struct Identity {
  std::string id;
  std::string client_id;  // see Subject
  std::string issuer;     // who vouches for it: of an exchanged token the issuer of the first one
  std::string account;
  std::vector<std::string> roles;  // sorted
  auth::ScopeSet scopes;
  std::int64_t issued_at = 0;
  std::int64_t expires_at = 0;
  std::int64_t signed_in_at = 0;
  std::int64_t usable_until = 0;  // then it is to be proved anew
  bool is_external = false;       // the principal is none of this server's clients
};

// A token that was proved, and what it may do under the access rules that were asked for last.
class KnownToken {
 public:
  KnownToken(Secret text, std::shared_ptr<const Identity> identity)
      : text_(std::move(text)), identity_(std::move(identity)) {}
  const Identity& identity() const { return *identity_; }
  bool is_for(std::string_view text) const { return text_.equals(text); }

 private:
  friend class Authenticator;
  const Secret text_;
  const std::shared_ptr<const Identity> identity_;
  // What it may do under some rules.
  struct Settled {
    std::uint64_t mark = 0;         // of the rules (Access::mark)
    std::string_view refusal = {};  // not empty: why the token is void
    std::shared_ptr<const Subject> subject;
    std::shared_ptr<const std::vector<std::string>> roles;
  };
  std::mutex mutex_;  // guards what follows
  // Of so many catalogs at once; the one that was settled longest ago makes room.
  std::array<Settled, 4> settled_;
  std::size_t next_ = 0;
};

// As whom somebody wants to act, from the query of a request.
struct ActingAs {
  bool is_delegated = false;             // delegate=1
  std::optional<std::string> principal;  // none: as himself
  std::optional<std::string> actor;
  std::optional<std::string> channel;
  bool asks_anything() const { return is_delegated || principal || actor || channel; }
};

// What the token endpoint is asked (RFC 6749 §4.4, RFC 8693).
struct TokenRequest {
  std::string grant_type;
  // Of HTTP Basic or of the form.
  std::optional<std::string> client_id;
  Secret client_secret;
  std::optional<Secret> bearer;  // of the Authorization header
  std::string scope;
  std::optional<Secret> subject_token;
  std::string subject_token_type;
  std::optional<Secret> actor_token;
  std::string requested_token_type;
  std::string peer;  // whose failures are counted
};
struct TokenGrant {
  Secret access_token;
  std::int64_t expires_in = 0;
  std::string scope;
};
// RFC 6749 §5.2.
struct TokenRefusal {
  int status = 400;
  std::string_view error = {};
  std::string description;
  int retry_after_seconds = 0;  // of a 429
};

// Who comes in: proves bearer tokens and makes them. Thread-safe.
class Authenticator {
 public:
  struct Config {
    AuthMode mode = AuthMode::kOff;
    std::string issuer = "duckicelake";  // of this server's tokens
    std::vector<Secret> secrets = {};    // the first signs, all prove; empty while mode is kOff
    std::int64_t ttl_seconds = 3600;
    // How long tokens can be refreshed without the client's secret, from when it was last shown.
    std::int64_t max_session_seconds = 7 * 86400;
    auth::Clients clients = {};  // of the configuration; they hide those of PostgreSQL
    std::vector<auth::ExternalIssuer> issuers = {};
    std::size_t max_known_tokens = 20'000;
  };
  // The references must outlive it. `fetch` is for the keys of other issuers.
  Authenticator(Config config, pg::Pool& pool, AccessCache& access, Fetch fetch);

  AuthMode mode() const { return config_.mode; }

  struct Look {
    enum class State : std::uint8_t { kGood, kExpired, kBad, kNeedsWork };
    State state = State::kBad;
    std::string_view why = {};          // fit for the caller
    std::shared_ptr<KnownToken> token;  // of a good one
  };
  // Does not block; kNeedsWork: `look_thoroughly` has to fetch keys first.
  Look look(std::string_view token, std::int64_t now);
  // May wait for another issuer. kUnavailable: its keys cannot be had.
  Result<Look> look_thoroughly(std::string_view token, std::int64_t now);

  // The principal of a token under these rules. kUnauthenticated: the token is void by now.
  Result<Principal> principal(KnownToken& token, const Access& access) const;
  // The same, acting for somebody else. kPermissionDenied: the token is no broker's.
  Result<Principal> act_as(Principal principal, const ActingAs& as, const Access& access) const;

  // Somebody without a token, for what is to hold while he is not here: with all that his client
  // may do and the roles that he always has, none of a way that he comes by. kNotFound: he is no
  // client of this server (what another issuer's principal may do is in its tokens);
  // kPermissionDenied: his client is disabled.
  Result<Principal> absent_principal(const std::string& id, const Access& access) const;

  // Blocks.
  tl::expected<TokenGrant, TokenRefusal> issue(const TokenRequest& request, std::int64_t now);

  struct Counters {
    std::uint64_t issued = 0;
    std::uint64_t refused = 0;         // at the token endpoint
    std::uint64_t limited = 0;         // 429 there
    std::uint64_t token_hits = 0;      // bearer tokens found in memory
    std::uint64_t token_proofs = 0;    // proved
    std::uint64_t token_failures = 0;  // that were not good
    std::uint64_t known_tokens = 0;
  };
  Counters counters() const;

 private:
  struct Shard {
    mutable std::mutex mutex;                                             // guards tokens
    std::unordered_map<std::size_t, std::shared_ptr<KnownToken>> tokens;  // by hash
  };
  static constexpr std::size_t kShards = 16;

  // A client, wherever it is kept.
  struct ClientState {
    auth::ScopeSet scopes;
    std::vector<std::string> roles;
    std::string account;
    bool is_disabled = false;
    std::int64_t tokens_from = 0;
  };
  std::optional<ClientState> client_state(const std::string& id, const Access& access) const;
  IssuerKeys* issuer_of(std::string_view issuer);
  Look prove_own(const auth::ParsedToken& token, std::string_view text, std::int64_t now);
  Look prove_external(const IssuerKeys& issuer, const auth::ParsedToken& token,
                      std::string_view text, const auth::KeySet& keys, std::int64_t now);
  Look remember(std::string_view text, Identity identity);
  std::shared_ptr<KnownToken> find(std::string_view text, std::int64_t now);
  Look count(Look look);
  // Pre-condition: its mutex is held.
  const KnownToken::Settled& settle(KnownToken& token, const Access& access) const;

  // The parts of `issue` (authenticator_issue.cc).
  using Granted = tl::expected<TokenGrant, TokenRefusal>;
  struct SignedIn {  // a client that showed its secret
    std::string id;
    ClientState state;
  };
  tl::expected<std::optional<SignedIn>, TokenRefusal> sign_in(const TokenRequest& request,
                                                              std::int64_t now);
  Result<std::optional<store::ClientRecord>> find_client(const std::string& id);
  Result<std::shared_ptr<const Access>> current_rules();
  bool knows_secret(const std::string& id, const Secret& secret, ClientState& state,
                    std::optional<Error>& fault);
  Granted issue_for_client(const TokenRequest& request, const SignedIn& client, std::int64_t now);
  Granted exchange(const TokenRequest& request, const std::optional<SignedIn>& client,
                   std::int64_t now);
  Granted make_grant(auth::NewToken token, const auth::ScopeSet& scopes,
                     const TokenRequest& request);

  const Config config_;
  pg::Pool& pool_;
  AccessCache& access_;
  auth::KeySet own_keys_;
  std::string signing_key_id_;
  std::vector<std::unique_ptr<IssuerKeys>> issuers_;
  std::array<Shard, kShards> shards_;
  FailureLimit client_failures_{10, 6};  // of one client from one address
  FailureLimit peer_failures_{60, 2};    // of one address
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> limited_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> proofs_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace duckicelake::catalog
