#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "hippo/check/proof.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/train/process/spawn_plan.hpp"
#include "outcome.hpp"
#include "packing.hpp"
#include "studies.hpp"
#include "temporary_file.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// What `hippo check` was asked for.
struct check_options {
  std::string file; ///< a study, or FILE.py or FILE.py:CLASS
  /// Of a class: NAME=VALUE,VALUE... of hyper-parameters, and NAME=VALUE.
  std::vector<std::string> values;
  std::vector<std::string> args;
  std::string trainer_program;
  std::vector<std::string> libraries;
  std::vector<std::string> flags; ///< passed on to the trainer
};

/// How far the trials go of a study that is made for a class.
constexpr step_t class_steps = 1000;

/// Returns a value as it would stand in a study file: by JSON, or a word.
json value_of(const std::string& text) {
  auto value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

json values_of(const std::string& text) {
  auto result = json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    result.push_back(value_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

/// Adds to values a schedule from one to another, if there are fractions: what
/// such a hyper-parameter is, may follow one.
json choice_of(json values) {
  const bool may_vary
    = values.size() > 1
      && std::all_of(values.begin(), values.end(),
                     [](const auto& x) { return x.is_number(); })
      && std::any_of(values.begin(), values.end(),
                     [](const auto& x) { return x.is_number_float(); });
  if (may_vary) {
    const json end{class_steps / 2, values[1]};
    values.push_back(
      {{"piecewise", json::array({json::array({0, values[0]}), end})}});
  }
  return values;
}

/// Splits `name=value`.
expected<std::pair<std::string, std::string>>
split_setting(const std::string& flag, const std::string& text) {
  const auto i = text.find('=');
  if (i == text.npos || i == 0 || i + 1 == text.size())
    return {errc::invalid_argument,
            flag + " takes NAME=VALUE, found '" + text + "'"};
  return std::pair{text.substr(0, i), text.substr(i + 1)};
}

bool is_class(const std::string& file) {
  return file.ends_with(".py") || file.find(".py:") != file.npos;
}

/// Makes up a study for a class.
expected<study_source> study_of_class(const check_options& x) {
  if (x.values.empty())
    return {errc::invalid_argument,
            "say which hyper-parameters " + x.file
              + " reads, and values to try: --set lr=0.1,0.01"};
  const auto slash = x.file.rfind('/');
  const auto name = slash == x.file.npos ? x.file : x.file.substr(slash + 1);
  json workload{{"python", name}};
  for (const auto& text : x.args) {
    auto setting = split_setting("--args", text);
    if (!setting)
      return setting.failure();
    workload["args"][setting->first] = value_of(setting->second);
  }
  json space;
  for (const auto& text : x.values) {
    auto setting = split_setting("--set", text);
    if (!setting)
      return setting.failure();
    space[setting->first]["choice"] = choice_of(values_of(setting->second));
  }
  const json study{
    {"study", "check"},
    {"workload", workload},
    {"objective", {{"metric", any_metric}, {"direction", "maximize"}}},
    {"max_steps", class_steps},
    {"space", space}};
  auto text = pack_study(study.dump(1), x.file);
  if (!text)
    return text.failure();
  return study_source{x.file, std::move(*text)};
}

expected<study_source> read_source(const check_options& x) {
  if (is_class(x.file))
    return study_of_class(x);
  if (!x.values.empty() || !x.args.empty())
    return {errc::invalid_argument,
            "--set and --args are for a Python file; a study says it itself"};
  auto sources = read_sources({x.file});
  if (!sources)
    return sources.failure();
  return std::move(sources->front());
}

/// Runs a program in this one's place, as far as people see.
/// @returns its exit code, or nothing if a signal ended it
expected<std::optional<int>> run_in_front(const std::vector<std::string>& x) {
  spawn_plan plan;
  const auto pid = plan.start(x);
  if (!pid)
    return pid.failure();
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR)
    ;
  // Its reader is ours, and has gone: so that is known here.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
    std::cout << std::endl;
    return std::optional{exit_failed};
  }
  return WIFEXITED(status) ? std::optional{WEXITSTATUS(status)} : std::nullopt;
}

/// Tries whether trials of a study, or of a class, may share training; prints
/// what was tried.
/// @returns the exit code: 0 they may, 1 they may not, 2 bad input
int check(const check_options& options) {
  const auto source = read_source(options);
  if (!source)
    return fail(source.failure(), exit_bad_input);
  auto catalogue = make_catalogue(options.trainer_program, options.libraries);
  if (!catalogue)
    return fail(catalogue.failure(), exit_bad_input);
  const auto studies = load_studies({*source}, *catalogue);
  if (!studies)
    return exit_bad_input;
  const auto& study = studies->front();
  const temporary_file text{"hippo-study"};
  if (!text.write(study.text()))
    return fail({errc::io_failed, "cannot write " + text.path()}, exit_failed);
  auto command = catalogue->trainer_command();
  command.insert(command.end(), {"--check", text.path()});
  std::copy(options.flags.begin(), options.flags.end(),
            std::back_inserter(command));
  const auto code = run_in_front(command);
  if (!code)
    return fail(code.failure(), exit_failed);
  if (!*code)
    return fail({errc::training_failed, "the trainer program crashed"},
                exit_failed);
  if (**code != exit_done)
    return **code;
  mark_exact(study.spec());
  if (!is_exact(study.spec().workload))
    std::cout << "The study says 'exact: false': it need not.\n";
  return exit_done;
}

struct check_arguments {
  common_options common;
  check_options check;
  step_t steps = 4;
  std::string device = "cpu";
  unsigned threads = 1;
  std::vector<unsigned> other_threads;
  std::vector<unsigned> members;
};

int check(check_arguments& x) {
  auto& flags = x.check.flags;
  const auto add = [&](const char* flag, const auto& value) {
    flags.emplace_back(flag);
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      flags.push_back(std::to_string(value));
    else
      flags.push_back(value);
  };
  add("--steps", x.steps);
  add("--device", x.device);
  add("--threads", x.threads);
  for (const auto n : x.other_threads)
    add("--other-threads", n);
  for (const auto n : x.members)
    if (n > 1) // all else is trained by one
      add("--other-members", n);
  x.check.trainer_program = x.common.program();
  x.check.libraries = x.common.libraries;
  return check(std::as_const(x.check));
}

} // namespace

