#include "hippo/checkpoint/depot/depot_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <random>

#include "depot/faulty_proxy.hpp"
#include "depot/random_bytes.hpp"
#include "depot/rpc_host.hpp"
#include "depot/whole_files.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/depot/chunk_sender.hpp"
#include "hippo/checkpoint/depot/depot.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/train/run.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

namespace {

/// Named as what leases leave.
const std::string file_a = "n1-s1-l1.ckpt";
const std::string file_b = "n1-s2-l1.ckpt";
const std::string file_c = "n1-s3-l1.ckpt";

constexpr std::uint64_t mib = chunk_bytes_max;

checkpoint named(const std::string& name, const std::string& bytes) {
  return {name, bytes.size(), hash_bytes(bytes.data(), bytes.size())};
}

depot_address address_of(std::uint16_t port) {
  depot_address result;
  result.host = "127.0.0.1";
  result.port = port;
  return result;
}

} // namespace

class DepotClient : public testing::Test {
protected:
  DepotClient() {
    std::filesystem::create_directory(folder);
    serve();
  }

  void serve(depot_limits limits = {}, std::uint16_t port = 0) {
    host.emplace(
      [&](kj::AsyncIoContext& io) -> capnp::Capability::Client {
        return depot{root.path, io.provider->getTimer(), limits}.for_connection(
          "here");
      },
      port);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& x : std::filesystem::directory_iterator{folder})
      result.push_back(x.path().filename());
    return result;
  }

  template <class T>
  void fails(const expected<T>& x, errc code, const std::string& text) {
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.failure().code, code) << x.failure().message;
    EXPECT_NE(x.failure().message.find(text), std::string::npos)
      << x.failure().message;
  }

  temporary_folder root;
  const std::string folder = root.path + "/w";
  std::optional<rpc_host> host;
};

TEST_F(DepotClient, FetchesWhatItStored) {
  depot_client client{address_of(host->port())};
  for (const std::uint64_t size :
       {0ul, 1ul, mib - 1, mib, mib + 1, 8 * mib, 9 * mib + 5}) {
    const auto bytes = random_bytes(size, size);
    const auto file = "n1-s" + std::to_string(size) + "-l1.ckpt";
    const auto x = store(client, "w", file, bytes);
    ASSERT_TRUE(x) << x.failure().message;
    EXPECT_EQ(*x, named(file, bytes));
    const auto local = read_checkpoint(folder, *x);
    ASSERT_TRUE(local) << local.failure().message;
    EXPECT_TRUE(*local == bytes);
    const auto read = fetch(client, "w", *x);
    ASSERT_TRUE(read) << read.failure().message;
    EXPECT_TRUE(*read == bytes) << size;
  }
  EXPECT_EQ(names().size(), 7u);
}

TEST_F(DepotClient, FetchesFilesOfInitialStates) {
  const auto source = root.path + "/initial";
  const auto target = root.path + "/cache";
  std::filesystem::create_directory(source);
  std::filesystem::create_directory(target);
  depot_client client{address_of(host->port())};
  for (const std::uint64_t size : {0ul, 1ul, mib, 9 * mib + 5}) {
    const auto bytes = random_bytes(size, size);
    const initial_file file{sha256_of(bytes), size};
    ASSERT_TRUE(write_checkpoint(source, file.sha256, bytes));
    const auto why = client.fetch_initial(file, target);
    ASSERT_FALSE(why) << why->message;
    EXPECT_EQ(check_content(target + '/' + file.sha256, file), std::nullopt);
  }
}

TEST_F(DepotClient, InitialFilesThatAreNotWhatTheyShouldBeAreNotKept) {
  const auto source = root.path + "/initial";
  const auto target = root.path + "/cache";
  std::filesystem::create_directory(source);
  std::filesystem::create_directory(target);
  const auto bytes = random_bytes(2 * mib);
  const initial_file file{sha256_of(bytes), bytes.size()};
  depot_client client{address_of(host->port())};
  const auto fails_with = [&](const initial_file& x, errc code) {
    const auto why = client.fetch_initial(x, target);
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, code) << why->message;
    EXPECT_TRUE(std::filesystem::is_empty(target));
  };
  fails_with(file, errc::bad_checkpoint); // it is missing
  fails_with({"../w/a", 1}, errc::invalid_argument);
  auto damaged = bytes;
  damaged[mib] ^= 1;
  ASSERT_TRUE(write_checkpoint(source, file.sha256, damaged));
  fails_with(file, errc::io_failed);
  fails_with({file.sha256, 5}, errc::bad_checkpoint);
}

