#include "network/remote_service.hpp"

#include <utility>

namespace hippo {

namespace {

using remote_service_self =
  remote_service_actor::stateful_pointer<remote_service_state>;

template <class Schema>
void send(remote_service_self self, frame_type type, const wire<Schema>& x) {
  self->state.link.send(make_frame(type, x));
}

/// Takes what the decoder lets a service send.
void take(remote_service_self self, const frame& x) {
  auto& st = self->state;
  switch (x.type) {
    case frame_type::welcome:
      if (!st.greeting.empty()) {
        st.greeting.front().deliver(x.as<schema::Welcome>());
        st.greeting.pop_front();
      }
      return;
    case frame_type::farewell:
      if (!st.leaving.empty()) {
        st.leaving.front().deliver(caf::unit);
        st.leaving.pop_front();
      }
      return;
    case frame_type::lease:
      self->send(st.trainer, lease_atom::value, x.as<schema::Lease>(),
                 caf::actor_cast<lease_owner_actor>(self));
      return;
    case frame_type::stop:
      self->send(st.trainer, stop_atom::value, x.as<schema::Stop>());
      return;
    case frame_type::cancel:
      self->send(st.trainer, cancel_atom::value, x.as<schema::Cancel>());
      return;
    case frame_type::ack:
      self->send(st.trainer, ack_atom::value, x.as<schema::Ack>());
      return;
    case frame_type::lost:
      self->send(st.trainer, lost_atom::value);
      return;
    default: return;
  }
}

} // namespace

remote_service_actor::behavior_type remote_service(remote_service_self self,
                                                   const link_handle& link,
                                                   trainer_actor trainer) {
  self->state.link = link;
  self->state.trainer = std::move(trainer);
  self->monitor(self->state.trainer);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  return {
    [self](register_atom, const hello_wire& msg,
           const trainer_actor&) -> caf::result<welcome_wire> {
      auto promise = self->make_response_promise<welcome_wire>();
      self->state.greeting.push_back(promise);
      send(self, frame_type::hello, msg);
      return promise;
    },
    [self](heartbeat_atom, const heartbeat_wire& msg) {
      send(self, frame_type::heartbeat, msg);
    },
    [self](resent_atom, const resent_wire& msg, const trainer_actor&) {
      send(self, frame_type::resent, msg);
    },
    [self](leave_atom, const goodbye_wire& msg) -> caf::result<void> {
      self->state.leaving.push_back(self->make_response_promise());
      send(self, frame_type::goodbye, msg);
      return caf::delegated<void>{};
    },
    [self](report_atom, const stop_report_wire& msg) {
      send(self, frame_type::report, msg);
    },
    [self](ended_atom, const lease_end_wire& msg) {
      send(self, frame_type::ended, msg);
    },
    [self](const frame& x) {
      take(self, x);
      self->state.link.give_back(1, x.bytes());
    },
    [self](const link_ended& x) {
      self->quit(caf::make_error(errc::io_failed,
                                 x.why.empty() ? "it closed the connection"
                                               : x.why));
    },
  };
}

} // namespace hippo
