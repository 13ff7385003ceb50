// SPDX-License-Identifier: Apache-2.0
#include "catalog/authenticator.h"

#include <algorithm>
#include <functional>

namespace duckicelake::catalog {
namespace {

using State = Authenticator::Look::State;

// Tokens of other issuers are proved anew after this long, so that a key which its issuer withdrew
// does not serve until the token expires.
constexpr std::int64_t kExternalUsableSeconds = IssuerKeys::kRefreshSeconds;
constexpr std::string_view kDefaultActor = "human";
constexpr std::string_view kDefaultChannel = "rest";

Authenticator::Look refuse(State state, std::string_view why) { return {state, why, nullptr}; }

Authenticator::Look refuse(const auth::TokenCheck& check) {
  return refuse(check.state == auth::TokenState::kExpired ? State::kExpired : State::kBad,
                check.why);
}

std::vector<std::string> common(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

std::vector<std::string> joined_roles(std::vector<std::string> roles,
                                      const std::vector<std::string>& more, std::string_view actor,
                                      std::string_view channel) {
  roles.insert(roles.end(), more.begin(), more.end());
  roles.push_back(fmt::format("actor:{}", actor));
  roles.push_back(fmt::format("channel:{}", channel));
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  return roles;
}

Status check_word(std::string_view what, std::string_view text, std::size_t most) {
  const bool is_fit =
      !text.empty() && text.size() <= most && std::none_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
      });
  if (is_fit) return {};
  return invalid_argument("{} is empty, longer than {} bytes, or holds control characters", what,
                          most);
}

std::vector<auth::VerifyKey> keys_of(const std::vector<Secret>& secrets) {
  std::vector<auth::VerifyKey> out;
  out.reserve(secrets.size());
  for (const Secret& secret : secrets) {
    out.push_back(auth::VerifyKey::from_secret(auth::key_id_of(secret), secret));
  }
  return out;
}

// Of the end alone: a signature is as good as random, and tells proved tokens apart.
std::size_t token_hash(std::string_view text) {
  constexpr std::size_t kEnd = 32;
  return std::hash<std::string_view>{}(text.size() > kEnd ? text.substr(text.size() - kEnd) : text);
}

}  // namespace

Authenticator::Authenticator(Config config, pg::Pool& pool, AccessCache& access, Fetch fetch)
    : config_(std::move(config)),
      pool_(pool),
      access_(access),
      own_keys_(keys_of(config_.secrets)) {
  if (!config_.secrets.empty()) signing_key_id_ = auth::key_id_of(config_.secrets.front());
  for (const auth::ExternalIssuer& issuer : config_.issuers) {
    issuers_.push_back(std::make_unique<IssuerKeys>(issuer, fetch));
  }
}

IssuerKeys* Authenticator::issuer_of(std::string_view issuer) {
  for (const auto& known : issuers_) {
    if (known->issuer().issuer == issuer) return known.get();
  }
  return nullptr;
}

std::shared_ptr<KnownToken> Authenticator::find(std::string_view text, std::int64_t now) {
  const std::size_t hash = token_hash(text);
  Shard& shard = shards_[hash % kShards];
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.tokens.find(hash);
  if (found == shard.tokens.end() || !found->second->is_for(text)) return nullptr;
  if (found->second->identity().usable_until <= now) {
    shard.tokens.erase(found);
    return nullptr;
  }
  return found->second;
}

Authenticator::Look Authenticator::remember(std::string_view text, Identity identity) {
  auto token = std::make_shared<KnownToken>(Secret(std::string(text)),
                                            std::make_shared<const Identity>(std::move(identity)));
  const std::size_t hash = token_hash(text);
  Shard& shard = shards_[hash % kShards];
  const std::lock_guard lock(shard.mutex);
  if (shard.tokens.size() >= std::max<std::size_t>(config_.max_known_tokens / kShards, 1)) {
    shard.tokens.erase(shard.tokens.begin());
  }
  shard.tokens[hash] = token;
  return {State::kGood, {}, std::move(token)};
}

Authenticator::Look Authenticator::count(Look look) {
  if (look.state == State::kGood) {
    proofs_.fetch_add(1, std::memory_order_relaxed);
  } else if (look.state != State::kNeedsWork) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  return look;
}

Authenticator::Look Authenticator::look(std::string_view text, std::int64_t now) {
  if (std::shared_ptr<KnownToken> known = find(text, now)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return {State::kGood, {}, std::move(known)};
  }
  const Result<auth::ParsedToken> token = auth::parse_token(text);
  if (!token.has_value()) return count(refuse(State::kBad, "the token is malformed"));
  const std::string issuer = auth::claimed_issuer(*token);
  IssuerKeys* external = issuer == config_.issuer ? nullptr : issuer_of(issuer);
  if (external == nullptr) return count(prove_own(*token, text, now));
  const IssuerKeys::Known known = external->known(token->key_id, now);
  if (known.wants_fetch) return refuse(State::kNeedsWork, "its issuer's keys are to be fetched");
  if (!known.keys)
    return count(refuse(State::kBad, "the keys of the token's issuer are not known"));
  return count(prove_external(*external, *token, text, *known.keys, now));
}

