#include "gateway/actor_caller.hpp"

#include <spdlog/spdlog.h>

namespace hippo {

namespace {

caf::behavior worker(caf::event_based_actor* self) {
  return {[self](const caller_job& x) { x.run(self); }};
}

} // namespace

kj::Exception to_exception(const error& failure) {
  const auto text =
    std::string{to_string(failure.code)} + ": " + failure.message;
  return {kj::Exception::Type::FAILED, __FILE__, __LINE__,
          kj::heapString(text.data(), text.size())};
}

error fault(const std::string& what) {
  spdlog::error("gateway: a fault of the service itself: {}", what);
  return {errc::io_failed, "a fault of the service itself: " + what};
}

error to_error(const caf::error& failure) {
  if (failure.category() == caf::atom("hippo")) {
    const auto code = static_cast<errc>(failure.code());
    const auto& context = failure.context();
    return {code, context.match_elements<std::string>()
                    ? context.get_as<std::string>(0)
                    : std::string{to_string(code)}};
  }
  if (failure == caf::sec::request_timeout)
    return {errc::io_failed, "the service does not answer in time; what was "
                             "asked for may still be done"};
  return {errc::io_failed, "the service has ended, or what was asked has"};
}

actor_caller::actor_caller(caf::actor_system& system, place where)
  : system_(system),
    actor_(where == place::own_thread ? system.spawn<caf::detached>(worker)
                                      : system.spawn(worker)) {}

void actor_caller::close() {
  if (!actor_)
    return;
  caf::scoped_actor self{system_};
  self->send_exit(actor_, caf::exit_reason::user_shutdown);
  self->wait_for(actor_);
  actor_ = nullptr;
}

} // namespace hippo
