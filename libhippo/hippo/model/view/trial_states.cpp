#include "hippo/model/view/trial_states.hpp"

#include <array>
#include <string>

#include <kj/exception.h>
#include <kj/string.h>

#include "hippo/base/error.hpp"

namespace hippo {

namespace {

constexpr std::array states{
  trial_state::pending, trial_state::running,   trial_state::paused,
  trial_state::complete, trial_state::pruned, trial_state::failed,
  trial_state::cancelled};

} // namespace

trial_state trial_state_of(std::string_view name) {
  for (const auto x : states)
    if (name == to_string(x))
      return x;
  kj::throwFatalException(kj::Exception(
    kj::Exception::Type::FAILED, __FILE__, __LINE__,
    kj::str(to_string(errc::malformed_message),
            ": the service speaks of a trial that is '",
            std::string{name}.c_str(), "', which this client does not know")));
}

} // namespace hippo
