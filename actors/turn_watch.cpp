#include "turn_watch.hpp"

#include <time.h>

#include <utility>

#include <spdlog/spdlog.h>

namespace hippo {

namespace {

turn_watch::listener& listener_of_all() {
  static turn_watch::listener result
    = [](const std::string& who, turn_watch::duration took) {
        spdlog::warn("{} computed for {} ms where others wait", who,
                     std::chrono::duration_cast<std::chrono::milliseconds>(took)
                       .count());
      };
  return result;
}

class watched_impl final : public caf::detail::behavior_impl {
public:
  watched_impl(pointer inner, const char* actor)
    : behavior_impl(inner->timeout()), inner_(std::move(inner)), actor_(actor) {
  }

  caf::match_case::result
  invoke_empty(caf::detail::invoke_result_visitor& f) override {
    return inner_->invoke_empty(f);
  }

  caf::match_case::result invoke(caf::detail::invoke_result_visitor& f,
                                 caf::type_erased_tuple& xs) override {
    const auto begin = turn_watch::now();
    const auto result = inner_->invoke(f, xs);
    const auto took = turn_watch::now() - begin;
    if (took > turn_watch::limit)
      turn_watch::note(
        actor_,
        xs.size() > 0 && xs.match_element<caf::atom_value>(0)
          ? to_string(xs.get_as<caf::atom_value>(0))
          : std::string{"?"},
        took);
    return result;
  }

  void handle_timeout() override { inner_->handle_timeout(); }

private:
  pointer inner_;
  const char* actor_;
};

} // namespace

void turn_watch::listen(listener handler) {
  listener_of_all() = std::move(handler);
}

turn_watch::duration turn_watch::now() noexcept {
  timespec x{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
  return std::chrono::seconds{x.tv_sec} + std::chrono::nanoseconds{x.tv_nsec};
}

void turn_watch::note(const char* actor, const std::string& message,
                      duration took) {
  listener_of_all()(std::string{actor} + ": " + message, took);
}

caf::behavior watched_behavior(caf::behavior handlers, const char* actor) {
  return caf::behavior{caf::intrusive_ptr<caf::detail::behavior_impl>{
    caf::make_counted<watched_impl>(handlers.as_behavior_impl(), actor)}};
}

} // namespace hippo