/// Whatever happens to the connection, there is the whole file or none.
TEST_F(DepotClient, InitialFileSurvivesABrokenConnection) {
  const auto source = root.path + "/initial";
  std::filesystem::create_directory(source);
  const auto bytes = random_bytes(3 * mib);
  const initial_file file{sha256_of(bytes), bytes.size()};
  ASSERT_TRUE(write_checkpoint(source, file.sha256, bytes));
  for (const auto kind :
       {fault::kind::cut, fault::kind::flip, fault::kind::stall})
    for (const std::uint64_t at : {200ul, mib, 2 * mib + 77}) {
      const temporary_folder target;
      faulty_proxy proxy{host->port(), {kind, false, at}};
      auto address = address_of(proxy.port());
      address.silence_max = std::chrono::milliseconds{500};
      depot_client client{address};
      const auto first = client.fetch_initial(file, target.path);
      if (first) {
        EXPECT_TRUE(target.names().empty()) << first->message;
      }
      const auto again = client.fetch_initial(file, target.path);
      EXPECT_FALSE(again) << again->message;
      EXPECT_EQ(target.names(), std::vector<std::string>{file.sha256});
      EXPECT_EQ(check_content(target.path + '/' + file.sha256, file),
                std::nullopt);
    }
}

TEST_F(DepotClient, FetchesRanges) {
  depot_client client{address_of(host->port())};
  const auto bytes = random_bytes(5 * mib);
  const auto x = *store(client, "w", file_a, bytes);
  remote_store files{client, "w"};
  for (const auto& [offset, size] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 1},
        {3, 4 * mib + 1},
        {5 * mib - 1, 1},
        {7, 0}}) {
    std::string got;
    const auto why = files.read_range(
      x, offset, size,
      [&](const char* data, std::size_t more) -> std::optional<error> {
        got.append(data, more);
        return std::nullopt;
      });
    ASSERT_FALSE(why) << why->message;
    EXPECT_TRUE(got == bytes.substr(offset, size));
  }
}

/// The first failure of the taker ends the transfer, and the next one is not
/// hindered.
TEST_F(DepotClient, WhoTakesMaySayThatItTakesNoMore) {
  depot_client client{address_of(host->port())};
  const auto bytes = random_bytes(20 * mib);
  const auto x = *store(client, "w", file_a, bytes);
  std::size_t taken = 0;
  const auto why = client.fetch(
    "w", x, [&](const char*, std::size_t size) -> std::optional<error> {
      taken += size;
      if (taken > 2 * mib)
        return error{errc::io_failed, "the disk is full"};
      return std::nullopt;
    });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->message, "the disk is full");
  EXPECT_TRUE(*fetch(client, "w", x) == bytes);
}

/// A source that fails ends the upload, and leaves nothing.
TEST_F(DepotClient, WhoGivesMaySayThatItCannot) {
  struct broken final : content_source {
    [[nodiscard]] std::uint64_t size() const override { return 4 * mib; }
    [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                            std::size_t bytes) const override {
      if (offset >= 2 * mib)
        return error{errc::io_failed, "cannot read the state"};
      std::memset(to, 0, bytes);
      return std::nullopt;
    }
  };
  depot_client client{address_of(host->port())};
  const auto x = client.store("w", file_a, broken{});
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().message, "cannot read the state");
  EXPECT_TRUE(store(client, "w", file_a, "x"));
}

TEST_F(DepotClient, TellsABadCheckpointFromABadNetwork) {
  depot_client client{address_of(host->port())};
  fails(fetch(client, "w", {file_a, 1, 2}), errc::bad_checkpoint, "is missing");
  auto x = *store(client, "w", file_a, random_bytes(2 * mib));
  ++x.digest;
  fails(fetch(client, "w", x), errc::bad_checkpoint, "is damaged");
  x.bytes = 3;
  fails(fetch(client, "w", x), errc::bad_checkpoint, "not of the 3 bytes");
  fails(fetch(client, "../w", x), errc::invalid_argument, "not the name");
  fails(store(client, "w", "../a", "x"), errc::invalid_argument,
        "not the name");
  const auto port = host->port();
  host.reset();
  fails(fetch(client, "w", x), errc::io_failed,
        "127.0.0.1:" + std::to_string(port));
  fails(store(client, "w", file_a, "x"), errc::io_failed, "Connection refused");
}

