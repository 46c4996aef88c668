#include "hippo/net/wire/codec.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "hippo/model/workload_descriptor.hpp"
#include "wire/samples.hpp"

namespace hippo {
namespace {

/// Sends `x` through its bytes and back.
template <class T>
T round_trip(const T& x) {
  auto result = decode(encode(x));
  if (!result)
    ADD_FAILURE() << result.failure().message;
  return result ? *result : T{};
}

/// Expects that `x`, changed by `spoil`, is refused with a text that holds
/// `why`.
template <class T>
void expect_refused(T x, const std::function<void(T&)>& spoil,
                    const std::string& why) {
  spoil(x);
  const auto result = decode(encode(x));
  ASSERT_FALSE(result) << "accepted, though: " << why;
  EXPECT_EQ(result.failure().code, errc::malformed_message);
  EXPECT_NE(result.failure().message.find(why), std::string::npos)
    << result.failure().message;
}

TEST(Codec, HelloRoundTrips) {
  EXPECT_EQ(round_trip(samples::greeting()), samples::greeting());
}

TEST(Codec, HelloOfAnotherProtocolIsStillUnderstood) {
  auto x = samples::greeting();
  x.protocol = protocol_version + 1;
  EXPECT_EQ(round_trip(x).protocol, protocol_version + 1);
  x.at_once = 0; // of a peer that knows nothing of it
  EXPECT_EQ(round_trip(x).at_once, 1u);
  x.code_at_once = 0;
  EXPECT_EQ(round_trip(x).code_at_once, 1u);
}

TEST(Codec, WelcomeRoundTrips) {
  const auto accepted = round_trip(welcome{std::nullopt, trainer_id{3}, 500});
  EXPECT_FALSE(accepted.refusal);
  EXPECT_EQ(accepted.trainer, trainer_id{3});
  EXPECT_EQ(accepted.heartbeat_interval_ms, 500u);
  const auto refused = round_trip(
    welcome{error{errc::incompatible_version, "speak version 2"}, {}, 0});
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->code, errc::incompatible_version);
  EXPECT_EQ(refused.refusal->message, "speak version 2");
}

TEST(Codec, LeaseRoundTrips) {
  const auto x = samples::path();
  const auto y = round_trip(x);
  EXPECT_EQ(y.number, x.number);
  EXPECT_EQ(y.workload, x.workload);
  EXPECT_EQ(y.folder, x.folder);
  EXPECT_EQ(y.token, x.token);
  EXPECT_EQ(y.depot, x.depot);
  EXPECT_EQ(y.lane, x.lane);
  EXPECT_EQ(y.gang, x.gang);
  EXPECT_EQ(y.start, x.start);
  EXPECT_EQ(y.code, x.code);
  EXPECT_EQ(y.stops, x.stops);
  ASSERT_EQ(y.stages.size(), x.stages.size());
  for (std::size_t i = 0; i < x.stages.size(); ++i) {
    EXPECT_EQ(y.stages[i].node, x.stages[i].node);
    EXPECT_EQ(y.stages[i].begin, x.stages[i].begin);
    EXPECT_EQ(y.stages[i].end, x.stages[i].end);
    EXPECT_EQ(y.stages[i].config, x.stages[i].config);
    EXPECT_EQ(y.stages[i].identity, x.stages[i].identity);
  }
}

TEST(Codec, StopAndCancelRoundTrip) {
  const stop_request stop{lease_id{7}, {15, false, true, true}};
  EXPECT_EQ(round_trip(stop), stop);
  EXPECT_EQ(round_trip(cancel_request{lease_id{7}}),
            cancel_request{lease_id{7}});
}

TEST(Codec, ASizeThatIsNoneIsUnknown) {
  auto x = samples::report();
  x.size = {-1, std::numeric_limits<double>::quiet_NaN(),
            std::numeric_limits<double>::infinity()};
  EXPECT_EQ(round_trip(x).size, workload_size{});
}

TEST(Codec, StopReportRoundTripsBitForBit) {
  const auto x = samples::report();
  const auto y = round_trip(x);
  EXPECT_EQ(y.lease, x.lease);
  EXPECT_EQ(y.at, x.at);
  EXPECT_EQ(y.saved, x.saved);
  EXPECT_EQ(y.device, x.device);
  EXPECT_EQ(y.load_ns, 1u);
  EXPECT_EQ(y.train_ns, 2u);
  EXPECT_EQ(y.evaluate_ns, 3u);
  EXPECT_EQ(y.save_ns, 4u);
  EXPECT_EQ(y.wait_ns, 1u);
  EXPECT_EQ(y.node, x.node);
  EXPECT_EQ(y.identity, x.identity);
  EXPECT_EQ(y.trained_steps, 2u);
  EXPECT_EQ(y.output, x.output);
  EXPECT_EQ(y.size, x.size);
  ASSERT_EQ(y.values.size(), x.values.size());
  for (const auto& [name, value] : x.values)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(y.values.at(name)),
              std::bit_cast<std::uint64_t>(value));
}

