// SPDX-License-Identifier: Apache-2.0
#include "objstore/transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <vector>

#include "objstore/transfer.h"

namespace duckicelake::objstore {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstBackoff{50};
constexpr milliseconds kLastBackoff{2000};
constexpr std::size_t kIdleBatchChannels = 4;
// So many failures in a row that look like an absent service make a batch give up: one object that
// the store cannot serve must not take the others along.
constexpr int kAwayStreak = 4;
constexpr milliseconds kLongestPermitWait{30000};

void init_curl_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  DIL_ASSERT(code == CURLE_OK);
}

// Full jitter: waiters that failed together do not come back together.
milliseconds backoff(int attempts) {
  thread_local std::minstd_rand random{std::random_device{}()};
  milliseconds top = std::min(kLastBackoff, kFirstBackoff * (1 << std::min(attempts - 1, 10)));
  return milliseconds(
      std::uniform_int_distribution<milliseconds::rep>(top.count() / 4, top.count())(random));
}

bool is_throttle(const Exchange& e) {
  return e.failure == Failure::kNone && (e.status == 503 || e.status == 429);
}

bool is_server_fault(const Exchange& e) {
  return e.failure == Failure::kNone && (e.status >= 500 && e.status != 501 && e.status != 505);
}

// S3 says so with 400, and with 409 for two conditional writes at once: both ask for a new attempt.
bool asks_to_repeat(const Exchange& e) {
  auto has = [&](std::string_view code) { return e.response.find(code) != std::string::npos; };
  if (e.failure != Failure::kNone) return false;
  return (e.status == 400 && has("<Code>RequestTimeout</Code>")) ||
         (e.status == 409 &&
          (has("<Code>ConditionalRequestConflict</Code>") || has("<Code>OperationAborted</Code>")));
}

bool may_repeat(const Exchange& e) {
  if (e.failure == Failure::kConnect || is_throttle(e) || asks_to_repeat(e)) return true;
  bool broke = e.failure == Failure::kTransfer || e.failure == Failure::kTimeout;
  return (broke || is_server_fault(e)) && e.resend == Resend::kAlways;
}

bool is_away(const Exchange& e) {
  return e.failure == Failure::kConnect || e.failure == Failure::kTransfer ||
         e.failure == Failure::kTimeout || is_server_fault(e);
}

// A curl multi handle with its connections, and easy handles for it. Used by one thread at a time.
struct Channel {
  explicit Channel(std::size_t width) : multi(curl_multi_init()) {
    DIL_ASSERT(multi != nullptr);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(width));
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  }
  ~Channel() {
    idle.clear();
    curl_multi_cleanup(multi);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  CURLM* multi;
  std::vector<std::unique_ptr<Transfer>> idle;
};

}  // namespace

Outcome outcome_of(const Exchange& e) {
  switch (e.failure) {
    case Failure::kNone: break;
    case Failure::kConnect:
    case Failure::kTransfer:
    case Failure::kNotStarted: return Outcome::kUnavailable;
    case Failure::kTimeout: return Outcome::kTimeout;
    case Failure::kTooLarge:
    case Failure::kTls:
    case Failure::kLocal: return Outcome::kError;
  }
  if (e.is_ok()) return Outcome::kOk;
  if (e.status == 404) return Outcome::kNotFound;
  if (e.status == 403 || e.status == 401) return Outcome::kDenied;
  if (e.status == 409 || e.status == 412) return Outcome::kConflict;
  return is_server_fault(e) || is_throttle(e) ? Outcome::kUnavailable : Outcome::kError;
}

struct Transport::State {
  std::mutex pool_mutex;
  std::condition_variable permit_freed;
  std::size_t permits = 0;
  // Last used first: a few warm connections instead of many cooling ones.
  std::vector<std::unique_ptr<Channel>> single_channels;
  std::vector<std::unique_ptr<Channel>> batch_channels;

  std::array<std::array<std::atomic<std::uint64_t>, kOutcomeCount>, kOperationCount> calls{};
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> connections{0};