TEST_F(DepotClient, ConnectsAgainWhenItIsUsedAgain) {
  depot_client client{address_of(host->port())};
  const auto bytes = random_bytes(mib + 1);
  const auto x = store(client, "w", file_a, bytes);
  ASSERT_TRUE(x);
  const auto port = host->port();
  host.reset();
  serve({}, port);
  const auto read = fetch(client, "w", *x);
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_TRUE(*read == bytes);
  host.reset();
  fails(fetch(client, "w", *x), errc::io_failed, "Connection refused");
  serve({}, port);
  EXPECT_TRUE(store(client, "w", file_b, bytes));
}

TEST_F(DepotClient, NoSuchHost) {
  auto address = address_of(1);
  address.host = "no-such-host.invalid";
  depot_client client{address};
  fails(store(client, "w", file_a, "x"), errc::io_failed,
        std::string{"cannot store checkpoint w/"} + file_a
          + ": no-such-host.invalid:1: ");
}

TEST_F(DepotClient, LayersAndFinders) {
  auto address = address_of(host->port());
  std::atomic<int> wrapped{0};
  std::atomic<int> found{0};
  address.wrap =
    [&](
      kj::Own<kj::AsyncIoStream> x) -> kj::Promise<kj::Own<kj::AsyncIoStream>> {
    ++wrapped;
    return kj::mv(x);
  };
  address.find = [&](capnp::Capability::Client x) {
    ++found;
    return x.castAs<schema::Depot>();
  };
  depot_client client{address};
  EXPECT_TRUE(store(client, "w", file_a, "x"));
  EXPECT_TRUE(store(client, "w", file_b, "y"));
  EXPECT_EQ(wrapped, 1);
  EXPECT_EQ(found, 1);
}

TEST_F(DepotClient, WaitsForItsTurn) {
  depot_limits limits;
  limits.transfers_max = 1;
  serve(limits);
  auto address = address_of(host->port());
  address.retry_pause = std::chrono::milliseconds{1};
  // The first one has the only place until its connection lets it on.
  faulty_proxy proxy{host->port(), {fault::kind::stall, true, mib}};
  auto slow_address = address_of(proxy.port());
  slow_address.silence_max = std::chrono::milliseconds{2000};
  std::promise<void> waiting;
  auto other = std::async(std::launch::async, [&] {
    depot_client slow{slow_address};
    const auto result = store(slow, "w", file_a, random_bytes(3 * mib));
    return result ? std::string{} : result.failure().message;
  });
  while (names().empty())
    std::this_thread::yield();
  {
    auto hasty_address = address;
    hasty_address.silence_max = std::chrono::milliseconds{50};
    depot_client hasty{hasty_address};
    fails(store(hasty, "w", file_b, "x"), errc::io_failed,
          "more than 1 checkpoints at a time");
    depot_client patient{address};
    const auto stored = store(patient, "w", file_c, "x");
    EXPECT_TRUE(stored) << stored.failure().message;
  }
  EXPECT_NE(other.get().find("nothing was heard for 2000 ms"),
            std::string::npos);
  host->await_idle();
  EXPECT_EQ(names(), std::vector<std::string>{file_c});
}

TEST_F(DepotClient, StandsForAFolder) {
  depot_client client{address_of(host->port())};
  remote_store store{client, "w"};
  lease x;
  x.number = lease_id{7};
  x.stages = {{node_id{1}, 0, 5, {{"lr", form::constant(1)}}}};
  x.stops = {{3, true, true}, {5, true, true}};
  summing_workload work;
  std::optional<checkpoint> present;
  recent_states kept{0};
  lease_progress progress;
  std::vector<stop_report> reports;
  part_tables tables;
  const auto run_lease = [&] {
    lease_control control{x.stops};
    parted_store states{x, store, tables};
    return run(
      work, present, kept, x, states, "toy", control, progress,
      [] { return 0; },
      [&](const stop_report& report) { reports.push_back(report); });
  };
  ASSERT_FALSE(run_lease().failure);
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(*read_checkpoint(folder, *reports[0].saved), "sum 3");
  x.start = *reports[0].saved;
  x.stages[0].begin = 3;
  x.stops.erase(x.stops.begin());
  ASSERT_FALSE(run_lease().failure);
  EXPECT_EQ(reports[2].values, reports[1].values);
}

// -- faults of the network ----------------------------------------------------

/// How many whole MiB have passed when the connection is lost.
class LostConnection
  : public DepotClient,
    public testing::WithParamInterface<std::tuple<bool, std::uint64_t>> {
protected:
  const std::string bytes = random_bytes(12 * mib + mib / 2);
};

