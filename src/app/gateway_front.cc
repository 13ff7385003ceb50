// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_front.h"

#include "app/tenants.h"

namespace duckicelake::app {

Result<catalog::S3Gateway::Passed> GatewayFront::admit(const sign::ReceivedRequest& request,
                                                       const std::string& request_id) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  Result<catalog::GatewayRequest> read =
      catalog::read_gateway_request(*own_.storage().access().gateway(), request, now);
  if (!read) {
    ++denied_;
    return std::move(read).error();
  }
  if (read->claims.catalog_id == own_.id()) {
    return own_.storage().gateway()->admit(request, std::move(*read), request_id);
  }
  Result<TenantPtr> tenant =
      tenants_.reach(read->claims.catalog_id, own_.service().probe(), pg::deadline_after(wait_));
  if (!tenant) {
    ++denied_;
    if (tenant.error().code() != Code::kNoSuchWarehouse) return std::move(tenant).error();
    return Error(Code::kPermissionDenied, "no such access key", "its catalog is not there");
  }
  return (*tenant)->storage().gateway()->admit(request, std::move(*read), request_id);
}

}  // namespace duckicelake::app
