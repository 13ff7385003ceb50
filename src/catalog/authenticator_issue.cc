// SPDX-License-Identifier: Apache-2.0
// The token endpoint: RFC 6749 §4.4 and §5.2, RFC 8693, as Iceberg's clients use them.
#include <algorithm>
#include <chrono>

#include "auth/crypto.h"
#include "catalog/authenticator.h"
#include "catalog/random_name.h"

namespace duckicelake::catalog {
namespace {

using Refused = tl::unexpected<TokenRefusal>;

// Tokens say whole seconds, and one of them has begun already: clients that renew theirs shortly
// before the end that they were told (Iceberg's Java client) must not come too late.
constexpr std::int64_t kBegunSecond = 1;
constexpr std::string_view kClientCredentials = "client_credentials";
constexpr std::string_view kTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view kAccessToken = "urn:ietf:params:oauth:token-type:access_token";
constexpr std::string_view kJwt = "urn:ietf:params:oauth:token-type:jwt";
constexpr std::string_view kIdToken = "urn:ietf:params:oauth:token-type:id_token";
constexpr std::chrono::seconds kLookupTime{10};
constexpr std::int64_t kMostSkew = auth::Expectations{}.skew_seconds;

// Of no secret: what unknown clients are compared with, so that they take as long as others.
constexpr std::string_view kNobodysHash =
    "scrypt$12$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

Refused refused(std::string_view error, std::string description, int status = 400) {
  return Refused(TokenRefusal{status, error, std::move(description), 0});
}

Refused unavailable() {
  return Refused(TokenRefusal{503, "temporarily_unavailable", "try again later", 1});
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_token_type(std::string_view type) {
  return type == kAccessToken || type == kJwt || type == kIdToken;
}

// The scope's words that mean something here; the others, "catalog" above all, are ignored.
std::string known_words(std::string_view scope) {
  std::string out;
  while (!scope.empty()) {
    const std::size_t end = std::min(scope.find(' '), scope.size());
    const std::string_view word = scope.substr(0, end);
    scope.remove_prefix(std::min(end + 1, scope.size()));
    if (!auth::ScopeSet::is_known_word(word)) continue;
    if (!out.empty()) out.push_back(' ');
    out.append(word);
  }
  return out;
}

}  // namespace

tl::expected<TokenGrant, TokenRefusal> Authenticator::issue(const TokenRequest& request,
                                                            std::int64_t now) {
  const auto answer = [&]() -> Granted {
    const bool is_exchange = request.grant_type == kTokenExchange;
    if (!is_exchange && request.grant_type != kClientCredentials) {
      return refused("unsupported_grant_type",
                     "grant_type has to be client_credentials or that of a token exchange");
    }
    auto client = sign_in(request, now);
    if (!client.has_value()) return Refused(std::move(client).error());
    if (is_exchange) return exchange(request, *client, now);
    if (!*client) {
      return refused("invalid_request", "client_id and client_secret are needed");
    }
    return issue_for_client(request, **client, now);
  }();
  ++(answer.has_value() ? issued_ : answer.error().status == 429 ? limited_ : refused_);
  return answer;
}

Result<std::optional<store::ClientRecord>> Authenticator::find_client(const std::string& id) {
  if (!auth::check_client_id(id).has_value()) return std::optional<store::ClientRecord>();
  DIL_TRY(pg::Lease lease, pool_.acquire(pg::deadline_after(kLookupTime)));
  return store::find_client(*lease, id);
}

Result<std::shared_ptr<const Access>> Authenticator::current_rules() {
  const pg::Deadline until = pg::deadline_after(kLookupTime);
  std::int64_t version = 0;
  {
    DIL_TRY(pg::Lease lease, pool_.acquire(until));
    DIL_TRY(version, store::load_access_version(*lease));
  }
  return access_.load(version, until);
}

bool Authenticator::knows_secret(const std::string& id, const Secret& secret, ClientState& state,
                                 std::optional<Error>& fault) {
  if (const auto own = config_.clients.find(id); own != config_.clients.end()) {
    state = {own->second.scopes, own->second.roles, own->second.account, false, 0};
    if (auth::has_secret(own->second, secret.reveal())) return true;
    if (own->second.secret_hash.empty()) (void)auth::check_secret(secret.reveal(), kNobodysHash);
    return false;
  }
  const Result<std::optional<store::ClientRecord>> record = find_client(id);
  if (!record.has_value()) {
    fault = record.error();
    return false;
  }
  if (!*record || (*record)->secrets.empty()) {
    (void)auth::check_secret(secret.reveal(), kNobodysHash);
    return false;
  }
  const store::ClientRow& row = (*record)->client;
  auto scopes = auth::ScopeSet::parse(row.scope);
  state.scopes = scopes.has_value() ? std::move(*scopes) : auth::ScopeSet();
  state.roles = row.roles;
  state.account = row.account;
  state.is_disabled = row.is_disabled;
  state.tokens_from = row.tokens_from;
  bool is_known = false;
  for (const store::ClientSecretRow& one : (*record)->secrets) {
    is_known = is_known || auth::check_secret(secret.reveal(), one.hash).has_value();
  }
  return is_known && !state.is_disabled;
}

tl::expected<std::optional<Authenticator::SignedIn>, TokenRefusal> Authenticator::sign_in(
    const TokenRequest& request, std::int64_t now) {
  (void)now;
  if (!request.client_id) return std::optional<SignedIn>();
  const std::string pair = request.peer + '\n' + request.client_id->substr(0, 128);
  const double clock = steady_seconds();
  const double wait = std::max(client_failures_.wait_seconds(pair, clock),
                               peer_failures_.wait_seconds(request.peer, clock));
  if (wait > 0) {
    return Refused(TokenRefusal{429, "invalid_client", "too many failures; try again later",
                                static_cast<int>(wait) + 1});
  }
  SignedIn out{*request.client_id, {}};
  std::optional<Error> fault;
  if (knows_secret(out.id, request.client_secret, out.state, fault)) {
    std::sort(out.state.roles.begin(), out.state.roles.end());
    return std::optional<SignedIn>(std::move(out));
  }
  if (fault) return unavailable();
  client_failures_.note_failure(pair, clock);
  peer_failures_.note_failure(request.peer, clock);
  return refused("invalid_client", "the client is not known or its secret is another one", 401);
}

Authenticator::Granted Authenticator::make_grant(auth::NewToken token, const auth::ScopeSet& scopes,
                                                 const TokenRequest& request) {
  if (request.scope.size() > auth::ScopeSet::kMaxBytes) {
    return refused("invalid_scope", "the scope is too long");
  }
  auth::ScopeSet granted = scopes;
  if (const std::string words = known_words(request.scope); !words.empty()) {
    const auto asked = auth::ScopeSet::parse(words);
    if (!asked.has_value()) return refused("invalid_scope", asked.error().message());
    granted = scopes.narrowed_by(*asked);
    if (granted.empty()) {
      return refused("invalid_scope", "nothing of the scope can be granted");
    }
  }
  token.issuer = config_.issuer;
  token.scope = granted.to_text();
  token.token_id = random_uuid();
  TokenGrant out;
  out.expires_in = std::max<std::int64_t>(token.expires_at - token.issued_at - kBegunSecond, 1);
  out.scope = token.scope;
  out.access_token = Secret(auth::sign_token(token, signing_key_id_, config_.secrets.front()));
  return out;
}

Authenticator::Granted Authenticator::issue_for_client(const TokenRequest& request,
                                                       const SignedIn& client, std::int64_t now) {
  auth::NewToken token;
  token.subject = client.id;
  token.client_id = client.id;
  token.roles = client.state.roles;
  token.account = client.state.account;
  // A token that is made right after earlier ones were made void (by the database's clock) is none
  // of them.
  token.issued_at = std::max(now, std::min(client.state.tokens_from, now + kMostSkew));
  token.expires_at = token.issued_at + config_.ttl_seconds + kBegunSecond;
  token.signed_in_at = now;
  return make_grant(std::move(token), client.state.scopes, request);
}

// A refresh is the exchange of a client's own token. Who asks shows the client's secret (then the
// token may have expired), or the token itself as bearer.
Authenticator::Granted Authenticator::exchange(const TokenRequest& request,
                                               const std::optional<SignedIn>& client,
                                               std::int64_t now) {
  if (!request.subject_token) return refused("invalid_request", "subject_token is missing");
  if (!is_token_type(request.subject_token_type)) {
    return refused("invalid_request", "subject_token_type is none that is taken here");
  }
  if (!request.requested_token_type.empty() && request.requested_token_type != kAccessToken) {
    return refused("invalid_request", "only access tokens are made here");
  }
  const auto prove = [&](const Secret& token) -> tl::expected<Look, TokenRefusal> {
    Result<Look> look = look_thoroughly(token.reveal(), now);
    if (!look.has_value()) return unavailable();
    return std::move(*look);
  };
  if (request.actor_token) {
    auto actor = prove(*request.actor_token);
    if (!actor.has_value()) return Refused(std::move(actor).error());
    if (actor->state != Look::State::kGood) {
      return refused("invalid_grant", fmt::format("actor_token: {}", actor->why));
    }
  }
  auto looked = prove(*request.subject_token);
  if (!looked.has_value()) return Refused(std::move(looked).error());
  Look subject = std::move(*looked);
  if (subject.state == Look::State::kExpired && client) {
    // The client that it was made for may still turn it into a new one: it showed its secret.
    const auto parsed = auth::parse_token(request.subject_token->reveal());
    const bool is_own = parsed.has_value() && auth::claimed_issuer(*parsed) == config_.issuer &&
                        auth::text_claim(*parsed, "sub") == client->id &&
                        !auth::text_claim(*parsed, "idp");
    if (is_own) {
      auto narrowed = auth::ScopeSet::parse(auth::text_claim(*parsed, "scope").value_or(""));
      SignedIn same = *client;
      same.state.scopes =
          client->state.scopes.narrowed_by(narrowed.has_value() ? *narrowed : auth::ScopeSet());
      return issue_for_client(request, same, now);
    }
  }
  if (subject.state != Look::State::kGood) {
    return refused("invalid_grant", fmt::format("subject_token: {}", subject.why));
  }
  if (!client) {
    // Without a secret: whoever may use the token may have another one of it.
    const std::optional<Secret>& shown = request.bearer ? request.bearer : request.actor_token;
    if (!shown) return refused("invalid_client", "the client does not say who it is", 401);
    auto bearer = prove(*shown);
    if (!bearer.has_value()) return Refused(std::move(bearer).error());
    if (bearer->state != Look::State::kGood) {
      return refused("invalid_client", fmt::format("bearer token: {}", bearer->why), 401);
    }
  }

  const auto access = current_rules();
  if (!access.has_value()) return unavailable();
  const Result<Principal> principal = this->principal(*subject.token, **access);
  if (!principal.has_value()) return refused("invalid_grant", principal.error().message());

  const Identity& identity = subject.token->identity();
  auth::NewToken token;
  token.subject = identity.id;
  token.client_id = identity.client_id;
  token.roles = principal->subject->token_roles;
  token.account = principal->subject->account;
  token.issued_at = std::max(now, identity.issued_at);
  token.expires_at = token.issued_at + config_.ttl_seconds + kBegunSecond;
  token.signed_in_at = identity.signed_in_at;
  if (identity.is_external) {
    // Its issuer says how long it is valid.
    token.origin = identity.issuer;
    token.expires_at = std::min(token.expires_at, identity.expires_at);
  } else if (client && client->id == identity.id) {
    token.signed_in_at = now;
  } else {
    token.expires_at =
        std::min(token.expires_at, identity.signed_in_at + config_.max_session_seconds);
  }
  if (token.expires_at <= now) {
    return refused("invalid_grant", "the session is over; show the client's secret again");
  }
  return make_grant(std::move(token), principal->scopes(), request);
}

}  // namespace duckicelake::catalog
