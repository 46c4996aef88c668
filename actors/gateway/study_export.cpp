#include "gateway/study_export.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/limits.hpp"
#include "hippo/report/study_text.hpp"

namespace hippo {

namespace {

/// Rows that are read before it is known how long they are.
constexpr std::size_t first_rows = 16;

/// How far a text has been written.
struct place {
  std::uint64_t trial = 0;     ///< that is being written, or is the next one
  std::uint64_t is_inside = 0; ///< whether it has been begun
  std::uint64_t event = 0;     ///< of its last result
  std::uint64_t trials = 0;    ///< that have been begun
  std::uint64_t results = 0;   ///< of this trial

  [[nodiscard]] std::string text() const {
    std::string result;
    for (const auto x : {trial, is_inside, event, trials, results})
      result += (result.empty() ? "" : ".") + std::to_string(x);
    return result;
  }

  static std::optional<place> from(const std::string& text) {
    place result;
    const auto* at = text.data();
    const auto* const end = at + text.size();
    for (auto* x : {&result.trial, &result.is_inside, &result.event,
                    &result.trials, &result.results}) {
      if (x != &result.trial && (at == end || *at++ != '.'))
        return std::nullopt;
      const auto read = std::from_chars(at, end, *x);
      if (read.ec != std::errc{})
        return std::nullopt;
      at = read.ptr;
    }
    return at == end ? std::optional{result} : std::nullopt;
  }
};

/// How many rows follow, by what those before took.
std::size_t rows_for(std::size_t bytes_left, std::size_t bytes,
                     std::size_t rows) {
  return rows == 0 ? first_rows : bytes_left / (bytes / rows + 1) + 1;
}

class exporter {
public:
  exporter(state_reader& store, study_id study, place at)
    : store_(store), study_(study), at_(at) {}

  /// Writes trials until there is enough. @returns whether there are no more
  expected<bool> write_trials(std::string& to) {
    std::size_t rows = 0;
    for (;;) {
      const auto begin = to.size();
      const auto n = rows_for(rows_bytes_max - std::min(begin, rows_bytes_max),
                              begin, rows);
      const auto trials = store_.load_trials(study_, at_.trial, n);
      if (!trials)
        return trials.failure();
      for (const auto& x : *trials) {
        const auto is_whole = write(x, to);
        if (!is_whole)
          return is_whole.failure();
        if (!*is_whole)
          return false;
        if (to.size() >= rows_bytes_max)
          return false;
        ++rows;
      }
      if (trials->size() < n)
        return true;
    }
  }

  [[nodiscard]] const place& at() const { return at_; }

private:
  /// Writes what is left of a trial. @returns whether that was all
  expected<bool> write(const stored_trial& x, std::string& to) {
    const auto frame = trial_frame(record_of(x));
    if (x.trial != at_.trial || at_.is_inside == 0) {
      to += before_item(at_.trials) + frame.begin;
      at_ = {x.trial, 1, 0, at_.trials + 1, 0};
    }
    for (;;) {
      const auto next = next_result();
      if (!next)
        return next.failure();
      if (*next == nullptr)
        break;
      // One result is there whatever it takes.
      if (to.size() >= rows_bytes_max)
        return false;
      const auto& y = std::get<trial_measured>((*next)->what);
      to += before_item(at_.results) + result_text({y.at, y.values});
      at_.event = (*next)->id;
      ++at_.results;
      ++taken_;
    }
    to += after_items(text_list::results, at_.results) + frame.end;
    at_ = {x.trial + 1, 0, 0, at_.trials, 0};
    return true;
  }

  /// The next result of the present trial; null: there are no more.
  expected<const stored_event*> next_result() {
    const stored_event* result = nullptr;
    // Results without a stored trial are left out.
    while (taken_ < results_.size() && trial_of(results_[taken_]) < at_.trial)
      ++taken_;
    if (taken_ == results_.size() && !all_read_) {
      std::size_t bytes = 0;
      for (const auto& x : results_)
        for (const auto& y : std::get<trial_measured>(x.what).values)
          bytes += y.first.size() + 32;
      const auto n = rows_for(rows_bytes_max, bytes, results_.size());
      auto more = store_.load_results(study_, at_.trial, at_.event, n);
      if (!more)
        return more.failure();
      all_read_ = more->size() < n;
      results_ = std::move(*more);
      taken_ = 0;
    }
    if (taken_ < results_.size() && trial_of(results_[taken_]) == at_.trial)
      result = &results_[taken_];
    return result;
  }

  static trial_no trial_of(const stored_event& x) {
    return std::get<trial_measured>(x.what).trial;
  }

  static trial_record record_of(const stored_trial& x) {
    trial_record result;
    result.id = x.trial;
    result.state = x.state;
    result.params = nlohmann::ordered_json::parse(x.params, nullptr, false);
    result.steps = x.steps;
    result.shared_steps = x.shared;
    result.failure = x.failure;
    result.why = x.why;
    return result;
  }

  state_reader& store_;
  const study_id study_;
  place at_;
  std::vector<stored_event> results_; ///< of this trial and those behind it
  std::size_t taken_ = 0;             ///< of these
  bool all_read_ = false;
};

} // namespace

expected<exported_part>
export_part(state_reader& store, study_id study, const std::string& after,
            const std::function<expected<study_record>()>& head) {
  const auto at = after.empty() ? place{} : place::from(after);
  if (!at)
    return {errc::invalid_argument,
            "a part of an export begins where the one before says"};
  std::optional<text_frame> frame;
  const auto make_frame = [&]() -> std::optional<error> {
    if (frame)
      return std::nullopt;
    auto known = head();
    if (!known)
      return known.failure();
    frame = study_frame(std::move(*known));
    return std::nullopt;
  };
  exported_part result;
  if (after.empty()) {
    if (auto why = make_frame())
      return *why;
    result.text = frame->begin;
  }
  exporter all{store, study, *at};
  const auto is_all = all.write_trials(result.text);
  if (!is_all)
    return is_all.failure();
  if (!*is_all) {
    result.next = all.at().text();
    return result;
  }
  if (auto why = make_frame())
    return *why;
  result.text += after_items(text_list::trials, all.at().trials) + frame->end;
  return result;
}

} // namespace hippo
