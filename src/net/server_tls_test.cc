// SPDX-License-Identifier: Apache-2.0
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "net/test_client.h"

namespace duckicelake::net::testing {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Deleter<SSL_free>>;

// Writes a fresh self-signed certificate with this common name, and its key.
void write_certificate(const std::filesystem::path& folder, const std::string& common_name) {
  Key key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  FILE* out = fopen((folder / "cert.pem").c_str(), "w");
  PEM_write_X509(out, certificate.get());
  fclose(out);
  out = fopen((folder / "key.pem").c_str(), "w");
  PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  fclose(out);
}

// A TLS connection over a Client's socket.
class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, int max_version = 0, const std::string& alpn = "")
      : client_(port), context_(SSL_CTX_new(TLS_client_method())) {
    if (max_version != 0) {
      SSL_CTX_set_security_level(context_.get(), 0);
      SSL_CTX_set_min_proto_version(context_.get(), 0);
      SSL_CTX_set_max_proto_version(context_.get(), max_version);
    }
    ssl_.reset(SSL_new(context_.get()));
    if (!alpn.empty()) {
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                          static_cast<unsigned>(alpn.size()));
    }
    SSL_set_fd(ssl_.get(), client_.fd());
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  ~TlsClient() { SSL_shutdown(ssl_.get()); }

  bool connected() const { return connected_; }
  int version() const { return SSL_version(ssl_.get()); }
  std::string peer_name() const {
    Certificate certificate(SSL_get1_peer_certificate(ssl_.get()));
    char name[100] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name,
                              sizeof name);
    return name;
  }
  std::string alpn() const {
    const unsigned char* data = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &data, &size);
    return {reinterpret_cast<const char*>(data), size};
  }
  // The bytes up to `size`, or fewer when the server ended the connection.
  std::string exchange(const std::string& request, std::size_t body_size) {
    SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size()));
    std::string got;
    std::size_t want = std::string::npos;
    char block[16384];
    while (got.size() < want) {
      int n = SSL_read(ssl_.get(), block, sizeof block);
      if (n <= 0) break;
      got.append(block, static_cast<std::size_t>(n));
      if (std::size_t end = got.find("\r\n\r\n"); end != std::string::npos)
        want = end + 4 + body_size;
    }
    return got;
  }
  // True for an end with close_notify.
  bool ends_cleanly() {
    char c;
    int n = SSL_read(ssl_.get(), &c, 1);
    return n <= 0 && SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
  }

 private:
  Client client_;
  Context context_;
  Connection ssl_;
  bool connected_ = false;
};

class ServerTlsTest : public ServerTest {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "dil_net_tls_XXXXXX";
    folder_ = mkdtemp(name.data());
    write_certificate(folder_, "first");
    config_.tls_certificate_file = folder_ / "cert.pem";
    config_.tls_key_file = folder_ / "key.pem";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  ServerConfig config_;
};

const std::string kGet = "GET /tls HTTP/1.1\r\nHost: h\r\n\r\n";

