#include "network/remote_trainer.hpp"

#include <optional>
#include <utility>

#include "hippo/net/wire/codec.hpp"

namespace hippo {

namespace {

using remote_trainer_self =
  remote_trainer_actor::stateful_pointer<remote_trainer_state>;

/// The connection is told in portions what it may read on for.
constexpr std::size_t portion_frames = 16;
constexpr std::size_t portion_bytes = std::size_t{256} << 10;

trainer_actor handle_of(remote_trainer_self self) {
  return caf::actor_cast<trainer_actor>(self);
}

/// The service is done with so many bytes of one frame.
void give_back(remote_trainer_self self, std::size_t bytes) {
  auto& st = self->state;
  ++st.done_frames;
  st.done_bytes += bytes;
  if (st.done_frames < portion_frames && st.done_bytes < portion_bytes)
    return;
  st.link.give_back(std::exchange(st.done_frames, 0),
                    std::exchange(st.done_bytes, 0));
}

/// Passes a message on. It is done with once its receiver is: who sends more
/// than that takes is not read any further.
template <class Handle, class... Ts>
void pass_on(remote_trainer_self self, const Handle& to, std::size_t bytes,
             Ts... xs) {
  self->request(to, caf::infinite, std::move(xs)...)
    .then([self, bytes] { give_back(self, bytes); },
          [self, bytes](const caf::error&) { give_back(self, bytes); });
}

/// Reads an id from a message.
/// @returns nothing if it is malformed; the trainer is let go then
template <class Id, class Schema, class F>
std::optional<Id> id_in(remote_trainer_self self, const wire<Schema>& x,
                        F get) {
  try {
    return Id{x.read(get)};
  } catch (const kj::Exception&) {
    self->state.link.fail("it sends a malformed message");
    return std::nullopt;
  }
}

template <class Schema>
std::optional<lease_id> lease_in(remote_trainer_self self,
                                 const wire<Schema>& x) {
  return id_in<lease_id>(self, x, [](auto in) { return in.getLease(); });
}

template <class Schema>
std::optional<trainer_id> trainer_in(remote_trainer_self self,
                                     const wire<Schema>& x) {
  return id_in<trainer_id>(self, x, [](auto in) { return in.getTrainer(); });
}

template <class Schema>
void send(remote_trainer_self self, frame_type type, const wire<Schema>& x) {
  self->state.link.send(make_frame(type, x));
}

void take_welcome(remote_trainer_self self, const welcome& x) {
  auto& st = self->state;
  send(self, frame_type::welcome, encode(x));
  st.number = x.trainer;
  if (x.refusal)
    self->quit(); // which ends the connection after that
}

void take_hello(remote_trainer_self self, const frame& x) {
  const auto bytes = x.bytes();
  self->state.has_left = false;
  self
    ->request(self->state.pool, caf::infinite, register_atom::value,
              x.as<schema::Hello>(), handle_of(self))
    .then(
      [self, bytes](const welcome_wire& msg) {
        if (const auto answer = decode(msg))
          take_welcome(self, *answer);
        give_back(self, bytes);
      },
      [self](const caf::error&) {
        welcome answer;
        answer.refusal = error{errc::malformed_message,
                               "the service cannot read what this trainer says "
                               "of itself: run the same release of both"};
        take_welcome(self, answer);
      });
}

void take_goodbye(remote_trainer_self self, const frame& x) {
  auto& st = self->state;
  const auto message = x.as<schema::Goodbye>();
  const auto from = trainer_in(self, message);
  const auto bytes = x.bytes();
  const auto answer = [self, bytes] {
    self->state.link.send({frame_type::farewell, nullptr});
    give_back(self, bytes);
  };
  if (!from || *from != st.number) {
    answer();
    return;
  }
  st.has_left = true;
  self->request(st.pool, caf::infinite, leave_atom::value, message)
    .then(answer, [answer](const caf::error&) { answer(); });
}

/// Ends a lease that has come too late: a trainer that has taken leave may be
/// gone before it could give it back.
void hand_back(remote_trainer_self self, const lease_wire& msg,
               const lease_owner_actor& owner) {
  lease_end end;
  msg.read([&end](schema::Lease::Reader in) {
    end.lease = lease_id{in.getNumber()};
    end.at = in.getStages()[0].getBegin();
  });
  end.failure = error{errc::cancelled, "the trainer leaves"};
  self->send(owner, ended_atom::value, encode(end));
}

/// Passes a message of a lease on to its owner.
/// @returns the lease, if it is one of this trainer's
template <class Atom, class Schema>
std::optional<lease_id> take_of_lease(remote_trainer_self self, Atom atom,
                                      const wire<Schema>& message,
                                      std::size_t bytes) {
  auto& st = self->state;
  const auto lease = lease_in(self, message);
  const auto owner = lease ? st.owners.find(*lease) : st.owners.end();
  if (owner == st.owners.end()) {
    give_back(self, bytes);
    return std::nullopt;
  }
  pass_on(self, owner->second, bytes, atom, message);
  return lease;
}

/// Takes what the decoder lets a trainer send.
void take(remote_trainer_self self, const frame& x) {
  auto& st = self->state;
  switch (x.type) {
    case frame_type::hello: take_hello(self, x); return;
    case frame_type::goodbye: take_goodbye(self, x); return;
    case frame_type::report:
      take_of_lease(self, report_atom::value, x.as<schema::StopReport>(),
                    x.bytes());
      return;
    case frame_type::ended:
      if (const auto lease = take_of_lease(
            self, ended_atom::value, x.as<schema::LeaseEnd>(), x.bytes()))
        st.owners.erase(*lease);
      return;
    case frame_type::resent:
      pass_on(self, st.pool, x.bytes(), resent_atom::value,
              x.as<schema::Resent>(), handle_of(self));
      return;
    case frame_type::heartbeat: {
      const auto message = x.as<schema::Heartbeat>();
      // In its own name, which it may have lost meanwhile.
      if (const auto from = trainer_in(self, message);
          from && *from == st.number)
        pass_on(self, st.pool, x.bytes(), heartbeat_atom::value, message);
      else
        give_back(self, x.bytes());
      return;
    }
    default: give_back(self, x.bytes()); return;
  }
}

} // namespace

remote_trainer_actor::behavior_type remote_trainer(remote_trainer_self self,
                                                   const link_handle& link,
                                                   registrar_actor pool) {
  self->state.link = link;
  self->state.pool = std::move(pool);
  self->monitor(self->state.pool);
  self->set_down_handler([self](const caf::down_msg& msg) {
    self->quit(msg.reason); // without a pool there is no service
  });
  return {
    [self](lease_atom, const lease_wire& msg, const lease_owner_actor& owner) {
      if (self->state.has_left) {
        hand_back(self, msg, owner);
        return;
      }
      const lease_id lease{msg.read([](auto in) { return in.getNumber(); })};
      self->state.owners.insert_or_assign(lease, owner);
      send(self, frame_type::lease, msg);
    },
    [self](stop_atom, const stop_wire& msg) {
      send(self, frame_type::stop, msg);
    },
    [self](cancel_atom, const cancel_wire& msg) {
      send(self, frame_type::cancel, msg);
    },
    [self](ack_atom, const ack_wire& msg) {
      send(self, frame_type::ack, msg);
    },
    [self](lost_atom) {
      self->state.link.send({frame_type::lost, nullptr});
    },
    [self](const frame& x) { take(self, x); },
    [self](const link_ended& x) {
      const auto& st = self->state;
      const bool in_order = x.why.empty() && st.has_left && st.owners.empty();
      self->quit(in_order ? caf::error{}
                          : caf::make_error(errc::io_failed,
                                            x.why.empty()
                                              ? "it closed the connection"
                                              : x.why));
    },
  };
}

} // namespace hippo
