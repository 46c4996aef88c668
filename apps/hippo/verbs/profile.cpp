#include <unistd.h>

#include <chrono>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child_process.hpp"
#include "common_options.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/whole_file.hpp"
#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/model/parts.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "temporary_file.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// What `hippo profile` was asked for.
struct profile_arguments {
  common_options common;
  std::string file;
  std::string out; ///< file; empty: stdout
  std::string device = "cpu";
  unsigned threads = 1;
  unsigned trainers = 1;
  step_t steps = 2;
  std::vector<unsigned> members; ///< whose gain is measured
};

/// A trainer that trains, until this ends, beside the one that measures: on a
/// machine that they share, each takes longer.
class companion {
public:
  explicit companion(unsigned number)
    : log_("hippo-companion-" + std::to_string(number)) {}

  /// Starts it and waits until it trains.
  std::optional<error> start(std::vector<std::string> command) {
    command.insert(command.end(),
                   {"--repeat", "--parent", std::to_string(::getpid())});
    auto started = child_process::start(command, log_.path());
    if (!started)
      return started.failure();
    trainer_.emplace(std::move(*started));
    while (trainer_->last_words(1).empty() && !trainer_->ended())
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    return trouble();
  }

  /// Returns why what was measured beside it counts for nothing, if so.
  std::optional<error> trouble() {
    const auto end = trainer_->ended();
    if (!end)
      return std::nullopt;
    return error{errc::training_failed,
                 "a trainer beside the one that measures has ended (" + *end
                   + "):\n" + trainer_->last_words(5)};
  }

private:
  temporary_file log_;
  std::optional<child_process> trainer_;
};

/// Lets a trainer measure how long a study's training takes here.
/// @returns the profile's text
expected<std::string> measured(const profile_arguments& x,
                               const workload_catalogue& catalogue,
                               const std::string& study) {
  const temporary_file text{"hippo-study"};
  if (!text.write(study))
    return {errc::io_failed, "cannot write " + text.path()};
  auto command = catalogue.trainer_command();
  command.insert(command.end(),
                 {"--measure", text.path(), "--steps", std::to_string(x.steps),
                  "--device", x.device, "--threads",
                  std::to_string(x.threads)});
  std::deque<companion> others;
  for (unsigned i = 1; i < x.trainers; ++i)
    if (const auto why = others.emplace_back(i).start(command))
      return *why;
  for (const auto n : x.members)
    if (n > 1) // all else is measured with one
      command.insert(command.end(), {"--other-members", std::to_string(n)});
  const auto done = run_program(command);
  if (!done)
    return done.failure();
  std::cerr << done->err;
  if (done->exit_code != exit_done)
    return {errc::training_failed, done->exit_code < 0
                                     ? "the trainer program crashed"
                                     : "nothing could be measured"};
  for (auto& other : others)
    if (const auto why = other.trouble())
      return *why;
  return done->out;
}

/// @returns the exit code
int profile(const profile_arguments& x) {
  if (x.trainers > 1 && x.device != "cpu")
    return fail({errc::invalid_argument,
                 "--trainers " + std::to_string(x.trainers) + " with --device "
                   + x.device
                   + ": trainers share a CPU, but each has a GPU of its own; "
                     "leave --trainers out"},
                exit_bad_input);
  const auto sources = read_sources({x.file});
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  auto catalogue = make_catalogue(x.common.program(), x.common.libraries);
  if (!catalogue)
    return fail(catalogue.failure(), exit_bad_input);
  const auto studies = load_studies(*sources, *catalogue);
  if (!studies)
    return exit_bad_input;
  const auto text = measured(x, *catalogue, studies->front().text());
  if (!text)
    return fail(text.failure(), exit_failed);
  const auto read = read_profile(*text, "the profile", catalogue->workloads);
  print(read.errors, "error");
  if (!read.profile)
    return exit_failed;
  if (x.out.empty()) {
    std::cout << *text;
    return exit_done;
  }
  if (const auto why = write_whole(x.out, *text))
    return fail(*why, exit_failed);
  return exit_done;
}

} // namespace

void add_profile(verb_table& verbs) {
  const auto x = std::make_shared<profile_arguments>();
  auto* verb = verbs.add(
    local_group, "profile",
    "Measure how long a study's training takes on this machine",
    "hippo profile study.yaml --device cuda:0 -o l4.yaml",
    [x] { return profile(std::as_const(*x)); });
  verb->add_option("file", x->file, "A study file")->required();
  verb->add_option("-o,--out", x->out, "Write the profile into this file");
  verb->add_option("--device", x->device, "cpu or cuda:N")
    ->check(check_device_name)
    ->capture_default_str();
  verb->add_option("--threads", x->threads, "Threads that a CPU trains with")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
  verb->add_option("--trainers", x->trainers,
                   "How many trainers will share the CPU: so many train while "
                   "one measures")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
  verb
    ->add_option("--steps", x->steps,
                 "How many steps to measure with each value, after one that "
                 "is not counted; of short ones three seconds' worth")
    ->check(CLI::Range(step_t{2}, step_t{100'000}))
    ->capture_default_str();
  verb
    ->add_option("--members", x->members,
                 "Also measure how many times as fast so many members are that "
                 "compute the parts of an image workload together: 2,4. On a "
                 "GPU, these are cuda:N and the next ones")
    ->check(check_members)
    ->delimiter(',');
  x->common.add_to(*verb);
}

} // namespace hippo