TEST(Codec, StopReportWithoutCheckpointRoundTrips) {
  auto x = samples::report();
  x.saved.reset();
  x.values.clear();
  EXPECT_FALSE(round_trip(x).saved);
  EXPECT_TRUE(round_trip(x).values.empty());
}

TEST(Codec, LeaseEndRoundTrips) {
  EXPECT_FALSE(round_trip(lease_end{lease_id{7}, 20, std::nullopt}).failure);
  const auto x = round_trip(
    lease_end{lease_id{7}, 13, error{errc::diverged, "loss"}, "one\ntwo"});
  EXPECT_EQ(x.log, "one\ntwo");
  EXPECT_EQ(x.at, 13u);
  ASSERT_TRUE(x.failure);
  EXPECT_EQ(x.failure->code, errc::diverged);
  EXPECT_EQ(x.failure->message, "loss");
  for (const auto during : {lease_part::training, lease_part::measuring,
                            lease_part::saving})
    EXPECT_EQ(round_trip(lease_end{lease_id{7}, 13, std::nullopt, {}, during})
                .during,
              during);
}

TEST(Codec, AckResentAndGoodbyeRoundTrip) {
  EXPECT_EQ(round_trip(ack{lease_id{7}, 13}), (ack{lease_id{7}, 13}));
  EXPECT_EQ(round_trip(goodbye{trainer_id{3}}), goodbye{trainer_id{3}});
  const auto x = round_trip(resent{"toy;mode=fast", samples::report()});
  EXPECT_EQ(x.workload_key, "toy;mode=fast");
  EXPECT_EQ(x.report.lease, lease_id{7});
  EXPECT_EQ(x.report.at, 12u);
  EXPECT_EQ(x.report.node, node_id{5});
  EXPECT_EQ(x.report.saved, samples::report().saved);
}

TEST(Codec, RefusesBrokenAcksResentsAndGoodbyes) {
  expect_refused<ack>(
    {lease_id{7}, 13}, [](ack& x) { x.lease = {}; }, "no number");
  expect_refused<ack>(
    {lease_id{7}, 13}, [](ack& x) { x.at = max_step + 1; }, "beyond");
  expect_refused<goodbye>(
    {trainer_id{3}}, [](goodbye& x) { x.trainer = {}; }, "no number");
  const resent good{"toy", samples::report()};
  const auto refused = [&](auto spoil, const char* why) {
    expect_refused<resent>(good, spoil, why);
  };
  refused([](resent& x) { x.workload_key.clear(); }, "workload key is empty");
  refused([](resent& x) { x.workload_key.assign(max_text_bytes + 1, 'k'); },
          "too long");
  refused([](resent& x) { x.report.node = {}; }, "names no node");
  refused([](resent& x) { x.report.lease = {}; }, "no number");
}

