#include "gateway/response_cache.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

kj::Promise<response_cache::answer>
response_cache::get(const std::string& key, freshness wanted,
                    const std::function<kj::Promise<answer>()>& make) {
  const auto now = timer_.now();
  if (const auto i = entries_.find(key); i != entries_.end()) {
    auto& known = i->second;
    bool is_good = known.news >= wanted.seen;
    KJ_IF_MAYBE (age, wanted.age_max)
      is_good = is_good && now - known.made <= *age;
    if (is_good)
      return known.result.addBranch();
    forget(key, known.number);
  }
  const auto number = ++made_;
  auto result = make().then(
    [=, this](answer x) {
      note_made(key, number, x->bytes());
      return x;
    },
    [=, this](kj::Exception&& why) -> answer {
      // Not at once: this is a part of what is forgotten.
      tasks_.add(kj::evalLater([=, this] { forget(key, number); }));
      kj::throwFatalException(kj::mv(why));
    });
  auto& added =
    entries_.emplace(key, entry{number, wanted.news, now, 0, result.fork()})
      .first->second;
  return added.result.addBranch();
}

void response_cache::note_made(const std::string& key, std::uint64_t number,
                               std::size_t bytes) {
  const auto i = entries_.find(key);
  if (i == entries_.end() || i->second.number != number)
    return; // something newer was asked for since
  i->second.bytes = bytes;
  bytes_ += bytes;
  if (bytes_ <= bytes_max_)
    return;
  tasks_.add(kj::evalLater([this] {
    while (bytes_ > bytes_max_) {
      const auto oldest = std::min_element(
        entries_.begin(), entries_.end(), [](const auto& x, const auto& y) {
          // What is not there yet takes no room, and goes last.
          return std::pair{x.second.bytes == 0, x.second.number}
                 < std::pair{y.second.bytes == 0, y.second.number};
        });
      forget(std::string{oldest->first}, oldest->second.number);
    }
  }));
}

void response_cache::forget(const std::string& key, std::uint64_t number) {
  const auto i = entries_.find(key);
  if (i == entries_.end() || i->second.number != number)
    return;
  bytes_ -= i->second.bytes;
  entries_.erase(i);
}

} // namespace hippo