TEST_P(LostConnection, LeavesNothingAndMayBeTriedAgain) {
  const auto [upwards, after] = GetParam();
  const auto x = named(file_a, bytes);
  if (!upwards) {
    ASSERT_TRUE(write_checkpoint(folder, file_a, bytes));
  }
  faulty_proxy proxy{host->port(),
                     {fault::kind::cut, upwards, after * mib + after * 1000}};
  depot_client client{address_of(proxy.port())};
  if (upwards)
    fails(store(client, "w", file_a, bytes), errc::io_failed,
          "cannot store checkpoint w/" + file_a + ": 127.0.0.1:");
  else
    fails(fetch(client, "w", x), errc::io_failed,
          "cannot fetch checkpoint w/" + file_a + ": 127.0.0.1:");
  host->await_idle();
  EXPECT_EQ(names(), upwards ? std::vector<std::string>{}
                             : std::vector<std::string>{file_a});
  if (upwards) {
    EXPECT_TRUE(store(client, "w", file_a, bytes));
  }
  const auto read = fetch(client, "w", x);
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_TRUE(*read == bytes);
  EXPECT_EQ(proxy.connections(), 2);
}

INSTANTIATE_TEST_SUITE_P(AtAnyChunk, LostConnection,
                         testing::Combine(testing::Bool(),
                                          testing::Range<std::uint64_t>(0, 13)),
                         [](const auto& x) {
                           return std::string{std::get<0>(x.param) ? "Store"
                                                                   : "Fetch"}
                                  + std::to_string(std::get<1>(x.param));
                         });

class DamagedBit : public DepotClient,
                   public testing::WithParamInterface<unsigned> {};

TEST_P(DamagedBit, NeverPassesForTheCheckpoint) {
  std::mt19937_64 rng{GetParam()};
  const bool upwards = rng() % 2 == 0;
  const auto bytes = random_bytes(3 * mib + rng() % mib);
  // Some of them hit what frames the chunks.
  const auto at = rng() % (rng() % 2 == 0 ? 1000 : bytes.size());
  const auto x = named(file_a, bytes);
  if (!upwards) {
    ASSERT_TRUE(write_checkpoint(folder, file_a, bytes));
  }
  faulty_proxy proxy{host->port(), {fault::kind::flip, upwards, at}};
  auto address = address_of(proxy.port());
  address.silence_max = std::chrono::milliseconds{200};
  depot_client client{address};
  if (upwards) {
    const auto stored = store(client, "w", file_a, bytes);
    if (stored) {
      EXPECT_EQ(*stored, x);
      EXPECT_TRUE(read_checkpoint(folder, x));
    }
  } else {
    const auto read = fetch(client, "w", x);
    if (read) {
      EXPECT_TRUE(*read == bytes);
    }
  }
  const auto again = store(client, "w", file_b, bytes);
  EXPECT_TRUE(again) << again.failure().message;
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedBit, testing::Range(1u, 41u));

TEST_F(DepotClient, DamageOnTheWayIsTheNetworksFault) {
  const auto bytes = random_bytes(3 * mib);
  {
    faulty_proxy proxy{host->port(), {fault::kind::flip, true, 2 * mib}};
    depot_client client{address_of(proxy.port())};
    fails(store(client, "w", file_a, bytes), errc::io_failed,
          "was damaged on the way");
    EXPECT_TRUE(names().empty());
    EXPECT_TRUE(store(client, "w", file_a, bytes));
  }
  faulty_proxy proxy{host->port(), {fault::kind::flip, false, 2 * mib}};
  depot_client client{address_of(proxy.port())};
  fails(fetch(client, "w", named(file_a, bytes)), errc::io_failed,
        "was damaged on the way");
  EXPECT_TRUE(fetch(client, "w", named(file_a, bytes)));
}

TEST_F(DepotClient, ASilentDepotIsGivenUp) {
  const auto bytes = random_bytes(12 * mib);
  ASSERT_TRUE(write_checkpoint(folder, file_a, bytes));
  for (const bool upwards : {true, false}) {
    faulty_proxy proxy{host->port(), {fault::kind::stall, upwards, 3 * mib}};
    auto address = address_of(proxy.port());
    address.silence_max = std::chrono::milliseconds{100};
    depot_client client{address};
    if (upwards)
      fails(store(client, "w", file_b, bytes), errc::io_failed,
            "nothing was heard for 100 ms");
    else
      fails(fetch(client, "w", named(file_a, bytes)), errc::io_failed,
            "nothing was heard for 100 ms");
    host->await_idle();
    EXPECT_EQ(names(), std::vector<std::string>{file_a});
  }
}