TEST(Codec, HeartbeatRoundTrips) {
  const heartbeat x{trainer_id{3}, lease_id{7}, 13, 99, 12'345};
  EXPECT_EQ(round_trip(x), x);
}

TEST(Codec, ConfigurationRoundTripsAsBytes) {
  for (const auto& x : {samples::config(4), configuration{}}) {
    const auto bytes = encode_configuration(x);
    const auto y = decode_configuration(bytes);
    ASSERT_TRUE(y) << y.failure().message;
    EXPECT_EQ(*y, x);
    EXPECT_EQ(encode_configuration(*y), bytes);
  }
}

TEST(Codec, EmptyWireIsMalformed) {
  EXPECT_FALSE(decode(wire<schema::Lease>{}));
  EXPECT_FALSE(decode_configuration(""));
  EXPECT_FALSE(decode_configuration("123"));
}

TEST(Codec, RefusesBrokenHellos) {
  const auto refused = [](auto spoil, const char* why) {
    expect_refused<hello>(samples::greeting(), spoil, why);
  };
  refused([](hello& x) { x.protocol = 0; }, "protocol version is missing");
  refused([](hello& x) { x.device.clear(); }, "kind of device is empty");
  refused([](hello& x) { x.workloads[""]; }, "name is empty");
  refused([](hello& x) { x.workloads["toy"].assign(max_name_bytes + 1, 'v'); },
          "version is too long");
  refused([](hello& x) { x.host.assign(max_name_bytes + 1, 'h'); },
          "host name is too long");
  refused([](hello& x) { x.driver.assign(max_name_bytes + 1, 'd'); },
          "GPU's driver is too long");
  refused(
    [](hello& x) { x.compute_capability.assign(max_name_bytes + 1, 'c'); },
    "compute capability is too long");
  refused([](hello& x) { x.numerics.assign(max_name_bytes + 1, 'n'); },
          "numerics is too long");
  refused([](hello& x) { x.machine.assign(max_name_bytes + 1, 'm'); },
          "kind of machine is too long");
  refused([](hello& x) { x.gang = "node7"; }, "gang is not HOST:PORT");
  refused([](hello& x) { x.code_at_once = lanes_max + 1; },
          "the number of leases at once is out of range");
  refused([](hello& x) { x.at_once = lanes_max + 1; },
          "number of leases at once is out of range");
  refused(
    [](hello& x) {
      for (std::size_t i = 0; i <= max_workloads; ++i)
        x.workloads["toy" + std::to_string(i)];
    },
    "workloads are too many");
}

TEST(Codec, RefusesTextsWithZeroBytes) {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<schema::Hello>();
  root.setProtocol(1);
  root.setDevice("cpu");
  root.initHost(3)[0] = 'a'; // the rest stays zero
  const auto result = decode(wire<schema::Hello>{builder});
  ASSERT_FALSE(result);
  EXPECT_NE(result.failure().message.find("zero byte"), std::string::npos);
}

TEST(Codec, RefusesBrokenWelcomes) {
  const auto refused = [](welcome x, const char* why) {
    expect_refused<welcome>(std::move(x), [](welcome&) {}, why);
  };
  refused({std::nullopt, {}, 500}, "trainer has no number");
  refused({std::nullopt, trainer_id{1}, 0}, "out of range");
  refused({std::nullopt, trainer_id{1}, max_heartbeat_interval_ms + 1},
          "out of range");
  refused({error{}, {}, 0}, "has no code");
}

TEST(Codec, MembersThatHaveRanksDivideThem) {
  auto x = samples::path();
  x.workload.name = python_workload;
  x.workload.options["ranks"] = 6.0;
  for (const std::size_t members : {2, 3, 6}) {
    x.gang->members.assign(members, "a:1");
    EXPECT_TRUE(decode(encode(x))) << members;
  }
  for (const std::size_t members : {0, 1, 4, 12}) {
    x.gang->members.assign(members, "a:1");
    const auto read = decode(encode(x));
    ASSERT_FALSE(read) << members;
    EXPECT_NE(read.failure().message.find("out of range"), std::string::npos);
  }
}

TEST(Codec, RefusesBrokenLeases) {
  const auto refused = [](auto spoil, const char* why) {
    expect_refused<lease>(samples::path(), spoil, why);
  };
  refused([](lease& x) { x.number = {}; }, "lease has no number");
  refused([](lease& x) { x.workload.name.clear(); }, "name is empty");
  refused([](lease& x) { x.workload.options[""] = 1.0; }, "name is empty");
  refused([](lease& x) { x.workload.options["data.train"] = std::nan(""); },
          "option is not finite");
  refused([](lease& x) { x.workload.exact["mode"] = "fast"; }, "is none");
  refused([](lease& x) { x.workload.settings[""] = 1.0; }, "name is empty");
  refused([](lease& x) { x.code.file = "../code"; }, "leads out");
  refused([](lease& x) { x.lane = lanes_max; }, "lane is out of range");
  refused([](lease& x) { x.gang->lead = {}; }, "lease has no number");
  refused([](lease& x) { x.gang->secret.clear(); },
          "secret of a gang is empty");
  refused([](lease& x) { x.gang->rank = 2; }, "rank in a gang is out of range");
  refused([](lease& x) { x.gang->members.pop_back(); }, "out of range");
  refused([](lease& x) { x.gang->members.push_back("a:1"); }, "out of range");
  refused([](lease& x) { x.gang->members.assign(128, "a:1"); }, "out of range");
  refused([](lease& x) { x.gang->members[1].clear(); }, "member is empty");
  refused([](lease& x) { x.gang->members[1] = "node7"; }, "not HOST:PORT");
  refused([](lease& x) { x.stages.clear(); }, "no stages");
  refused([](lease& x) { x.stops.clear(); }, "no stops");
  refused([](lease& x) { x.stages[1].begin = 13; }, "where the one before");
  refused([](lease& x) { x.stages[1].end = 11; }, "ends before it begins");
  refused([](lease& x) { x.stages[2].end = max_step + 1; }, "last step");
  refused([](lease& x) { x.stops[1].at = 10; }, "not sorted");
  refused([](lease& x) { x.stops[0].at = 9; }, "before the stages");
  refused([](lease& x) { x.stops[2].at = 19; }, "not at the end");
  refused([](lease& x) { x.stops[2].at = 21; }, "not at the end");
  refused([](lease& x) { x.start.file.clear(); }, "without a checkpoint");
  refused([](lease& x) { x.base.table_bytes = x.base.bytes + 1; },
          "larger than its file");
  const auto with_parts = [&](std::vector<part_file> files, const char* why) {
    refused([&](lease& x) { x.base.part_files = files; }, why);
  };
  with_parts(std::vector<part_file>(part_files_max + 1, {"a", 1, 1}),
             "are too many");
  with_parts({{"b", 1, 1}, {"a", 1, 1}}, "are not sorted");
  with_parts({{"a", 1, 1}, {"a", 1, 1}}, "are not sorted");
  with_parts({{"../a", 1, 1}}, "leads out of its folder");
  with_parts({{"", 1, 1}}, "is empty");
  with_parts({{"a", 0, 1}}, "is out of range");
  with_parts({{"a", max_checkpoint_bytes + 1, 1}}, "is out of range");
  refused(
    [](lease& x) {
      x.base.part_files = {{x.base.file, 1, 1}};
    },
    "hold the checkpoint's");
  refused(
    [](lease& x) {
      x.base.table_bytes = 0;
      x.base.part_files = {{"a", 1, 1}};
    },
    "have no table");
  refused([](lease& x) { x.start.bytes = max_checkpoint_bytes + 1; },
          "too large");
  for (const auto* name : {"../secret", "..", ".", "/etc/passwd"})
    refused([name](lease& x) { x.start.file = name; }, "leads out");
  refused([](lease& x) { x.folder.assign(max_text_bytes + 1, 'f'); },
          "folder is too long");
}

TEST(Codec, RefusesAFolderWithAZeroByte) {
  capnp::MallocMessageBuilder message;
  encode(samples::path()).read([&](schema::Lease::Reader x) {
    message.setRoot(x);
    return true;
  });
  message.getRoot<schema::Lease>().initFolder(3)[1] = '\0';
  const auto x = decode(wire<schema::Lease>{message});
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().message,
            "malformed lease: the folder holds a zero byte");
}

