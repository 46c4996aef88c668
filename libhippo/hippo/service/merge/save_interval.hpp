#pragma once

namespace hippo {

/// Saves are so many seconds apart at least, and at most. Longer intervals save
/// time on checkpoints, but trainers report where they save, and leases are
/// handed over where they report (`preempt`), which is worth more. On the grid
/// of examples/paper runs took 11 % longer with 1800 s at most, 7 % with 300 s.
inline constexpr double save_interval_min = 30;
inline constexpr double save_interval_max = 120;

/// How much of a long stage is trained between two checkpoints, in seconds:
/// what saving and training again after an interruption cost together is least
/// at sqrt(2 * save * between), to first order (Young 1974).
/// @param save_seconds what a checkpoint takes; 0: nobody has measured it
/// @param between mean time between interruptions in seconds; 0: none is known
/// @param unknown what is returned where either is not known
double save_interval(double save_seconds, double between, double unknown);

} // namespace hippo
