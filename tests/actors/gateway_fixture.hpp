#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include "gateway/gateway.hpp"
#include "service.capnp.h"
#include "service.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"
#include "trainer.hpp"
#include "training_engine.hpp"

namespace hippo::test {

/// Three trials of four steps; two of them are one up to step 2.
inline const std::string grid_text = R"(
study: grid
workload: {name: sum}
objective: {metric: sum}
max_steps: 4
space:
  lr:
    choice:
      - 0.1
      - 0.2
      - multistep: {initial: 0.1, milestones: [2], gamma: 0.5}
algorithm: grid
)";

/// Lets training go on, or not, and counts its steps.
class turnstile {
public:
  void pass() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return is_open_; });
    ++passed_;
  }
  void open(bool yes) {
    const std::lock_guard guard{mutex_};
    is_open_ = yes;
    changed_.notify_all();
  }
  int passed() {
    const std::lock_guard guard{mutex_};
    return passed_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int passed_ = 0;
};

/// The workload of these tests: its metric is the sum of the learning rates.
inline workload_descriptor sum_workload() {
  workload_descriptor result;
  result.name = "sum";
  result.metrics = {{"sum", direction::maximize, "of the learning rates"}};
  parameter_descriptor lr;
  lr.name = "lr";
  lr.fallback = 0.1;
  lr.min = 0;
  result.hyper_parameters = {lr};
  return result;
}

struct threaded_config : caf::actor_system_config {
  threaded_config() {
    hippo::add_error_names(*this);
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
  }
};

/// A service with a gateway and one trainer, or more, all in this process.
class service_node {
public:
  service_node(const std::string& folder, turnstile& gate,
               gateway_options options = {})
    : gate_(gate) {
    auto opened = state_writer::open(folder);
    if (!opened)
      throw std::runtime_error(opened.failure().message);
    service_options serving;
    serving.store = std::move(*opened);
    serving.store_retry = std::chrono::milliseconds{50};
    serving.coordinator.workloads = {sum_workload()};
    serving.coordinator.keep_ended = false;
    const auto actors = *spawn_service(system_, std::move(serving),
                                       caf::actor_cast<observer_actor>(self_));
    journal_ = actors.journal;
    pool_ = actors.pool;
    coordinator_ = actors.coordinator;
    resume(folder);
    self_->send(coordinator_, go_atom::value);
    add_trainer();
    options.sources
      = {folder,       folder + "/hippo.log",
         {sum_workload()}, coordinator_,
         pool_,        options.sources.journal ? options.sources.journal
                                               : journal_};
    gateway_ = std::make_unique<gateway>(system_, std::move(options));
    failure_ = gateway_->open();
  }

  ~service_node() {
    gateway_.reset();
    gate_.open(true);
    coordinator_status known;
    self_->request(coordinator_, caf::infinite, status_atom::value)
      .receive([&](coordinator_status& x) { known = std::move(x); },
               [](caf::error&) {});
    kill(coordinator_);
    for (const auto& x : known.studies)
      kill(x.handle);
    for (const auto& x : known.mergers)
      kill(x.handle);
    for (const auto& x : trainers_)
      kill(x);
    kill(pool_);
    kill(journal_);
  }

  gateway& server() { return *gateway_; }

  /// Lets the first trainer take leave, and waits for that.
  void send_trainer_away() {
    self_->send(trainers_.front(), leave_atom::value);
    self_->wait_for(trainers_.front());
  }

  void add_trainer() {
    workload_registry registry;
    registry.add(sum_workload(), [this](const workload_spec&) {
      auto result = std::make_unique<summing_workload>();
      result->on_step = [this](step_t) { gate_.pass(); };
      return result;
    });
    hello who;
    who.host = "here";
    who.device = "test";
    who.memory_bytes = 1000;
    who.driver = "13.0";
    who.compute_capability = "9.0";
    who.workloads = {{"sum", ""}};
    trainers_.push_back(system_.spawn(
      trainer, caf::actor_cast<registrar_actor>(pool_), who,
      std::shared_ptr<engine>{
        std::make_shared<training_engine>(registry, "test")},
      [] { return std::string{}; }));
  }

  /// Why the gateway is not open, if so.
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

private:
  template <class Handle>
  void kill(const Handle& handle) {
    self_->send_exit(handle, caf::exit_reason::user_shutdown);
    self_->wait_for(handle);
  }

