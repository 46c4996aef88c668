#include "returning_studies.hpp"

#include <exception>
#include <set>

#include "hippo/search/accepted_study.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

namespace {

/// So long they may take until all of them begin together, and what they have
/// in common is known. Later ones join in.
constexpr std::chrono::seconds gathering_max{5};

} // namespace

/// What is read, by one job at a time.
class returning_studies::reading {
public:
  explicit reading(source from) : from_(std::move(from)) {}

  /// Reads on until its turn is over.
  found_studies work(const job_turn& turn) {
    found_studies result;
    try {
      if (auto why = open())
        result.failure = std::move(why);
      while (next_ < known_.size()) {
        read(known_[next_++], result);
        if (turn.is_over())
          break;
      }
    } catch (const std::exception& why) { // memory may be short
      result.failure = error{errc::resource_exhausted, why.what()};
    }
    result.is_all = next_ == known_.size();
    return result;
  }

private:
  /// Finds out which there are. @returns why it cannot
  std::optional<error> open() {
    if (store_)
      return std::nullopt;
    auto opened = state_reader::open(from_.state);
    if (!opened)
      return opened.failure();
    store_ = std::move(*opened);
    auto all = store_->load_studies();
    if (!all)
      return all.failure();
    // Where it is damaged, those that can be read go on without.
    if (auto outdated = store_->load_outdated())
      outdated_ = std::move(*outdated);
    for (auto& x : *all)
      if (!has_ended(x.state) || outdated_.contains(x.id))
        known_.push_back(std::move(x));
    return std::nullopt;
  }

  void read(const stored_study& known, found_studies& to) {
    auto stored = store_->load_study(known.id);
    if (!stored) {
      to.others.push_back({known.id, known.name,
                           "what is stored of it is damaged: "
                             + stored.failure().message});
      return;
    }
    if (has_ended(stored->state) && !outdated_.contains(known.id))
      return; // meanwhile
    auto study = admit_study(stored->text, stored->file, from_.workloads,
                             as_before(stored->algorithm, stored->typed));
    if (study.study)
      to.readable.push_back(
        {std::move(*study.study), std::move(*stored), 0});
    else
      to.others.push_back({known.id, known.name,
                           "it cannot go on: "
                             + to_text(study.errors.front())});
  }

  const source from_;
  std::unique_ptr<state_reader> store_;
  std::vector<stored_study> known_; ///< without their texts
  std::set<study_id>
    outdated_; ///< those that only bring their trials up to date
  std::size_t next_ = 0;            ///< of these
};

returning_studies::returning_studies(service& svc,
                                     const std::shared_ptr<thinking>& where,
                                     source from, teller say)
  : svc_(svc), say_(std::move(say)), priced_(from.priced),
    reading_(std::make_shared<reading>(std::move(from))),
    place_(where, job_kind::admission) {
  read_on();
}

void returning_studies::read_on() {
  place_.post([what = reading_, to = caf::actor_cast<caf::actor>(svc_.self())](
                const job_turn& turn) {
    caf::anon_send(to, notify_atom::value, what->work(turn));
  });
}

std::optional<error> returning_studies::note(const found_studies& found) {
  if (found.failure)
    return found.failure;
  for (const auto& y : found.others) {
    say_("study " + to_string(y.id) + " (" + y.name + ") has failed: "
         + y.why);
    svc_.give_up(y.id, y.why);
  }
  for (const auto& y : found.readable) {
    if (y.study->spec().budget.cost && !priced_)
      say_("study " + to_string(y.stored->id) + " (" + y.stored->name
           + "): nothing counts for its budget.cost, as there is no "
             "--machines");
    ++left_;
    svc_.begin(y);
  }
  is_all_read_ = found.is_all;
  if (!is_all_read_)
    read_on();
  look();
  return std::nullopt;
}

void returning_studies::note(const study_start& start) {
  if (!start.failure)
    say_(start.name
         + (start.had_ended ? " has ended; its trials are brought up to date"
                            : " goes on"));
  else if (start.failure->code == errc::cancelled)
    say_(start.name + " has been cancelled");
  else
    say_(start.name + " has failed: " + start.failure->message);
  --left_;
  look();
}

void returning_studies::look() {
  const bool are_there = is_all_read_ && left_ == 0;
  if (gone_ || (!are_there && clock::now() - begun_ < gathering_max))
    return;
  gone_ = true;
  svc_.go();
}

} // namespace hippo