TEST_F(ServerTlsTest, AnswersSmallAndLargeBodies) {
  auto large = std::make_shared<const std::string>(std::string(1'000'000, 'L'));
  std::atomic<bool> saw_tls{false};
  on_request = [&](Request request, Responder respond) {
    saw_tls = request.tls;
    Response response;
    response.body.emplace_back(std::string("head-"));
    if (request.target == "/20k") response.body.emplace_back(std::string(20'000, 's'));
    if (request.target == "/large") response.body.emplace_back(large);
    respond(std::move(response));
  };
  start(config_);
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(port(), version);
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(client.version(), version);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(
          client.exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 5).ends_with("\r\n\r\nhead-"));
      auto got = client.exchange("GET /20k HTTP/1.1\r\nHost: h\r\n\r\n", 20'005);
      EXPECT_TRUE(got.ends_with("\r\n\r\nhead-" + std::string(20'000, 's')));
      got = client.exchange("GET /large HTTP/1.1\r\nHost: h\r\n\r\n", 1'000'005);
      EXPECT_TRUE(got.ends_with("\r\n\r\nhead-" + *large));
    }
  }
  EXPECT_TRUE(saw_tls);
}

TEST_F(ServerTlsTest, ReceivesLargeBodies) {
  start(config_);
  TlsClient client(port());
  const std::string body(500'000, 'b');
  auto got = client.exchange("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" + body,
                             500'006);
  EXPECT_TRUE(got.ends_with("PUT /|" + body));
}

TEST_F(ServerTlsTest, ClosesWithNotify) {
  start(config_);
  TlsClient client(port());
  client.exchange("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 6);
  EXPECT_TRUE(client.ends_cleanly());
}

TEST_F(ServerTlsTest, AnswersErrorsOverTls) {
  config_.header_timeout = 150ms;
  start(config_);
  TlsClient bad(port());
  EXPECT_NE(bad.exchange("GET / HTTP/1.1\r\n\r\n", 0).find("400 Bad Request"), std::string::npos);
  TlsClient slow(port());
  EXPECT_NE(slow.exchange("GET / HT", 0).find("408 Request Timeout"), std::string::npos);
}

TEST_F(ServerTlsTest, RefusesOldVersionsPlainTextAndForeignProtocols) {
  config_.header_timeout = 200ms;
  start(config_);
  EXPECT_FALSE(TlsClient(port(), TLS1_1_VERSION).connected());
  EXPECT_FALSE(TlsClient(port(), 0, "\x02h2").connected());
  TlsClient both(port(), 0, "\x02h2\x08http/1.1");
  ASSERT_TRUE(both.connected());
  EXPECT_EQ(both.alpn(), "http/1.1");
  Client plain(port());
  EXPECT_EQ(plain.exchange(kGet).status, 0);
  Client silent(port());
  EXPECT_TRUE(silent.is_closed_by_server());
  EXPECT_TRUE(eventually([&] { return server_->stats().tls_handshake_failures == 4; }));
}

TEST_F(ServerTlsTest, ReloadAffectsNewConnectionsOnly) {
  start(config_);
  TlsClient before(port());
  EXPECT_EQ(before.peer_name(), "first");
  write_certificate(folder_, "second");
  EXPECT_EQ(TlsClient(port()).peer_name(), "first");
  ASSERT_TRUE(server_->reload_tls().has_value());
  TlsClient after(port());
  EXPECT_EQ(after.peer_name(), "second");
  EXPECT_TRUE(before.exchange(kGet, 9).ends_with("GET /tls|"));
  EXPECT_TRUE(after.exchange(kGet, 9).ends_with("GET /tls|"));
}

TEST_F(ServerTlsTest, FailedReloadKeepsTheOldCertificate) {
  start(config_);
  std::ofstream(folder_ / "key.pem") << "not a key";
  auto status = server_->reload_tls();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(TlsClient(port()).peer_name(), "first");
  auto key = std::filesystem::path(folder_ / "other");
  std::filesystem::create_directory(key);
  write_certificate(key, "other");
  std::filesystem::copy_file(key / "key.pem", folder_ / "key.pem",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(server_->reload_tls().has_value()) << "a key of another certificate";
  EXPECT_EQ(TlsClient(port()).peer_name(), "first");
}

TEST_F(ServerTlsTest, ReloadUnderLoad) {
  config_.io_threads = 2;
  start(config_);
  std::atomic<int> failures{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 15; ++j) {
        TlsClient client(port());
        if (!client.connected() || !client.exchange(kGet, 9).ends_with("GET /tls|")) ++failures;
      }
    });
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(server_->reload_tls().has_value());
  for (auto& thread : clients) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(ServerTlsTest, DrainsTlsConnections) {
  start(config_);
  TlsClient idle(port());
  EXPECT_TRUE(idle.exchange(kGet, 9).ends_with("GET /tls|"));
  auto begin = std::chrono::steady_clock::now();
  server_->drain(10s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(ServerTlsTest, StartNamesWhatIsWrong) {
  config_.tls_key_file.clear();
  EXPECT_EQ(Server::start(config_, handler_).error().code(), Code::kInvalidArgument);
  config_.tls_key_file = folder_ / "missing.pem";
  auto server = Server::start(config_, handler_);
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().message().find("missing.pem"), std::string::npos);
}

TEST_F(ServerTest, ReloadWithoutTlsIsUnsupported) {
  start();
  EXPECT_EQ(server_->reload_tls().error().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace duckicelake::net::testing
