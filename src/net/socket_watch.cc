// SPDX-License-Identifier: Apache-2.0
#include "net/socket_watch.h"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "net/socket_watch_internal.h"

namespace duckicelake::net {

namespace {

using Descriptor = asio::posix::basic_stream_descriptor<IoExecutor>;

}  // namespace

// What the handlers of waits hold on to: they may run after the watch has gone.
struct WatchedSocket::Shared {
  Shared(IoExecutor executor, SocketListener& the_listener)
      : descriptor(executor), listener(&the_listener) {}

  Descriptor descriptor;
  SocketListener* listener;  // null: nobody is told any more
  bool waits_read = false;
  bool waits_write = false;
};

WatchedSocket::WatchedSocket(IoThread& thread, SocketListener& listener)
    : thread_(&thread), shared_(std::make_shared<Shared>(thread.executor(), listener)) {}

WatchedSocket::~WatchedSocket() { detach(); }

bool WatchedSocket::assign(int socket) {
  error_code ec;
  shared_->descriptor.assign(socket, ec);
  if (ec) return false;
  thread_->add_watch(*this);
  return true;
}

void WatchedSocket::detach() {
  if (thread_ == nullptr) return;
  if (shared_->descriptor.is_open()) {
    thread_->remove_watch(*this);
    // The socket is its owner's: it is given back, not closed.
    shared_->descriptor.release();
  }
  shared_->listener = nullptr;
  shared_.reset();
  thread_ = nullptr;
}

void WatchedSocket::end() {
  SocketListener* listener = shared_->listener;
  detach();
  listener->on_end();
}

void WatchedSocket::wait(Wait events) {
  if (thread_ == nullptr) return;
  const auto start = [this](asio::posix::descriptor_base::wait_type type, bool Shared::* flag) {
    if (std::exchange((*shared_).*flag, true)) return;
    shared_->descriptor.async_wait(type, [shared = shared_, flag](const error_code&) {
      (*shared).*flag = false;
      if (shared->listener != nullptr) shared->listener->on_ready();
    });
  };
  start(asio::posix::descriptor_base::wait_read, &Shared::waits_read);
  if (events == Wait::kReadOrWrite) {
    start(asio::posix::descriptor_base::wait_write, &Shared::waits_write);
  }
}

void WatchedSocket::check_deadline(Clock::time_point now) {
  if (now < deadline_) return;
  deadline_ = Clock::time_point::max();
  shared_->listener->on_deadline();
}

std::unique_ptr<SocketWatch> SocketWatch::make(int socket, SocketListener& listener) {
  IoThread* thread = IoThread::current();
  if (thread == nullptr) return nullptr;
  auto watch = std::make_unique<WatchedSocket>(*thread, listener);
  if (!watch->assign(socket)) return nullptr;
  return watch;
}

}  // namespace duckicelake::net
