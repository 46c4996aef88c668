#include "hippo/service/study/study_core.hpp"

#include <algorithm>
#include <utility>
#include <variant>

// What cannot be done now, as far as can be known before a command is stored:
// so that nobody can fill the store with what is refused.

namespace hippo {

using verb = study_command::verb;

bool study_core::is_storing(std::initializer_list<verb> xs) const {
  return std::any_of(requests_.begin(), requests_.end(), [&](const auto& kvp) {
    return std::find(xs.begin(), xs.end(), kvp.second.what) != xs.end();
  });
}

std::optional<error> study_core::refusal_of_state(study_phase to) const {
  const auto& stored = options_.stored;
  if (stored.state == to || stored.state == study_phase::stopping)
    return error{errc::invalid_argument,
                 "study " + stored.name + " is " + to_string(stored.state)
                   + " already"};
  return std::nullopt;
}

/// What has ended stays as it is, unless it is tried again.
std::optional<error> study_core::refusal_of_end(verb what) const {
  const auto& stored = options_.stored;
  if (!has_ended() || what == verb::retry)
    return std::nullopt;
  return error{errc::invalid_argument, "study " + stored.name + " has ended: "
                                         + to_string(stored.state)};
}

std::optional<error> study_core::refusal(const study_command& x) const {
  if (auto why = refusal_of_end(x.what))
    return why;
  auto parsed
    = parse_command(x, options_.spec.lengths(), options_.workload,
                    name_rules::today, options_.spec.typed);
  if (!parsed)
    return parsed.failure();
  if (x.what == verb::ask && !full_.empty())
    return error{errc::resource_exhausted, full_};
  // Of what is being stored, these may make possible what is not now.
  const auto unless = [this](std::initializer_list<verb> xs,
                             std::optional<error> why) {
    return is_storing(xs) ? std::nullopt : std::move(why);
  };
  switch (x.what) {
    case verb::ask:
      return tuner_->refusal_of_ask();
    case verb::train:
      return unless({verb::ask, verb::tell, verb::retry},
                    tuner_->refusal_of_train(x.trial, x.at));
    case verb::tell:
      return unless({verb::ask, verb::retry},
                    tuner_->refusal_of_end(
                      x.trial,
                      std::get<command::tell>(*parsed).value.has_value()));
    case verb::close:
      return tuner_->refusal_of_close();
    case verb::pause:
      return unless({verb::resume}, refusal_of_state(study_phase::paused));
    case verb::resume:
      return unless({verb::pause}, refusal_of_state(study_phase::running));
    case verb::stop:
      return refusal_of_state(study_phase::stopping);
    case verb::retry:
      if (auto what = retried_by(std::get<command::retry>(*parsed)); !what)
        return what.failure();
      return std::nullopt;
    case verb::cancel:
    case verb::weight:
    case verb::widen:
    case verb::finish:
      return std::nullopt;
  }
  return std::nullopt;
}

} // namespace hippo
