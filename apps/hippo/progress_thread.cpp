#include "progress_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "followed_studies.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// How long there is between two looks: longer where one takes long, so that a
/// view takes little of what trains.
constexpr auto least_pause = 250ms;
constexpr int pause_of_look = 20;

/// Looks at what there is. @returns what is to be shown, or why it cannot be
expected<progress_view> look(client& service, progress_source& source,
                             std::vector<followed_study>& studies,
                             const std::set<study_id>& all,
                             const std::set<study_id>& at_work) {
  for (const auto id : all) {
    if (std::ranges::any_of(
          studies, [id](const auto& x) { return x.id() == number_of(id); }))
      continue;
    auto handle = service.study(to_string(id));
    if (!handle)
      return handle.failure();
    studies.emplace_back(std::move(*handle), false);
  }
  for (auto& x : studies)
    if (!x.ended() || at_work.contains(study_id{x.id()}))
      if (auto why = x.look(false))
        return *why;
  return source.view_of(studies);
}

} // namespace

progress_thread::progress_thread(std::string address)
  : address_(std::move(address)), thread_([this] { run(); }) {}

progress_thread::~progress_thread() {
  {
    const std::lock_guard lock{mutex_};
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void progress_thread::follow(std::set<study_id> all,
                             std::set<study_id> at_work) {
  const std::lock_guard lock{mutex_};
  all_ = std::move(all);
  at_work_ = std::move(at_work);
}

std::optional<progress_view> progress_thread::take() {
  const std::lock_guard lock{mutex_};
  return std::exchange(seen_, std::nullopt);
}

void progress_thread::run() {
  client_options options;
  options.name = "the view of hippo run";
  options.reconnect_for = 0ms; // it ends with the service
  auto service = client::connect(address_, std::move(options));
  if (!service) {
    spdlog::warn("run: there is no view: {}", service.failure().message);
    return;
  }
  progress_source source{*service};
  std::vector<followed_study> studies;
  std::unique_lock lock{mutex_};
  while (!is_over_) {
    const auto all = all_, at_work = at_work_;
    lock.unlock();
    const auto begun = steady::now();
    auto seen = look(*service, source, studies, all, at_work);
    const auto took = steady::now() - begun;
    lock.lock();
    if (seen)
      seen_ = std::move(*seen);
    changed_.wait_for(
      lock, std::max<steady::duration>(least_pause, pause_of_look * took),
      [this] { return is_over_; });
  }
}

} // namespace hippo
