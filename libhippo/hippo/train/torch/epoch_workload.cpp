#include "hippo/train/torch/epoch_workload.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "hippo/model/parts.hpp"
#include "hippo/model/sync.hpp"
#include "hippo/train/torch/epoch.hpp"

namespace hippo {

namespace {

/// Returns the parts that a member computes. @param members null: it is alone
own_parts own_parts_of(std::int64_t all, const gang* members) {
  if (members == nullptr)
    return {all, 0, all};
  const auto count = all / static_cast<std::int64_t>(members->size());
  return {all, static_cast<std::int64_t>(members->rank()) * count, count};
}

/// Returns how parts come to one model.
sync_kind sync_of(const workload_spec& spec) {
  const auto i = spec.options.find(sync_name);
  return i == spec.options.end()
           ? sync_kind::step
           : sync_kind_of(std::get<std::string>(i->second));
}

/// Throws `std::invalid_argument` if batches at a step have fewer examples than
/// parts.
void check_parts(std::int64_t batch_size, std::int64_t parts, step_t at) {
  if (batch_size < parts)
    throw std::invalid_argument(
      "batch_size " + std::to_string(batch_size) + " at epoch "
      + std::to_string(at) + " is below parts " + std::to_string(parts)
      + ": it must be at least that, as each part has examples of its own");
}

} // namespace

epoch_workload::epoch_workload(const workload_spec& spec, at::Device device,
                               device_stream& stream,
                               const named_tensors& weights,
                               const named_tensors& buffers,
                               decay_predicate decays)
  : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
    device_(device), precision_(precision_of(spec, device)),
    state_(spec.name, weights, buffers, decays, averaging_of(spec)),
    values_(device), steps_(device),
    parts_(own_parts_of(parts_of_batch(spec), nullptr)),
    loss_(at::zeros({}, at::TensorOptions(device).dtype(at::kDouble))) {
  if (const auto kind = sync_of(spec); kind != sync_kind::step)
    state_.divide(parts_.all, kind);
  else if (parts_.all > 1)
    sum_.emplace(state_.values(), weights.size(), parts_);
}

void epoch_workload::init() {
  stream_.run([this] { reset(); });
}

void epoch_workload::share(gang* members) {
  const auto size = members == nullptr ? 1 : members->size();
  if (static_cast<std::int64_t>(size) > parts_.all)
    throw std::invalid_argument(std::to_string(size) + " members cannot share "
                                + std::to_string(parts_.all)
                                + (parts_.all == 1 ? " part" : " parts"));
  members_ = members;
  parts_ = own_parts_of(parts_.all, members);
  if (sum_)
    sum_->share_out(parts_);
  if (auto* own = state_.parts())
    own->share(members, parts_);
}

epoch_workload::epoch epoch_workload::begin_epoch(const configuration& config,
                                                  step_t step,
                                                  const update_rule& rule,
                                                  std::int64_t examples) {
  const auto size = static_cast<std::size_t>(examples);
  check_batch_size(config, step, size);
  const auto of_epoch = epoch_values_at(config, step);
  const auto batch_size = static_cast<std::int64_t>(of_epoch.batch_size);
  check_parts(batch_size, parts_.all, step);
  auto* const own = state_.parts();
  const auto sync =
    own == nullptr ? sync_rule{} : sync_rule_at(config, own->kind(), step);
  stream_.run([&] {
    values_.reset({seed_, step, 0, of_epoch.dropout});
    loss_.zero_();
    if (own != nullptr)
      own->begin(sync);
  });
  return {rule, epoch_order(seed_, step, size), {examples, batch_size, parts_}};
}

void epoch_workload::train_epoch(
  const epoch& now, const std::function<void(const batch_part&)>& put,
  const std::function<void()>& wait) {
  auto* const own = state_.parts();
  const auto launch = [&](std::int64_t place) {
    const auto part = now.parts.at(place);
    values_->iteration = part.address;
    if (part.number == parts_.first)
      state_.plan(now.rule, values_);
    if (part.size > 0)
      put(part);
    values_.publish();
    if (own != nullptr)
      train_copy(part);
    else if (sum_)
      train_part(part);
    else
      train_batch(part);
  };
  const auto examples = static_cast<double>(now.order.size());
  if (own != nullptr) {
    try {
      launch_in_turn(now.parts.size(), launch, wait);
    } catch (...) { // the members are not there for longer than this call
      own->abandon();
      throw;
    }
    state_.train_loss = own->end_step(stream_) / examples;
    return;
  }
  if (wait || members_ != nullptr)
    launch_in_turn(now.parts.size(), launch, wait);
  else
    launch_each(now.parts.size(), launch);
  state_.train_loss = read(loss_).item<double>() / examples;
}

void epoch_workload::launch_each(
  std::int64_t count, const std::function<void(std::int64_t)>& launch) {
  std::int64_t i = 0;
  stream_.run_each([&] {
    const tf32_scope products{precision_};
    launch(i);
    return ++i < count;
  });
}

/// As `launch_each` of a member's parts; waits before each of them for its
/// data, and after those of a batch for other members, or for what parts
/// exchange. It does that here: others use the device's thread.
void epoch_workload::launch_in_turn(
  std::int64_t count, const std::function<void(std::int64_t)>& launch,
  const std::function<void()>& wait) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (wait)
      wait();
    stream_.run_each([&] {
      const tf32_scope products{precision_};
      launch(i);
      return false;
    });
    if ((i + 1) % parts_.count == 0)
      end_iteration(i / parts_.count, i + 1 == count);
  }
}