Result<Authenticator::Look> Authenticator::look_thoroughly(std::string_view text,
                                                           std::int64_t now) {
  Look first = look(text, now);
  if (first.state != State::kNeedsWork) return first;
  DIL_TRY(const auth::ParsedToken token, auth::parse_token(text));
  IssuerKeys* external = issuer_of(auth::claimed_issuer(token));
  DIL_ASSERT(external != nullptr);
  DIL_TRY(const std::shared_ptr<const auth::KeySet> keys, external->fetch(token.key_id, now));
  return count(prove_external(*external, token, text, *keys, now));
}

Authenticator::Look Authenticator::prove_own(const auth::ParsedToken& token, std::string_view text,
                                             std::int64_t now) {
  auth::Expectations expected;
  expected.issuer = config_.issuer;
  expected.audiences = {config_.issuer};
  expected.now = now;
  expected.expiry_skew_seconds = 0;  // the clocks are those of this server's own processes
  const auth::TokenCheck check = auth::check_token(token, own_keys_, expected);
  if (check.state != auth::TokenState::kGood) return refuse(check);
  Identity identity;
  identity.id = check.claims.subject;
  identity.issued_at = check.claims.issued_at;
  identity.expires_at = check.claims.expires_at;
  identity.usable_until = check.claims.expires_at;
  identity.issuer = auth::text_claim(token, "idp").value_or(std::string());
  identity.is_external = !identity.issuer.empty();
  if (!identity.is_external) {
    identity.issuer = config_.issuer;
    identity.client_id = identity.id;
  }
  identity.account = auth::text_claim(token, "account").value_or(std::string());
  identity.roles = auth::list_claim(token, "roles");
  std::sort(identity.roles.begin(), identity.roles.end());
  auto scopes = auth::ScopeSet::parse(auth::text_claim(token, "scope").value_or(std::string()));
  if (!scopes.has_value()) return refuse(State::kBad, "the token's scope is too long");
  identity.scopes = std::move(*scopes);
  identity.signed_in_at = auth::number_claim(token, "auth_time").value_or(identity.issued_at);
  return remember(text, std::move(identity));
}

Authenticator::Look Authenticator::prove_external(const IssuerKeys& issuer,
                                                  const auth::ParsedToken& token,
                                                  std::string_view text, const auth::KeySet& keys,
                                                  std::int64_t now) {
  if (token.algorithm == auth::Algorithm::kHs256) {
    return refuse(State::kBad, "the token is signed in no way that is taken from its issuer");
  }
  auth::Expectations expected;
  expected.issuer = issuer.issuer().issuer;
  expected.audiences = issuer.issuer().audiences;
  expected.requires_audience = true;
  expected.now = now;
  const auth::TokenCheck check = auth::check_token(token, keys, expected);
  if (check.state != auth::TokenState::kGood) return refuse(check);
  Result<auth::MappedPrincipal> who = auth::map_claims(issuer.issuer(), token);
  if (!who.has_value()) return refuse(State::kBad, "the token names no principal");
  Identity identity;
  identity.id = std::move(who->id);
  identity.issuer = issuer.issuer().issuer;
  identity.account = std::move(who->account);
  identity.roles = std::move(who->roles);
  identity.scopes = std::move(who->scopes);
  identity.issued_at = check.claims.issued_at;
  identity.expires_at = check.claims.expires_at;
  identity.signed_in_at = check.claims.issued_at;
  identity.usable_until = std::min(check.claims.expires_at + expected.expiry_skew_seconds,
                                   now + kExternalUsableSeconds);
  identity.is_external = true;
  return remember(text, std::move(identity));
}

std::optional<Authenticator::ClientState> Authenticator::client_state(const std::string& id,
                                                                      const Access& access) const {
  if (const auto own = config_.clients.find(id); own != config_.clients.end()) {
    return ClientState{own->second.scopes, own->second.roles, own->second.account, false, 0};
  }
  const Access::Client* kept = access.client(id);
  if (kept == nullptr) return std::nullopt;
  return ClientState{kept->scopes, kept->roles, kept->account, kept->is_disabled,
                     kept->tokens_from};
}

