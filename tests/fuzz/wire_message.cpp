// Messages between a service and its trainers: the first byte says of which
// schema, the rest is the message. What is decoded keeps its invariants, so it
// is the same once it has been encoded again.

#include <algorithm>

#include "fuzz/target.hpp"
#include "hippo/net/wire/codec.hpp"

namespace hippo::fuzz {

namespace {

template <class Schema>
void decode_one(std::string_view bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy_n(bytes.begin(), words.asChars().size(), words.asChars().begin());
  const wire<Schema> message{kj::mv(words)};
  if constexpr (std::is_same_v<Schema, schema::Lease>)
    (void)number_of(message);
  const auto x = decode(message);
  if (!x)
    return;
  const auto again = encode(*x);
  const auto back = decode(again);
  require(static_cast<bool>(back),
          "what was decoded is refused: "
            + (back ? std::string{} : back.failure().message));
  require(encode(*back) == again, "what was decoded is another message");
}

void decode_configuration_of(std::string_view bytes) {
  const auto x = decode_configuration(bytes);
  if (!x)
    return;
  for (const auto& [name, shape] : *x) {
    (void)shape.at(shape.origin);
    (void)shape.at(max_step);
  }
  const auto back = decode_configuration(encode_configuration(*x));
  require(back && *back == *x, "a configuration is another one");
}

constexpr void (*decoders[])(std::string_view) = {
  decode_one<schema::Hello>,      decode_one<schema::Welcome>,
  decode_one<schema::Lease>,      decode_one<schema::Stop>,
  decode_one<schema::Cancel>,     decode_one<schema::StopReport>,
  decode_one<schema::LeaseEnd>,   decode_one<schema::Heartbeat>,
  decode_one<schema::Ack>,        decode_one<schema::Resent>,
  decode_one<schema::Goodbye>,    decode_configuration_of,
};

void handle(std::string_view input) {
  if (input.empty())
    return;
  const auto which = static_cast<unsigned char>(input.front());
  decoders[which % std::size(decoders)](input.substr(1));
}

} // namespace

const target wire_message{"wire_message", handle, {std::string(8, '\0')}};

} // namespace hippo::fuzz
