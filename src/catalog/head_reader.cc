// SPDX-License-Identifier: Apache-2.0
#include "catalog/head_reader.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace duckicelake::catalog {
namespace {

// Of the session's prepared statements.
constexpr std::size_t kHeadStatement = 0;
constexpr std::size_t kChangesStatement = 1;

}  // namespace

HeadReader::HeadReader(pg::Pool& pool, const store::Lake& lake, ChangeLog& changes,
                       HeadCounters& counters, Post post)
    : pool_(pool),
      lake_(lake),
      changes_(changes),
      counters_(counters),
      post_(std::move(post)),
      head_params_(store::head_statement(lake).params) {}

HeadReader::~HeadReader() {
  if (connector_.joinable()) connector_.join();
}

void HeadReader::close() {
  if (connector_.joinable()) connector_.join();
  drop_session();
  // What they refer to may be what keeps this reader: not while its members are in use.
  std::vector<Question> questions;
  questions.swap(current_);
  std::vector<Question> next;
  next.swap(next_);
  std::vector<Question> foreign;
  const std::lock_guard lock(foreign_mutex_);
  foreign.swap(foreign_);
}

void HeadReader::ask(std::size_t thread_index, HeadCallback callback) {
  counters_.questions.fetch_add(1, std::memory_order_relaxed);
  if (thread_index == kHomeThread) return ask_here(thread_index, std::move(callback));
  bool is_first = false;
  {
    std::lock_guard lock(foreign_mutex_);
    is_first = foreign_.empty();
    foreign_.push_back({thread_index, std::move(callback)});
  }
  // A home thread that is over has no connections left to answer, and neither has any other.
  if (is_first) (void)post_(kHomeThread, [this] { take_foreign(); });
}

void HeadReader::take_foreign() {
  std::vector<Question> questions;
  {
    std::lock_guard lock(foreign_mutex_);
    questions.swap(foreign_);
  }
  for (Question& question : questions) {
    ask_here(question.thread_index, std::move(question.callback));
  }
}

void HeadReader::ask_here(std::size_t thread_index, HeadCallback callback) {
  next_.push_back({thread_index, std::move(callback)});
  if (is_reading() || start_is_due_) return;
  // Not at once: the requests that are ready at this moment ask first.
  start_after(1);
}

void HeadReader::start_after(int turns) {
  start_is_due_ = post_(kHomeThread, [this, turns] {
    if (turns > 1) return start_after(turns - 1);
    start_is_due_ = false;
    start();
  });
}

void HeadReader::start() {
  if (next_.empty() || is_reading()) return;
  current_.swap(next_);
  deadline_ = pg::deadline_after(kHeadReadTime);
  was_tried_again_ = false;
  if (state_ == State::kClosed) return connect();
  send_head();
}

void HeadReader::connect() {
  if (connector_.joinable()) connector_.join();
  state_ = State::kConnecting;
  try {
    connector_ = std::thread([this, deadline = deadline_] {
      const std::array<pg::Statement, 2> statements = {
          store::head_statement(lake_), store::changes_statement(lake_, SnapshotId(0), 0)};
      auto opened =
          std::make_shared<Result<pg::AsyncConnection>>(pool_.open_async(statements, deadline));
      (void)post_(kHomeThread, [this, opened] { on_connected(std::move(*opened)); });
    });
  } catch (const std::system_error& error) {
    state_ = State::kClosed;
    finish(Error(Code::kUnavailable, "the server is out of resources at present", error.what()));
  }
}

void HeadReader::on_connected(Result<pg::AsyncConnection> opened) {
  connector_.join();
  state_ = State::kClosed;
  if (!opened) return finish(std::move(opened).error());
  session_.emplace(*std::move(opened));
  watch_ = net::SocketWatch::make(session_->socket(), *this);
  if (!watch_) {
    session_.reset();
    return finish(Error(Code::kUnavailable, "the server is out of resources at present",
                        "the database's socket cannot be watched"));
  }
  watch_->wait(net::SocketWatch::Wait::kRead);
  send_head();
}

void HeadReader::send_head() {
  watched_before_ = changes_.watched();
  send(State::kReadingHead, kHeadStatement, head_params_);
}

void HeadReader::send_changes() {
  send(State::kReadingChanges, kChangesStatement, {changes_.watched(), kChangesStep});
}

