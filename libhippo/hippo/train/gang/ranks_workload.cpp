#include "hippo/train/gang/ranks_workload.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/base/first_line.hpp"
#include "hippo/checkpoint/folder_token.hpp"
#include "hippo/train/failures.hpp"
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
  if (socket
      && ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&any),
                sizeof any)
           == 0)
    if (const auto port = port_of(socket.number()); port != 0)
      return port;
  throw std::runtime_error("there is no port for the ranks");
}

/// The failures of a call's ranks, of which the first counts.
struct rank_failure {
  explicit operator bool() const { return first != nullptr; }

  void add(std::exception_ptr what, const std::string& text,
           const connected_gang& members) {
    if (first) {
      others += "\nalso: " + first_line(text);
      return;
    }
    first = std::move(what);
    until = std::chrono::steady_clock::now() + members.aftermath();
  }

  /// Throws the first one, if there is any, with what others have said.
  void rethrow() const {
    if (!first)
      return;
    if (others.empty())
      std::rethrow_exception(first);
    const auto why = guarded([this] { std::rethrow_exception(first); });
    if (why->code != errc::training_failed)
      std::rethrow_exception(first);
    throw std::runtime_error(why->message + others);
  }

  std::exception_ptr first;
  std::string others;
  connected_gang::time_point until{}; ///< others are heard
};

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

std::optional<std::string>
ranks_workload::answer_in(const connected_gang::heard& said) {
  const auto& [rank, frame] = said;
  const bool is_problem = frame.kind == frame_kind::problem;
  if (!is_problem && (frame.kind != frame_kind::done || frame.text.size() != 1))
    throw gang_lost{members_.name_of(rank) + " does not say that it is done"};
  if (const auto i = owed_.find(rank); i != owed_.end()) {
    if (--i->second == 0)
      owed_.erase(i);
    return std::nullopt;
  }
  return frame.text;
}

bool ranks_workload::await_all(own_call& own) {
  bool leaves = false;
  bool has_returned = false;
  std::set<std::uint32_t> waiting;
  for (std::uint32_t rank = 1; rank < members_.size(); ++rank)
    waiting.insert(rank);
  rank_failure failure;
  while (!has_returned || !waiting.empty()) {
    const auto x = members_.hear(has_returned ? -1 : own.number(),
                                 failure ? failure.until
                                         : connected_gang::time_point::max());
    if (!x) {
      if (has_returned || !own.has_returned())
        break; // others have been heard long enough
      has_returned = true;
      try {
        own.get();
      } catch (const std::exception& e) {
        failure.add(std::current_exception(), e.what(), members_);
      }
      continue;
    }
    const auto text = answer_in(*x);
    if (!text)
      continue;
    if (waiting.erase(x->rank) == 0)
      throw gang_lost{members_.name_of(x->rank)
                      + " answers what it was not asked"};
    if (x->frame.kind == frame_kind::problem)
      failure.add(std::make_exception_ptr(std::runtime_error(*text)), *text,
                  members_);
    else
      leaves = leaves || *text != std::string(1, '\0');
  }
  if (failure)
    for (const auto rank : waiting)
      ++owed_[rank];
  failure.rethrow();
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