/// Exchanges with other members, or what parts exchange.
void epoch_workload::end_iteration(std::int64_t iteration, bool is_last) {
  if (auto* own = state_.parts()) {
    own->end_iteration(stream_, static_cast<std::uint64_t>(iteration), is_last);
  } else if (members_ != nullptr) {
    stream_.finish([this] { sum_->read(); });
    sum_->share(*members_);
    stream_.run([this] {
      sum_->write();
      update();
    });
  }
}

/// Trains by the examples that were put.
void epoch_workload::train_batch(const batch_part& part) {
  steps_.run({part.size, recorded_dropout(), clips(), state_.moments()},
             [this, part] {
               const auto mean = training_loss(part, at::Reduction::Mean);
               state_.go_back(mean, loss_scale(precision_));
               apply();
               loss_.add_(mean.detach(), static_cast<double>(part.size));
             });
}

/// Adds the gradients of a part of a batch to those of the parts before, and
/// updates the weights after the last one, unless there are other members.
void epoch_workload::train_part(const batch_part& part) {
  if (part.number == parts_.first)
    sum_->begin();
  if (part.size == 0)
    sum_->take_nothing();
  else
    steps_.run({part.size, part.batch, recorded_dropout()}, [this, part] {
      sum_->reset();
      const auto loss = training_loss(part, at::Reduction::Sum);
      state_.go_back(loss / static_cast<double>(part.batch),
                     loss_scale(precision_));
      sum_->take(loss.detach());
    });
  sum_->add(part.number);
  if (members_ == nullptr && part.number + 1 == parts_.all)
    update();
}

/// Trains a part's copy of the weights by its share of a batch.
void epoch_workload::train_copy(const batch_part& part) {
  if (part.size == 0)
    return;
  state_.parts()->enter(part.number);
  loss_.zero_();
  train_batch(part);
  state_.parts()->add_loss(loss_);
}

/// Whether the norm of gradients has a limit.
bool epoch_workload::clips() const {
  return !std::isinf(values_->clip);
}

/// Updates the weights by their gradients.
void epoch_workload::apply() {
  if (clips())
    state_.clip_gradients(values_);
  state_.apply(values_);
}

/// Updates the weights by the sum over all parts.
void epoch_workload::update() {
  steps_.run({state_.moments(), clips()}, [this] {
    const auto loss = sum_->put();
    apply();
    loss_.add_(loss.squeeze(0).to(at::kDouble));
  });
}

member_range epoch_workload::own_share(std::size_t things) const {
  return members_ == nullptr
           ? member_range{0, things}
           : range_of_member(things, members_->rank(), members_->size());
}

void epoch_workload::gather(std::span<std::byte> measured, std::size_t width) {
  if (members_ != nullptr)
    gather_from_members(*members_, measured, width);
}

} // namespace hippo
