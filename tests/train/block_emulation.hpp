#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "hippo/train/torch/cuda/block.hpp"
#include "hippo/train/torch/cuda/convolution.hpp"

namespace hippo {

/// A GPU that a CPU emulates, one block at a time. The threads of a block are
/// contexts of one thread of the CPU. They run in an order that a seed decides,
/// each until it waits for others, so that threads that should wait and do not
/// give other results.
class emulated_gpu {
public:
  using bfloat16 = c10::BFloat16;
  using float16 = c10::Half;
  static constexpr int refused = 1;

  explicit emulated_gpu(std::uint64_t seed) : seed_(seed) {}

  /// Runs all blocks of a launch. Throws `std::logic_error` if one does what a
  /// GPU does not allow.
  template <class Block, class... Args>
  int launch(std::int32_t blocks, std::int32_t rows, int bytes,
             const Args&... args) const {
    std::vector<std::int32_t> order(static_cast<std::size_t>(blocks)
                                    * static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random{seed_};
    std::shuffle(order.begin(), order.end(), random);
    block_run run{Block::threads, bytes, random(), [&] { Block{}(args...); }};
    for (const auto i : order)
      run(i % blocks, blocks, i / blocks, rows);
    return 0;
  }

private:
  static constexpr int lanes = 32;

  enum class state : std::uint8_t { ready, at_barrier, at_product, done };

  struct copy {
    void* to;
    const void* from;
    bool is_there;
  };

  /// An operation of all lanes of a warp, and one lane's part of it.
  struct warp_operation {
    enum class kind : std::uint8_t { load, load_transposed, product };
    kind what;
    cuda::factor_kind factors;
    std::uint32_t* loaded;
    const void* row;
    float* sums;
    const std::uint32_t *left, *right;
  };

  struct thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    state now;
    std::vector<std::vector<copy>> copies; ///< groups; the last one is open
    warp_operation operation;
  };

  class block_run : public cuda::block_emulation {
  public:
    block_run(int threads, int bytes, std::uint64_t seed,
              std::function<void()> body)
      : threads_(static_cast<std::size_t>(threads)), body_(std::move(body)),
        bytes_(static_cast<std::size_t>(bytes)), random_(seed) {
      if (bytes > cuda::conv_memory_max)
        throw std::logic_error{"a block takes too much memory"};
      vectors_.resize(bytes_ / sizeof(cuda::block_vector) + 2);
      for (auto& x : threads_)
        x.stack = std::make_unique<char[]>(stack_bytes);
    }

    void operator()(std::int32_t block, std::int32_t blocks, std::int32_t row,
                    std::int32_t rows) {
      where_ = {0,     static_cast<std::int32_t>(threads_.size()),
                block, blocks,
                row,   rows};
      std::memset(vectors_.data(), 0xff,
                  vectors_.size() * sizeof(cuda::block_vector));
      for (auto& x : threads_)
        begin(x);
      auto* before = std::exchange(cuda::emulation, this);
      run();
      cuda::emulation = before;
      if (!failure_.empty())
        throw std::logic_error{failure_};
      const auto* end = memory() + bytes_;
      if (std::any_of(end, end + sizeof(cuda::block_vector),
                      [](char x) { return x != '\xff'; }))
        throw std::logic_error{"a thread wrote behind the block's memory"};
    }

    [[nodiscard]] cuda::thread_place place() const override {
      auto result = where_;
      result.thread = static_cast<std::int32_t>(current_);
      return result;
    }
    char* memory() override { return reinterpret_cast<char*>(vectors_.data()); }
    void synchronize() override { wait(state::at_barrier); }

