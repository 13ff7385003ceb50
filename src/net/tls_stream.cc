// SPDX-License-Identifier: Apache-2.0
#include "net/tls_stream.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "net/tls_context_internal.h"

namespace duckicelake::net {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

// Waits until OpenSSL can go on after `result`; false: it cannot, or the time is over.
bool wait_for(SSL* ssl, int socket, int result, Clock::time_point until) {
  short events = 0;
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ: events = POLLIN; break;
    case SSL_ERROR_WANT_WRITE: events = POLLOUT; break;
    default: return false;
  }
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long>(left.count(), INT_MAX)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

struct TlsStream::State {
  std::shared_ptr<boost::asio::ssl::context> context;  // lives as long as what is made from it
  SslPtr ssl;
  int socket = -1;
};

TlsStream::TlsStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsStream::~TlsStream() = default;

std::size_t TlsStream::read(char* buffer, std::size_t room, std::chrono::milliseconds timeout) {
  const Clock::time_point until = Clock::now() + timeout;
  while (true) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(state_->ssl.get(), buffer, room, &count);
    if (result == 1) return count;
    if (!wait_for(state_->ssl.get(), state_->socket, result, until)) return 0;
  }
}

bool TlsStream::write(std::string_view bytes, std::chrono::milliseconds timeout) {
  Clock::time_point until = Clock::now() + timeout;
  while (!bytes.empty()) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_write_ex(state_->ssl.get(), bytes.data(), bytes.size(), &count);
    if (result == 1) {
      bytes.remove_prefix(count);
      until = Clock::now() + timeout;
    } else if (!wait_for(state_->ssl.get(), state_->socket, result, until)) {
      return false;
    }
  }
  return true;
}

void TlsStream::end() {
  ERR_clear_error();
  (void)SSL_shutdown(state_->ssl.get());
}

struct TlsAcceptor::State {
  std::unique_ptr<TlsContext> context;
};

TlsAcceptor::TlsAcceptor(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsAcceptor::~TlsAcceptor() = default;

Result<std::unique_ptr<TlsAcceptor>> TlsAcceptor::load(std::string certificate_file,
                                                       std::string key_file) {
  auto state = std::make_unique<State>();
  DIL_TRY(state->context, TlsContext::load(std::move(certificate_file), std::move(key_file)));
  return std::unique_ptr<TlsAcceptor>(new TlsAcceptor(std::move(state)));
}

Status TlsAcceptor::reload() { return state_->context->reload(); }

std::unique_ptr<TlsStream> TlsAcceptor::accept(int socket, std::chrono::milliseconds timeout) {
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0 || ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0) return nullptr;
  auto state = std::make_unique<TlsStream::State>();
  state->context = state_->context->current();
  state->socket = socket;
  state->ssl.reset(SSL_new(state->context->native_handle()));
  if (!state->ssl || SSL_set_fd(state->ssl.get(), socket) != 1) return nullptr;
  SSL_set_mode(state->ssl.get(),
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const Clock::time_point until = Clock::now() + timeout;
  while (true) {
    ERR_clear_error();
    const int result = SSL_accept(state->ssl.get());
    if (result == 1) return std::unique_ptr<TlsStream>(new TlsStream(std::move(state)));
    if (!wait_for(state->ssl.get(), socket, result, until)) return nullptr;
  }
}

}  // namespace duckicelake::net
