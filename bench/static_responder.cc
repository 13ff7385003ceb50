// SPDX-License-Identifier: Apache-2.0
// Answers every request with the bytes of one file, on the project's own HTTP server: what a cached
// answer would cost if nothing had to be proved, looked up or composed. The yardstick of
// bench/run.py.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "net/server.h"

namespace {

class StaticHandler : public duckicelake::net::Handler {
 public:
  explicit StaticHandler(std::string body)
      : body_(std::make_shared<const std::string>(std::move(body))) {}
  void handle(duckicelake::net::Request, duckicelake::net::Responder respond) noexcept override {
    duckicelake::net::Response response;
    response.add_header("content-type", "application/json");
    response.body.emplace_back(body_);
    respond(std::move(response));
  }

 private:
  const std::shared_ptr<const std::string> body_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: static_responder FILE PORT IO_THREADS\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  StaticHandler handler({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  duckicelake::net::ServerConfig config;
  config.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  config.io_threads = static_cast<std::size_t>(std::atoi(argv[3]));
  auto server = duckicelake::net::Server::start(config, handler);
  if (!server.has_value()) {
    std::cerr << server.error().to_string() << "\n";
    return 1;
  }
  pause();  // until it is killed
  return 0;
}
