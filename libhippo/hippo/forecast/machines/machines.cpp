#include "hippo/forecast/machines/machines.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/space/value_reader.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

constexpr double price_max = 1e6;
constexpr unsigned count_max = 10'000;
constexpr unsigned trainers_on_one_max = 1024;
constexpr double seconds_max = 604'800;
constexpr double interruptions_max = 3600;
constexpr std::size_t name_chars_max = 64;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9');
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns the words of letters and digits of a text, in lower case.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> result;
  bool inside = false;
  for (const auto c : text) {
    const bool belongs = is_alphanumeric(c);
    if (belongs && !inside)
      result.emplace_back();
    if (belongs)
      result.back() += lower(c);
    inside = belongs;
  }
  return result;
}

bool is_kind_name(const std::string& x) {
  return !x.empty() && x.size() <= name_chars_max && is_alphanumeric(x[0])
         && std::ranges::all_of(x, [](char c) {
              return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
            });
}

std::vector<std::string> names_of(const fleet& x) {
  std::vector<std::string> result;
  for (const auto& kind : x.kinds)
    result.push_back(kind.name);
  return result;
}

class fleet_reader : value_reader {
public:
  explicit fleet_reader(diagnostics& notes) : value_reader(notes) {}

  fleet read(const document& root) {
    fleet result;
    known_keys(root, "key", {"machines"});
    const auto* list = required(root, "machines");
    if (list == nullptr || !is_map(*list, "kinds of machines"))
      return result;
    if (list->entries.empty())
      notes().error(*list, "must have at least one kind of machine");
    for (const auto& entry : list->entries)
      result.kinds.push_back(read_kind(entry));
    return result;
  }

private:
  machine_kind read_kind(const document::entry& entry) {
    machine_kind result;
    result.name = entry.key;
    const auto& x = entry.value;
    if (!is_kind_name(entry.key))
      notes().error(entry.where, x.path,
                    "must be named by at most 64 letters, digits and -_., and "
                    "begin with a letter or digit, found '"
                      + excerpt(entry.key) + "'");
    if (!is_map(x, "device, price and so on"))
      return result;
    known_keys(x, "key",
               {"device", "price", "count", "trainers", "start",
                "interruptions", "notice", "profile"});
    if (const auto* device = required(x, "device"))
      read_device(*device, result.device);
    if (required(x, "price") != nullptr)
      take(x, "price", price_max, result.price);
    take(x, "count", count_max, result.count);
    take(x, "trainers", trainers_on_one_max, result.trainers);
    take(x, "start", seconds_max, result.start_seconds);
    take(x, "interruptions", interruptions_max, result.interruptions);
    take(x, "notice", seconds_max, result.notice_seconds);
    if (const auto* profile = x.find("profile"))
      read_profiles(*profile, result.profiles);
    return result;
  }

  void read_device(const document& x, std::string& out) {
    auto text = word(x);
    if (!text)
      return;
    if (words_of(*text).empty())
      notes().error(x, "must hold a letter or a digit, found " + x.found());
    out = std::move(*text);
  }

  void read_profiles(const document& x, std::vector<std::string>& out) {
    if (x.type == document::kind::list)
      out = words(x).value_or(out);
    else if (auto file = word(x))
      out = {std::move(*file)};
  }

  void take(const document& x, const std::string& key, unsigned most,
            unsigned& out) {
    if (const auto* found = x.find(key))
      if (const auto value = whole(*found, 1, most))
        out = static_cast<unsigned>(*value);
  }

  void take(const document& x, const std::string& key, double most,
            double& out) {
    if (const auto* found = x.find(key))
      out = from_zero(*found, most).value_or(out);
  }
};

/// Takes the text before the first `c`, and this, off the front of another.
std::string taken_until(std::string& text, char c) {
  const auto end = text.find(c);
  auto result = text.substr(0, end);
  text = end == std::string::npos ? "" : text.substr(end + 1);
  return result;
}

error refuse_use(std::string why) {
  return {errc::invalid_argument,
          std::move(why)
            + ": say how many of which kinds, such as 16xa100,4xl4"};
}

