#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common_options.hpp"
#include "hippo/net/client/client.hpp"

namespace hippo {

/// How weights are made of what a service or a state folder keeps.
struct weights_options {
  common_options common;
  std::string device = "cpu";
  unsigned threads = 1;

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb);
};

/// Whose weights are wanted.
struct weights_request {
  std::uint64_t trial = 0;
  step_t step = 0;  ///< where the trial was measured
  std::string path; ///< of the file to be written, for Python's torch.load; for
                    ///< a program of `files` of its folder
};

/// Writes the weights that a trial had at a step. Where the state of that very
/// step was not kept, it is trained again from the nearest checkpoint before
/// it, which gives the same weights bit for bit on the same kind of device;
/// another kind is refused.
/// @returns why they cannot be had
std::optional<error> export_weights(study_handle& study,
                                    const weights_request& request,
                                    const weights_options& how);

} // namespace hippo
