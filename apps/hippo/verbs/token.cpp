#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/net/keys/certificate.hpp"
#include "hippo/net/keys/private_file.hpp"
#include "hippo/net/keys/token_folder.hpp"
#include "hippo/report/text.hpp"
#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

constexpr std::int64_t day_seconds = 24 * 3600;

/// `hippo token`: who may look at a service's page from elsewhere.
class token_verb {
public:
  /// Adds what follows the verb. REQUIRES: `*this` lives longer than `verb`
  void add_to(CLI::App& verb);

  int run();

private:
  int make();
  int list();
  int remove();

  [[nodiscard]] token_folder tokens() const {
    return token_folder{token_folder::path_in(state_)};
  }

  CLI::App* new_verb_ = nullptr;
  CLI::App* list_verb_ = nullptr;
  std::string state_ = "hippo-state";
  std::string role_ = "viewer";
  std::string name_;
  int days_ = 30;
  std::string format_ = "table";
};

void token_verb::add_to(CLI::App& verb) {
  verb.require_subcommand(1);
  const auto add_state = [this](CLI::App* to) {
    to->add_option("--state", state_, "State folder of the service")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  };
  new_verb_
    = verb.add_subcommand("new", "Make a token, and print it this once");
  new_verb_->footer("Example: hippo token new --role viewer --days 30");
  add_state(new_verb_);
  new_verb_->add_option("--role", role_, "viewer: look; operator: also change")
    ->check(CLI::IsMember({"viewer", "operator"}))
    ->capture_default_str();
  new_verb_->add_option("--days", days_, "For how long it is good")
    ->check(CLI::Range(1, 3650))
    ->capture_default_str();
  new_verb_->add_option("--name", name_, "For whom it is, for `ls` and `rm`");
  list_verb_ = verb.add_subcommand("ls", "List the tokens that there are");
  add_state(list_verb_);
  list_verb_->add_option("-f,--format", format_, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
  auto* rm = verb.add_subcommand("rm", "Remove a token: it is good no more");
  add_state(rm);
  rm->add_option("token", name_, "Its id or name, as `ls` shows it")
    ->required();
}

/// Where people find the service that works on a state folder; empty: nowhere.
std::string address_in(const std::string& state) {
  std::ifstream in(state + "/service.json");
  const auto said = nlohmann::json::parse(in, nullptr, false);
  return said.is_object() ? said.value("people", "") : std::string{};
}

int token_verb::make() {
  const auto now = now_seconds();
  const auto role = parse_page_role(role_);
  if (!role)
    return fail(role.failure(), exit_bad_input);
  auto made = tokens().add(name_, *role, now, now + days_ * day_seconds);
  if (!made)
    return fail(made.failure(), exit_failed);
  const auto address = address_in(state_);
  std::cout << "token " << made->entry.id << " lets in a " << role_ << " until "
            << date_text(made->entry.expires)
            << ". What follows is shown this once.\n"
            << "for a browser, good for one:  "
            << (address.empty() ? "https://HOST:PORT/" : address)
            << "?token=" << made->link << '\n'
            << "for scripts:  Authorization: Bearer " << made->token << '\n';
  if (address.empty())
    std::cerr << "hippo: no service with --people works on " << state_
              << " now; HOST:PORT is what you give to `hippo serve --people`\n";
  return exit_done;
}

int token_verb::list() {
  const auto all = tokens().list();
  const auto now = now_seconds();
  if (format_ == "json") {
    auto result = nlohmann::ordered_json::array();
    for (const auto& x : all)
      result.push_back({{"id", x.id},
                        {"name", x.name},
                        {"role", to_string(x.role)},
                        {"created", x.created},
                        {"expires", x.expires}});
    std::cout << result.dump(2) << '\n';
    return exit_done;
  }
  std::size_t width = 4;
  for (const auto& x : all)
    width = std::max(width, display_width(x.name));
  std::cout << "id          role      until       " << pad_right("name", width)
            << '\n';
  for (const auto& x : all)
    std::cout << x.id << "  " << pad_right(to_string(x.role), 8) << "  "
              << date_text(x.expires) << "  " << printable(x.name)
              << (x.expires <= now ? "  (expired)" : "") << '\n';
  return exit_done;
}

int token_verb::remove() {
  if (auto why = tokens().remove(name_))
    return fail(*why, why->code == errc::io_failed ? exit_failed
                                                   : exit_bad_input);
  return exit_done;
}

int token_verb::run() {
  return *new_verb_ ? make() : *list_verb_ ? list() : remove();
}

} // namespace

void add_token(verb_table& verbs) {
  const auto x = std::make_shared<token_verb>();
  auto* verb = verbs.add(
    local_group, "token", "Say who may look at the page from elsewhere",
    "hippo token new --role viewer --days 30", [x] { return x->run(); });
  x->add_to(*verb);
}

} // namespace hippo
