#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hippo::fuzz {

/// What lets bytes of others in, with what must hold whatever they are.
struct target {
  const char* name; ///< of its program and of its folder in `corpus`
  /// Handles an input. @throws broken if something does not hold
  void (*run)(std::string_view input);
  /// Words that inputs are made of.
  std::vector<std::string> words;
  /// The most bytes that handling an input may take at any one time.
  std::size_t memory_max = 64 << 20;
};

/// Every target.
const std::vector<target>& targets();

extern const target submitted_study, wire_message, study_code_text, checkpoint,
  http_request, part_table, workload_answer, trainer_frames, gang_frames;

/// Something that should hold does not.
struct broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds)
    throw broken{what};
}

/// Runs a target on an input, and counts what that takes.
void run(const target& target, std::string_view input);

/// Changes an input a little: bytes, words of the target, parts that are
/// repeated until they are long, pieces of the other input.
/// @param random a function of nothing that returns 64 random bits
std::string mutate(std::string input, std::string_view other,
                   const target& target,
                   const std::function<std::uint64_t()>& random);

} // namespace hippo::fuzz
