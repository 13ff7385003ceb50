// SPDX-License-Identifier: Apache-2.0
// The head probe on the I/O threads of a real server, beside a real PostgreSQL.
#include "catalog/head_probe.h"

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "net/server.h"
#include "pg/live/fixture.h"
#include "pg/transaction.h"
#include "store/sidecar.h"

namespace duckicelake::catalog {
namespace {

using namespace std::chrono_literals;
using Fresh = HeadProbe::Fresh;

class NoRequests : public net::Handler {
 public:
  void handle(net::Request, net::Responder) noexcept override {}
};

// A lake of two tables: its snapshots, and what they changed.
class HeadProbeLive : public pg::PgLive {
 protected:
  static constexpr std::size_t kIoThreads = 2;

  void SetUp() override {
    pg::PgLive::SetUp();
    if (HasFatalFailure()) return;
    pg::Connection connection = connect();
    ASSERT_OK(store::migrate_sidecar(connection));
    ASSERT_OK(connection.exec(
        for_schema("CREATE TABLE {schema}.ducklake_snapshot (snapshot_id int8 PRIMARY KEY)")));
    ASSERT_OK(connection.exec(
        for_schema("CREATE TABLE {schema}.ducklake_snapshot_changes (snapshot_id int8 PRIMARY KEY, "
                   "changes_made text)")));
    commit(connection, 1, "");
    // A name of its own tells the probe's sessions from others.
    pool_config_ = config_;
    pool_config_.application_name = schema_.name().substr(0, 30);
  }
  void TearDown() override {
    end();
    probe_.reset();
    pool_.reset();
    pg::PgLive::TearDown();
  }

  void start() {
    Result<std::unique_ptr<pg::Pool>> pool = pg::Pool::make(pool_config_);
    ASSERT_OK(pool);
    pool_ = *std::move(pool);
    probe_ = std::make_unique<HeadProbe>(*pool_, store::Lake{"lake", schema_, "s3://b/", "1.0"},
                                         [this](std::size_t thread, std::function<void()> task) {
                                           net::Server* server = server_ptr_.load();
                                           return server != nullptr &&
                                                  server->post(thread, std::move(task));
                                         });
    net::ServerConfig server;
    server.io_threads = kIoThreads;
    Result<std::unique_ptr<net::Server>> started = net::Server::start(server, handler_);
    ASSERT_OK(started);
    server_ = *std::move(started);
    server_ptr_ = server_.get();
  }
  // As the application ends: the threads of the server first.
  void end() {
    if (server_) server_->drain(0ms);
  }

  void commit(pg::Connection& connection, std::int64_t snapshot, const char* changes) {
    const std::vector<pg::Statement> both = {
        {for_schema("INSERT INTO {schema}.ducklake_snapshot VALUES ($1)"), {snapshot}},
        {for_schema("INSERT INTO {schema}.ducklake_snapshot_changes VALUES ($1, $2)"),
         {snapshot, changes}}};
    ASSERT_OK(connection.batch(both));
  }
  void terminate_sessions() {
    pg::Connection killer = connect();
    ASSERT_OK(
        killer.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = $1",
                    {pool_config_.application_name}));
  }

  std::future<Result<Fresh>> ask(std::size_t thread) {
    auto promise = std::make_shared<std::promise<Result<Fresh>>>();
    std::future<Result<Fresh>> out = promise->get_future();
    server_->post(thread, [this, thread, promise] {
      probe_->await(thread, [promise](const Result<Fresh>& fresh) { promise->set_value(fresh); });
    });
    return out;
  }
  std::int64_t head(std::size_t thread) {
    Result<Fresh> fresh = ask(thread).get();
    EXPECT_TRUE(fresh.has_value()) << fresh.error().to_string();
    return fresh ? fresh->head.snapshot.value : -1;
  }

