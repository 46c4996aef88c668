// hippo completion: a script by which a shell completes command lines.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// An option as a shell completes it.
struct option_entry {
  std::string name; ///< with its dashes
  std::string meaning;
  std::string values; ///< that it may have, with spaces between; empty: any
  bool is_flag = false;
};

/// A verb or, with the names of what it is in before its own, one below it.
struct verb_entry {
  std::string path; ///< `hippo keys add`
  std::string meaning;
  std::vector<std::string> below; ///< names
  std::vector<option_entry> options;
};

/// Returns the words that an option takes, of `TEXT:{on,off}`.
std::string allowed_words(const std::string& type) {
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return {};
  auto result = type.substr(begin + 1, end - begin - 1);
  for (auto& c : result)
    if (c == ',')
      c = ' ';
  return result;
}

/// Adds a verb and all below it.
void collect(const CLI::App& app, const std::string& path,
             std::vector<verb_entry>& result) {
  verb_entry x{path, app.get_description(), {}, {}};
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames())
      x.options.push_back({"--" + name, option->get_description(),
                           allowed_words(option->get_type_name()),
                           option->get_items_expected_max() == 0});
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* verb : below)
    x.below.push_back(verb->get_name());
  result.push_back(std::move(x));
  for (const auto* verb : below)
    collect(*verb, path + ' ' + verb->get_name(), result);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return result + '\'';
}

/// For bash, and for zsh, which reads what is written for bash.
void print_bash(const std::vector<verb_entry>& verbs) {
  std::cout << "_hippo() {\n"
               "  local path=hippo words= i\n"
               "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
               "    case \"$path ${COMP_WORDS[i]}\" in\n";
  for (const auto& x : verbs)
    if (x.path != "hippo")
      std::cout << "      " << quoted(x.path) << ") path=" << quoted(x.path)
                << " ;;\n";
  std::cout << "    esac\n"
               "  done\n"
               "  case \"$path ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
  for (const auto& x : verbs)
    for (const auto& y : x.options)
      if (!y.values.empty())
        std::cout << "    " << quoted(x.path + ' ' + y.name) << ") words="
                  << quoted(y.values) << " ;;\n";
  std::cout << "    *) case $path in\n";
  for (const auto& x : verbs) {
    std::string words;
    for (const auto& y : x.below)
      words += y + ' ';
    for (const auto& y : x.options)
      words += y.name + ' ';
    std::cout << "      " << quoted(x.path) << ") words=" << quoted(words)
              << " ;;\n";
  }
  std::cout << "    esac ;;\n"
               "  esac\n"
               "  COMPREPLY=($(compgen -W \"$words\" -- "
               "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
               "}\n"
               "complete -o bashdefault -o default -F _hippo hippo\n";
}

void print_fish(const std::vector<verb_entry>& verbs) {
  for (const auto& x : verbs) {
    // All words of the path but the program's have been typed, and none below.
    std::string condition = "test 1";
    std::string last;
    for (std::size_t begin = x.path.find(' '); begin != std::string::npos;) {
      const auto end = x.path.find(' ', begin + 1);
      last = x.path.substr(begin + 1, end - begin - 1);
      condition += "; and __fish_seen_subcommand_from " + last;
      begin = end;
    }
    auto here = condition;
    if (!x.below.empty()) {
      here += "; and not __fish_seen_subcommand_from";
      for (const auto& y : x.below)
        here += ' ' + y;
    }
    for (const auto& y : verbs)
      for (const auto& name : x.below)
        if (y.path == x.path + ' ' + name)
          std::cout << "complete -c hippo -f -n " << quoted(here) << " -a "
                    << name << " -d " << quoted(y.meaning) << '\n';
    for (const auto& y : x.options)
      std::cout << "complete -c hippo -n " << quoted(here) << " -l "
                << y.name.substr(2)
                << (y.is_flag ? "" : y.values.empty() ? " -r" : " -x")
                << (y.values.empty() ? "" : " -a " + quoted(y.values)) << " -d "
                << quoted(y.meaning) << '\n';
  }
}

struct completion_verb {
  const CLI::App* app = nullptr;
  std::string shell;

  [[nodiscard]] int run() const {
    std::vector<verb_entry> verbs;
    collect(*app, "hippo", verbs);
    if (shell == "fish") {
      print_fish(verbs);
      return exit_done;
    }
    if (shell == "zsh")
      std::cout << "#compdef hippo\n"
                   "autoload -U +X bashcompinit && bashcompinit\n";
    print_bash(verbs);
    return exit_done;
  }
};

} // namespace

void add_completion(verb_table& verbs) {
  const auto x = std::make_shared<completion_verb>();
  auto* verb = verbs.add(local_group, "completion",
                         "Print a script that completes verbs and options",
                         "hippo completion bash > ~/.hippo-completion",
                         [x] { return x->run(); });
  x->app = verb->get_parent();
  verb->add_option("shell", x->shell, "Which shell is to read it")
    ->required()
    ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

} // namespace hippo
