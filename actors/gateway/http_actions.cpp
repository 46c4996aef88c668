#include "gateway/http_actions.hpp"

#include <map>
#include <optional>
#include <utility>

#include "gateway/limits.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/report/preview.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using answer = std::optional<std::string>;
using verb = study_command::verb;

error incomplete(const std::string& what) {
  return {errc::invalid_argument, "what is sent must be a map with " + what};
}

/// Takes a text out of what was sent.
expected<std::string> text_in(const json& x, const std::string& name) {
  const auto i = x.find(name);
  if (i == x.end() || !i->is_string())
    return incomplete("the text '" + name + "'");
  return i->get<std::string>();
}

/// Commands without a text.
const std::map<std::string, verb> plain{
  {"pause", verb::pause}, {"resume", verb::resume}, {"stop", verb::stop}};

/// Commands whose text is the body.
const std::map<std::string, verb> steering{
  {"extend", verb::extend},       {"enqueue", verb::enqueue},
  {"tell_past", verb::tell_past}, {"note", verb::note},
  {"remove", verb::remove},       {"restore", verb::restore},
  {"set_space", verb::set_space}};

/// Takes out of what was sent whether it is a dry run.
expected<bool> take_dry_run(json& x) {
  const auto i = x.find("dry_run");
  if (i == x.end())
    return false;
  if (!i->is_boolean())
    return error{errc::invalid_argument, "'dry_run' must be true or false"};
  const bool result = i->get<bool>();
  x.erase(i);
  return result;
}

expected<study_command> command_of(const std::string& what, json x) {
  study_command result;
  auto dry_run = take_dry_run(x);
  if (!dry_run)
    return dry_run.failure();
  result.dry_run = *dry_run;
  if (const auto i = plain.find(what); i != plain.end()) {
    result.what = i->second;
  } else if (what == "cancel") {
    result.what = verb::cancel;
    result.text = x.contains("reason") && x["reason"].is_string()
                    ? x["reason"].get<std::string>()
                    : "somebody wanted it so, on the page";
  } else if (what == "retry") {
    result.what = verb::retry;
    const auto all = x.find("all");
    if (all != x.end() && !all->is_boolean())
      return error{errc::invalid_argument, "'all' must be true or false"};
    result.text = json{{"all", all != x.end() && all->get<bool>()}}.dump();
  } else if (const auto more = steering.find(what); more != steering.end()) {
    result.what = more->second;
    result.text = x.dump(-1, ' ', false, json::error_handler_t::replace);
  } else {
    result.what = verb::weight;
    if (!x.contains("weight") || !x["weight"].is_number())
      return incomplete("the number 'weight'");
    result.text = plain_text(x["weight"]);
  }
  if (result.text.size() > text_bytes_max(result.what))
    return error{errc::invalid_argument,
                 "what is sent is too long: at most "
                   + std::to_string(text_bytes_max(result.what)) + " bytes"};
  return result;
}

} // namespace

kj::Promise<std::optional<std::string>>
act_on(query_service& queries, const http_target& target,
       const std::string& text) {
  const auto& path = target.path;
  if (path.size() < 2 || path[0] != "api")
    return answer{};
  const auto x = json::parse(text, nullptr, false);
  const bool is_study
    = path.size() == 2 && (path[1] == "studies" || path[1] == "preview");
  const bool is_command
    = path.size() == 4 && path[1] == "studies"
      && (plain.contains(path[3]) || steering.contains(path[3])
          || path[3] == "cancel" || path[3] == "retry" || path[3] == "weight");
  if (!is_study && !is_command)
    return answer{};
  if (!x.is_object())
    return to_exception({errc::invalid_argument,
                         "what is sent is not a map in JSON"});
  if (is_study) {
    auto study = text_in(x, "text");
    auto name = text_in(x, "name");
    if (!study || !name)
      return to_exception(!study ? study.failure() : name.failure());
    if (study->size() > study_text_bytes_max
        || name->size() > client_name_bytes_max)
      return to_exception(
        {errc::invalid_argument, "the study file or its name is too long"});
    auto client = queries.enter();
    auto& work = *client;
    if (path[1] == "preview")
      return queries
        .preview(work, std::move(*study), std::move(*name), shown_stages_max)
        .then([](const preview_view& found) {
          return answer{preview_json(found)};
        })
        .attach(kj::mv(client));
    return queries.submit(work, std::move(*study), std::move(*name))
      .then([](query_service::submitted y) {
        return answer{
          json{{"id", number_of(y.id)},
               {"warnings", y.warnings},
               {"notes", y.notes}}
            .dump(-1, ' ', false, json::error_handler_t::replace)
          + '\n'};
      })
      .attach(kj::mv(client));
  }
  auto command = command_of(path[3], x);
  if (!command)
    return to_exception(command.failure());
  return queries.find(path[2]).then(
    [&queries, command = std::move(*command)](stored_study study) {
      auto client = queries.enter();
      auto done = queries.command(*client, study.id, command);
      const bool retries = command.what == verb::retry;
      const bool steers = steering.contains(to_string(command.what));
      const bool sets_space = command.what == verb::set_space;
      return done
        .then([retries, steers, sets_space](command_answer y) {
          auto told = json::object();
          if (retries)
            told["retried"] = y.retried;
          if (steers)
            told["trials"] = y.trials;
          if (sets_space)
            told["space"] = to_json(y.space);
          return answer{told.dump() + '\n'};
        })
        .attach(kj::mv(client));
    });
}

} // namespace hippo