  pg::PgConfig pool_config_;
  NoRequests handler_;
  std::unique_ptr<pg::Pool> pool_;
  std::atomic<net::Server*> server_ptr_{nullptr};
  std::unique_ptr<HeadProbe> probe_;
  std::unique_ptr<net::Server> server_;
};

TEST_F(HeadProbeLive, SeesEachCommitThatWasOverBeforeTheQuestion) {
  start();
  pg::Connection writer = connect();
  for (std::int64_t n = 2; n < 150; ++n) {
    commit(writer, n, n % 2 == 0 ? "inserted_into_table:1" : "deleted_from_table:2");
    if (n % 3 == 0) {
      Result<Fresh> fresh = probe_->await_blocking(pg::deadline_after(kPatience));
      ASSERT_OK(fresh);
      EXPECT_EQ(fresh->head.snapshot.value, n);
    } else {
      EXPECT_EQ(head(static_cast<std::size_t>(n) % kIoThreads), n);
    }
    if (n > 3) {
      EXPECT_EQ(probe_->last_change(TableId(n % 2 == 0 ? 1 : 2)).value, n);
    }
  }
}

TEST_F(HeadProbeLive, AnswersOnTheThreadThatAsked) {
  start();
  for (std::size_t thread = 0; thread < kIoThreads; ++thread) {
    std::promise<bool> same;
    server_->post(thread, [&] {
      probe_->await(thread, [&, asked_on = std::this_thread::get_id()](const Result<Fresh>&) {
        same.set_value(std::this_thread::get_id() == asked_on);
      });
    });
    EXPECT_TRUE(same.get_future().get());
  }
}

TEST_F(HeadProbeLive, QuestionsOfAMomentShareARead) {
  start();
  ASSERT_EQ(head(0), 1);
  const std::uint64_t before = probe_->counters().probes;
  std::vector<std::future<Result<Fresh>>> answers;
  std::promise<void> all_asked;
  server_->post(0, [&] {
    for (int i = 0; i < 100; ++i) {
      auto promise = std::make_shared<std::promise<Result<Fresh>>>();
      answers.push_back(promise->get_future());
      probe_->await(0, [promise](const Result<Fresh>& fresh) { promise->set_value(fresh); });
    }
    all_asked.set_value();
  });
  all_asked.get_future().get();
  for (auto& answer : answers) {
    EXPECT_TRUE(answer.get().has_value());
  }
  EXPECT_EQ(probe_->counters().probes, before + 1);
}

TEST_F(HeadProbeLive, TakesInMoreChangesThanOneStatementBrings) {
  start();
  ASSERT_EQ(head(0), 1);
  const std::int64_t last = 2 * kChangesStep + 7;
  pg::Connection writer = connect();
  ASSERT_OK(writer.exec(
      for_schema("INSERT INTO {schema}.ducklake_snapshot_changes SELECT n, CASE n WHEN $1 THEN "
                 "'inserted_into_table:1' ELSE 'inserted_into_table:2' END "
                 "FROM generate_series(2, $1::int8) n"),
      {last}));
  ASSERT_OK(
      writer.exec(for_schema("INSERT INTO {schema}.ducklake_snapshot SELECT snapshot_id FROM "
                             "{schema}.ducklake_snapshot_changes WHERE snapshot_id > 1")));
  EXPECT_EQ(head(1), last);
  EXPECT_EQ(probe_->last_change(TableId(1)).value, last);
  EXPECT_EQ(probe_->last_change(TableId(2)).value, last - 1);
}

TEST_F(HeadProbeLive, ALakeThatWasSetBackIsWatchedAnew) {
  start();
  pg::Connection writer = connect();
  ASSERT_EQ(head(0), 1);
  for (std::int64_t n = 2; n < 9; ++n) commit(writer, n, "inserted_into_table:1");
  ASSERT_EQ(head(0), 8);
  ASSERT_OK(
      writer.exec(for_schema("DELETE FROM {schema}.ducklake_snapshot WHERE snapshot_id > 4")));
  EXPECT_EQ(head(0), 4);
  EXPECT_EQ(probe_->last_change(TableId(1)).value, 4);
  EXPECT_EQ(probe_->last_name_change().value, 4);
}

TEST_F(HeadProbeLive, OpensANewSessionForOneThatTheServerEnded) {
  start();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(head(0), 1);
    Result<Fresh> fresh = probe_->await_blocking(pg::deadline_after(kPatience));
    ASSERT_OK(fresh);
    terminate_sessions();
  }
  EXPECT_EQ(probe_->counters().failures, 0);
}

TEST_F(HeadProbeLive, TriesAgainWhenTheSessionEndsDuringTheRead) {
  start();
  ASSERT_EQ(head(0), 1);
  pg::Connection blocker = connect();
  blocker.set_deadline(pg::deadline_after(kPatience));
  ASSERT_OK(blocker.exec("BEGIN"));
  ASSERT_OK(
      blocker.exec(for_schema("LOCK TABLE {schema}.ducklake_snapshot IN ACCESS EXCLUSIVE "
                              "MODE")));
  std::future<Result<Fresh>> answer = ask(0);
  std::this_thread::sleep_for(200ms);
  terminate_sessions();
  ASSERT_OK(blocker.exec("ROLLBACK"));
  Result<Fresh> fresh = answer.get();
  ASSERT_OK(fresh);
  EXPECT_EQ(fresh->head.snapshot.value, 1);
}

