#include "hippo/report/tensorboard.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <nlohmann/json.hpp>

#include "hippo/report/text.hpp"

// The format of TensorFlow's event files: records of length, data and
// checksums, and in each a message `Event` of Protocol Buffers. The numbers of
// the fields are those of TensorBoard's event.proto, summary.proto and
// plugins/hparams/{api,plugin_data}.proto.

namespace hippo {

namespace {

static_assert(std::endian::native == std::endian::little,
              "event files are little-endian");

// -- Protocol Buffers ---------------------------------------------------------

enum class wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void add_varint(std::string& to, std::uint64_t x) {
  for (; x >= 128; x >>= 7)
    to += static_cast<char>(x | 128);
  to += static_cast<char>(x);
}

void add_key(std::string& to, unsigned field, wire type) {
  add_varint(to, field << 3 | static_cast<unsigned>(type));
}

void add_number(std::string& to, unsigned field, std::uint64_t x) {
  add_key(to, field, wire::varint);
  add_varint(to, x);
}

template <class T>
void add_raw(std::string& to, T x) {
  char bytes[sizeof x];
  std::memcpy(bytes, &x, sizeof x);
  to.append(bytes, sizeof x);
}

void add_double(std::string& to, unsigned field, double x) {
  add_key(to, field, wire::fixed64);
  add_raw(to, x);
}

void add_float(std::string& to, unsigned field, float x) {
  add_key(to, field, wire::fixed32);
  add_raw(to, x);
}

void add_bytes(std::string& to, unsigned field, std::string_view x) {
  add_key(to, field, wire::bytes);
  add_varint(to, x.size());
  to += x;
}

// -- records ------------------------------------------------------------------

/// CRC-32C, bit by bit, of which a table is made.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> result{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto x = i;
    for (int bit = 0; bit < 8; ++bit)
      x = (x >> 1) ^ ((x & 1) != 0 ? 0x82f63b78u : 0u);
    result[i] = x;
  }
  return result;
}();

/// The checksum of a record, which is masked so that checksums of texts that
/// have checksums in them are good ones.
std::uint32_t masked_crc(std::string_view bytes) {
  auto x = ~std::uint32_t{0};
  for (const auto c : bytes)
    x = crc_table[(x ^ static_cast<unsigned char>(c)) & 255] ^ (x >> 8);
  x = ~x;
  return std::rotr(x, 15) + 0xa282ead8u;
}

void add_record(std::string& to, const std::string& data) {
  std::string length;
  add_raw(length, std::uint64_t{data.size()});
  to += length;
  add_raw(to, masked_crc(length));
  to += data;
  add_raw(to, masked_crc(data));
}

// -- events -------------------------------------------------------------------

/// Adds an event with a value of a summary.
void add_event(std::string& to, double wall_time, step_t step,
               const std::string& value) {
  std::string summary;
  add_bytes(summary, 1, value);
  std::string event;
  add_double(event, 1, wall_time);
  add_number(event, 2, step);
  add_bytes(event, 5, summary);
  add_record(to, event);
}

/// Adds what the HParams tab is told of a run.
/// @param data a message HParamsPluginData
void add_hparams(std::string& to, double wall_time, std::string_view tag,
                 const std::string& data) {
  std::string plugin;
  add_bytes(plugin, 1, "hparams");
  add_bytes(plugin, 2, data);
  std::string metadata;
  add_bytes(metadata, 1, plugin);
  add_number(metadata, 4, 2); // data_class: a tensor
  std::string shape;
  add_bytes(shape, 2, ""); // one dimension, of size 0
  std::string tensor;
  add_number(tensor, 1, 1); // of floats
  add_bytes(tensor, 2, shape);
  std::string value;
  add_bytes(value, 1, tag);
  add_bytes(value, 8, tensor);
  add_bytes(value, 9, metadata);
  add_event(to, wall_time, 0, value);
}

/// Returns a hyper-parameter as a google.protobuf.Value.
std::string value_of(const nlohmann::ordered_json& x) {
  std::string result;
  if (x.is_number())
    add_double(result, 2, x.get<double>());
  else
    add_bytes(result, 3,
              x.is_string() ? x.get<std::string>()
                            : brief({{"x", x}}).substr(2));
  return result;
}

} // namespace

std::string tensorboard_events(const trial_record& trial, double wall_time) {
  std::string result;
  std::string version;
  add_double(version, 1, wall_time);
  add_bytes(version, 3, "brain.Event:2");
  add_record(result, version);

  std::string start;
  if (trial.params.is_object())
    for (const auto& [name, x] : trial.params.items()) {
      std::string entry;
      add_bytes(entry, 1, name);
      add_bytes(entry, 2, value_of(x));
      add_bytes(start, 1, entry);
    }
  add_bytes(start, 4, "trial " + std::to_string(trial.id));
  add_double(start, 5, wall_time);
  std::string begin;
  add_bytes(begin, 3, start);
  add_hparams(result, wall_time, "_hparams_/session_start_info", begin);

  for (const auto& x : trial.results)
    for (const auto& [name, number] : x.values) {
      std::string value;
      add_bytes(value, 1, name);
      add_float(value, 2, static_cast<float>(number));
      add_event(result, wall_time, x.step, value);
    }

  // STATUS_SUCCESS, STATUS_FAILURE and STATUS_RUNNING of api.proto.
  const auto status = trial.state == trial_state::failed ? 2u
                      : has_ended(trial.state)           ? 1u
                                                         : 3u;
  std::string end;
  add_number(end, 1, status);
  add_double(end, 2, wall_time);
  std::string ended;
  add_bytes(ended, 4, end);
  add_hparams(result, wall_time, "_hparams_/session_end_info", ended);
  return result;
}

} // namespace hippo