expected<machine_group> read_group(const fleet& x, std::string text) {
  const auto whole_text = text;
  const auto number = taken_until(text, 'x');
  machine_group result;
  const auto* end = number.data() + number.size();
  const auto [stop, code] =
    std::from_chars(number.data(), end, result.machines);
  if (code != std::errc{} || stop != end || result.machines == 0)
    return refuse_use("'" + excerpt(whole_text)
                      + "' does not begin with a number of machines and an x");
  const auto found = std::ranges::find(x.kinds, text, &machine_kind::name);
  if (found == x.kinds.end())
    return error{errc::invalid_argument, "there is no kind of machine '"
                                           + excerpt(text) + "'"
                                           + did_you_mean(text, names_of(x))};
  if (result.machines > found->count)
    return error{errc::invalid_argument,
                 "there are " + std::to_string(found->count) + " of '" + text
                   + "', and " + std::to_string(result.machines)
                   + " are asked for"};
  result.kind = static_cast<std::size_t>(found - x.kinds.begin());
  return result;
}

} // namespace

const machine_kind* fleet::find(const std::string& name) const {
  const auto i = std::ranges::find(kinds, name, &machine_kind::name);
  return i == kinds.end() ? nullptr : &*i;
}

fleet_file read_fleet(const std::string& text, const std::string& name) {
  findings noted;
  diagnostics notes{name, noted};
  fleet_file result;
  if (const auto root = read_document(text, notes, "list of machines")) {
    auto found = fleet_reader{notes}.read(*root);
    if (noted.errors.empty())
      result.found = std::move(found);
  }
  result.errors = std::move(noted.errors);
  return result;
}

bool is_device(const std::string& device, const std::string& reported) {
  const auto wanted = words_of(device);
  const auto found = words_of(reported);
  return !wanted.empty() && !std::ranges::search(found, wanted).empty();
}

expected<const machine_kind*> kind_of_machine(const fleet& fleet,
                                              const std::string& machine,
                                              const std::string& reported) {
  if (!machine.empty()) {
    if (const auto* found = fleet.find(machine))
      return found;
    return error{errc::invalid_argument,
                 "there is no kind of machine '" + excerpt(machine) + "'"
                   + did_you_mean(machine, names_of(fleet))};
  }
  std::vector<const machine_kind*> fitting;
  for (const auto& kind : fleet.kinds)
    if (is_device(kind.device, reported))
      fitting.push_back(&kind);
  if (fitting.empty())
    return static_cast<const machine_kind*>(nullptr);
  if (fitting.size() == 1)
    return fitting[0];
  std::string names;
  for (const auto* kind : fitting)
    names += (names.empty()            ? "'"
              : kind == fitting.back() ? "' and '"
                                       : "', '")
             + kind->name;
  return error{errc::invalid_argument,
               "a trainer on '" + excerpt(reported) + "' could be of " + names
                 + "': start it with --machine and the name of one"};
}

expected<std::vector<machine_group>> read_use(const fleet& fleet,
                                              const std::string& text) {
  if (text.ends_with(','))
    return refuse_use("nothing follows the last comma");
  std::vector<machine_group> result;
  auto rest = text;
  do {
    auto group = read_group(fleet, taken_until(rest, ','));
    if (!group)
      return group.failure();
    if (std::ranges::find(result, group->kind, &machine_group::kind)
        != result.end())
      return refuse_use("'" + fleet.kinds[group->kind].name
                        + "' is named twice");
    result.push_back(*group);
  } while (!rest.empty());
  return result;
}

std::size_t trainers_on(const fleet& fleet,
                        const std::vector<machine_group>& used) {
  std::size_t result = 0;
  for (const auto& group : used)
    result += std::size_t{group.machines} * fleet.kinds[group.kind].trainers;
  return result;
}

std::string to_text(const fleet& fleet,
                    const std::vector<machine_group>& used) {
  std::string result;
  for (const auto& group : used)
    result += (result.empty() ? "" : ",") + std::to_string(group.machines) + 'x'
              + fleet.kinds[group.kind].name;
  return result;
}

} // namespace hippo