TEST_F(HeadProbeLive, SaysUnavailableWhenNobodyListens) {
  pool_config_.endpoints = {{"127.0.0.1", 1}};
  start();
  for (const std::size_t thread : {0UL, 1UL, 0UL}) {
    Result<Fresh> fresh = ask(thread).get();
    ASSERT_FALSE(fresh.has_value());
    EXPECT_EQ(fresh.error().code(), Code::kUnavailable);
  }
  EXPECT_EQ(probe_->await_blocking(pg::deadline_after(kPatience)).error().code(),
            Code::kUnavailable);
  EXPECT_EQ(probe_->counters().failures, 4);
}

TEST_F(HeadProbeLive, GivesUpInTimeAndRecovers) {
  start();
  ASSERT_EQ(head(0), 1);
  pg::Connection blocker = connect();
  blocker.set_deadline(pg::deadline_after(kPatience));
  ASSERT_OK(blocker.exec("BEGIN"));
  ASSERT_OK(
      blocker.exec(for_schema("LOCK TABLE {schema}.ducklake_snapshot IN ACCESS EXCLUSIVE "
                              "MODE")));
  const auto begin = std::chrono::steady_clock::now();
  std::future<Result<Fresh>> first = ask(0);
  std::this_thread::sleep_for(100ms);
  std::future<Result<Fresh>> second = ask(1);  // shares the read after that one
  Result<Fresh> fresh = first.get();
  ASSERT_FALSE(fresh.has_value());
  EXPECT_EQ(fresh.error().code(), Code::kDeadlineExceeded);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, kHeadReadTime - 100ms);
  EXPECT_LT(took, kHeadReadTime + 2s);
  ASSERT_OK(blocker.exec("ROLLBACK"));
  Result<Fresh> later = second.get();
  ASSERT_OK(later);
  EXPECT_EQ(head(0), 1);
}

TEST_F(HeadProbeLive, EndsWithQuestionsOpen) {
  start();
  ASSERT_EQ(head(0), 1);
  pg::Connection blocker = connect();
  blocker.set_deadline(pg::deadline_after(kPatience));
  ASSERT_OK(blocker.exec("BEGIN"));
  ASSERT_OK(
      blocker.exec(for_schema("LOCK TABLE {schema}.ducklake_snapshot IN ACCESS EXCLUSIVE "
                              "MODE")));
  std::vector<std::future<Result<Fresh>>> open;
  for (std::size_t i = 0; i < 6; ++i) open.push_back(ask(i % kIoThreads));
  std::this_thread::sleep_for(100ms);
  end();
  probe_.reset();
  for (auto& answer : open) {
    EXPECT_THROW((void)answer.get(), std::future_error);
  }
  ASSERT_OK(blocker.exec("ROLLBACK"));
}

// Questions from everywhere at once, beside a writer: none is answered with an older head than the
// commits that were over when it was asked, nor before the changes up to it are known.
TEST_F(HeadProbeLive, NeverAnswersWithAnOlderHeadUnderLoad) {
  start();
  std::atomic<std::int64_t> committed{1};
  std::atomic<bool> stop{false};
  std::atomic<int> stale{0}, failed{0}, answered{0}, open{0};
  const auto judge = [&](std::int64_t least, const Result<Fresh>& fresh) {
    ++answered;
    if (!fresh) {
      ++failed;
    } else if (fresh->head.snapshot.value < least ||
               (least > 1 && probe_->last_change(TableId(1)).value < least)) {
      ++stale;
    }
  };
  std::function<void(std::size_t)> chain = [&](std::size_t thread) {
    probe_->await(thread, [&, thread, least = committed.load()](const Result<Fresh>& fresh) {
      judge(least, fresh);
      if (stop) {
        --open;
      } else {
        server_->post(thread, [&, thread] { chain(thread); });
      }
    });
  };
  for (std::size_t i = 0; i < 16; ++i) {
    ++open;
    server_->post(i % kIoThreads, [&, i] { chain(i % kIoThreads); });
  }
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (!stop) {
        const std::int64_t least = committed.load();
        judge(least, probe_->await_blocking(pg::deadline_after(kPatience)));
      }
    });
  }
  pg::Connection writer = connect();
  // On a busy machine the readers may come to little while 300 commits are made.
  for (std::int64_t n = 2; n < 300 || (answered <= 300 && n < 20'000); ++n) {
    commit(writer, n, "inserted_into_table:1");
    committed = n;
    if (n % 100 == 0) terminate_sessions();
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  while (open > 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(stale, 0);
  // A session that is ended twice within one read may fail it.
  EXPECT_LE(failed, 20);
  EXPECT_GT(answered, 300);
}

}  // namespace
}  // namespace duckicelake::catalog
