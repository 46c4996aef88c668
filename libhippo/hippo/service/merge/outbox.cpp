#include "hippo/service/merge/outbox.hpp"

#include <cassert>
#include <iterator>

namespace hippo {

void outbox::add(journal_record record) {
  next_.records.push_back(std::move(record));
}

void outbox::notify(study_no study, study_news news) {
  assert(!news.empty());
  auto& all = news_[study];
  all.insert(all.end(), std::make_move_iterator(news.begin()),
             std::make_move_iterator(news.end()));
}

void outbox::acknowledge(reply_address to, ack ack) {
  assert(ack.lease != lease_id{});
  acks_.emplace_back(to, ack);
}

void outbox::delete_file(std::string path) {
  assert(!path.empty());
  next_.files.push_back(std::move(path));
}

std::optional<commit_request> outbox::next_commit() {
  for (auto& [study, news] : std::exchange(news_, {}))
    next_.news.emplace_back(study, std::move(news));
  if (next_.empty() && acks_.empty())
    return std::nullopt;
  auto result = std::exchange(next_, {});
  result.number = ++last_;
  under_way_.emplace_back(result.number, std::exchange(acks_, {}));
  check_invariants();
  return result;
}

outbox::pending_acks outbox::committed(std::uint64_t number) {
  assert(!under_way_.empty());
  assert(under_way_.front().first == number);
  auto result = std::move(under_way_.front().second);
  under_way_.pop_front();
  check_invariants();
  return result;
}

bool outbox::is_empty() const {
  return next_.empty() && news_.empty() && acks_.empty()
         && under_way_.empty();
}

void outbox::check_invariants() const {
#ifndef NDEBUG
  assert(next_.number == 0);
  for (std::size_t i = 0; i < under_way_.size(); ++i)
    assert(under_way_[i].first == last_ - (under_way_.size() - 1 - i));
  for (const auto& [study, news] : news_)
    assert(!news.empty());
#endif
}

} // namespace hippo