TEST(Codec, RefusesLeasesOfAbsurdLength) {
  expect_refused<lease>(
    samples::path(),
    [](lease& x) {
      x.stages.assign(max_lease_stages + 1, {node_id{3}, 10, 10, {}});
    },
    "stages are too many");
  expect_refused<lease>(
    samples::path(),
    [](lease& x) { x.stops.resize(max_lease_stops + 1); },
    "stops are too many");
}

TEST(Codec, RefusesMessagesOfAbsurdLengthUnread) {
  const std::string bytes((max_wire_words + 1) * sizeof(capnp::word), '\0');
  const auto x = decode(wire<schema::Ack>::of_bytes(bytes));
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().message,
            "malformed acknowledgement: it is too large");
}

TEST(Codec, LeaseFromTheInitialStateNeedsNoCheckpoint) {
  lease x = samples::path();
  x.start = {};
  x.stages = {{node_id{1}, 0, 5, samples::config(0)}};
  x.stops = {{5, true, false}};
  EXPECT_EQ(round_trip(x).start, checkpoint{});
}

TEST(Codec, RefusesBrokenForms) {
  const auto refused = [](auto spoil, const char* why) {
    expect_refused<lease>(
      samples::path(), [&](lease& x) { spoil(x.stages[1].config); }, why);
  };
  refused([](configuration& x) { x["lr"].kind = static_cast<form_kind>(77); },
          "unknown kind");
  refused([](configuration& x) { x["lr"].origin = 13; }, "after its stage");
  refused([](configuration& x) { x["lr"].origin = max_step + 1; },
          "last step");
  refused([](configuration& x) { x["lr"].a[2] = 0; }, "no length");
  refused([](configuration& x) { x["lr"].a[2] = -1; }, "no length");
  refused([](configuration& x) { x["lr"].a[3] = 1; }, "too many numbers");
  refused([](configuration& x) { x["lr"].word = "w"; }, "has a word");
  refused([](configuration& x) { x["batch_size"].origin = 1; },
          "has an origin");
  refused([](configuration& x) { x["batch_size"].a[0] = std::nan(""); },
          "not finite");
  refused([](configuration& x) { x["decay"].a[1] = HUGE_VAL; }, "not finite");
  refused([](configuration& x) { x["ramp"].a[2] = 0; }, "no whole number");
  refused([](configuration& x) { x["ramp"].a[2] = 1.5; }, "no whole number");
  refused([](configuration& x) { x["ramp"].a[3] = 1; }, "too many numbers");
  refused([](configuration& x) { x["rex"].a[2] = 0; }, "no length");
  refused([](configuration& x) { x["rex"].a[3] = 1; }, "beta out of range");
  refused([](configuration& x) { x["rex"].a[3] = -0.1; },
          "beta out of range");
  refused([](configuration& x) { x["rex"].a[4] = 1; }, "too many numbers");
  refused([](configuration& x) { x["root"].a[2] = 0; }, "no length");
  refused([](configuration& x) { x["root"].a[3] = 1; }, "too many numbers");
  refused([](configuration& x) { x["slow"].a[1] = 0; }, "no scale");
  refused([](configuration& x) { x["slow"].a[2] = 1; }, "too many numbers");
  refused([](configuration& x) { x["fade"].a[3] = 9; }, "no length");
  refused([](configuration& x) { x["fade"].a[3] = -1; }, "before its origin");
  refused([](configuration& x) { x["fade"].a[4] = -1; }, "before its origin");
  refused([](configuration& x) { x["fade"].a[2] = -1; }, "negative ratio");
  refused([](configuration& x) { x["optimizer"].a[0] = 1; },
          "too many numbers");
  refused([](configuration& x) { x["width"].a[1] = 0.5; }, "has a fraction");
  refused([](configuration& x) { x["width"].a[0] = 1e17; }, "has a fraction");
  refused([](configuration& x) { x["lr"].type = value_type::whole; },
          "is whole and cannot be");
  refused([](configuration& x) { x["nesterov"].a[0] = 2; },
          "neither true nor false");
  refused([](configuration& x) { x["width"].type = value_type::truth; },
          "neither true nor false");
  refused([](configuration& x) { x["layers"].word = "[64,"; }, "is no JSON");
  refused([](configuration& x) { x["lr"].type = value_type::json; },
          "is no JSON");
  refused([](configuration& x) { x[""]; }, "name is empty");
  refused(
    [](configuration& x) {
      for (std::size_t i = 0; i <= max_hyper_parameters; ++i)
        x["h" + std::to_string(i)];
    },
    "hyper-parameters are too many");
}

