// hippo-trainer: trains leased paths, on each of its devices one at a time.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "command_line.hpp"
#include "devices.hpp"
#include "hippo/base/standard_output.hpp"
#include "hippo/net/keys/openssl_exit.hpp"
#include "log.hpp"
#include "modes/modes.hpp"

namespace {

/// @returns the exit code
int run(int argc, char** argv) {
  hippo::trainer_options opts;
  if (const auto code = hippo::parse(argc, argv, opts))
    return *code;
  const auto log_tail = hippo::start_log(opts);
  if (opts.parent != 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != opts.parent)
      return hippo::exit_failed; // the parent was gone before we asked
  }
  auto devices = hippo::prepare_devices(opts);
  if (!devices)
    return hippo::fail(devices.failure(), hippo::exit_usage);
  const auto& first = devices->front();
  if (opts.describe)
    return hippo::describe_workloads(first.registry);
  if (!opts.prepare.empty())
    return hippo::prepare_study(opts, first.registry);
  if (!opts.check.empty())
    return hippo::check_study(std::move(opts), std::move(*devices));
  if (!opts.measure.empty())
    return hippo::measure_study(opts, first);
  if (!opts.weights.empty())
    return hippo::export_weights(opts, first.registry, first.info.kind);
  return hippo::serve(opts, std::move(*devices), log_tail);
}

} // namespace

int main(int argc, char** argv) {
  hippo::keep_openssl_at_exit();
  hippo::standard_output out{"hippo-trainer"};
  return out.finish(run(argc, argv));
}
