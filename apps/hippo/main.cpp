// hippo: the command line. `hippo-trainer` trains; nothing here does.

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "hippo/base/nearest.hpp"
#include "hippo/base/standard_output.hpp"
#include "hippo/base/version.hpp"
#include "hippo/net/keys/openssl_exit.hpp"
#include "outcome.hpp"
#include "verb_table.hpp"
#include "verbs/verbs.hpp"

namespace {

/// Says what is wrong with a command line and what was perhaps meant.
std::string explain(const CLI::App* app, const CLI::Error& why) {
  std::string text = why.what();
  for (const auto* verb : app->get_subcommands()) {
    std::vector<std::string> flags;
    for (const auto* x : verb->get_options())
      for (const auto& name : x->get_lnames())
        flags.push_back("--" + name);
    for (const auto& word : verb->remaining())
      if (word.starts_with("--"))
        text += hippo::did_you_mean(word.substr(0, word.find('=')), flags);
  }
  const auto help = app->get_subcommands().empty()
                      ? std::string{"hippo"}
                      : "hippo " + app->get_subcommands()[0]->get_name();
  return "hippo: " + text + "\nTry: " + help + " --help\n";
}

/// Returns the words of a command line. `help VERB` stands for `VERB --help`,
/// and `help` alone for `--help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> result(argv + 1, argv + argc);
  if (result.empty() || result.front() != "help")
    return result;
  result.erase(result.begin());
  if (!result.empty() && (result.front() == "help"
                          || result.front().starts_with('-')))
    result.clear();
  result.resize(std::min<std::size_t>(result.size(), 1));
  result.emplace_back("--help");
  return result;
}

/// @returns the exit code
int run(int argc, char** argv) {
  CLI::App app{"Hyper-parameter optimisation that trains what trials have in "
               "common once.",
               "hippo"};
  app.set_version_flag("--version", std::string{"hippo "} + hippo::version());
  app.require_subcommand(1);
  app.footer("Example: hippo run study.yaml\n"
             "hippo help VERB, or hippo VERB --help, says more of a verb.");
  app.failure_message(explain);
  hippo::verb_table verbs{app};
  hippo::add_verbs(verbs);

  auto words = words_of(argc, argv);
  if (const auto now =
        words.empty() ? std::nullopt : verbs.renamed(words.front())) {
    std::cerr << "warning: 'hippo " << words.front() << "' is now 'hippo "
              << *now << "'; the next release refuses the former name\n";
    words.front() = *now;
  }
  const auto verb = words.empty() ? std::string{"-"} : words.front();
  const auto known = verbs.names();
  if (!verb.starts_with('-')
      && std::find(known.begin(), known.end(), verb) == known.end())
    return hippo::fail({hippo::errc::invalid_argument,
                        "unknown verb '" + verb + "'"
                          + hippo::did_you_mean(verb, known)
                          + "\nTry: hippo --help"},
                       hippo::exit_bad_input);
  try {
    std::reverse(words.begin(), words.end()); // as the parser has them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : hippo::exit_bad_input;
  }
  return verbs.run();
}

} // namespace

int main(int argc, char** argv) {
  hippo::keep_openssl_at_exit();
  hippo::standard_output out{"hippo"};
  return out.finish(run(argc, argv));
}
