#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "hippo/deploy/machines.hpp"
#include "hippo/deploy/scale.hpp"
#include "hippo/model/view/views.hpp"
#include "scale/engine.hpp"
#include "scale/journal_file.hpp"

namespace hippo {

struct scale_loop_options {
  std::chrono::milliseconds interval{10'000}; ///< between two looks
  bool once = false;                          ///< look once, and end
  bool dry_run = false;         ///< orders are printed, and that is all
  bool end_all_on_exit = false; ///< when it is interrupted
};

/// Looks at the demand of a service and at what an engine runs, again and
/// again, and carries out what `fleet_scaler` orders. Prints a line for each
/// order, and says on stderr what does not answer.
class scale_loop {
public:
  /// @param demand asks the service; blocks for seconds at most
  scale_loop(scale_loop_options options, scale_settings settings,
             const machines& machines, scale_engine& engine,
             std::function<expected<demand_view>()> demand,
             journal_file& journal);

  /// Runs until it is interrupted. REQUIRES: an `interrupt_guard` lives.
  /// @returns the exit code
  int run();

  /// Ends everything that the fleet has started, and waits until it has ended.
  /// @returns the exit code
  int end_all();

private:
  /// @returns whether service and engine have answered
  bool look();
  void carry_out(const scale_order& order);
  void start(const scale_order& order);
  /// Says something that does not answer, unless it has said it before.
  void complain(const std::string& why);
  void settle();
  [[nodiscard]] const listed_trainer* find(const std::string& id) const;
  /// @returns whether it was interrupted
  bool wait() const;

  scale_loop_options options_;
  scale_settings settings_;
  const machines& machines_;
  scale_engine& engine_;
  std::function<expected<demand_view>()> demand_;
  journal_file& journal_;
  fleet_scaler scaler_;
  std::vector<listed_trainer> listed_; ///< by the engine, at the last look
  std::string complaint_;              ///< the last one; empty: all is well
};

} // namespace hippo
