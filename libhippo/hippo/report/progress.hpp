#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/types.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/model/trial_event.hpp"
#include "hippo/model/view/views.hpp"

namespace hippo {

/// A study as the live view shows it.
struct study_progress {
  study_view study;
  std::optional<front_so_far> front{}; ///< set if it has several metrics
};

/// The present work of one trainer.
struct trainer_progress {
  std::uint64_t number = 0;
  bool busy = false;
  std::string stage; ///< e.g. `step 4 of 6 x2` for a gang of 2; empty if idle
  double steps_per_second = 0; ///< of all its lanes
  std::uint32_t lanes = 0;     ///< how many train; `stage` is of one of them
};

/// Everything that the live view shows. Plain data.
struct progress_view {
  std::vector<study_progress> studies;
  std::vector<trainer_progress> trainers;
  std::uint64_t asked_steps = 0;  ///< by all trials by now
  std::uint64_t shared_steps = 0; ///< that another trial had been given before
  double saved_device_seconds = 0;
  double elapsed_seconds = 0;
  std::optional<double> seconds_left; ///< an estimate, if there is one
};

/// Returns what a study's front comes to, if it has several metrics.
std::optional<front_so_far> front_in_brief(const study_view& view);

/// Returns the live view of these studies, and of the trainers that are there.
progress_view progress_of(std::vector<study_view> studies,
                          const std::vector<trainer_view>& trainers);

/// At most this many studies and trainers are shown; the others are counted.
inline constexpr std::size_t progress_rows_max = 8;

/// Returns the live view: a line for the clock, one for each study and another
/// one if it waits, one for the trainers, one for the steps, each ended by a
/// newline and at most `min(columns, 80)` wide; `colour` adds ANSI sequences.
std::string render_progress(const progress_view& view, std::size_t columns,
                            bool colour);

/// Redraws a view in place on a terminal that knows ANSI sequences. What is
/// shown must not be wider than the terminal. Not thread-safe.
class live_display {
public:
  /// REQUIRES: `out` lives longer than this.
  explicit live_display(std::ostream& out) : out_(out) {}

  /// Shows `view`, whole lines, in the place of the one before.
  void show(std::string_view view);

  /// Prints a line above the view, where it stays; `line` has no newline.
  void print(std::string_view line);

  /// Takes the view away.
  void clear();

private:
  void draw(std::string_view above, std::string_view view);

  std::ostream& out_;
  std::string view_;
};

/// Returns one line, without newline, in Optuna's shape:
/// `Trial 7 finished with value: 0.91 and parameters: {"lr": 0.1}. Best is
/// trial 0 with value: 0.92.`, `Trial 7 pruned at step 3 with value: 0.5. ...`
/// or `Trial 7 failed: reason`; the study's name and a colon before it.
/// Of several metrics `with values: [0.91, 3]`, and `Front of 5, hypervolume
/// 0.4.` at the end; before it `Violates ms <= 5.`, if it breaks constraints.
/// Numbers with all digits.
std::string trial_line(const trial_event& event);

} // namespace hippo
