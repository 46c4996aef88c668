#include "hippo/net/link/link_handle.hpp"

#include "hippo/net/link/framed_connection.hpp"

namespace hippo {

template <class F>
void link_handle::post(F f) const {
  if (calls_)
    calls_->post([at = at_, f = std::move(f)]() mutable {
      if (at->connection != nullptr)
        f(*at->connection);
    });
}

void link_handle::send(frame x) const {
  post([x = std::move(x)](framed_connection& to) mutable {
    to.send(std::move(x));
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
