// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/settings.h"
#include "catalog/sign_request.h"
#include "objstore/request_signer.h"
#include "objstore/transport.h"
#include "sign/sigv4.h"

namespace duckicelake::app {

// Requests to the bucket with one set of keys, of which only the status counts: what keys open is
// found out by trying. `place` must outlive it.
class StoreHand {
 public:
  StoreHand(const catalog::ObjectPlace& place, sign::Credentials keys, const std::string& ca_file);

  // The HTTP status; 0: no answer. An empty key is the bucket.
  int send(const std::string& method, const std::string& key, std::vector<sign::Parameter> query,
           std::vector<sign::Header> headers = {}, const std::string& body = {});

 private:
  const catalog::ObjectPlace& place_;
  objstore::RequestSigner signer_;
  objstore::Transport transport_;
};

// "<prefix>-doctor/<random>/": outside of the lake's data, where nothing else looks.
std::string proof_prefix(const Settings& settings);

}  // namespace duckicelake::app
