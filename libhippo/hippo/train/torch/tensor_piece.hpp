#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace hippo {

/// Tensors of floats that lie behind each other in one piece of memory: all of
/// them are copied, or set to zero, in one go.
class tensor_piece {
public:
  /// Where a tensor lies, in floats.
  struct place {
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;

    /// Returns the tensor of a piece that has it there.
    [[nodiscard]] at::Tensor of(const at::Tensor& piece) const {
      return piece.as_strided(sizes, strides, offset);
    }
  };

  /// Without tensors.
  tensor_piece() = default;

  /// Moves tensors into one piece: each stays the tensor that it is for whoever
  /// has it. Throws `std::invalid_argument` unless all are floats on one
  /// device.
  explicit tensor_piece(const std::vector<at::Tensor>& xs);

  /// Makes zeros that are like tensors in shape and order.
  static tensor_piece zeros_like(const std::vector<at::Tensor>& xs);

  [[nodiscard]] bool empty() const { return places_.empty(); }

  /// The memory of all, one-dimensional. REQUIRES: there are tensors
  [[nodiscard]] const at::Tensor& all() const { return all_; }

  [[nodiscard]] const std::vector<place>& places() const { return places_; }

  /// The tensors, in the order in which they were given.
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const {
    return tensors_;
  }

private:
  void lay_out(const std::vector<at::Tensor>& xs);

  at::Tensor all_;
  std::vector<place> places_;
  std::vector<at::Tensor> tensors_;
};

} // namespace hippo
