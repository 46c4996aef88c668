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

/// Encodes `hello`. Equal values give equal bytes.
/// REQUIRES: `hello` keeps the limits above and the invariants of its type.
wire<schema::Hello> encode(const hello& hello);
wire<schema::Welcome> encode(const welcome& welcome);
wire<schema::Lease> encode(const lease& lease);
wire<schema::Stop> encode(const stop_request& request);
wire<schema::Cancel> encode(const cancel_request& request);
wire<schema::StopReport> encode(const stop_report& report);
wire<schema::LeaseEnd> encode(const lease_end& end);
wire<schema::Heartbeat> encode(const heartbeat& heartbeat);
wire<schema::Ack> encode(const ack& ack);
wire<schema::Resent> encode(const resent& resent);
wire<schema::Goodbye> encode(const goodbye& goodbye);

/// Decodes and validates `message`: the only place that turns a peer's bytes
/// into domain types. What comes out keeps the invariants of its type: names
/// are sorted, numbers that must be finite are, every form of a stage can be
/// asked for its values from the stage's begin on, and the file names of
/// checkpoints lead nowhere outside of their folder.
/// @returns the value, or `errc::malformed_message` with what is wrong
/// @complexity O(size of the message), in memory too
expected<hello> decode(const wire<schema::Hello>& message);
expected<welcome> decode(const wire<schema::Welcome>& message);
expected<lease> decode(const wire<schema::Lease>& message);
expected<stop_request> decode(const wire<schema::Stop>& message);
expected<cancel_request> decode(const wire<schema::Cancel>& message);
expected<stop_report> decode(const wire<schema::StopReport>& message);
expected<lease_end> decode(const wire<schema::LeaseEnd>& message);
expected<heartbeat> decode(const wire<schema::Heartbeat>& message);
expected<ack> decode(const wire<schema::Ack>& message);
expected<resent> decode(const wire<schema::Resent>& message);
expected<goodbye> decode(const wire<schema::Goodbye>& message);

/// Returns the number of a lease that does not decode, so that it can be ended;
/// nothing if not even that can be made out.
std::optional<lease_id> number_of(const wire<schema::Lease>& message);

/// Encodes a configuration as bytes to be stored. Equal ones give equal bytes.
std::string encode_configuration(const configuration& params);

/// Decodes what `encode_configuration` gave.
/// @returns the configuration, or `errc::malformed_message`
expected<configuration> decode_configuration(std::string_view bytes);

} // namespace hippo