TEST_F(DepotClient, OneThatLostItsConnectionUnnoticedTriesOnceMore) {
  const auto bytes = random_bytes(mib);
  // The first transfer passes, the second stalls.
  faulty_proxy proxy{host->port(), {fault::kind::stall, true, mib + mib / 2}};
  auto address = address_of(proxy.port());
  // Long beside what a busy machine lets threads wait.
  address.silence_max = std::chrono::milliseconds{600};
  depot_client client{address};
  ASSERT_TRUE(store(client, "w", file_a, bytes));
  const auto again = store(client, "w", file_b, bytes);
  EXPECT_TRUE(again) << again.failure().message;
  EXPECT_EQ(proxy.connections(), 2);
}

// -- other peers --------------------------------------------------------------

namespace {

/// A depot that does what it is told.
struct odd_behaviour {
  std::string sends; ///< in one chunk, to who fetches
  int pings_to_commit = 0;
  std::atomic<int> pings{0};
  std::atomic<bool> refused{false}; ///< what it sent last
};

class odd_upload final : public schema::Upload::Server {
public:
  odd_upload(odd_behaviour& how, kj::Timer& timer) : how_(how), timer_(timer) {}

  kj::Promise<void> put(PutContext) override { return kj::READY_NOW; }
  kj::Promise<void> commit(CommitContext) override { return wait(); }

private:
  kj::Promise<void> wait() {
    if (how_.pings >= how_.pings_to_commit)
      return kj::READY_NOW;
    return timer_.afterDelay(1 * kj::MILLISECONDS).then([this] {
      return wait();
    });
  }

  odd_behaviour& how_;
  kj::Timer& timer_;
};

class odd_depot final : public schema::Depot::Server {
public:
  odd_depot(odd_behaviour& how, kj::Timer& timer) : how_(how), timer_(timer) {}

  kj::Promise<void> fetch(FetchContext context) override {
    auto request = context.getParams().getInto().putRequest();
    request.setChunk(kj::StringPtr{how_.sends.c_str()}.asBytes());
    return request.send().then(
      [this](auto&& answer) { how_.refused = answer.hasFailure(); });
  }
  kj::Promise<void> store(StoreContext context) override {
    context.getResults().setUpload(kj::heap<odd_upload>(how_, timer_));
    return kj::READY_NOW;
  }
  kj::Promise<void> ping(PingContext) override {
    ++how_.pings;
    return kj::READY_NOW;
  }

private:
  odd_behaviour& how_;
  kj::Timer& timer_;
};

} // namespace

class OddDepot : public DepotClient {
protected:
  OddDepot() {
    host.emplace([&](kj::AsyncIoContext& io) -> capnp::Capability::Client {
      return kj::heap<odd_depot>(how, io.provider->getTimer());
    });
  }

  odd_behaviour how;
};

TEST_F(OddDepot, ASlowDiskIsNoSilence) {
  how.pings_to_commit = 7;
  auto address = address_of(host->port());
  address.silence_max = std::chrono::milliseconds{600}; // as above
  depot_client client{address};
  const auto stored = store(client, "w", file_a, "bytes");
  EXPECT_TRUE(stored) << stored.failure().message;
  EXPECT_GE(how.pings, 7);
}

TEST_F(OddDepot, WrongBytesAreNotPassedOn) {
  depot_client client{address_of(host->port())};
  for (const std::string sends : {"bytex", "byte", "bytes and more"}) {
    how.sends = sends;
    fails(fetch(client, "w", named(file_a, "bytes")), errc::io_failed,
          "was damaged on the way");
    EXPECT_EQ(how.refused, sends.size() > 5);
  }
  how.sends = "bytes";
  EXPECT_EQ(*fetch(client, "w", named(file_a, "bytes")), "bytes");
}

TEST_F(DepotClient, APeerThatIsNoDepot) {
  class nothing final : public schema::Chunks::Server {};
  host.emplace([](kj::AsyncIoContext&) -> capnp::Capability::Client {
    return kj::heap<nothing>();
  });
  depot_client client{address_of(host->port())};
  fails(store(client, "w", file_a, "bytes"), errc::io_failed,
        "not implemented");
}

} // namespace hippo
