#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "child_process.hpp"
#include "common_options.hpp"
#include "hippo/core/devices.hpp"
#include "hippo/simulate/profile.hpp"
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
  step_t steps = 2;
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
  const auto done = run_program(command);
  if (!done)
    return done.failure();
  std::cerr << done->err;
  if (done->exit_code != exit_done)
    return {errc::training_failed, done->exit_code < 0
                                     ? "the trainer program crashed"
                                     : "nothing could be measured"};
  return done->out;
}

/// @returns the exit code
int profile(const profile_arguments& x) {
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
  if (!(std::ofstream{x.out} << *text << std::flush))
    return fail({errc::io_failed, "cannot write " + x.out}, exit_failed);
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
  verb
    ->add_option("--steps", x->steps,
                 "How many steps to measure with each value, after one that "
                 "is not counted; of short ones half a second's worth")
    ->check(CLI::Range(step_t{2}, step_t{100'000}))
    ->capture_default_str();
  x->common.add_to(*verb);
}

} // namespace hippo
