#include "hippo/train/torch/part_states.hpp"

#include <span>
#include <utility>

namespace hippo {

namespace {

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

/// Returns the floats at which the statistics begin.
std::int64_t end_of_weights(const tensor_piece& values, std::size_t weights) {
  const auto& places = values.places();
  return weights < places.size() ? places[weights].offset
                                 : values.all().numel();
}

at::Tensor zeros_of(std::int64_t parts, const at::Tensor& like) {
  return at::zeros({parts, like.numel()}, like.options().requires_grad(false));
}

} // namespace

part_states::part_states(const tensor_piece& values, std::size_t weights,
                         const optimizer& updates, std::int64_t parts,
                         sync_kind kind)
  : values_(values), updates_(updates), kind_(kind), own_{parts, 0, parts},
    of_values_(zeros_of(parts, values.all())),
    losses_(at::zeros({parts}, values.all().options().dtype(at::kDouble))),
    sync_({{"", of_values_.narrow(1, 0, end_of_weights(values, weights))}},
          kind != sync_kind::average) {}

void part_states::share(gang* members, const own_parts& own) {
  members_ = members;
  own_ = own;
  sync_.share(members, own);
}

void part_states::restart() {
  const at::NoGradGuard no_grad;
  present_ = -1;
  of_values_.copy_(values_.all().expand_as(of_values_));
  sync_.init();
}

void part_states::expect() {
  present_ = -1;
  const auto there = places();
  for (auto i = of_moments_.size() + 1; i < there.size(); ++i)
    of_moments_.push_back(zeros_of(count(), there[i]));
}

void part_states::restart_moments() {
  expect();
  for (const auto& x : of_moments_)
    x.zero_();
}

void part_states::begin(const sync_rule& rule) {
  losses_.zero_();
  sync_.begin(rule);
}

std::vector<at::Tensor> part_states::places() const {
  std::vector<at::Tensor> result{values_.all()};
  const auto kind = updates_.present().kind;
  if (kind != optimizer_kind::none)
    result.push_back(updates_.first().all());
  if (kind == optimizer_kind::adamw)
    result.push_back(updates_.second().all());
  return result;
}

std::vector<at::Tensor> part_states::rows() const {
  const auto count = places().size();
  std::vector<at::Tensor> result{of_values_};
  for (std::size_t i = 0; i + 1 < count; ++i)
    result.push_back(of_moments_[i]);
  return result;
}

void part_states::enter(std::int64_t part) {
  if (part == present_)
    return;
  leave();
  const at::NoGradGuard no_grad;
  const auto from = rows(), to = places();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i].copy_(from[i][part]);
  present_ = part;
}

void part_states::leave() {
  if (present_ < 0)
    return;
  const at::NoGradGuard no_grad;
  const auto from = places(), to = rows();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i][present_].copy_(from[i]);
  present_ = -1;
}

void part_states::add_loss(const at::Tensor& loss) {
  losses_[present_].add_(loss);
}

void part_states::end_iteration(device_stream& stream, std::uint64_t iteration,
                                bool is_last) {
  if (!sync_.is_due(iteration, is_last))
    return;
  stream.run([this] { leave(); });
  sync_.exchange(stream, iteration, is_last);
}

double part_states::end_step(device_stream& stream) {
  auto all = rows();
  all.push_back(losses_);
  // Copies on the machine, or what is there itself.
  std::vector<at::Tensor> here;
  stream.finish([&] {
    const auto is_cpu = losses_.is_cpu();
    for (const auto& x : all)
      here.push_back(
        is_cpu ? x
               : at::empty(x.sizes(),
                           x.options().device(at::kCPU).pinned_memory(true))
                   .copy_(x, /*non_blocking=*/true));
  });
  if (members_ != nullptr)
    for (const auto& x : here) {
      const auto bytes = bytes_of(x);
      gather_from_members(*members_, bytes, bytes.size() / members_->size());
    }
  stream.finish([&] {
    const at::NoGradGuard no_grad;
    if (members_ != nullptr)
      for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i].is_same(here[i]))
          all[i].copy_(here[i], /*non_blocking=*/true);
    values_.all().copy_(mean_of_parts(of_values_)[0]);
  });
  return sum_of_parts(here.back()).item<double>();
}

} // namespace hippo
