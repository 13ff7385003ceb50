// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

namespace duckicelake::rest {

std::string_view openapi_access_schemas() {
  static constexpr std::string_view kSchemas = R"json(
"OAuthTokenRequest":{"type":"object","required":["grant_type"],"properties":{
 "grant_type":{"type":"string","enum":["client_credentials",
  "urn:ietf:params:oauth:grant-type:token-exchange"]},
 "client_id":{"type":"string","description":"Or HTTP Basic"},"client_secret":{"type":"string"},
 "scope":{"type":"string","description":"Narrows the token to less than the client may; words that mean nothing here are ignored, and so is catalog"},
 "subject_token":{"type":"string"},
 "subject_token_type":{"type":"string","enum":["urn:ietf:params:oauth:token-type:access_token",
  "urn:ietf:params:oauth:token-type:jwt","urn:ietf:params:oauth:token-type:id_token"]},
 "actor_token":{"type":"string"},"actor_token_type":{"type":"string"},
 "requested_token_type":{"type":"string","enum":["urn:ietf:params:oauth:token-type:access_token"]}}},
"OAuthTokenResponse":{"type":"object","required":["access_token","token_type"],"properties":{
 "access_token":{"type":"string"},"token_type":{"type":"string","enum":["Bearer"]},
 "expires_in":{"type":"integer"},"issued_token_type":{"type":"string"},"scope":{"type":"string"}}},
"OAuthError":{"type":"object","required":["error"],"properties":{
 "error":{"type":"string"},"error_description":{"type":"string"},"error_uri":{"type":"string"}}},
"StatusAnswer":{"type":"object","required":["status"],"properties":{
 "status":{"type":"string","enum":["created","deleted","granted","revoked"]},
 "role":{"type":"string"},"principal":{"type":"string"},"client-id":{"type":"string"}}},
"CreateRoleRequest":{"type":"object","required":["name"],"properties":{
 "name":{"type":"string","minLength":1,"maxLength":128}}},
"RolesAnswer":{"type":"object","required":["roles"],"properties":{
 "roles":{"type":"array","items":{"type":"string"}}}},
"RoleGrant":{"type":"object","required":["role","principal"],"properties":{
 "role":{"type":"string"},"principal":{"type":"string"}}},
"RoleGrantsAnswer":{"type":"object","required":["grants"],"properties":{
 "grants":{"type":"array","items":{"$ref":"#/components/schemas/RoleGrant"}}}},
"ObjectGrant":{"type":"object","required":["object-kind","schema","privilege","role"],"properties":{
 "object-kind":{"type":"string","enum":["schema","table","view"]},
 "schema":{"description":"The namespace: its levels, or joined by 0x1F",
  "anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
 "object":{"type":"string","description":"The table or view; empty for a schema"},
 "privilege":{"type":"string","enum":["select","modify"]},"role":{"type":"string"}}},
"ObjectGrantsAnswer":{"type":"object","required":["grants"],"properties":{
 "grants":{"type":"array","items":{"$ref":"#/components/schemas/ObjectGrant"}}}},
"StaticKeyRequest":{"type":"object","required":["principal","access-key-id"],"properties":{
 "principal":{"type":"string"},"access-key-id":{"type":"string"},
 "secret-access-key":{"type":["string","null"]},"note":{"type":["string","null"]},
 "confined":{"type":"boolean","default":false,
  "description":"May be given out to a principal whom masks bind"}}},
"StaticKeyAnswer":{"type":"object","properties":{
 "status":{"type":"string","enum":["set"]},"principal":{"type":"string"},
 "access-key-id":{"type":"string"},"has-secret":{"type":"boolean"},"confined":{"type":"boolean"}}},
"StaticKeysAnswer":{"type":"object","required":["keys"],"properties":{
 "keys":{"type":"array","items":{"type":"object","properties":{
  "principal":{"type":"string"},"access-key-id":{"type":"string"},"has-secret":{"type":"boolean"},
  "note":{"type":"string"},"confined":{"type":"boolean"}}}}}},
"AuditEntry":{"type":"object","required":["id","ts","principal","operation","object","decision"],
 "properties":{
 "id":{"type":"integer","format":"int64"},"ts":{"type":"string","format":"date-time"},
 "last-ts":{"type":"string","format":"date-time"},
 "repeats":{"type":"integer","format":"int64",
  "description":"So many decisions that differ in nothing but time and request"},
 "principal":{"type":"string","description":"As whom"},
 "subject":{"type":"string","description":"Who authenticated"},
 "actor":{"type":"string"},"channel":{"type":"string"},
 "operation":{"type":"string"},"object":{"type":"string"},
 "schema-id":{"type":"integer","format":"int64"},"object-id":{"type":"integer","format":"int64"},
 "decision":{"type":"string"},"reason":{"type":"string"},
 "request-id":{"type":"string"},"last-request-id":{"type":"string"},
 "key-id":{"type":"string","description":"Of a key that was given out"},
 "masked_cols":{"type":"array","items":{"type":"string"}},
 "applied_policies":{"type":"array","items":{"type":"string"}},
 "detail":{"type":"object"}}},
"AuditAnswer":{"type":"object","required":["entries"],"properties":{
 "entries":{"type":"array","items":{"$ref":"#/components/schemas/AuditEntry"}},
 "next-page-token":{"type":"string"}}},
"CreateClientRequest":{"type":"object","required":["client-id","scope"],"properties":{
 "client-id":{"type":"string","minLength":1,"maxLength":128},"scope":{"type":"string"},
 "roles":{"type":"array","items":{"type":"string"}},"account":{"type":"string"}}},
"UpdateClientRequest":{"type":"object","properties":{
 "scope":{"type":"string"},"roles":{"type":"array","items":{"type":"string"}},
 "account":{"type":"string"},"disabled":{"type":"boolean"},
 "void-tokens":{"type":"boolean","description":"All tokens that were issued until now"}}},
"RotateClientRequest":{"type":"object","properties":{
 "overlap-seconds":{"type":"integer","minimum":0,"maximum":2592000,"default":0}}},
"Client":{"type":"object","required":["client-id","scope"],"properties":{
 "client-id":{"type":"string"},"scope":{"type":"string"},
 "roles":{"type":"array","items":{"type":"string"}},"account":{"type":"string"},
 "disabled":{"type":"boolean"},"created-at":{"type":"integer","format":"int64"},
 "tokens-from":{"type":"integer","format":"int64"}}},
"ClientWithSecret":{"allOf":[{"$ref":"#/components/schemas/Client"},
 {"type":"object","required":["client-secret"],"properties":{"client-secret":{"type":"string"}}}]},
"ClientRecord":{"allOf":[{"$ref":"#/components/schemas/Client"},{"type":"object","properties":{
 "secrets":{"type":"array","items":{"type":"object","properties":{
  "serial":{"type":"integer","format":"int64"},"created-at":{"type":"integer","format":"int64"},
  "expires-at":{"type":"integer","format":"int64"}}}}}}]},
"CreateCatalogRequest":{"type":"object","required":["catalog_id","metadata_schema","data_prefix"],
 "description":"Members may be spelled with hyphens as well",
 "properties":{
 "catalog_id":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"},
 "metadata_schema":{"type":"string","pattern":"^[a-z_][a-z0-9_]{0,62}$",
  "description":"The PostgreSQL schema of its DuckLake: a new one, or that of a lake with the same place"},
 "data_prefix":{"type":"string","maxLength":512,
  "description":"Its folder in the bucket, apart from those of all other catalogs"},
 "account_id":{"type":["string","null"],"minLength":1,"maxLength":128,
  "description":"Only tokens of this account reach it, and superusers"},
 "create_default_namespace":{"type":"boolean","default":true}}},
"CatalogAnswer":{"type":"object","required":["catalog_id","metadata_schema","data_prefix"],
 "properties":{"catalog_id":{"type":"string"},"metadata_schema":{"type":"string"},
 "data_prefix":{"type":"string"}}},
"CatalogRecord":{"allOf":[{"$ref":"#/components/schemas/CatalogAnswer"},{"type":"object",
 "required":["state","is_default","is_shared"],"properties":{
 "account_id":{"type":"string"},"state":{"type":"string","enum":["open","making"]},
 "is_default":{"type":"boolean","description":"The own one of the server that answers"},
 "is_shared":{"type":"boolean","description":"Made over REST: all servers of the database serve it"}}}]},
"CatalogsAnswer":{"type":"object","required":["catalogs"],"properties":{
 "catalogs":{"type":"array","items":{"$ref":"#/components/schemas/CatalogRecord"}},
 "next-page-token":{"type":["string","null"]}}},
"ClientsAnswer":{"type":"object","required":["clients"],"properties":{
 "clients":{"type":"array","items":{"$ref":"#/components/schemas/Client"}}}}
)json";
  return kSchemas;
}

}  // namespace duckicelake::rest
