#include "fuzz/target.hpp"

#include <algorithm>

#include "fuzz/memory.hpp"

namespace hippo::fuzz {

const std::vector<target>& targets() {
  static const std::vector<target> all{
    submitted_study, wire_message, study_code_text, checkpoint,
    http_request,    part_table,   workload_answer, trainer_frames,
    gang_frames};
  return all;
}

void run(const target& target, std::string_view input) {
  const auto before = bytes_in_use();
  reset_peak();
  target.run(input);
  const auto taken = peak_bytes() - std::min(before, peak_bytes());
  require(taken <= target.memory_max, std::to_string(input.size())
                                        + " bytes of input took "
                                        + std::to_string(taken >> 20) + " MiB");
}

std::string mutate(std::string input, std::string_view other,
                   const target& target,
                   const std::function<std::uint64_t()>& random) {
  constexpr std::size_t input_bytes_max = 1 << 18;
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (auto changes = 1 + below(3); changes > 0; --changes) {
    const auto at = below(input.size() + 1);
    const auto size = below(std::min<std::size_t>(input.size() - at, 64) + 1);
    switch (below(8)) {
      case 0:
      case 1:
        if (at < input.size())
          input[at] = static_cast<char>(random());
        break;
      case 2:
      case 3:
        if (!target.words.empty())
          input.replace(at, below(2) * size,
                        target.words[below(target.words.size())]);
        break;
      case 4:
        input.erase(at, size);
        break;
      case 5: { // what is long is where limits are
        auto part = input.substr(at, std::max<std::size_t>(size, 1));
        const auto times = std::size_t{1} << below(17);
        std::string many;
        while (!part.empty() && many.size() < times
               && input.size() + many.size() < input_bytes_max)
          many += part;
        input.insert(at, many);
        break;
      }
      case 6:
        input.insert(at, input.substr(below(input.size() + 1), size));
        break;
      default: {
        const auto from = below(other.size() + 1);
        input.insert(at, other.substr(from, below(256)));
        break;
      }
    }
  }
  return input;
}

} // namespace hippo::fuzz