  // Takes 1..wanted permits; 0 when none came free in time.
  std::size_t acquire(std::size_t wanted, milliseconds timeout) {
    std::unique_lock lock(pool_mutex);
    if (!permit_freed.wait_for(lock, timeout, [&] { return permits > 0; })) return 0;
    std::size_t granted = std::min(wanted, permits);
    permits -= granted;
    return granted;
  }

  void release(std::size_t granted) {
    {
      std::lock_guard lock(pool_mutex);
      permits += granted;
    }
    permit_freed.notify_all();
  }

  std::unique_ptr<Channel> take_channel(bool is_batch) {
    std::lock_guard lock(pool_mutex);
    auto& channels = is_batch ? batch_channels : single_channels;
    if (channels.empty()) return std::make_unique<Channel>(is_batch ? kBatchWidth : 1);
    std::unique_ptr<Channel> out = std::move(channels.back());
    channels.pop_back();
    return out;
  }

  void give_back(std::unique_ptr<Channel> channel, bool is_batch) {
    std::lock_guard lock(pool_mutex);
    auto& channels = is_batch ? batch_channels : single_channels;
    if (is_batch && channels.size() == kIdleBatchChannels) return;
    channels.push_back(std::move(channel));
  }
};

// The exchanges of one run() on one channel.
class Transport::Batch {
 public:
  Batch(Transport& transport, Channel& channel, std::span<Exchange> exchanges,
        RequestSigner& signer, std::size_t width)
      : transport_(transport),
        channel_(channel),
        exchanges_(exchanges),
        signer_(signer),
        width_(width),
        first_start_(exchanges.size()) {}

  void run() {
    while (ended_ < exchanges_.size()) {
      start_due();
      if (ended_ == exchanges_.size()) break;
      int running = 0;
      curl_multi_perform(channel_.multi, &running);
      if (collect() == 0) {
        curl_multi_poll(channel_.multi, nullptr, 0, static_cast<int>(poll_time().count()), nullptr);
      }
    }
  }

 private:
  struct Delayed {
    Clock::time_point due;
    std::size_t index;
  };

  void start_due() {
    Clock::time_point now = Clock::now();
    while (active_.size() < width_) {
      auto due = std::find_if(delayed_.begin(), delayed_.end(),
                              [&](const Delayed& d) { return d.due <= now; });
      if (due != delayed_.end()) {
        std::size_t index = due->index;
        delayed_.erase(due);
        start(index, now);
      } else if (next_ < exchanges_.size()) {
        std::size_t index = next_++;
        if (is_away_) {
          exchanges_[index].failure = Failure::kNotStarted;
          exchanges_[index].failure_text = "not attempted after earlier failures";
          finish(exchanges_[index]);
          continue;
        }
        first_start_[index] = now;
        start(index, now);
      } else {
        return;
      }
    }
  }

  void start(std::size_t index, Clock::time_point now) {
    Exchange& exchange = exchanges_[index];
    if (channel_.idle.empty()) {
      channel_.idle.push_back(std::make_unique<Transfer>(curl_easy_init()));
      DIL_ASSERT(channel_.idle.back()->easy() != nullptr);
    }
    std::unique_ptr<Transfer> transfer = std::move(channel_.idle.back());
    channel_.idle.pop_back();
    transfer->index = index;
    auto left = std::chrono::ceil<milliseconds>(first_start_[index] + exchange.timeout - now);
    if (!transfer->begin(exchange, transport_.config_, signer_, left)) {
      channel_.idle.push_back(std::move(transfer));
      finish(exchange);
      return;
    }
    curl_multi_add_handle(channel_.multi, transfer->easy());
    active_.push_back(std::move(transfer));
  }