TEST(Codec, KeepsEveryFormAsItIs) {
  std::mt19937_64 random{4};
  std::uniform_real_distribution<> number{-10, 10};
  const auto steps = [&] { return static_cast<double>(1 + random() % 1000); };
  for (int i = 0; i < 5000; ++i) {
    form x;
    x.kind = static_cast<form_kind>(1 + i % 10);
    const auto a = number(random);
    const auto b = random() % 4 == 0 ? 0 : number(random);
    switch (x.kind) {
      case form_kind::constant: x.a = {a}; break;
      case form_kind::text: x.word = std::to_string(a); break;
      case form_kind::exponential: x.a = {a, b}; break;
      case form_kind::cosine:
      case form_kind::square_root:
      case form_kind::line: x.a = {a, b, steps()}; break;
      case form_kind::inverse_root: x.a = {a, steps()}; break;
      case form_kind::polynomial: x.a = {a, b, steps(), b}; break;
      case form_kind::rex:
        x.a = {a, b, steps(), std::abs(a) / 11};
        break;
      case form_kind::fading_ramp:
        x.a = {a, b, std::abs(b), steps(), steps() + 1000};
        break;
    }
    if (!x.is_plateau())
      x.origin = random() % max_step;
    const configuration whole{{"x", x}};
    const auto result = decode_configuration(encode_configuration(whole));
    ASSERT_TRUE(result) << to_text(x) << result.failure().message;
    EXPECT_EQ(*result, whole);
  }
}

