// hippo-trainer: trains leased paths on one device.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "hippo/core/number.hpp"
#include "hippo/train/library.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/wire/codec.hpp"
#include "network.hpp"
#include "system_config.hpp"
#include "trainer.hpp"
#include "training_thread.hpp"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

struct options {
  std::string service;                ///< host:port
  std::vector<std::string> libraries; ///< of further workloads
  std::string device = "cpu";
  bool describe = false;
  std::string check;                 ///< name of a workload
  std::vector<std::string> settings; ///< of the workload to check
  std::string recipe;                ///< file with an encoded lease
  std::string weights;               ///< where to export to
  long parent = 0;                   ///< end with this process
  double retry_seconds = 300;
};

int fail(const hippo::error& why, int code) {
  std::cerr << "hippo-trainer: " << why.message << '\n';
  return code;
}

/// Reads `name=value`, a number where it is one.
std::optional<std::pair<std::string, hippo::scalar>>
parse_setting(const std::string& text) {
  const auto i = text.find('=');
  if (i == std::string::npos || i == 0)
    return std::nullopt;
  const auto value = text.substr(i + 1);
  char* end = nullptr;
  const auto number = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0')
    return std::pair{text.substr(0, i), hippo::scalar{number}};
  return std::pair{text.substr(0, i), hippo::scalar{value}};
}

/// Makes the workload and throws it away: whether it can be trained here.
int check(const options& opts, const hippo::workload_registry& registry) {
  hippo::workload_spec spec;
  spec.name = opts.check;
  for (const auto& x : opts.settings) {
    auto setting = parse_setting(x);
    if (!setting)
      return fail({hippo::errc::invalid_argument,
                   "--option takes name=value, not '" + x + "'"},
                  exit_usage);
    spec.options.insert(std::move(*setting));
  }
  auto made = registry.make(spec);
  return made ? 0 : fail(made.failure(), exit_usage);
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
  auto made = registry.make(recipe->workload);
  if (!made)
    return fail(made.failure(), exit_failed);
  hippo::lease_control control{recipe->stops};
  hippo::lease_progress progress;
  std::optional<hippo::checkpoint> present;
  hippo::folder_store store{recipe->folder};
  const auto end = hippo::run(
    **made, present, *recipe, store, device, control, progress,
    [] { return 0; }, [](const hippo::stop_report&) {});
  if (end.failure)
    return fail(*end.failure, exit_failed);
  try {
    (*made)->export_weights(opts.weights);
  } catch (const std::exception& e) {
    return fail({hippo::errc::io_failed, e.what()}, exit_failed);
  }
  return 0;
}

hippo::hello describe_self(const hippo::workload_registry& registry,
                           const std::string& device) {
  hippo::hello result;
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  result.host = host;
  result.process_id = static_cast<std::uint64_t>(::getpid());
  result.device = device;
  result.threads = 1;
  for (const auto& x : registry.descriptors())
    result.workloads.push_back(x.name);
  return result;
}

/// Connects, serves until the service is gone, and again, unless there is
/// nobody to come back for.
int serve(const options& opts, hippo::workload_registry registry,
          const std::string& device) {
  const auto colon = opts.service.rfind(':');
  const auto port
    = colon == std::string::npos
        ? 0
        : std::strtoul(opts.service.c_str() + colon + 1, nullptr, 10);
  if (port == 0 || port > 65535)
    return fail({hippo::errc::invalid_argument,
                 "--connect takes HOST:PORT, not '" + opts.service + "'"},
                exit_usage);
  const auto host = opts.service.substr(0, colon);
  const auto self_description = describe_self(registry, device);
  auto engine
    = std::make_shared<hippo::training_thread>(std::move(registry), device);
  hippo::system_config cfg;
  caf::actor_system system{cfg};
  caf::scoped_actor self{system};
  using clock = std::chrono::steady_clock;
  auto last_contact = clock::now();
  for (;;) {
    auto pool = hippo::find_published<hippo::registrar_actor>(
      system, host, static_cast<std::uint16_t>(port));
    if (pool) {
      auto trainer = self->spawn<caf::monitored>(hippo::trainer, *pool,
                                                 self_description, engine);
      bool refused = false;
      self->receive([&](const caf::down_msg& msg) {
        refused = msg.reason == hippo::errc::incompatible_version;
      });
      if (refused)
        return exit_failed;
      last_contact = clock::now();
    } else {
      spdlog::warn("trainer: cannot reach {}: {}", opts.service,
                   system.render(pool.error()));
    }
    const std::chrono::duration<double> away = clock::now() - last_contact;
    if (opts.parent != 0 && pool)
      return 0;
    if (away.count() > opts.retry_seconds)
      return fail({hippo::errc::io_failed,
                   "no service at " + opts.service + " for "
                     + hippo::to_text(opts.retry_seconds) + " s"},
                  exit_failed);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

} // namespace

int main(int argc, char** argv) {
  options opts;
  CLI::App app{"Trains what a Hippo service leases to it, on one device.\n\n"
               "Example: hippo-trainer --connect 10.0.0.5:4848",
               "hippo-trainer"};
  auto* connect
    = app.add_option("--connect", opts.service, "The service, as HOST:PORT");
  app.add_option("--workload", opts.libraries,
                 "A shared library with further workloads (repeatable)");
  app.add_option("--device", opts.device, "cpu or cuda:N")
    ->capture_default_str();
  app.add_option("--retry-seconds", opts.retry_seconds,
                 "Give up after so long without a service")
    ->capture_default_str();
  auto* describe = app.add_flag(
    "--describe", opts.describe,
    "Print, as JSON, the workloads that this trainer knows, and exit");
  auto* check_name
    = app.add_option("--check", opts.check,
                     "Try whether this workload can be trained, and exit");
  app.add_option("--option", opts.settings,
                 "An option name=value of the workload to check (repeatable)")
    ->needs(check_name);
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
  if (connect->empty() && describe->empty() && check_name->empty()
      && weights->empty())
    return fail({hippo::errc::invalid_argument,
                 "one of --connect, --describe, --check and --export is "
                 "needed"},
                exit_usage);
  spdlog::set_default_logger(spdlog::stderr_color_mt("hippo-trainer"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  if (opts.parent != 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != opts.parent)
      return exit_failed; // the parent was gone before we asked
  }
  const auto device = hippo::prepare_device(opts.device);
  if (!device)
    return fail(device.failure(), exit_usage);
  hippo::workload_registry registry;
  hippo::add_built_in_workloads(registry, opts.device);
  for (const auto& path : opts.libraries)
    if (auto why = hippo::load_workloads(path, registry))
      return fail(*why, exit_usage);
  if (opts.describe) {
    std::cout << hippo::to_json(registry.descriptors()) << '\n';
    return 0;
  }
  if (!opts.check.empty())
    return check(opts, registry);
  if (!opts.weights.empty())
    return export_weights(opts, registry, *device);
  return serve(opts, std::move(registry), *device);
}
