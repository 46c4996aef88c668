#include "hippo/train/torch/part_sum.hpp"

#include <utility>

namespace hippo {

part_sum::part_sum(const tensor_piece& values, std::size_t weights,
                   const own_parts& own)
  : own_(own), values_(values.all()) {
  const auto& all = values.tensors();
  const auto& places = values.places();
  weights_.assign(all.begin(),
                  all.begin() + static_cast<std::ptrdiff_t>(weights));
  statistics_end_ = values_.numel();
  statistics_begin_ =
    weights < places.size() ? places[weights].offset : statistics_end_;
  auto like = all;
  like.push_back(at::zeros({1}, values_.options()));
  taken_ = tensor_piece::zeros_like(like);
  const auto& taken = taken_.tensors();
  places_.assign(taken.begin(),
                 taken.begin() + static_cast<std::ptrdiff_t>(weights));
  before_ = at::empty_like(statistics_of(values_));
  shared_ = taken_.all();
  if (!shared_.is_cpu())
    shared_ =
      at::empty(shared_.sizes(),
                at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
}

void part_sum::begin() {
  before_.copy_(statistics_of(values_));
}

void part_sum::reset() const {
  const at::NoGradGuard no_grad;
  statistics_of(values_).copy_(before_);
}

void part_sum::take(const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const auto& x : weights_)
    gradients.push_back(std::move(x.mutable_grad()));
  at::_foreach_copy_(places_, gradients);
  statistics_of(taken_.all()).copy_(statistics_of(values_));
  taken_.tensors().back().copy_(loss);
}

void part_sum::take_nothing() {
  const at::NoGradGuard no_grad;
  taken_.all().zero_();
  statistics_of(taken_.all()).copy_(before_);
}

void part_sum::add(std::int64_t number) {
  auto sum = taken_.all();
  auto place = number - own_.first;
  std::size_t level = 0;
  // As a carry goes through a binary counter.
  for (; place % 2 == 1; place /= 2, ++level)
    at::add_out(sum, sums_[level], sum);
  if (std::int64_t{1} << level == own_.count)
    return; // that is all
  if (level == sums_.size())
    sums_.push_back(at::empty_like(sum));
  sums_[level].copy_(sum);
}

void part_sum::read() {
  if (!shared_.is_same(taken_.all()))
    shared_.copy_(taken_.all(), /*non_blocking=*/true);
}

void part_sum::share(gang& members) {
  sum_over_members(members, {shared_.mutable_data_ptr<float>(),
                             static_cast<std::size_t>(shared_.numel())});
}

void part_sum::write() {
  if (!shared_.is_same(taken_.all()))
    taken_.all().copy_(shared_, /*non_blocking=*/true);
}

at::Tensor part_sum::put() const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    weights_[i].mutable_grad() = places_[i];
  statistics_of(values_)
    .copy_(statistics_of(taken_.all()))
    .mul_(1.0 / static_cast<double>(own_.all));
  return taken_.tensors().back();
}

} // namespace hippo