void HeadReader::send(State state, std::size_t statement, const std::vector<pg::Param>& params) {
  state_ = state;
  if (Status sent = session_->send(statement, params); !sent) {
    return lose(std::move(sent).error());
  }
  watch_->set_deadline(deadline_);
  if (session_->wants_write()) watch_->wait(net::SocketWatch::Wait::kReadOrWrite);
}

void HeadReader::on_ready() {
  Result<std::optional<pg::ResultSet>> received = session_->receive();
  if (!received) return lose(std::move(received).error());
  watch_->wait(session_->wants_write() ? net::SocketWatch::Wait::kReadOrWrite
                                       : net::SocketWatch::Wait::kRead);
  if (*received) on_result(**received);
}

void HeadReader::on_result(const pg::ResultSet& rows) {
  Status taken = state_ == State::kReadingHead ? on_head(rows) : on_changes(rows);
  if (!taken) lose(std::move(taken).error());
}

Status HeadReader::on_head(const pg::ResultSet& rows) {
  DIL_TRY(head_, store::read_head(rows));
  if (changes_.see(head_.snapshot, watched_before_) == ChangeLog::Reach::kBehind) {
    send_changes();
  } else {
    finish(FreshHead{head_});
  }
  return {};
}

Status HeadReader::on_changes(const pg::ResultSet& rows) {
  DIL_TRY(const std::vector<store::ChangesRow> changes, store::read_changes(rows));
  DIL_CHECK_OK(changes_.take_in(changes));
  // What was committed since the head was read is known too.
  if (!changes.empty()) head_.snapshot = std::max(head_.snapshot, changes.back().snapshot);
  if (changes.size() == static_cast<std::size_t>(kChangesStep)) {
    send_changes();
  } else {
    finish(FreshHead{head_});
  }
  return {};
}

void HeadReader::on_deadline() {
  drop_session();
  finish(Error(Code::kDeadlineExceeded, "the catalog's database did not answer in time"));
}

void HeadReader::on_end() {
  drop_session();
  current_.clear();
  next_.clear();
}

void HeadReader::lose(Error error) {
  const bool was_reading = state_ != State::kIdle;
  drop_session();
  if (!was_reading) return;
  // A session that a restart of PostgreSQL has cut may show it only when it is used.
  if (!was_tried_again_ && !pg::has_passed(deadline_)) {
    was_tried_again_ = true;
    return connect();
  }
  finish(std::move(error));
}

void HeadReader::drop_session() {
  watch_.reset();
  session_.reset();
  state_ = State::kClosed;
}

void HeadReader::finish(const Result<FreshHead>& result) {
  counters_.probes.fetch_add(1, std::memory_order_relaxed);
  if (!result) counters_.failures.fetch_add(1, std::memory_order_relaxed);
  if (session_) {
    state_ = State::kIdle;
    watch_->set_deadline(pg::Deadline::max());
  }
  std::vector<Question> questions = std::move(current_);
  current_ = std::move(spare_);
  answer(questions, result);
  questions.clear();
  spare_ = std::move(questions);
  // In one turn the I/O thread finds what arrived while answers were given, in the next it has
  // taken it in: then a read proves as many requests as there are. Meanwhile the other reader is at
  // work.
  if (!next_.empty() && !is_reading() && !start_is_due_) start_after(2);
}

void HeadReader::answer(std::vector<Question>& questions, const Result<FreshHead>& result) {
  // Those of other threads first: they work while this one answers its own.
  const auto foreign = std::partition(questions.begin(), questions.end(), [](const Question& q) {
    return q.thread_index == kHomeThread;
  });
  std::vector<std::vector<HeadCallback>> by_thread;
  for (auto it = foreign; it != questions.end(); ++it) {
    if (by_thread.size() <= it->thread_index) by_thread.resize(it->thread_index + 1);
    by_thread[it->thread_index].push_back(std::move(it->callback));
  }
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    if (by_thread[i].empty()) continue;
    auto callbacks = std::make_shared<std::vector<HeadCallback>>(std::move(by_thread[i]));
    // A thread that is over has no connections left to answer.
    (void)post_(i, [callbacks, result] {
      for (HeadCallback& callback : *callbacks) callback(result);
    });
  }
  for (auto it = questions.begin(); it != foreign; ++it) it->callback(result);
}

}  // namespace duckicelake::catalog
