#pragma once

#include <cstdint>
#include <string>
#include <vector>

// How parts, each of which trains a copy of the weights by examples of its own,
// come to one model: the words of workloads, and their values where a study
// does not mention them.

namespace hippo {

enum class sync_kind : std::uint8_t {
  step,    ///< one model: each update is by the gradients of all parts
  average, ///< copies move towards their mean
  elastic, ///< copies and a centre move towards each other, part after part
  bmuf     ///< the centre follows the mean with momentum, copies follow it
};

/// When copies are exchanged, and how far they move.
struct sync_rule {
  sync_kind kind = sync_kind::step;
  std::uint64_t every = 30; ///< iterations from one exchange to the next
  std::uint64_t lag = 0;    ///< iterations until it arrives; below `every`
  double alpha = 0.5;       ///< share of the way that is gone
  /// `bmuf`: the block momentum and the block learning rate of Chen and Huo
  /// (2016), with which the centre moves.
  double momentum = 0;
  double lr = 1;
};

/// The words of a kind, in the order of `sync_kind`.
const std::vector<std::string>& sync_words();

/// Returns the kind that one of these words names.
sync_kind sync_kind_of(const std::string& word);

// The names of the kind, and of the others as hyper-parameters.
inline constexpr const char* sync_name = "sync";
inline constexpr const char* sync_every_name = "sync_every";
inline constexpr const char* sync_lag_name = "sync_lag";
inline constexpr const char* sync_alpha_name = "sync_alpha";
inline constexpr const char* sync_momentum_name = "sync_momentum";
inline constexpr const char* sync_lr_name = "sync_lr";

} // namespace hippo
