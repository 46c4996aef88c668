#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hippo/base/error.hpp"
#include "hippo/base/limits.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/net/wire/wire.hpp"
#include "hippo/sequence/configuration.hpp"
#include "sequence.capnp.h"
#include "trainer.capnp.h"
#include "workload.capnp.h"

namespace hippo {

// Limits of `decode`, beside `base/limits.hpp`.
inline constexpr step_t max_step = 1ull << 53;
inline constexpr std::size_t max_log_bytes = 8 << 10; ///< of a failed lease
inline constexpr std::size_t max_workloads = 4096;
inline constexpr std::size_t max_lease_stages = 100'000;
inline constexpr std::size_t max_lease_stops = 1'000'000;
/// An hour.
inline constexpr std::uint64_t max_heartbeat_interval_ms = 3'600'000;
inline constexpr std::uint64_t max_duration_ns = 1ull << 55; ///< over a year
inline constexpr std::uint64_t max_checkpoint_bytes = 1ull << 53;

/// Encodes `x`. Equal values give equal bytes.
/// REQUIRES: `x` keeps the limits above and the invariants of its type.
wire<schema::Hello> encode(const hello& x);
wire<schema::Welcome> encode(const welcome& x);
wire<schema::Lease> encode(const lease& x);
wire<schema::Stop> encode(const stop_request& x);
wire<schema::Cancel> encode(const cancel_request& x);
wire<schema::StopReport> encode(const stop_report& x);
wire<schema::LeaseEnd> encode(const lease_end& x);
wire<schema::Heartbeat> encode(const heartbeat& x);
wire<schema::Ack> encode(const ack& x);
wire<schema::Resent> encode(const resent& x);
wire<schema::Goodbye> encode(const goodbye& x);

/// Decodes and validates `x`: the only place that turns a peer's bytes into
/// domain types. What comes out keeps the invariants of its type: names are
/// sorted, numbers that must be finite are, every form of a stage can be asked
/// for its values from the stage's begin on, and the file names of checkpoints
/// lead nowhere outside of their folder.
/// @returns the value, or `errc::malformed_message` with what is wrong
/// @complexity O(size of the message), in memory too
expected<hello> decode(const wire<schema::Hello>& x);
expected<welcome> decode(const wire<schema::Welcome>& x);
expected<lease> decode(const wire<schema::Lease>& x);
expected<stop_request> decode(const wire<schema::Stop>& x);
expected<cancel_request> decode(const wire<schema::Cancel>& x);
expected<stop_report> decode(const wire<schema::StopReport>& x);
expected<lease_end> decode(const wire<schema::LeaseEnd>& x);
expected<heartbeat> decode(const wire<schema::Heartbeat>& x);
expected<ack> decode(const wire<schema::Ack>& x);
expected<resent> decode(const wire<schema::Resent>& x);
expected<goodbye> decode(const wire<schema::Goodbye>& x);

/// Returns the number of a lease that does not decode, so that it can be ended;
/// nothing if not even that can be made out.
std::optional<lease_id> number_of(const wire<schema::Lease>& x);

/// Encodes a configuration as bytes to be stored. Equal ones give equal bytes.
std::string encode_configuration(const configuration& x);

/// Decodes what `encode_configuration` gave.
/// @returns the configuration, or `errc::malformed_message`
expected<configuration> decode_configuration(std::string_view bytes);

} // namespace hippo