void add_check(verb_table& verbs) {
  const auto x = std::make_shared<check_arguments>();
  auto* verb = verbs.add(
    local_group, "check",
    "Try whether trials of a workload may share training",
    "hippo check study.yaml, or hippo check train.py --set lr=0.1,0.01",
    [x] { return check(*x); });
  verb->add_option("file", x->check.file, "A study file, or FILE.py[:CLASS]")
    ->required();
  verb
    ->add_option("--set", x->check.values,
                 "Values of a hyper-parameter to try with FILE.py, "
                 "NAME=VALUE,VALUE... (repeatable)")
    ->allow_extra_args(false);
  verb
    ->add_option("--args", x->check.args,
                 "An argument of FILE.py, NAME=VALUE (repeatable)")
    ->allow_extra_args(false);
  verb->add_option("--steps", x->steps, "How far to train each time")
    ->check(CLI::Range(step_t{2}, step_t{100'000}))
    ->capture_default_str();
  verb->add_option("--device", x->device, "cpu or cuda:N")
    ->capture_default_str();
  verb->add_option("--threads", x->threads, "Threads that a CPU trains with")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
  verb
    ->add_option("--other-threads", x->other_threads,
                 "Results are to be the same with so many threads as well "
                 "(repeatable)")
    ->check(CLI::Range(1u, trainers_max))
    ->allow_extra_args(false);
  verb
    ->add_option("--members", x->members,
                 "Results are to be the same with each of these numbers of "
                 "members, which compute the parts of a workload's batches "
                 "together: 1,2,4")
    ->check(check_members)
    ->delimiter(',');
  x->common.add_to(*verb);
}

} // namespace hippo
