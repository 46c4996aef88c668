#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <kj/async.h>

#include "gateway/actor_caller.hpp"
#include "hippo/search/think/thinking.hpp"

namespace hippo {

/// What one client has worked out for it: its jobs take turns with those of
/// others, and are dropped, or told to stop, when it goes.
///
/// Belongs to the thread of an event loop.
class client_work {
public:
  /// Jobs of each kind that wait at a time.
  static constexpr std::size_t admissions_max = 64;
  static constexpr std::size_t questions_max = 16;

  /// Asked by a job now and then: whether nobody wants its result any more.
  using stop_test = std::function<bool()>;

  explicit client_work(const std::shared_ptr<thinking>& where)
    : admissions_(where, job_kind::admission),
      questions_(where, job_kind::question) {}

  /// Runs `work(const stop_test&)`, which gives an `expected<T>`: a study is
  /// read.
  template <class T, class Work>
  kj::Promise<T> admit(Work work) {
    if (admissions_.waiting() >= admissions_max)
      return too_many(admissions_max, "studies that wait to be read");
    return start<T>(admissions_, std::move(work));
  }

  /// The same of what may take long: a preview, an export, what matters in a
  /// study.
  template <class T, class Work>
  kj::Promise<T> ask(Work work) {
    if (questions_.waiting() >= questions_max)
      return too_many(questions_max, "previews, exports and such that wait");
    return start<T>(questions_, std::move(work));
  }

private:
  static kj::Exception too_many(std::size_t most, const char* what) {
    return to_exception({errc::resource_exhausted,
                         "a client may have at most " + std::to_string(most)
                           + ' ' + what + ": wait for some to end"});
  }

  template <class T, class Work>
  static kj::Promise<T> start(thinking_place& place, Work work) {
    auto pair = kj::newPromiseAndCrossThreadFulfiller<T>();
    place.post([work = std::make_shared<Work>(std::move(work)),
                done = loop_answer<T>{kj::mv(pair.fulfiller)}](
                 const job_turn& turn) {
      const stop_test stops
        = [&] { return turn.is_cancelled() || !done.is_wanted(); };
      if (stops())
        return;
      done.keep_or_fail([&] { return (*work)(stops); });
    });
    return kj::mv(pair.promise);
  }

  thinking_place admissions_;
  thinking_place questions_;
};

} // namespace hippo
