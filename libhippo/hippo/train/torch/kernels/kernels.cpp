#include "hippo/train/torch/kernels/kernels.hpp"

namespace hippo::kernels {

extern const set baseline;
#ifdef __x86_64__
extern const set x86_64_v3;
extern const set x86_64_v4;
#endif

std::vector<const set*> usable() {
  std::vector<const set*> result{&baseline};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3"))
    result.push_back(&x86_64_v3);
  if (__builtin_cpu_supports("x86-64-v4"))
    result.push_back(&x86_64_v4);
#endif
  return result;
}

const set& best() {
  static const set& result = *usable().back();
  return result;
}

} // namespace hippo::kernels
