#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/nearest.hpp"
#include "hippo/deploy/deploy.hpp"
#include "hippo/net/keys/private_file.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// Reads the files that go into Secrets.
expected<key_texts> read_keys(const machines& x) {
  key_texts result;
  for (const auto& name : needed_keys(x)) {
    auto text = read_private_file(x.keys + '/' + name);
    if (!text && text.failure().code == errc::invalid_argument
        && name.find('/') == std::string::npos && name != "service.pem")
      return error{errc::invalid_argument,
                   text.failure().message + ": hippo keys add "
                     + name.substr(0, name.rfind('.'))
                     + " --role trainer --keys " + x.keys + " makes it"};
    if (!text)
      return error{text.failure().code,
                   text.failure().message + " (hippo keys init --keys "
                     + x.keys + " makes a folder of keys)"};
    result.emplace(name, std::move(*text));
  }
  return result;
}

/// `hippo deploy`: what trainers take on the machines of others.
class deploy_verb {
public:
  /// Adds what follows the verb. REQUIRES: `*this` lives longer than `verb`
  void add_to(CLI::App& verb);

  int run();

private:
  struct target_verb {
    deploy_target target;
    const char* name;
    const char* what;
    CLI::App* verb = nullptr;
  };

  int print_job(const machines& x) const;
  static int print_pods(const machines& x);

  std::array<target_verb, 3> targets_{{
    {deploy_target::slurm, "slurm",
     "Print a batch script: trainers as a job array"},
    {deploy_target::kubernetes, "kubernetes",
     "Print the objects of a service and its trainers"},
    {deploy_target::ssh, "ssh",
     "Print a script that starts and stops trainers on hosts"},
  }};
  std::string file_;
  std::string group_;
};

void deploy_verb::add_to(CLI::App& verb) {
  verb.require_subcommand(0, 1);
  for (auto& x : targets_) {
    x.verb = verb.add_subcommand(x.name, x.what);
    x.verb->footer(std::string{"Example: hippo deploy "} + x.name
                   + " machines.yaml");
    x.verb->add_option("machines", file_, "What there is to train on, as YAML")
      ->required();
  }
  targets_[0].verb->add_option("--trainers", group_,
                               "The name of those that the script is for, "
                               "where there are several");
}

int deploy_verb::run() {
  for (const auto& x : targets_) {
    if (!*x.verb)
      continue;
    const auto text = read_study_text(file_);
    if (!text)
      return fail(text.failure(), exit_bad_input);
    const auto read = read_machines(*text, file_, x.target);
    for (const auto& why : read.errors)
      std::cerr << "error: " << to_text(why) << '\n';
    if (!read.found)
      return exit_bad_input;
    if (x.target == deploy_target::slurm)
      return print_job(*read.found);
    if (x.target == deploy_target::kubernetes)
      return print_pods(*read.found);
    std::cout << ssh_script(*read.found);
    return exit_done;
  }
  return fail({errc::invalid_argument,
               "say where trainers are to run: slurm, kubernetes or ssh\n"
               "Try: hippo deploy --help"},
              exit_bad_input);
}

int deploy_verb::print_job(const machines& x) const {
  std::vector<std::string> names;
  std::string list;
  for (const auto& group : x.trainers) {
    if (group.name == group_ || (group_.empty() && x.trainers.size() == 1)) {
      std::cout << slurm_script(x, group);
      return exit_done;
    }
    names.push_back(group.name);
    list += (list.empty() ? "" : ", ") + group.name;
  }
  return fail({errc::invalid_argument,
               group_.empty()
                 ? file_ + " has several trainers, and a batch script is for "
                           "one: say by --trainers which of " + list
                 : file_ + " has no trainers '" + group_ + '\''
                     + did_you_mean(group_, names) + "; there are " + list},
              exit_bad_input);
}

int deploy_verb::print_pods(const machines& x) {
  const auto keys = read_keys(x);
  if (!keys)
    return fail(keys.failure(), exit_bad_input);
  std::cout << kubernetes_manifests(x, *keys);
  return exit_done;
}

} // namespace

void add_deploy(verb_table& verbs) {
  const auto x = std::make_shared<deploy_verb>();
  auto* verb = verbs.add(
    local_group, "deploy", "Print what trainers take on other machines",
    "hippo deploy slurm machines.yaml > trainers.sbatch",
    [x] { return x->run(); });
  x->add_to(*verb);
}

} // namespace hippo
