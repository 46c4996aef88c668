#include "hippo/train/gang/ranks_workload.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/checkpoint/folder_token.hpp"
#include "hippo/train/gang/joined_state.hpp"
#include "hippo/train/gang/own_call.hpp"
#include "hippo/train/gang/world_text.hpp"

namespace hippo {

namespace {

using frame_kind = member_connection::frame_kind;

/// Returns a port that nobody listens at.
std::uint16_t free_port() {
  const file_descriptor socket{
    ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  if (!socket || ::bind(socket.number(), address, size) != 0
      || ::getsockname(socket.number(), address, &size) != 0)
    throw std::runtime_error("there is no port for the ranks");
  return ntohs(any.sin_port);
}

} // namespace

ranks_workload::ranks_workload(workload& own, world_member& ranks,
                               connected_gang& members,
                               std::function<void(step_t)> on_leave)
  : own_(own), ranks_(ranks), members_(members),
    on_leave_(std::move(on_leave)) {}

ranks_workload::~ranks_workload() {
  if (is_broken_ || !ended_.empty())
    ranks_.leave();
}

bool ranks_workload::greet() {
  const auto own = ranks_.world();
  is_broken_ = own.empty();
  for (std::set<std::uint32_t> heard; heard.size() + 1 < members_.size();) {
    const auto x = members_.hear().value();
    if (x.frame.kind != frame_kind::enter || !heard.insert(x.rank).second)
      throw gang_lost{members_.name_of(x.rank)
                      + " does not say in which world its ranks are"};
    is_broken_ = is_broken_ || x.frame.text != own;
  }
  return !is_broken_;
}

bool ranks_workload::await_all(own_call& own) {
  bool leaves = false;
  bool has_returned = false;
  std::set<std::uint32_t> waiting;
  for (std::uint32_t rank = 1; rank < members_.size(); ++rank)
    waiting.insert(rank);
  try {
    while (!has_returned || !waiting.empty()) {
      const auto x = members_.hear(has_returned ? -1 : own.number());
      if (!x) {
        own.get();
        has_returned = true;
        continue;
      }
      const auto& [rank, frame] = *x;
      const bool is_problem = frame.kind == frame_kind::problem;
      const bool is_done =
        frame.kind == frame_kind::done && frame.text.size() == 1;
      if (!is_problem && !is_done)
        throw gang_lost{members_.name_of(rank)
                        + " does not say that it is done"};
      if (auto& owed = owed_[rank]; owed > 0) {
        --owed; // to a call before
        continue;
      }
      if (waiting.erase(rank) == 0)
        throw gang_lost{members_.name_of(rank)
                        + " answers what it was not asked"};
      if (is_problem)
        throw std::runtime_error(frame.text);
      leaves = leaves || frame.text != std::string(1, '\0');
    }
  } catch (...) {
    for (const auto rank : waiting)
      ++owed_[rank];
    throw;
  }
  return leaves;
}

bool ranks_workload::call(const gang_order& order,
                          const std::function<void()>& own) {
  if (!ended_.empty())
    throw gang_lost{"the gang has ended: " + ended_};
  try {
    members_.give_order(order);
    own_call mine{ranks_, own};
    return await_all(mine);
  } catch (const gang_lost& e) {
    ended_ = e.what();
    throw;
  } catch (...) {
    is_broken_ = true;
    throw;
  }
}

void ranks_workload::begin_world() {
  ranks_.leave();
  const auto host = own_host(members_.place());
  rank_world fresh{"hippo-" + random_token(), {host, free_port()}, host};
  call({.what = gang_call::enter, .world = text_of(fresh)},
       [&] { ranks_.enter(fresh); });
  is_broken_ = false;
}

void ranks_workload::prepare() {
  if (is_broken_)
    begin_world();
  call({.what = gang_call::prepare}, [this] { own_.prepare(); });
}

void ranks_workload::init() {
  call({.what = gang_call::init}, [this] { own_.init(); });
}

void ranks_workload::train(const configuration& config, step_t from,
                           step_t to) {
  if (call({.from = from, .to = to}, [&] { own_.train(config, from, to); }))
    on_leave_(to);
}

metrics ranks_workload::evaluate() {
  metrics result;
  call({.what = gang_call::evaluate}, [&] { result = own_.evaluate(); });
  return result;
}

void ranks_workload::load(const std::string& bytes) {
  call({.what = gang_call::load}, [&] { own_.load(bytes); });
}

void ranks_workload::load_file() {
  call({.what = gang_call::load}, [this] { own_.load_file(); });
}

std::unique_ptr<content_source> ranks_workload::take_state(std::uint32_t rank) {
  if (!folder_) {
    auto made = scratch_folder::make("hippo-states");
    if (!made)
      throw std::runtime_error(made.failure().message);
    folder_ = std::move(*made);
  }
  const auto path = folder_->file("member");
  auto file = file_writer::create(path);
  if (!file)
    throw std::runtime_error(file.failure().message);
  members_.take_state(rank, [&](const char* data, std::size_t size) {
    return file->append(data, size);
  });
  auto source = file_source::open(path);
  if (!source)
    throw std::runtime_error(source.failure().message);
  std::filesystem::remove(path); // it stays open
  return std::make_unique<file_source>(std::move(*source));
}

std::shared_ptr<const workload_state> ranks_workload::snapshot() {
  std::shared_ptr<const workload_state> own;
  call({.what = gang_call::save}, [&] { own = own_.snapshot(); });
  try {
    std::vector<std::unique_ptr<content_source>> parts;
    parts.push_back(own->content());
    for (std::uint32_t rank = 1; rank < members_.size(); ++rank)
      parts.push_back(take_state(rank));
    return std::make_shared<joined_state>(std::move(parts));
  } catch (const std::exception& e) {
    ended_ = e.what(); // the rest of the state may be on its way
    throw;
  }
}

std::uint64_t ranks_workload::setup_ns() const noexcept {
  const auto* sets_up = dynamic_cast<const setup_time*>(&own_);
  return sets_up == nullptr ? 0 : sets_up->setup_ns();
}

} // namespace hippo
