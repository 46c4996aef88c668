#include <algorithm>
#include <utility>

#include "gateway/limits.hpp"
#include "gateway/query_service.hpp"

// Requests that change studies.

namespace hippo {

namespace {

using verb = study_command::verb;

/// States of trials that clients wait for, all together.
constexpr std::size_t trainings_max = 100'000;

/// Studies whose actors are remembered.
constexpr std::size_t live_studies_max = 1000;

error ended_error(const stored_study& x) {
  return {errc::invalid_argument,
          "study " + x.name + " has ended: " + to_string(x.state)};
}

} // namespace

kj::Promise<study_actor> query_service::find_live(study_id study) {
  if (const auto i = live_.find(study); i != live_.end())
    return i->second;
  if (!is_live())
    return no_service();
  // A service that has just begun restores its studies first.
  return asker_
    .request<study_actor>(sources_.coordinator, submit_timeout,
                          find_atom::value, study)
    .then([this, study](study_actor x) {
      if (live_.size() == live_studies_max)
        live_.clear();
      live_[study] = x;
      return x;
    });
}

template <class T, class Timeout, class... Ts>
kj::Promise<T> query_service::ask_study(study_id study, Timeout timeout,
                                        Ts... xs) {
  const auto ask = [=, this] {
    return find_live(study).then([=, this](study_actor x) {
      return asker_.request_if_there<T>(x, timeout, xs...);
    });
  };
  return ask()
    .then([=, this](std::optional<T> answer) -> kj::Promise<std::optional<T>> {
      if (answer)
        return kj::mv(answer);
      live_.erase(study);
      return ask();
    })
    .then([=, this](std::optional<T> answer) -> kj::Promise<T> {
      if (answer)
        return kj::mv(*answer);
      live_.erase(study);
      return to_exception(
        {errc::io_failed, "study " + to_string(study)
                            + " has just ended or is being restored: try "
                              "again"});
    });
}

kj::Promise<command_answer> query_service::command(client_work& client,
                                                   study_id study,
                                                   study_command what) {
  // One that has ended may be in memory: its coordinator hears that it goes on.
  auto done =
    !is_for_ended(what.what) || !is_live()
      ? command_running(client, study, what)
      : find(to_string(study)).then([=, this, &client](stored_study x) {
          return has_ended(x.state) ? reopen(client, std::move(x), what)
                                    : command_running(client, study, what);
        });
  if (!archive::is_changed_by(what.what))
    return done;
  return done.then([this, study](command_answer answer) {
    return read<bool>([study](archive& x) { return x.forget(study); })
      .then([answer](bool) { return answer; });
  });
}

kj::Promise<command_answer> query_service::command_running(client_work& client,
                                                           study_id study,
                                                           study_command what) {
  // A cancellation does not wait until the study has caught up.
  auto done = what.what == verb::cancel && is_live()
                ? asker_.request<bool>(sources_.coordinator, command_timeout,
                                       cancel_atom::value, study, what.text)
                : kj::Promise<bool>{false};
  return done
    .then([this, study, what](bool is_done) -> kj::Promise<command_answer> {
      if (is_done)
        return command_answer{};
      return ask_study<command_answer>(study, command_timeout,
                                       command_atom::value, what);
    })
    .catch_(
      [=, this, &client](kj::Exception&& why) -> kj::Promise<command_answer> {
        // It may have ended since.
        return find(to_string(study))
          .then([=, this, &client, why = kj::mv(why)](
                  stored_study x) mutable -> kj::Promise<command_answer> {
            if (!is_live() || !has_ended(x.state))
              return kj::mv(why);
            if (is_for_ended(what.what))
              return reopen(client, std::move(x), what);
            return to_exception(ended_error(x));
          });
      });
}

kj::Promise<trained_trial> query_service::train(study_id study, trial_no trial,
                                                step_t to) {
  const training_key key{study, trial, to};
  if (const auto i = trainings_.find(key); i != trainings_.end())
    return i->second.addBranch();
  if (trainings_.size() >= trainings_max)
    return to_exception({errc::resource_exhausted,
                         "clients wait for " + std::to_string(trainings_max)
                           + " trials already: try again later"});
  const auto forget = [this, key] {
    // Not at once: this is a part of what is forgotten.
    tasks_.add(kj::evalLater([this, key] { trainings_.erase(key); }));
  };
  auto answer =
    start_training(study, trial, to)
      .then(
        [forget](trained_trial x) -> kj::Promise<trained_trial> {
          forget();
          return x;
        },
        [forget](kj::Exception&& why) -> kj::Promise<trained_trial> {
          forget();
          return kj::mv(why);
        });
  return trainings_.emplace(key, answer.fork()).first->second.addBranch();
}

kj::Promise<trained_trial>
query_service::start_training(study_id study, trial_no trial, step_t to) {
  return ask_study<trained_trial>(study, caf::infinite, train_atom::value,
                                  trial, to)
    .catch_([=, this](kj::Exception&& why) -> kj::Promise<trained_trial> {
      return find(to_string(study))
        .then([=, this, why = kj::mv(why)](
                stored_study x) mutable -> kj::Promise<trained_trial> {
          if (!has_ended(x.state))
            return kj::mv(why);
          return read<trained_trial>(
            [=](archive& from) { return from.progress(study, trial, to); });
        });
    });
}

} // namespace hippo
