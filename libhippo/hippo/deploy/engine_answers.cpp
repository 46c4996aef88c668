#include "hippo/deploy/engine_answers.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "hippo/deploy/deploy.hpp"

namespace hippo {

namespace {

using nlohmann::json;
using state = listed_trainer::state;

error malformed(const char* what, const json::exception& why) {
  return {errc::malformed_message,
          std::string{what} + " is not understood: " + why.what()};
}

/// A member that is a text; empty if it is none, or not there.
std::string text_at(const json& x, const char* name) {
  const auto i = x.find(name);
  return i != x.end() && i->is_string() ? i->get<std::string>() : "";
}

/// A member that is a list. Throws if it is none: any value can be iterated.
const json::array_t& list_at(const json& x, const char* name) {
  return x.at(name).get_ref<const json::array_t&>();
}

/// A number, or one that says whether it is set.
std::string number_text(const json& x) {
  return std::to_string((x.is_object() ? x.at("number") : x).get<long long>());
}

/// Of flags such as COMPLETING beside a state, each version has its own form.
state state_of_job(const json& x) {
  std::set<std::string> words;
  if (x.is_string())
    words.insert(x.get<std::string>());
  else
    for (const auto& word : x)
      words.insert(word.get<std::string>());
  const auto is_any = [&](std::initializer_list<const char*> xs) {
    return std::ranges::any_of(
      xs, [&](const char* y) { return words.contains(y); });
  };
  if (is_any({"COMPLETING"}))
    return state::ended;
  if (is_any({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED",
              "STAGE_OUT"}))
    return state::waiting;
  return is_any({"RUNNING"}) ? state::running : state::ended;
}

bool is_true(const json& conditions, const char* type) {
  return std::ranges::any_of(conditions, [&](const json& x) {
    return text_at(x, "type") == type && text_at(x, "status") == "True";
  });
}

state state_of_pods(const json& job) {
  const auto status = job.value("status", json::object());
  const auto conditions = status.value("conditions", json::array());
  if (job.at("metadata").contains("deletionTimestamp")
      || is_true(conditions, "Complete") || is_true(conditions, "Failed"))
    return state::ended;
  return status.value("ready", 0) > 0 ? state::running : state::waiting;
}

state state_of_word(const std::string& word) {
  if (word == "running")
    return state::running;
  return word == "waiting" ? state::waiting : state::ended;
}

} // namespace

expected<std::vector<listed_trainer>> read_squeue(const std::string& text,
                                                  const std::string& fleet) {
  const auto begin = fleet_comment(fleet, "");
  std::vector<listed_trainer> result;
  try {
    const auto read = json::parse(text);
    for (const auto& x : list_at(read, "jobs")) {
      const auto comment = text_at(x, "comment");
      if (!comment.starts_with(begin))
        continue;
      auto& job = result.emplace_back();
      job.id = number_text(x.at("job_id"));
      job.name = x.at("name").get<std::string>();
      job.group = comment.substr(begin.size());
      job.now = state_of_job(x.at("job_state"));
    }
  } catch (const json::exception& why) {
    return malformed("what squeue --json prints", why);
  }
  return result;
}

expected<trainer_list_part> read_job_list(const std::string& text,
                                          const std::string& fleet) {
  trainer_list_part result;
  try {
    const auto read = json::parse(text);
    for (const auto& x : list_at(read, "items")) {
      const auto& about = x.at("metadata");
      const auto labels = about.value("labels", json::object());
      if (text_at(labels, fleet_label) != fleet)
        continue;
      auto& job = result.trainers.emplace_back();
      job.id = job.name = about.at("name").get<std::string>();
      job.group = text_at(labels, group_label);
      job.now = state_of_pods(x);
    }
    result.next = text_at(read.value("metadata", json::object()), "continue");
  } catch (const json::exception& why) {
    return malformed("the list of Jobs", why);
  }
  return result;
}

std::string read_refusal(const std::string& text) {
  constexpr std::size_t bytes_max = 200;
  const auto read = json::parse(text, nullptr, false);
  const auto said = read.is_object() ? text_at(read, "message") : "";
  return said.empty() ? text.substr(0, bytes_max) : said;
}

expected<std::vector<listed_trainer>> read_ray_list(const std::string& text) {
  std::vector<listed_trainer> result;
  try {
    const auto read = json::parse(text);
    for (const auto& x : list_at(read, "trainers"))
      result.push_back({x.at("id").get<std::string>(),
                        x.at("name").get<std::string>(), text_at(x, "group"),
                        state_of_word(x.at("state").get<std::string>())});
  } catch (const json::exception& why) {
    return malformed("the list of Ray's trainers", why);
  }
  return result;
}

std::uint64_t bytes_of_quantity(const std::string& text) {
  if (text.empty())
    return 0;
  const auto unit = text[text.size() - 2];
  const unsigned shift = unit == 'M' ? 20 : unit == 'G' ? 30 : 40;
  return std::stoull(text) << shift;
}

} // namespace hippo