  /// Goes on with what has not ended.
  void resume(const std::string& folder) {
    auto known = std::move(*state_reader::open(folder));
    const auto studies = known->load_studies();
    for (const auto& x : *studies) {
      if (has_ended(x.state))
        continue;
      auto whole = *known->load_study(x.id);
      auto read = admit_study(whole.text, whole.file, {sum_workload()},
                              {true, {}});
      self_
        ->request(coordinator_, caf::infinite, submit_atom::value,
                  study_submission{*read.study, whole})
        .receive([](study_id) {},
                 [](caf::error&) { ADD_FAILURE() << "cannot resume"; });
    }
  }

  turnstile& gate_;
  threaded_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  journal_actor journal_;
  pool_actor pool_;
  coordinator_actor coordinator_;
  std::vector<training_actor> trainers_;
  std::unique_ptr<gateway> gateway_;
  std::optional<error> failure_;
};

/// A socket without any manners.
class raw_socket {
public:
  explicit raw_socket(std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0)
      throw std::runtime_error("cannot connect");
  }
  ~raw_socket() { ::close(fd_); }
  raw_socket(const raw_socket&) = delete;
  raw_socket& operator=(const raw_socket&) = delete;

  /// @returns whether all was sent: the other side may have hung up
  bool send(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto n =
        ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  /// Reads until the other side hangs up.
  std::string read_all() {
    std::string result;
    for (char part[4096];;) {
      const auto n = ::recv(fd_, part, sizeof(part), 0);
      if (n <= 0)
        return result;
      result.append(part, static_cast<std::size_t>(n));
    }
  }

  /// Reads until something has come, or the other side hangs up.
  std::string read_until(const std::string& end) {
    std::string result;
    while (result.find(end) == std::string::npos) {
      char part[4096];
      const auto n = ::recv(fd_, part, sizeof(part), 0);
      if (n <= 0)
        break;
      result.append(part, static_cast<std::size_t>(n));
    }
    return result;
  }

private:
  int fd_;
};

/// Tests that talk to a gateway as clients do.
class gateway_test : public testing::Test {
public:
  temporary_folder folder;
  turnstile gate;
  gateway_options options;
  std::unique_ptr<service_node> node;
  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::WaitScope& scope = io.waitScope;

  ~gateway_test() noexcept override = default;

  void open() {
    node = std::make_unique<service_node>(folder.path, gate, options);
    ASSERT_FALSE(node->failure()) << node->failure()->message;
  }

  /// A client over a connection of its own.
  struct client {
    kj::Own<kj::AsyncIoStream> stream;
    kj::Own<capnp::TwoPartyClient> network;
    schema::Entrance::Client entrance;
    schema::Service::Client service = nullptr;
  };

  client connect() {
    auto stream = io.provider->getNetwork()
                    .parseAddress("127.0.0.1", node->server().rpc_port())
                    .wait(scope)
                    ->connect()
                    .wait(scope);
    auto network = kj::heap<capnp::TwoPartyClient>(*stream);
    auto entrance = network->bootstrap().castAs<schema::Entrance>();
    return {kj::mv(stream), kj::mv(network), kj::mv(entrance)};
  }

  /// Connects and comes in.
  client enter() {
    auto result = connect();
    auto greeting = result.entrance.greetRequest();
    greeting.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
    greeting.setClient("test");
    result.service = greeting.send().wait(scope).getService();
    return result;
  }

  schema::Study::Client submit(client& from, const std::string& text) {
    auto request = from.service.submitRequest();
    request.setText(text);
    request.setName("test.yaml");
    return request.send().wait(scope).getStudy();
  }

  /// Returns the state that a study ends in.
  std::string wait(schema::Study::Client study) {
    for (;;) {
      auto request = study.waitRequest();
      request.setWaitMillis(60'000);
      auto answer = request.send().wait(scope);
      const std::string state = answer.getInfo().getState().cStr();
      if (state == "COMPLETE" || state == "FAILED" || state == "CANCELLED")
        return state;
    }
  }

  /// Returns what a call fails with, as the server has said it.
  template <class Request>
  std::string failure_of(Request&& request) {
    try {
      request.send().wait(scope);
    } catch (const kj::Exception& e) {
      const std::string text = e.getDescription().cStr();
      const std::string prefix = "remote exception: ";
      return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    return {};
  }

  /// Answers an HTTP request: status line, headers and body.
  std::string http(const std::string& request) {
    raw_socket to{node->server().http_port()};
    to.send(request);
    return to.read_all();
  }
  std::string get(const std::string& path) {
    return http("GET " + path
                + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }
};

} // namespace hippo::test
