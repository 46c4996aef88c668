#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <kj/async.h>
#include <kj/timer.h>

#include "gateway/http_body.hpp"

namespace hippo {

/// Answers of which many want the same: each is made once, for those who wait
/// for it and for those who come later, until there is news.
///
/// Belongs to the thread of an event loop.
class response_cache : private kj::TaskSet::ErrorHandler {
public:
  using answer = std::shared_ptr<const packed_body>;

  /// What somebody who asks has heard of.
  struct freshness {
    std::uint64_t news = 0; ///< the version of what is stored, now
    /// The version that an answer must know at least: it knows what was stored
    /// when it was asked for.
    std::uint64_t seen = 0;
    /// How long an answer is good whose news are not all stored; nothing: as
    /// long as nothing newer is known.
    kj::Maybe<kj::Duration> age_max{};
  };

  /// @param bytes_max of answers that nobody waits for
  response_cache(kj::Timer& timer, std::size_t bytes_max)
    : timer_(timer), bytes_max_(bytes_max) {}

  /// Returns what `make` gives, or gave for this key.
  kj::Promise<answer> get(const std::string& key, freshness wanted,
                          const std::function<kj::Promise<answer>()>& make);

private:
  struct entry {
    std::uint64_t number = 0; ///< of all that were made
    std::uint64_t news = 0;   ///< what was stored then is in it
    kj::TimePoint made;
    std::size_t bytes = 0; ///< 0: it is not there yet
    kj::ForkedPromise<answer> result;
  };

  void note_made(const std::string& key, std::uint64_t number,
                 std::size_t bytes);
  void forget(const std::string& key, std::uint64_t number);
  void taskFailed(kj::Exception&&) override {} // none can

  kj::Timer& timer_;
  const std::size_t bytes_max_;
  std::map<std::string, entry> entries_;
  std::size_t bytes_ = 0; ///< of all entries
  std::uint64_t made_ = 0;
  kj::TaskSet tasks_{*this};
};

} // namespace hippo
