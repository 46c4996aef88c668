#include "hippo/train/thread_gang.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>
#include <thread>

namespace hippo {

namespace {

/// Returns the failure that says most: the first that no other one has caused.
std::exception_ptr cause_of(const std::vector<std::exception_ptr>& failures) {
  std::exception_ptr result;
  for (const auto& x : failures) {
    if (!x)
      continue;
    try {
      std::rethrow_exception(x);
    } catch (const gang_lost&) {
      if (!result)
        result = x;
    } catch (...) {
      return x;
    }
  }
  return result;
}

} // namespace

thread_gang::thread_gang(std::size_t size) : offers_(size), is_gone_(size) {
  assert(std::has_single_bit(size));
  members_.reserve(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    members_.emplace_back(*this, rank);
}

void thread_gang::run(const std::function<void(std::size_t)>& work) {
  std::ranges::fill(offers_, offer{});
  is_gone_.assign(size(), false);
  is_lost_ = false;
  std::vector<std::exception_ptr> failures(size());
  const auto end = [&](std::size_t rank, std::exception_ptr failure) {
    {
      const std::lock_guard guard{mutex_};
      is_gone_[rank] = true;
      is_lost_ = is_lost_ || failure;
      failures[rank] = std::move(failure);
    }
    changed_.notify_all();
  };
  const auto run_one = [&](std::size_t rank) {
    try {
      work(rank);
    } catch (...) {
      end(rank, std::current_exception());
      return;
    }
    end(rank, nullptr);
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(size());
    std::size_t rank = 1;
    try {
      for (; rank < size(); ++rank)
        threads.emplace_back(run_one, rank);
      run_one(0);
    } catch (...) { // a thread that cannot be started
      end(rank, std::current_exception());
    }
  }
  if (const auto cause = cause_of(failures))
    std::rethrow_exception(cause);
}

void thread_gang::exchange(std::size_t rank, std::size_t peer,
                           std::span<const std::byte> out,
                           std::span<std::byte> in) {
  using state = offer::state;
  assert(peer < size() && peer != rank);
  std::unique_lock lock{mutex_};
  auto &mine = offers_[rank], &theirs = offers_[peer];
  mine = {state::open, peer, out};
  changed_.notify_all();
  const auto is_there = [&] {
    return theirs.now == state::open && theirs.peer == rank;
  };
  changed_.wait(lock, [&] { return is_lost_ || is_gone_[peer] || is_there(); });
  const bool is_received =
    !is_lost_ && is_there() && theirs.bytes.size() == in.size();
  if (is_received) {
    theirs.now = state::copying;
    lock.unlock();
    std::ranges::copy(theirs.bytes, in.begin());
    lock.lock();
    theirs.now = state::taken;
    changed_.notify_all();
  }
  // Nobody reads `out` after this has returned or thrown.
  changed_.wait(lock, [&] {
    return mine.now == state::taken
           || (mine.now == state::open
               && (!is_received || is_lost_ || is_gone_[peer]));
  });
  const bool is_sent = mine.now == state::taken;
  mine.now = state::none;
  if (!is_received || !is_sent)
    throw gang_lost{
      "member " + std::to_string(peer) + " of " + std::to_string(size())
      + (is_lost_ ? " trains no more" : " exchanges something else")};
}

} // namespace hippo
