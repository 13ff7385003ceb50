// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

#include "net/tls_context_internal.h"

namespace duckicelake::net {
namespace {

namespace ssl = boost::asio::ssl;

// Takes http/1.1 when the client offers it; a client that offers only other protocols gets an alert
// instead of an HTTP/1.1 answer that it would misread (RFC 7301 §3.2).
int select_alpn(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                unsigned int in_length, void*) {
  static constexpr std::string_view kProtocol = "http/1.1";
  unsigned int at = 0;
  while (at < in_length) {
    unsigned int length = in[at];
    if (at + 1 + length > in_length) break;
    if (std::string_view(reinterpret_cast<const char*>(in + at + 1), length) == kProtocol) {
      *out = in + at + 1;
      *out_length = static_cast<unsigned char>(length);
      return SSL_TLSEXT_ERR_OK;
    }
    at += 1 + length;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

Error tls_error(std::string_view what, const std::string& file) {
  std::string reason = "unknown error";
  if (unsigned long code = ERR_peek_last_error(); code != 0) {
    if (const char* text = ERR_reason_error_string(code)) reason = text;
  }
  ERR_clear_error();
  return invalid_argument("{} {}: {}", what, file, reason);
}

// No key behind a passphrase is supported; without this OpenSSL would prompt on the terminal.
int refuse_passphrase(char*, int, int, void*) { return 0; }

Result<std::shared_ptr<ssl::context>> make_context(const std::string& certificate_file,
                                                   const std::string& key_file) {
  std::shared_ptr<ssl::context> context;
  try {
    context = std::make_shared<ssl::context>(ssl::context::tls_server);
  } catch (const std::exception&) {
    return make_error(Code::kInternal, "TLS could not be set up");
  }
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Of TLS 1.2 only forward-secret AEAD suites; the suites of TLS 1.3 all are.
  SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Idle connections give their record buffers back.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(native, select_alpn, nullptr);
  SSL_CTX_set_default_passwd_cb(native, refuse_passphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(native, certificate_file.c_str()) != 1) {
    return tls_error("cannot use TLS certificate file", certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(native, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("cannot use TLS key file", key_file);
  }
  if (SSL_CTX_check_private_key(native) != 1) {
    return tls_error("TLS key does not belong to the certificate:", key_file);
  }
  return context;
}

}  // namespace

TlsContext::TlsContext(std::string certificate_file, std::string key_file)
    : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

Result<std::unique_ptr<TlsContext>> TlsContext::load(std::string certificate_file,
                                                     std::string key_file) {
  std::unique_ptr<TlsContext> tls(new TlsContext(std::move(certificate_file), std::move(key_file)));
  DIL_CHECK_OK(tls->reload());
  return tls;
}

std::shared_ptr<boost::asio::ssl::context> TlsContext::current() const {
  std::lock_guard lock(context_mutex_);
  return context_;
}

Status TlsContext::reload() {
  DIL_TRY(auto fresh, make_context(certificate_file_, key_file_));
  std::lock_guard lock(context_mutex_);
  context_ = std::move(fresh);
  return {};
}

}  // namespace duckicelake::net