    void copy(void* to, const void* from, bool is_there) override {
      const auto* begin = memory();
      const auto* at = static_cast<const char*>(to);
      constexpr auto vector = std::uintptr_t{cuda::vector_bytes};
      if (at < begin || at + vector > begin + bytes_)
        fail("a copy outside of the block's memory");
      else if (reinterpret_cast<std::uintptr_t>(to) % vector != 0
               || reinterpret_cast<std::uintptr_t>(from) % vector != 0)
        fail("a copy that is not aligned");
      else
        threads_[current_].copies.back().push_back({to, from, is_there});
    }
    void end_of_copies() override { threads_[current_].copies.emplace_back(); }
    void wait_for_copies(int pending) override {
      auto& groups = threads_[current_].copies;
      while (groups.size() > static_cast<std::size_t>(pending) + 1) {
        for (const auto& x : groups.front())
          if (x.is_there)
            std::memcpy(x.to, x.from, cuda::vector_bytes);
          else
            std::memset(x.to, 0, cuda::vector_bytes);
        groups.erase(groups.begin());
      }
    }
    void load_matrices(cuda::factor_words& to, const void* row,
                       bool transposed) override {
      using kind = warp_operation::kind;
      operate({transposed ? kind::load_transposed : kind::load,
               cuda::factor_kind::tf32, to, row, nullptr, nullptr, nullptr});
    }
    void add_product(cuda::factor_kind kind, cuda::product_sums& sums,
                     const cuda::factor_words& left,
                     const std::uint32_t* right) override {
      operate({warp_operation::kind::product, kind, nullptr, nullptr, sums,
               left, right});
    }

  private:
    static constexpr std::size_t stack_bytes = std::size_t{64} << 10;

    static void enter() {
      auto* self = static_cast<block_run*>(cuda::emulation);
      const auto mine = self->current_;
      self->body_();
      self->threads_[mine].now = state::done;
      if (self->threads_[mine].copies.size() > 1
          || !self->threads_[mine].copies.back().empty())
        self->fail("a thread ended before its copies");
      self->leave();
    }

    void begin(thread& starting) const {
      getcontext(&starting.context);
      starting.context.uc_stack.ss_sp = starting.stack.get();
      starting.context.uc_stack.ss_size = stack_bytes;
      starting.context.uc_link = nullptr;
      makecontext(&starting.context, enter, 0);
      starting.now = state::ready;
      starting.copies.assign(1, {});
    }

    void leave() { swapcontext(&threads_[current_].context, &scheduler_); }

    void wait(state how) {
      threads_[current_].now = how;
      leave();
    }

    void operate(const warp_operation& what) {
      threads_[current_].operation = what;
      wait(state::at_product);
    }

    void fail(const std::string& why) {
      if (failure_.empty())
        failure_ = why;
    }

    [[nodiscard]] bool all(std::size_t begin, std::size_t end,
                           std::initializer_list<state> states) const {
      return std::all_of(threads_.begin() + static_cast<std::ptrdiff_t>(begin),
                         threads_.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const thread& x) {
                           return std::find(states.begin(), states.end(), x.now)
                                  != states.end();
                         });
    }

    /// Runs warps in some order, each until it waits at the barrier.
    void run() {
      std::vector<std::size_t> warps(threads_.size() / lanes);
      std::iota(warps.begin(), warps.end(), std::size_t{0});
      while (failure_.empty() && !all(0, threads_.size(), {state::done})) {
        std::shuffle(warps.begin(), warps.end(), random_);
        for (const auto warp : warps)
          run_warp(lanes * warp);
        // Those that are done wait for nobody.
        for (auto& x : threads_)
          if (x.now == state::at_barrier)
            x.now = state::ready;
      }
    }

    void run_warp(std::size_t first) {
      std::vector<std::size_t> order(lanes);
      std::iota(order.begin(), order.end(), first);
      while (failure_.empty()) {
        std::shuffle(order.begin(), order.end(), random_);
        for (const auto i : order) {
          current_ = i;
          if (threads_[i].now == state::ready)
            swapcontext(&scheduler_, &threads_[i].context);
        }
        if (all(first, first + lanes, {state::at_barrier, state::done}))
          return;
        if (!all(first, first + lanes, {state::at_product}))
          return fail("the lanes of a warp are at different places");
        operate_warp(first);
      }
    }