const KnownToken::Settled& Authenticator::settle(KnownToken& token, const Access& access) const {
  for (const KnownToken::Settled& known : token.settled_) {
    if (known.mark == access.mark()) return known;
  }
  KnownToken::Settled& out = token.settled_[token.next_];
  token.next_ = (token.next_ + 1) % token.settled_.size();
  out = {};
  out.mark = access.mark();
  const Identity& identity = token.identity();
  Subject subject;
  subject.id = identity.id;
  subject.client_id = identity.client_id;
  subject.issuer = identity.issuer;
  subject.account = identity.account;
  subject.scopes = identity.scopes;
  subject.token_roles = identity.roles;
  subject.expires_at = identity.expires_at;
  subject.issued_at = identity.issued_at;
  const std::optional<ClientState> client = client_state(identity.id, access);
  if (identity.is_external) {
    // Two principals of one name would share their grants.
    if (client) out.refusal = "the token's principal has the name of a client of this server";
  } else if (!client) {
    out.refusal = "the token's client is gone";
  } else if (client->is_disabled) {
    out.refusal = "the token's client is disabled";
  } else if (identity.issued_at < client->tokens_from) {
    out.refusal = "the token was made void";
  } else {
    subject.scopes = identity.scopes.narrowed_by(client->scopes);
    subject.token_roles = common(identity.roles, client->roles);
    subject.account = client->account;
  }
  out.roles = std::make_shared<const std::vector<std::string>>(joined_roles(
      access.roles_of(subject.id), subject.token_roles, kDefaultActor, kDefaultChannel));
  out.subject = std::make_shared<const Subject>(std::move(subject));
  return out;
}

Result<Principal> Authenticator::principal(KnownToken& token, const Access& access) const {
  Principal out;
  const std::lock_guard lock(token.mutex_);
  const KnownToken::Settled& known = settle(token, access);
  if (!known.refusal.empty()) return Error(Code::kUnauthenticated, std::string(known.refusal));
  out.id = token.identity().id;
  out.is_authenticated = true;
  out.subject = known.subject;
  out.held_roles = known.roles;
  return out;
}

Result<Principal> Authenticator::act_as(Principal principal, const ActingAs& as,
                                        const Access& access) const {
  if (config_.mode == AuthMode::kOn) {
    if (!as.is_delegated) return principal;
    if (!principal.scopes().is_broker()) {
      return Error(Code::kPermissionDenied, "only a broker may act for somebody else");
    }
  }
  if (!as.principal && !as.actor && !as.channel) return principal;
  if (as.principal) DIL_CHECK_OK(check_word("principal", *as.principal, auth::kMaxSubjectBytes));
  if (as.actor) DIL_CHECK_OK(check_word("actor", *as.actor, 64));
  if (as.channel) DIL_CHECK_OK(check_word("channel", *as.channel, 64));
  std::vector<std::string> token_roles;
  if (as.principal && *as.principal != principal.id) {
    // What a client may not do by itself, a broker does not do for it.
    if (principal.subject) {
      if (const auto client = client_state(*as.principal, access)) {
        if (client->is_disabled) {
          return make_error(Code::kPermissionDenied, "the client {} is disabled", *as.principal);
        }
        auto narrowed = std::make_shared<Subject>(*principal.subject);
        narrowed->scopes = narrowed->scopes.narrowed_by(client->scopes);
        principal.subject = std::move(narrowed);
        token_roles = client->roles;
      }
    }
    principal.id = *as.principal;
  } else if (principal.subject) {
    token_roles = principal.subject->token_roles;
  }
  principal.is_named = true;
  principal.actor = as.actor.value_or(std::string(kDefaultActor));
  principal.channel = as.channel.value_or(std::string(kDefaultChannel));
  principal.held_roles = std::make_shared<const std::vector<std::string>>(
      joined_roles(access.roles_of(principal.id), token_roles, principal.actor, principal.channel));
  return principal;
}

Result<Principal> Authenticator::absent_principal(const std::string& id,
                                                  const Access& access) const {
  Principal out;
  out.id = id;
  std::vector<std::string> roles = access.roles_of(id);
  if (config_.mode == AuthMode::kOn) {
    const std::optional<ClientState> client = client_state(id, access);
    if (!client) return make_error(Code::kNotFound, "{} is no client of this server", id);
    if (client->is_disabled) {
      return make_error(Code::kPermissionDenied, "the client {} is disabled", id);
    }
    auto subject = std::make_shared<Subject>();
    subject->id = id;
    subject->client_id = id;
    subject->account = client->account;
    subject->scopes = client->scopes;
    subject->token_roles = client->roles;
    roles.insert(roles.end(), client->roles.begin(), client->roles.end());
    out.subject = std::move(subject);
    out.is_authenticated = true;
  } else {
    out.is_named = true;
  }
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  out.held_roles = std::make_shared<const std::vector<std::string>>(std::move(roles));
  return out;
}

Authenticator::Counters Authenticator::counters() const {
  Counters out;
  out.issued = issued_;
  out.refused = refused_;
  out.limited = limited_;
  out.token_hits = hits_;
  out.token_proofs = proofs_;
  out.token_failures = failures_;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    out.known_tokens += shard.tokens.size();
  }
  return out;
}

}  // namespace duckicelake::catalog
