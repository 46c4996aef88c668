#include "hippo/train/torch/dropout.hpp"

#include <algorithm>

#include "hippo/train/torch/kernels.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

at::Tensor dropped(const at::Tensor& x, const dropout_sources* drop,
                   std::uint64_t layer) {
  const auto drops = [](const std::optional<dropout_source>& lane) {
    return lane && lane->share != 0;
  };
  if (drop == nullptr || std::ranges::none_of(*drop, drops))
    return x;
  // Made on the CPU by arithmetic of our own, so that it is the same for every
  // device and library.
  auto mask = at::empty(x.sizes(), at::kFloat);
  const auto size = mask.numel() / static_cast<std::int64_t>(drop->size());
  auto* to = mask.mutable_data_ptr<float>();
  for (const auto& lane : *drop) {
    if (drops(lane)) {
      const random_numbers numbers{
        lane->seed, purpose::dropout, {lane->step, lane->iteration, layer}};
      kernels::best().dropout_mask(
        numbers.key(), 0, size,
        static_cast<std::uint32_t>(lane->share * 0x1p32),
        static_cast<float>(1 / (1 - lane->share)), to);
    } else {
      std::fill_n(to, size, 1.0F);
    }
    to += size;
  }
  return x * mask.to(x.device());
}

} // namespace hippo
