#include "fuzz/memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace hippo::fuzz {

namespace {

std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> peak{0};

} // namespace

std::size_t bytes_in_use() noexcept { return in_use; }
std::size_t peak_bytes() noexcept { return peak; }
void reset_peak() noexcept { peak = in_use.load(); }

} // namespace hippo::fuzz

void* operator new(std::size_t size) {
  auto* result = std::malloc(size > 0 ? size : 1);
  if (result == nullptr)
    throw std::bad_alloc{};
  using namespace hippo::fuzz;
  const auto now = in_use += ::malloc_usable_size(result);
  if (now > peak)
    peak = now;
  return result;
}

// What libFuzzer takes by this it gives back by the operator below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* x) noexcept {
  if (x == nullptr)
    return;
  hippo::fuzz::in_use -= ::malloc_usable_size(x);
  std::free(x);
}

void operator delete(void* x, std::size_t) noexcept { operator delete(x); }