    [[nodiscard]] const warp_operation& of(std::size_t lane) const {
      return threads_[lane].operation;
    }

    void operate_warp(std::size_t first) {
      const auto what = of(first).what;
      for (std::size_t i = 0; i < lanes; ++i)
        if (of(first + i).what != what)
          return fail("the lanes of a warp do different things");
      if (what == warp_operation::kind::product)
        multiply(first);
      else
        load(first, what == warp_operation::kind::load_transposed);
      for (std::size_t i = 0; i < lanes; ++i)
        threads_[first + i].now = state::ready;
    }

    void load(std::size_t first, bool transposed) {
      for (std::size_t matrix = 0; matrix < 4; ++matrix) {
        std::uint16_t numbers[8][8];
        for (std::size_t row = 0; row < 8; ++row) {
          const auto* from =
            static_cast<const char*>(of(first + 8 * matrix + row).row);
          if (from < memory() || from + sizeof numbers[row] > memory() + bytes_)
            return fail("a matrix outside of the block's memory");
          if (reinterpret_cast<std::uintptr_t>(from) % cuda::vector_bytes != 0)
            return fail("a matrix that is not aligned");
          std::memcpy(numbers[row], from, sizeof numbers[row]);
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const auto line = lane / 4, column = lane % 4 * 2;
          const std::uint16_t pair[2]{
            transposed ? numbers[column][line] : numbers[line][column],
            transposed ? numbers[column + 1][line] : numbers[line][column + 1]};
          std::memcpy(of(first + lane).loaded + matrix, pair, sizeof pair);
        }
      }
    }

    static float number_of(cuda::factor_kind kind, std::uint32_t word,
                           std::size_t half) {
      const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
      switch (kind) {
        case cuda::factor_kind::bfloat16:
          return c10::BFloat16{bits, c10::BFloat16::from_bits()};
        case cuda::factor_kind::float16:
          return c10::Half{bits, c10::Half::from_bits()};
        case cuda::factor_kind::tf32:
          break;
      }
      // A GPU does not read the bits that TF32 does not have.
      return cuda::as_float(word & ~0x1fffU);
    }

    /// The layouts of mma.sync: m16n8k16 of 16 bits, m16n8k8 of TF32.
    void multiply(std::size_t first) {
      const auto kind = of(first).factors;
      const std::size_t in_word = kind == cuda::factor_kind::tf32 ? 1 : 2;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        for (std::size_t i = 0; i < 4; ++i) {
          const auto row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
          double sum = of(first + lane).sums[i];
          // Words 0 and 1 on the left are the upper and lower rows of the first
          // half, words 2 and 3 those of the second.
          for (std::size_t k = 0; k < 8; ++k)
            for (std::size_t half = 0; half < in_word; ++half) {
              const auto a =
                of(first + row % 8 * 4 + k % 4).left[row / 8 + k / 4 * 2];
              const auto b = of(first + column * 4 + k % 4).right[k / 4];
              sum += double{number_of(kind, a, half)}
                     * double{number_of(kind, b, half)};
            }
          results_[lane][i] = static_cast<float>(sum);
        }
      for (std::size_t lane = 0; lane < lanes; ++lane)
        std::memcpy(of(first + lane).sums, results_[lane],
                    sizeof results_[lane]);
    }

    std::vector<thread> threads_;
    std::function<void()> body_;
    std::size_t bytes_;
    std::vector<cuda::block_vector> vectors_;
    std::mt19937_64 random_;
    cuda::thread_place where_{};
    std::size_t current_ = 0;
    ucontext_t scheduler_{};
    float results_[lanes][4]{};
    std::string failure_;
  };

  std::uint64_t seed_;
};

} // namespace hippo
