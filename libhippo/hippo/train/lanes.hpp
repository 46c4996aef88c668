#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "hippo/train/workload.hpp"

namespace hippo {

/// Copies of one model, its *lanes*, which one launch trains: all have the same
/// shapes, and each its own values.
///
/// The promise of `workload` holds for every lane: the state of a lane after
/// step t is a function of the spec and of that lane's hyper-parameter values,
/// bit for bit, whichever lane it is, whatever the others hold, and however many
/// of them take part. So every launch is for all lanes, as many as there are:
/// those that do not take part are padding, and what they hold stays as it is.
///
/// Errors are exceptions derived from `std::exception`. Thread-safe as far as it
/// is `const`.
class laned_workload {
public:
  /// A step of one lane: from state `step` to the one after it.
  struct part {
    std::size_t lane = 0;
    const configuration* config = nullptr; ///< has the values at `step`
    step_t step = 0;
  };

  virtual ~laned_workload() = default;

  /// How many there are: at least 1, and always as many.
  [[nodiscard]] virtual std::size_t lanes() const = 0;

  /// As `workload::size`, of one lane.
  [[nodiscard]] virtual workload_size size() const { return {}; }

  /// Throws if the values of a step are not allowed.
  virtual void check(const part& x) const = 0;

  /// Whether one launch can train both steps. An equivalence.
  [[nodiscard]] virtual bool fit(const part& x, const part& y) const = 0;

  /// Trains one step of each lane that is named; the others stay as they are.
  /// REQUIRES: no lane is named twice, all steps fit and have been checked.
  virtual void train(const std::vector<part>& xs) = 0;

  /// Measures the states of these lanes, in this order.
  virtual std::vector<metrics> evaluate(const std::vector<std::size_t>& xs) = 0;

  // As in `workload`, for one lane.

  virtual void init(std::size_t lane) = 0;
  virtual std::string save(std::size_t lane) = 0;
  virtual void load(std::size_t lane, const std::string& bytes) = 0;
  virtual std::shared_ptr<const workload_state> snapshot(std::size_t lane);
  virtual void restore(std::size_t lane, const workload_state& x);
  virtual void export_weights(std::size_t lane, const std::string& path) = 0;
};

/// Returns the lanes as workloads: the first one, which has the others
/// (`workload::take_other_lanes`).
///
/// Each may be used from a thread of its own. A call of `train` or `evaluate`
/// waits until all lanes are there that have been called and do not rest
/// (`workload::rest`); then all that ask for the same do it in one launch. Of
/// steps that do not fit each other, those of the lane that has waited for the
/// longest go first. Which steps go together decides no result.
std::unique_ptr<workload> first_lane(std::unique_ptr<laned_workload> x);

} // namespace hippo
