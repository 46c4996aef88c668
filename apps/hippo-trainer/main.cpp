// hippo-trainer: trains leased paths, on each of its devices one at a time.

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "hippo/core/backoff.hpp"
#include "hippo/core/devices.hpp"
#include "hippo/core/endpoint.hpp"
#include "hippo/keys/credentials.hpp"
#include "hippo/keys/handshake.hpp"
#include "hippo/keys/rpc_tls.hpp"
#include "hippo/process/process_workload.hpp"
#include "hippo/prove/proof.hpp"
#include "hippo/train/folder_token.hpp"
#include "hippo/train/library.hpp"
#include "hippo/train/made_workload.hpp"
#include "hippo/train/recent_checkpoints.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/transfer/depot_client.hpp"
#include "hippo/tune/loaded_study.hpp"
#include "hippo/wire/codec.hpp"
#include "log_format.hpp"
#include "network.hpp"
#include "system_config.hpp"
#include "trainer.hpp"
#include "service.capnp.h"
#include "training_engine.hpp"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

/// How long to wait between two attempts to reach the service.
constexpr std::chrono::milliseconds retry_first{1000};
constexpr std::chrono::milliseconds retry_last{30'000};

/// Lines of the log that are told along with a failure.
constexpr std::size_t log_tail_lines = 10;

constexpr unsigned threads_max = 1024;

struct options {
  std::string service;                ///< host:port
  std::string keys;                   ///< file of credentials; empty: no TLS
  std::string log_format = "text";
  std::vector<std::string> libraries; ///< of further workloads
  std::vector<std::string> devices{"cpu"};
  unsigned threads = 1; ///< of a CPU
  std::string numerics; ///< of a CPU; empty: as the study or recipe has it
  bool describe = false;
  std::string check; ///< file of a study, perhaps with its code
  std::string prove; ///< likewise
  hippo::proof_options proof;
  std::string python = "python3";    ///< for studies that name none
  bool no_code = false;              ///< run nothing that studies bring
  std::string recipe;                ///< file with an encoded lease
  std::string weights;               ///< where to export to
  long parent = 0;                   ///< end with this process
  double grace_seconds = 30; ///< for ending in good order
};

/// Ends the process without waiting for what it does: a step may be under way.
[[noreturn]] void leave_at_once(int code) {
  spdlog::shutdown();
  hippo::end_children();
  std::_Exit(code);
}

/// A device to train on, and what can be trained there.
struct device_entry {
  std::string name;
  hippo::device_info info;
  hippo::workload_registry registry;
  hippo::numerics numerics = hippo::default_numerics;
};

int fail(const hippo::error& why, int code) {
  std::cerr << "hippo-trainer: " << why.message << '\n';
  return code;
}

/// Adds what can be trained on a device.
/// @returns why a library cannot be used
std::optional<hippo::error> add_workloads(const options& opts,
                                          const std::string& device,
                                          unsigned threads,
                                          hippo::workload_registry& registry) {
  hippo::add_built_in_workloads(registry, device);
  if (!opts.no_code)
    hippo::add_process_workloads(registry, {device, threads, opts.python});
  for (const auto& path : opts.libraries)
    if (auto why = hippo::load_workloads(path, registry))
      return why;
  return std::nullopt;
}

/// Reads a study, perhaps with its code, as `hippo` has checked it already.
hippo::expected<hippo::study_spec>
read_checked(const std::string& path,
             const hippo::workload_registry& registry) {
  const auto text = hippo::read_study_text(path);
  if (!text)
    return text.failure();
  auto read = hippo::read_study(*text, path, registry.descriptors());
  if (!read.study)
    return {hippo::errc::invalid_study, to_text(read.errors.front())};
  return std::move(*read.study);
}

/// Makes a study's workload and throws it away: whether it can be trained here.
int check(const options& opts, const hippo::workload_registry& registry) {
  const auto study = read_checked(opts.check, registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  auto made = hippo::make_workload(registry, study->workload, study->code);
  if (!made)
    return fail(made.failure(), exit_usage);
  try {
    made->work->prepare();
    return 0;
  } catch (const std::exception& why) {
    return fail({hippo::errc::training_failed, why.what()}, exit_usage);
  }
}

/// Says whether trials of a study's workload may share training.
int prove(options opts, std::vector<device_entry> devices) {
  auto& device = devices.front();
  const auto study = read_checked(opts.prove, device.registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  const auto maker = [&](unsigned threads)
    -> hippo::expected<hippo::made_workload> {
    hippo::workload_registry registry;
    if (auto why = add_workloads(opts, device.name, threads, registry))
      return *why;
    return hippo::make_workload(registry, study->workload, study->code);
  };
  opts.proof.threads = opts.threads;
  if (study->code.empty() && !opts.proof.other_threads.empty())
    return fail({hippo::errc::invalid_argument,
                 "--other-threads is for code that a study brings"},
                exit_usage);
  std::map<std::string, hippo::sequence> defaults;
  for (const auto& x : device.registry.descriptors())
    if (x.name == study->workload.name)
      defaults = hippo::defaults_of(x);
  const auto told = hippo::prove(
    *study, defaults, opts.proof, maker, [](const hippo::proof_finding& x) {
      std::cout << hippo::proof_text(x) << std::flush;
    });
  if (!told)
    return fail(told.failure(), exit_failed);
  std::cout << hippo::proof_summary(*told) << std::flush;
  return hippo::holds(*told) ? 0 : exit_failed;
}

hippo::expected<hippo::lease> read_recipe(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in || bytes.size() % sizeof(capnp::word) != 0)
    return {hippo::errc::io_failed, path + " is no recipe of `hippo best`"};
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy(bytes.begin(), bytes.end(), words.asChars().begin());
  return decode(hippo::lease_wire{kj::mv(words)});
}

/// Trains what the recipe says and exports the weights that it leads to.
int export_weights(const options& opts,
                   const hippo::workload_registry& registry,
                   const std::string& device) {
  const auto recipe = read_recipe(opts.recipe);
  if (!recipe)
    return fail(recipe.failure(), exit_usage);
  hippo::folder_store store{recipe->folder};
  auto made = hippo::make_workload(registry, *recipe, store);
  if (!made)
    return fail(made.failure(), exit_failed);
  hippo::lease_control control{recipe->stops};
  hippo::lease_progress progress;
  std::optional<hippo::checkpoint> present;
  hippo::recent_states none{0};
  const auto end = hippo::run(
    *made->work, present, none, *recipe, store, device, control, progress,
    [] { return 0; }, [](const hippo::stop_report&) {});
  if (end.failure)
    return fail(*end.failure, exit_failed);
  try {
    made->work->export_weights(opts.weights);
  } catch (const std::exception& e) {
    return fail({hippo::errc::io_failed, e.what()}, exit_failed);
  }
  return 0;
}

hippo::hello describe_self(const options& opts, const device_entry& x) {
  hippo::hello result;
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  result.host = host;
  result.process_id = static_cast<std::uint64_t>(::getpid());
  result.device = x.info.kind;
  result.threads = opts.threads;
  result.memory_bytes = x.info.memory_bytes;
  result.driver = x.info.driver;
  result.compute_capability = x.info.compute_capability;
  if (x.name == "cpu")
    result.numerics = to_text(x.numerics);
  for (const auto& y : x.registry.descriptors())
    result.workloads.emplace(y.name, y.version);
  return result;
}

/// Logs to standard error. @returns what gives the last lines
std::function<std::string()> start_log(const options& opts) {
  const auto tail
    = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(log_tail_lines);
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  sinks->add_sink(tail);
  hippo::log_to(sinks, "hippo-trainer",
                opts.log_format == "json" ? hippo::log_format::json
                                          : hippo::log_format::text);
  return [tail] {
    std::string result;
    for (const auto& line : tail->last_formatted())
      result += line;
    if (result.size() > hippo::max_log_bytes)
      result.erase(0, result.size() - hippo::max_log_bytes);
    return result;
  };
}

/// How trainers of this process come to checkpoints: in the folder that a lease
/// names if they see what the service sees there, else over the network.
class checkpoint_route {
public:
  /// @param keys to show to the service; null: it speaks no TLS
  checkpoint_route(std::string host, const hippo::credentials* keys)
    : host_(std::move(host)) {
    if (keys == nullptr)
      return;
    if (auto peer = hippo::rpc_tls_peer::make(*keys))
      tls_ = std::make_shared<hippo::rpc_tls_peer>(std::move(*peer));
    else
      spdlog::error("trainer: {}", peer.failure().message);
  }

  /// Chooses the store of a lease. One thread at a time.
  std::unique_ptr<hippo::checkpoint_store> store_of(const hippo::lease& x) {
    const std::filesystem::path folder{x.folder};
    if (x.depot == 0 || x.token.empty()
        || hippo::sees_folder(folder.parent_path().string(), x.token))
      return hippo::folder_of(x);
    const auto name = folder.filename().string();
    return recent_.over(
      name, std::make_unique<hippo::remote_store>(client_of(x.depot), name));
  }

private:
  hippo::depot_client& client_of(std::uint16_t port) {
    if (client_ && port_ == port)
      return *client_;
    spdlog::info("trainer: checkpoints come over the network, port {}", port);
    hippo::depot_address where;
    where.host = host_;
    where.port = port_ = port;
    if (tls_)
      where.wrap = [tls = tls_](kj::Own<kj::AsyncIoStream> stream) {
        return tls->connect(kj::mv(stream)).attach(tls);
      };
    where.find = [](capnp::Capability::Client entrance) {
      return entrance.castAs<hippo::schema::Entrance>()
        .depotRequest()
        .send()
        .getDepot()
        .castAs<hippo::schema::Depot>();
    };
    client_ = std::make_unique<hippo::depot_client>(std::move(where));
    return *client_;
  }

  std::string host_;
  std::shared_ptr<hippo::rpc_tls_peer> tls_;
  hippo::recent_checkpoints recent_;
  std::uint16_t port_ = 0;
  std::unique_ptr<hippo::depot_client> client_;
};

/// SIGTERM and SIGINT, taken by whoever waits for them and by nobody else. Make
/// it before any thread.
class leave_signals {
public:
  leave_signals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  /// Waits for the first one. The next one ends the process at once.
  void wait() {
    int number = 0;
    ::sigwait(&set_, &number);
    ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
  }

private:
  sigset_t set_{};
};

using trainer_list = std::vector<hippo::training_actor>;

/// Ends the process in good order once it is asked to: trainers save after their
/// present steps, hand the rest back and take leave.
[[noreturn]] void leave_when_asked(leave_signals& signals,
                                   caf::actor_system& system,
                                   const trainer_list& trainers,
                                   double grace_seconds) {
  signals.wait();
  spdlog::info("trainer: leaving; ends after the present step, within {} s",
               grace_seconds);
  caf::scoped_actor self{system};
  for (const auto& x : trainers) {
    self->monitor(x);
    self->send(x, hippo::leave_atom::value);
  }
  using clock = std::chrono::steady_clock;
  const auto deadline
    = clock::now() + std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(grace_seconds));
  auto left = trainers.size();
  while (left > 0 && clock::now() < deadline)
    self->receive([&](const caf::down_msg&) { --left; },
                  caf::after(deadline - clock::now()) >> [] {});
  if (left > 0)
    spdlog::warn("trainer: left without the present step: it takes too long");
  else
    spdlog::info("trainer: has left");
  leave_at_once(left > 0 ? exit_failed : 0);
}

/// Keeps the trainers connected, for as long as somebody may come back.
class connector {
public:
  /// @param keys to show to the service; null: it speaks no TLS
  connector(caf::actor_system& system, const trainer_list& trainers,
            const hippo::credentials* keys)
    : system_(system), self_(system), trainers_(trainers), keys_(keys) {
    for (const auto& x : trainers_)
      self_->monitor(x);
  }

  /// Connects the trainers once. @returns whether that worked
  bool connect(const std::string& name, const hippo::endpoint& where) {
    auto pool = hippo::find_published<hippo::registrar_actor>(
      system_, where.host, where.port);
    if (!pool) {
      auto why = system_.render(pool.error());
      // The reason that TLS gives is another connection away.
      if (keys_ != nullptr)
        if (auto refusal
            = hippo::why_refused(where.host, where.port, *keys_,
                                 hippo::connect_patience))
          why = refusal->message;
      if (std::exchange(trouble_, why) != why)
        spdlog::warn("trainer: cannot reach {}: {}; trying again", name, why);
      return false;
    }
    trouble_.clear();
    spdlog::info("trainer: reached {}", name);
    pool_ = *pool;
    self_->monitor(pool_);
    for (const auto& x : trainers_)
      self_->send(x, hippo::connect_atom::value, pool_);
    return true;
  }

  /// Waits until the service is gone.
  /// @returns false if a trainer has ended instead: it was refused
  bool wait_until_lost() {
    for (;;) {
      bool lost = false, refused = false;
      self_->receive([&](const caf::down_msg& msg) {
        lost = msg.source == pool_.address();
        refused = msg.reason == hippo::errc::incompatible_version
                  || msg.reason == hippo::errc::malformed_message;
      });
      if (lost || refused)
        return lost;
    }
  }

private:
  caf::actor_system& system_;
  caf::scoped_actor self_;
  const trainer_list& trainers_;
  const hippo::credentials* keys_;
  hippo::registrar_actor pool_;
  std::string trouble_; ///< as it was told
};

/// Trains for the service, whenever there is one.
int serve(const options& opts, std::vector<device_entry> devices,
          const std::function<std::string()>& log_tail) {
  const auto where = hippo::parse_endpoint(opts.service);
  if (!where)
    return fail({where.failure().code, "--connect: " + where.failure().message},
                exit_usage);
  std::optional<hippo::credentials> keys;
  if (!opts.keys.empty()) {
    auto loaded = hippo::load_credentials(opts.keys, hippo::key_role::trainer,
                                          hippo::now_seconds());
    if (!loaded)
      return fail(loaded.failure(), exit_usage);
    keys = std::move(*loaded);
  }
  leave_signals signals;
  hippo::system_config cfg;
  if (keys)
    if (auto why = cfg.use_tls(*keys))
      return fail(*why, exit_failed);
  caf::actor_system system{cfg};
  trainer_list trainers;
  for (auto& x : devices) {
    auto self_description = describe_self(opts, x);
    // Each device has a thread of its own, and thus a route of its own.
    const auto route = std::make_shared<checkpoint_route>(
      where->host, keys ? &*keys : nullptr);
    auto engine = std::make_shared<hippo::training_engine>(
      std::move(x.registry), x.info.kind,
      [route](const hippo::lease& y) { return route->store_of(y); },
      x.info.kept_bytes_max);
    trainers.push_back(system.spawn(hippo::trainer, hippo::registrar_actor{},
                                    std::move(self_description),
                                    std::move(engine), log_tail));
  }
  std::thread{[&] {
    leave_when_asked(signals, system, trainers, opts.grace_seconds);
  }}.detach();
  connector link{system, trainers, keys ? &*keys : nullptr};
  hippo::backoff retry{retry_first, retry_last};
  std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> jitter{0, 1};
  for (;;) {
    if (link.connect(opts.service, *where)) {
      retry.reset();
      const bool lost = link.wait_until_lost();
      if (!lost || opts.parent != 0)
        leave_at_once(lost ? 0 : exit_failed);
    }
    std::this_thread::sleep_for(retry.next(jitter(random)));
  }
}

/// Returns the names of the devices that are asked for, each once.
std::vector<std::string> device_names(const options& opts) {
  std::vector<std::string> result;
  const auto add = [&result](const std::string& name) {
    if (std::find(result.begin(), result.end(), name) == result.end())
      result.push_back(name);
  };
  for (const auto& x : opts.devices) {
    if (x != "all") {
      add(x);
      continue;
    }
    const auto all = hippo::all_devices();
    if (!all.trouble.empty())
      spdlog::warn("trainer: {}", all.trouble);
    std::for_each(all.names.begin(), all.names.end(), add);
  }
  return result;
}

/// Returns with which instructions this process is to compute on a CPU: as it
/// is told to, or as what it is to try or to export needs.
hippo::numerics numerics_for(const options& opts) {
  if (opts.describe)
    return hippo::numerics::native; // nothing is computed
  auto word = opts.numerics;
  const auto& path = opts.check.empty() ? opts.prove : opts.check;
  if (word.empty() && !path.empty()) {
    hippo::workload_registry registry;
    if (!add_workloads(opts, "cpu", opts.threads, registry))
      if (const auto study = read_checked(path, registry))
        word = numerics_of(study->workload);
  } else if (word.empty() && !opts.recipe.empty()) {
    if (const auto recipe = read_recipe(opts.recipe))
      word = numerics_of(recipe->workload);
  }
  return hippo::numerics_from(word).value_or(hippo::default_numerics);
}

/// Makes the devices of this process ready. One that cannot be used is skipped
/// as long as another one can.
hippo::expected<std::vector<device_entry>> prepare(const options& opts) {
  std::vector<device_entry> result;
  std::string reasons;
  const auto numerics = numerics_for(opts);
  for (const auto& name : device_names(opts)) {
    auto info = hippo::prepare_device(name, opts.threads, numerics);
    if (!info) {
      const auto& why = info.failure().message;
      spdlog::warn("trainer: {}; it is skipped", why);
      reasons += (reasons.empty() ? "" : "; ") + why;
      continue;
    }
    auto& x = result.emplace_back(
      device_entry{name, std::move(*info), {}, numerics});
    if (auto why = add_workloads(opts, name, opts.threads, x.registry))
      return *why;
  }
  if (result.empty())
    return {hippo::errc::invalid_argument,
            "there is nothing to train on: " + reasons};
  return result;
}

} // namespace