  std::size_t collect() {
    std::size_t collected = 0;
    int queued = 0;
    while (CURLMsg* message = curl_multi_info_read(channel_.multi, &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      // The message dies with curl_multi_remove_handle.
      CURL* easy = message->easy_handle;
      CURLcode code = message->data.result;
      take_back(easy, code);
      ++collected;
    }
    return collected;
  }

  void take_back(CURL* easy, CURLcode code) {
    auto at = std::find_if(active_.begin(), active_.end(),
                           [&](const auto& t) { return t->easy() == easy; });
    DIL_ASSERT(at != active_.end());
    std::unique_ptr<Transfer> transfer = std::move(*at);
    active_.erase(at);
    transfer->end(code);
    count_traffic(*transfer);
    curl_multi_remove_handle(channel_.multi, easy);
    std::size_t index = transfer->index;
    channel_.idle.push_back(std::move(transfer));

    Exchange& exchange = exchanges_[index];
    Clock::time_point due = Clock::now() + backoff(exchange.attempts);
    Clock::time_point last =
        first_start_[index] + std::min(exchange.timeout, transport_.config_.retry_budget);
    if (may_repeat(exchange) && exchange.attempts < transport_.config_.max_attempts && due < last) {
      transport_.state_->retries.fetch_add(1, std::memory_order_relaxed);
      delayed_.push_back({due, index});
      return;
    }
    away_streak_ = is_away(exchange) ? away_streak_ + 1 : 0;
    if (exchange.failure == Failure::kConnect || away_streak_ >= kAwayStreak) is_away_ = true;
    finish(exchange);
  }

  void count_traffic(const Transfer& transfer) {
    long opened = 0;
    curl_easy_getinfo(transfer.easy(), CURLINFO_NUM_CONNECTS, &opened);
    State& state = *transport_.state_;
    state.connections.fetch_add(static_cast<std::uint64_t>(std::max(0L, opened)),
                                std::memory_order_relaxed);
    state.bytes_in.fetch_add(transfer.bytes_in, std::memory_order_relaxed);
    state.bytes_out.fetch_add(transfer.bytes_out, std::memory_order_relaxed);
  }

  void finish(const Exchange& exchange) {
    ++ended_;
    auto operation = static_cast<std::size_t>(exchange.operation);
    auto outcome = static_cast<std::size_t>(outcome_of(exchange));
    transport_.state_->calls[operation][outcome].fetch_add(1, std::memory_order_relaxed);
  }

  milliseconds poll_time() const {
    milliseconds out(1000);
    if (active_.size() >= width_) return out;
    for (const Delayed& d : delayed_) {
      out = std::min(out, std::chrono::ceil<milliseconds>(d.due - Clock::now()));
    }
    return std::max(out, milliseconds(0));
  }

  Transport& transport_;
  Channel& channel_;
  std::span<Exchange> exchanges_;
  RequestSigner& signer_;
  const std::size_t width_;
  std::vector<Clock::time_point> first_start_;
  std::vector<std::unique_ptr<Transfer>> active_;
  std::vector<Delayed> delayed_;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  int away_streak_ = 0;
  bool is_away_ = false;
};

Transport::Transport(TransportConfig config)
    : config_(std::move(config)), state_(std::make_unique<State>()) {
  init_curl_once();
  state_->permits = std::max<std::size_t>(1, config_.max_connections);
}

Transport::~Transport() = default;

void Transport::run(std::span<Exchange> exchanges, RequestSigner& signer) {
  if (exchanges.empty()) return;
  bool is_batch = exchanges.size() > 1;
  std::size_t granted = state_->acquire(std::min(exchanges.size(), kBatchWidth),
                                        std::min(exchanges.front().timeout, kLongestPermitWait));
  if (granted == 0) {
    for (Exchange& e : exchanges) {
      e.failure = Failure::kNotStarted;
      e.failure_text = "all connections are in use";
      state_
          ->calls[static_cast<std::size_t>(e.operation)]
                 [static_cast<std::size_t>(Outcome::kUnavailable)]
          .fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  std::unique_ptr<Channel> channel = state_->take_channel(is_batch);
  Batch(*this, *channel, exchanges, signer, granted).run();
  state_->give_back(std::move(channel), is_batch);
  state_->release(granted);
}

Counters Transport::counters() const {
  Counters out;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    for (std::size_t j = 0; j < kOutcomeCount; ++j) {
      out.calls[i][j] = state_->calls[i][j].load(std::memory_order_relaxed);
    }
  }
  out.retries = state_->retries.load(std::memory_order_relaxed);
  out.bytes_in = state_->bytes_in.load(std::memory_order_relaxed);
  out.bytes_out = state_->bytes_out.load(std::memory_order_relaxed);
  out.connections = state_->connections.load(std::memory_order_relaxed);
  return out;
}

}  // namespace duckicelake::objstore
