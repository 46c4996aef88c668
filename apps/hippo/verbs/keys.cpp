#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "hippo/net/keys/key_folder.hpp"
#include "hippo/report/text.hpp"
#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

constexpr std::size_t role_columns = 7;
constexpr std::size_t date_columns = 10;

/// What cannot be made of keys is for the user to change, but a disk.
int refuse_keys(const error& why) {
  return fail(why, why.code == errc::io_failed ? exit_failed : exit_bad_input);
}

/// Returns the name of an entry: that of its file, without folder and ending.
std::string name_of(const key_entry& x) {
  const auto begin = x.path.rfind('/') + 1;
  return x.path.substr(begin, x.path.rfind('.') - begin);
}

nlohmann::ordered_json to_json(const key_entry& x) {
  nlohmann::ordered_json result{{"name", name_of(x)}, {"file", x.path}};
  if (x.certificate) {
    result["role"] = to_string(x.certificate->holder.role);
    result["authority"] = x.certificate->authority;
    result["not_before"] = x.certificate->not_before;
    result["not_after"] = x.certificate->not_after;
    result["hosts"] = x.certificate->hosts;
  }
  result["problem"] = x.problem.empty() ? nlohmann::ordered_json(nullptr)
                                        : nlohmann::ordered_json(x.problem);
  return result;
}

std::string table_of(const std::vector<key_entry>& entries) {
  std::size_t name_columns = 4;
  for (const auto& x : entries)
    name_columns = std::max(name_columns, display_width(name_of(x)));
  const auto line = [&](const std::string& name, const std::string& role,
                        const std::string& until, const std::string& rest) {
    auto result = pad_right(name, name_columns) + "  "
                  + pad_right(role, role_columns) + "  "
                  + pad_right(until, date_columns) + "  " + printable(rest);
    result.erase(result.find_last_not_of(' ') + 1);
    return result + '\n';
  };
  auto result = line("name", "role", "until", "");
  for (const auto& x : entries) {
    std::string rest = x.problem;
    if (rest.empty() && x.certificate)
      for (const auto& host : x.certificate->hosts)
        rest += (rest.empty() ? "" : " ") + host;
    result += x.certificate
                ? line(name_of(x), to_string(x.certificate->holder.role),
                       date_text(x.certificate->not_after), rest)
                : line(name_of(x), "?", "?", rest);
  }
  return result;
}

/// `hippo keys`: who may come in when a service listens to other machines.
class keys_verb {
public:
  /// Adds what follows the verb. REQUIRES: `*this` lives longer than `verb`
  void add_to(CLI::App& verb);

  int run();

private:
  int init();
  int add();
  int list();

  CLI::App* init_verb_ = nullptr;
  CLI::App* add_verb_ = nullptr;
  CLI::App* list_verb_ = nullptr;
  std::string folder_ = default_key_folder;
  std::vector<std::string> hosts_;
  bool renew_ = false;
  std::string name_;
  std::string role_;
  int days_ = default_key_days;
  std::string format_ = "table";
};

void keys_verb::add_to(CLI::App& verb) {
  verb.require_subcommand(0, 1);
  const auto add_folder = [this](CLI::App* to) {
    to->add_option("--keys", folder_, "Folder with the keys of the service")
      ->capture_default_str();
  };
  const auto add_renew = [this](CLI::App* to, const char* what) {
    to->add_flag("--renew", renew_, what);
  };

  init_verb_ = verb.add_subcommand(
    "init", "Make a folder with the keys of a service");
  init_verb_->footer("Example: hippo keys init --host hippo.example.org");
  add_folder(init_verb_);
  init_verb_->add_option("--host", hosts_,
                         "A name or IP address that browsers and the like find "
                         "the service at (repeatable)");
  add_renew(init_verb_, "Give the service of an existing folder a new "
                        "certificate");

  add_verb_ = verb.add_subcommand(
    "add", "Make the key with which one trainer or client may come in");
  add_verb_->footer("Example: hippo keys add gpu1 --role trainer");
  add_verb_->add_option("name", name_, "Of a machine or person")->required();
  add_verb_->add_option("--role", role_, "What the key is good for")
    ->required()
    ->check(CLI::IsMember({"trainer", "client"}));
  add_verb_->add_option("--days", days_, "How long it is valid")
    ->capture_default_str();
  add_folder(add_verb_);
  add_renew(add_verb_, "Replace the key of that name");

  list_verb_
    = verb.add_subcommand("ls", "Show who may come in, and until when");
  list_verb_->footer("Example: hippo keys ls");
  add_folder(list_verb_);
  add_format(*list_verb_, format_);
}

int keys_verb::run() {
  if (*init_verb_)
    return init();
  if (*add_verb_)
    return add();
  if (*list_verb_)
    return list();
  return refuse_keys({errc::invalid_argument,
                 "say what to do with the keys: init, add or ls\n"
                 "Try: hippo keys --help"});
}

int keys_verb::init() {
  const auto made = key_folder::init(folder_, hosts_, renew_, now_seconds());
  if (!made)
    return refuse_keys(made.failure());
  std::cout << folder_
            << " holds the keys of a service; it stays on this machine.\n"
               "Let in others: hippo keys add NAME --role trainer|client\n";
  return exit_done;
}

int keys_verb::add() {
  const auto folder = key_folder::open(folder_);
  if (!folder)
    return refuse_keys(folder.failure());
  const auto role = role_ == "trainer" ? key_role::trainer : key_role::client;
  const auto now = now_seconds();
  const auto made = folder->add({role, name_}, days_, renew_, now);
  if (!made)
    return refuse_keys(made.failure());
  std::cout << *made << " lets in the " << role_ << ' ' << name_ << " until "
            << date_text(now + days_ * day_seconds)
            << ".\nCopy this one file to where it is used, and give it there "
               "with --keys "
            << name_ << ".pem.\n";
  return exit_done;
}

int keys_verb::list() {
  const auto folder = key_folder::open(folder_);
  if (!folder)
    return refuse_keys(folder.failure());
  const auto entries = folder->list(now_seconds());
  if (!entries)
    return refuse_keys(entries.failure());
  if (format_ == "json") {
    auto list = nlohmann::ordered_json::array();
    for (const auto& x : *entries)
      list.push_back(to_json(x));
    std::cout << list.dump(2) << '\n';
  } else {
    std::cout << table_of(*entries);
  }
  return exit_done;
}

} // namespace

void add_keys(verb_table& verbs) {
  const auto x = std::make_shared<keys_verb>();
  auto* verb = verbs.add(
    local_group, "keys", "Make the keys with which other machines may come in",
    "hippo keys init, then hippo keys add gpu1 --role trainer",
    [x] { return x->run(); });
  x->add_to(*verb);
}

} // namespace hippo
