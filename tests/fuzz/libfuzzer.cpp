// The entry points of libFuzzer, for the target that HIPPO_FUZZ_TARGET names.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

#include "fuzz/target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace hippo::fuzz;
  run(HIPPO_FUZZ_TARGET, {reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned seed) {
  std::mt19937_64 random{seed};
  if (random() % 2 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const std::string input{reinterpret_cast<const char*>(data), size};
  const auto changed = hippo::fuzz::mutate(
    input, input, hippo::fuzz::HIPPO_FUZZ_TARGET, [&] { return random(); });
  const auto result = std::min(changed.size(), max_size);
  std::memcpy(data, changed.data(), result);
  return result;
}
