#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hippo/space/study.hpp"

namespace hippo {

/// The features of a trial that has come to some step: numbers that
/// follow from the values that its hyper-parameters had before, and from
/// nothing else. Trials that are one state there have equal features, however
/// they are spelt and however they go on.
///
/// - A hyper-parameter that changes during the training of some combination has
///   its values at up to 16 even steps of [0, max), in two groups, of the first
///   half and the second; what lies at or beyond the trial's step is 0.
/// - Any other has the value at step 0, in a group.
/// - The logarithm of the trial's step, as a share of the last one, is a group.
///
/// Numbers are as far from their mean over the space as their standard
/// deviation says, by their logarithms where they are positive, span a decade
/// and are less skewed so. Each word has a coordinate, 1 where the value is
/// that word. What does not vary over the space has none. Coordinates of a
/// group are such that the squared distance of two trials is the mean over the
/// group's steps.
///
/// Mean, deviation and words are those of 256 combinations drawn by `seed`.
class sequence_features {
public:
  /// @param defaults of the hyper-parameters that a combination leaves out
  sequence_features(const search_space& space,
                    std::map<std::string, sequence> defaults, step_t max_steps,
                    std::uint64_t seed);

  /// The number of coordinates, and of groups.
  [[nodiscard]] std::size_t size() const { return steps_.size() + 1; }
  [[nodiscard]] std::uint32_t groups() const { return groups_; }

  /// The group of each coordinate, counted from 0.
  [[nodiscard]] std::vector<std::uint32_t> group_of() const;

  /// Returns the features of a trial that has come to its last step.
  /// @complexity O(hyper-parameters) evaluations of up to 16 forms
  [[nodiscard]] std::vector<double>
  of(const std::map<std::string, sequence>& values) const;

  /// Returns those of the same trial when it had come to step `at`.
  /// @param whole what `of` has returned
  [[nodiscard]] std::vector<double> cut(std::vector<double> whole,
                                        step_t at) const;

private:
  /// A hyper-parameter.
  struct parameter {
    std::string name;
    std::vector<step_t> grid; ///< at which it is looked at
    bool is_logarithmic = false;
    double low = 0; ///< the least value of the space
    double mean = 0;
    double deviation = 0; ///< 0: its numbers do not vary
    std::set<std::string> words;
  };

  void add(parameter dimension);
  /// Where a hyper-parameter's values come from; null: it has none.
  [[nodiscard]] const sequence*
  find(const std::map<std::string, sequence>& values,
       const std::string& name) const;
  void measure(parameter& dimension,
               const std::vector<trial_parameters>& combinations) const;

  std::map<std::string, sequence> defaults_;
  step_t max_steps_;
  std::vector<parameter> parameters_;
  // Of each coordinate but the last:
  std::vector<step_t> steps_; ///< it says nothing of trials before
  std::vector<std::uint32_t> group_;
  std::vector<double> scale_; ///< makes it a part of its group's mean
  std::uint32_t groups_ = 0;
};

} // namespace hippo