int main(int argc, char** argv) {
  options opts;
  CLI::App app{"Trains what a Hippo service leases to it.\n\n"
               "Example: hippo-trainer --connect 10.0.0.5:4848",
               "hippo-trainer"};
  auto* connect
    = app.add_option("--connect", opts.service,
                     "The service, as HOST:PORT or [ADDRESS]:PORT");
  app.add_option("--workload", opts.libraries,
                 "A shared library with further workloads (repeatable)");
  app.add_option("--device", opts.devices,
                 "cpu, cuda:N (repeatable) or all: every GPU, else the CPU. "
                 "One that cannot be used is reported and skipped")
    ->check(hippo::check_device_name)
    ->capture_default_str();
  app.add_option("--threads", opts.threads,
                 "Threads that a CPU trains with: they decide the bits of "
                 "results, as the kind of device does")
    ->check(CLI::Range(1u, threads_max))
    ->capture_default_str();
  app.add_option("--numerics", opts.numerics,
                 "Train on a CPU what is of these numerics: native (all that "
                 "the CPU has; unless given) or portable (AVX2)")
    ->check(CLI::IsMember({"portable", "native"}));
  app.add_option("--keys", opts.keys,
                 "The file of `hippo keys add NAME --role trainer`");
  app.add_option("--log-format", opts.log_format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  app.add_option("--grace-seconds", opts.grace_seconds,
                 "On SIGTERM, how long the present step may take to end")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  auto* describe = app.add_flag(
    "--describe", opts.describe,
    "Print, as JSON, the workloads that this trainer knows, and exit");
  auto* check_study
    = app.add_option("--check", opts.check,
                     "Try whether the workload of this study can be trained, "
                     "and exit");
  auto* prove_study = app.add_option(
    "--prove", opts.prove,
    "Try whether trials of this study may share training, and exit");
  app.add_option("--steps", opts.proof.steps,
                 "How far to train for --prove")
    ->check(CLI::Range(hippo::step_t{2}, hippo::step_t{100'000}))
    ->needs(prove_study)
    ->capture_default_str();
  app.add_option("--other-threads", opts.proof.other_threads,
                 "For --prove: results are to be the same with so many threads "
                 "(repeatable)")
    ->check(CLI::Range(1u, threads_max))
    ->needs(prove_study);
  app.add_option("--python", opts.python,
                 "The interpreter for studies that name none")
    ->capture_default_str();
  app.add_flag("--no-code", opts.no_code,
               "Train only what is built in or in a library, no code that "
               "studies bring");
  auto* weights = app.add_option(
    "--export", opts.weights,
    "Write the weights that --recipe leads to into this file, and exit");
  auto* recipe = app.add_option("--recipe", opts.recipe,
                                "A file that `hippo best` writes");
  weights->needs(recipe);
  recipe->needs(weights);
  app.add_option("--parent", opts.parent,
                 "End when the process with this number ends");
  app.require_option(1, 0);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  }
  if (connect->empty() && describe->empty() && check_study->empty()
      && prove_study->empty() && weights->empty())
    return fail({hippo::errc::invalid_argument,
                 "one of --connect, --describe, --check, --prove and --export "
                 "is needed"},
                exit_usage);
  const auto log_tail = start_log(opts);
  if (opts.parent != 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != opts.parent)
      return exit_failed; // the parent was gone before we asked
  }
  auto devices = prepare(opts);
  if (!devices)
    return fail(devices.failure(), exit_usage);
  const auto& first = devices->front();
  if (opts.describe) {
    std::cout << hippo::to_json(first.registry.descriptors()) << '\n';
    return 0;
  }
  if (!opts.check.empty())
    return check(opts, first.registry);
  if (!opts.prove.empty())
    return prove(std::move(opts), std::move(*devices));
  if (!opts.weights.empty())
    return export_weights(opts, first.registry, first.info.kind);
  return serve(opts, std::move(*devices), log_tail);
}
