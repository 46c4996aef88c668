#pragma once

#include <ATen/Parallel.h>

namespace hippo {

/// LibTorch computes with `count` threads as long as this object lives.
class compute_threads {
public:
  explicit compute_threads(int count) : before_(at::get_num_threads()) {
    at::set_num_threads(count);
  }
  compute_threads(const compute_threads&) = delete;
  compute_threads& operator=(const compute_threads&) = delete;
  ~compute_threads() { at::set_num_threads(before_); }

private:
  int before_;
};

} // namespace hippo
