#pragma once

#include <cstdint>
#include <initializer_list>

namespace hippo {

/// The purpose of random numbers; keeps the uses of one seed apart.
/// Values decide results: append only, never renumber.
enum class purpose : std::uint64_t {
  weights = 1,
  order,
  augment,
  dropout,
  images,
  example,
  subnetwork,          ///< what one drops
  subnetwork_order,    ///< which are trained when
  answer,              ///< which example a machine answers with
  arrivals,            ///< when the answers of machines arrive
  graph,               ///< edges, features and classes of a graph that is made
  neighbours,          ///< which neighbours of a node a batch trains with
  measured_neighbours, ///< the same where a batch is measured
  parts,               ///< order of edges, and roots of nodes in several parts
  click,               ///< an impression that is made
  click_teacher        ///< the model behind those
};

/// Scrambles 64 bits, one to one (the finaliser of SplitMix64).
constexpr std::uint64_t scramble(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Random numbers at an address: the same address always gives the same
/// numbers, in every process, with every library and on every device: nvcc lets
/// code for GPUs call what is `constexpr`.
class random_numbers {
public:
  constexpr random_numbers(
    std::uint64_t seed, purpose use,
    std::initializer_list<std::uint64_t> address) noexcept
    : key_(scramble(seed + step)) {
    key_ = scramble(key_ ^ (static_cast<std::uint64_t>(use) * step));
    for (auto x : address)
      key_ = scramble(key_ + (x + 1) * step);
  }

  /// Returns numbers at an address of which `key()` is all that is known.
  static constexpr random_numbers with_key(std::uint64_t key) noexcept {
    return random_numbers{key};
  }

  [[nodiscard]] constexpr std::uint64_t key() const noexcept { return key_; }

  /// Returns the number at `index`.
  [[nodiscard]] constexpr std::uint64_t at(std::uint64_t index) const noexcept {
    return scramble(key_ + (index + 1) * step);
  }

  /// Returns the next number, from `at(0)` on.
  constexpr std::uint64_t next() noexcept { return at(count_++); }

  /// Returns an integer of `[0, count)`; for `count` up to 2^32 no value is
  /// more likely than another by more than count / 2^32.
  constexpr std::uint64_t below(std::uint64_t count) noexcept {
    return ((next() >> 32) * count) >> 32;
  }

  /// Returns a number of `[0, 1)`.
  constexpr double uniform() noexcept {
    return static_cast<double>(next() >> 11) * 0x1p-53;
  }

private:
  explicit constexpr random_numbers(std::uint64_t key) noexcept : key_(key) {}

  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

} // namespace hippo
