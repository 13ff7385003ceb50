// SPDX-License-Identifier: Apache-2.0
#include "objstore/sts.h"

#include "objstore/endpoint.h"
#include "objstore/request_signer.h"
#include "objstore/s3_errors.h"
#include "objstore/s3_xml.h"
#include "objstore/transport.h"
#include "sign/hash.h"

namespace duckicelake::objstore {
namespace {

constexpr std::size_t kMaxAnswer = 64U << 10;
constexpr std::chrono::seconds kDefaultDuration{3600};

Error sts_error(const Exchange& exchange, const ServiceError& said) {
  Error error = error_of(exchange, "", "STS");
  if (exchange.failure != Failure::kNone || exchange.status >= 500) return error;
  auto as = [&](Code code, std::string message) { return Error(code, message, error.cause()); };
  if (exchange.status == 404 || exchange.status == 405) {
    return as(Code::kUnsupported, "there is no STS at its endpoint");
  }
  if (exchange.status == 429 || said.code == "Throttling") {
    return as(Code::kUnavailable, "STS asks to wait");
  }
  if (said.code == "PackedPolicyTooLarge") {
    return as(Code::kPayloadTooLarge, "the session policy is too large for STS");
  }
  if (exchange.status == 400) return as(Code::kInvalidArgument, "STS refused the request");
  return error;
}

}  // namespace

Result<std::unique_ptr<StsClient>> StsClient::make(StsConfig config) {
  DIL_TRY(Endpoint endpoint, Endpoint::parse(config.endpoint));
  if (config.access_key.empty() || config.secret_key.empty()) {
    return invalid_argument("STS needs an access key and a secret key");
  }
  std::unique_ptr<StsClient> out(new StsClient());
  out->host_ = endpoint.authority;
  out->path_ = endpoint.path + "/";
  out->url_ = endpoint.scheme + "://" + endpoint.authority + out->path_;
  TransportConfig transport;
  transport.connect_timeout = config.connect_timeout;
  transport.max_connections = config.max_connections;
  transport.ca_file = config.ca_file;
  out->transport_ = std::make_unique<Transport>(std::move(transport));
  out->signer_ = std::make_unique<RequestSigner>(
      sign::Credentials{config.access_key, config.secret_key, config.session_token}, config.region,
      "sts");
  out->config_ = std::move(config);
  return out;
}

StsClient::StsClient() = default;
StsClient::~StsClient() = default;

Counters StsClient::counters() const { return transport_->counters(); }

Result<AssumedRole> StsClient::assume_role(const AssumeRoleRequest& request) {
  bool duration_refused = false;
  auto out = assume_role_once(request, duration_refused);
  if (out.has_value() || !duration_refused || request.duration <= kDefaultDuration) return out;
  AssumeRoleRequest shorter = request;
  shorter.duration = kDefaultDuration;
  return assume_role_once(shorter, duration_refused);
}

Result<AssumedRole> StsClient::assume_role_once(const AssumeRoleRequest& request,
                                                bool& duration_refused) {
  std::vector<sign::Parameter> form = {
      {"Action", "AssumeRole"},
      {"Version", "2011-06-15"},
      {"RoleArn", request.role_arn},
      {"RoleSessionName", request.session_name},
      {"DurationSeconds", std::to_string(request.duration.count())}};
  if (!request.session_policy.empty()) form.push_back({"Policy", request.session_policy});
  std::string body = sign::canonical_query(form);

  Exchange exchange;
  exchange.operation = Operation::kSts;
  exchange.url = url_;
  exchange.request.method = "POST";
  exchange.request.path = path_;
  exchange.request.headers = {{"host", host_},
                              {"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  exchange.request.payload_hash = sign::sha256_hex(body);
  exchange.body = body;
  exchange.max_response = kMaxAnswer;
  exchange.timeout = config_.total_timeout;
  transport_->run({&exchange, 1}, *signer_);
  if (exchange.is_ok()) return parse_assume_role(std::move(exchange.response));
  ServiceError said = parse_error(exchange.response);
  duration_refused = exchange.status == 400 &&
                     (said.code == "ValidationError" || said.code == "InvalidParameterValue");
  return sts_error(exchange, said);
}

}  // namespace duckicelake::objstore