TEST(Codec, RefusesNamesOutOfOrder) {
  for (const auto* names : {"ba", "aa"}) {
    capnp::MallocMessageBuilder builder;
    auto values = builder.initRoot<schema::StopReport>().initValues(2);
    builder.getRoot<schema::StopReport>().setLease(1);
    for (unsigned i = 0; i < 2; ++i)
      values[i].setName(std::string(1, names[i]));
    const auto result = decode(wire<schema::StopReport>{builder});
    ASSERT_FALSE(result);
    EXPECT_NE(result.failure().message.find("not sorted by name"),
              std::string::npos);
  }
}

TEST(Codec, RefusesBrokenStops) {
  const auto refused = [](stop_request x, const char* why) {
    expect_refused<stop_request>(x, [](stop_request&) {}, why);
  };
  refused({{}, {1, true, true}}, "no number");
  refused({lease_id{1}, {1, false, false}}, "no purpose");
  refused({lease_id{1}, {max_step + 1, true, true}}, "last step");
  expect_refused<cancel_request>(
    {lease_id{}}, [](cancel_request&) {}, "no number");
}

TEST(Codec, RefusesBrokenReports) {
  const auto refused = [](auto spoil, const char* why) {
    expect_refused<stop_report>(samples::report(), spoil, why);
  };
  refused([](stop_report& x) { x.lease = {}; }, "no number");
  refused([](stop_report& x) { x.at = max_step + 1; }, "last step");
  refused([](stop_report& x) { x.values[""] = 1; }, "name is empty");
  refused([](stop_report& x) { x.saved->file.clear(); }, "is empty");
  refused([](stop_report& x) { x.saved->file = "a/b"; }, "leads out");
  refused([](stop_report& x) { x.device.clear(); }, "is empty");
  refused([](stop_report& x) { x.load_ns = max_duration_ns + 1; }, "too long");
  refused([](stop_report& x) { x.train_ns = max_duration_ns + 1; }, "too long");
  refused([](stop_report& x) { x.evaluate_ns = max_duration_ns + 1; },
          "too long");
  refused([](stop_report& x) { x.save_ns = max_duration_ns + 1; }, "too long");
  refused([](stop_report& x) { x.wait_ns = x.train_ns + 1; },
          "longer than that of training");
  refused([](stop_report& x) { x.trained_steps = x.at + 1; }, "lies before");
}

TEST(Codec, RefusesBrokenEndsAndHeartbeats) {
  expect_refused<lease_end>({{}, 1, {}}, [](lease_end&) {}, "no number");
  expect_refused<lease_end>({lease_id{1}, max_step + 1, {}},
                            [](lease_end&) {}, "last step");
  expect_refused<lease_end>({lease_id{1}, 1, error{}}, [](lease_end&) {},
                            "no code");
  expect_refused<lease_end>(
    {lease_id{1}, 1, {}, std::string(max_log_bytes + 1, 'l')},
    [](lease_end&) {}, "log is too long");
  expect_refused<heartbeat>({{}, lease_id{1}, 1, 1}, [](heartbeat&) {},
                            "no number");
  expect_refused<heartbeat>(
    {trainer_id{1}, lease_id{1}, max_step + 1, 1}, [](heartbeat&) {},
    "last step");
}

TEST(Codec, KeepsFailureCodesOfNewerPeers) {
  const auto newer = static_cast<errc>(200);
  EXPECT_EQ(
    round_trip(lease_end{lease_id{1}, 1, error{newer, ""}}).failure->code,
    newer);
}

TEST(Codec, RefusesFormKindsOfNewerPeers) {
  capnp::MallocMessageBuilder builder;
  auto list = builder.initRoot<schema::Configuration>().initParameters(1);
  list[0].setName("lr");
  list[0].initForm().setKind(static_cast<schema::FormKind>(11));
  const auto words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asChars();
  const auto result = decode_configuration({bytes.begin(), bytes.size()});
  ASSERT_FALSE(result);
  EXPECT_NE(result.failure().message.find("unknown kind"), std::string::npos);
}

} // namespace
} // namespace hippo
