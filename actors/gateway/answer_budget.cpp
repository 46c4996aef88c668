#include "gateway/answer_budget.hpp"

#include <algorithm>

namespace hippo {

// -- answer_budget ------------------------------------------------------------

void answer_budget::share::resize(std::size_t bytes) {
  if (of_ == nullptr)
    return;
  of_->used_ = of_->used_ - bytes_ + bytes;
  bytes_ = bytes;
  of_->serve_waiting();
}

answer_budget::share answer_budget::grant(std::size_t bytes) {
  used_ += bytes;
  return {*this, bytes};
}

kj::Promise<answer_budget::share> answer_budget::take(std::size_t bytes) {
  if (bytes == 0 || (waiting_.empty() && fits(bytes)))
    return grant(bytes);
  auto pair = kj::newPromiseAndFulfiller<share>();
  waiting_.push_back({bytes, kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

void answer_budget::serve_waiting() {
  while (!waiting_.empty()) {
    const bool is_there = waiting_.front().who->isWaiting();
    if (is_there && !fits(waiting_.front().bytes))
      return;
    auto first = kj::mv(waiting_.front());
    waiting_.pop_front();
    if (is_there)
      first.who->fulfill(grant(first.bytes));
  }
}

// -- answer_ledger ------------------------------------------------------------

kj::Promise<answer_ledger::entry> answer_ledger::open(std::size_t bytes) {
  return own_.take(bytes).then([this, bytes](answer_budget::share own) {
    return all_.take(bytes).then(
      [own = kj::mv(own)](answer_budget::share of_all) mutable {
        return entry{kj::mv(own), kj::mv(of_all), 0};
      });
  });
}

void answer_ledger::post(entry x, std::size_t bytes) {
  x.own.resize(bytes);
  x.of_all.resize(bytes);
  x.unwritten = bytes;
  posted_.push_back(kj::mv(x));
}

void answer_ledger::note_written(std::size_t bytes) {
  while (bytes > 0 && !posted_.empty()) {
    auto& first = posted_.front();
    const auto part = std::min(bytes, first.unwritten);
    first.unwritten -= part;
    bytes -= part;
    if (first.unwritten > 0)
      return;
    posted_.pop_front();
  }
}

} // namespace hippo
