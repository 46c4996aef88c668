#include "hippo/net/link/link_handle.hpp"

#include "hippo/net/link/framed_connection.hpp"

namespace hippo {

template <class F>
void link_handle::post(F function) const {
  if (calls_)
    calls_->post([at = at_, function = std::move(function)]() mutable {
      if (at->connection != nullptr)
        function(*at->connection);
    });
}

void link_handle::send(frame frame) const {
  post([frame = std::move(frame)](framed_connection& to) mutable {
    to.send(std::move(frame));
  });
}

void link_handle::give_back(std::size_t frames, std::size_t bytes) const {
  post([=](framed_connection& to) { to.give_back(frames, bytes); });
}

void link_handle::finish() const {
  post([](framed_connection& x) { x.finish(); });
}

void link_handle::fail(std::string why) const {
  post([why = std::move(why)](framed_connection& x) { x.fail(why); });
}

} // namespace hippo
