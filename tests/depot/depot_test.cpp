// A depot as any client may use it, well or not.

#include "hippo/checkpoint/depot/depot.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <capnp/rpc-twoparty.h>

#include "depot/random_bytes.hpp"
#include "depot/rpc_host.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/depot/chunk_sender.hpp"
#include "hippo/checkpoint/depot/failure.hpp"
#include "train/file_size_limit.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

namespace {

/// Named as what leases leave.
const std::string file_a = "n1-s1-l1.ckpt";
const std::string file_b = "n1-s2-l1.ckpt";
const std::string file_c = "n1-s3-l1.ckpt";

using outcome = std::optional<error>;

/// What of a fetched checkpoint has come.
struct arrival {
  std::string bytes;
  std::size_t chunks = 0;
  std::size_t largest = 0; ///< chunk, in bytes
};

/// Answers the chunk that it takes when it is told to.
class slow_taker final : public schema::Chunks::Server {
public:
  explicit slow_taker(std::deque<kj::Own<kj::PromiseFulfiller<void>>>& taken)
    : taken_(taken) {}

  kj::Promise<void> put(PutContext) override {
    auto answer = kj::newPromiseAndFulfiller<void>();
    taken_.push_back(kj::mv(answer.fulfiller));
    return kj::mv(answer.promise);
  }

private:
  std::deque<kj::Own<kj::PromiseFulfiller<void>>>& taken_;
};

/// Takes chunks and answers, or never does.
class taker final : public schema::Chunks::Server {
public:
  taker(arrival& into, bool answers) : into_(into), answers_(answers) {}

  kj::Promise<void> put(PutContext context) override {
    const auto chunk = context.getParams().getChunk();
    into_.bytes.append(chunk.asChars().begin(), chunk.size());
    into_.largest = std::max(into_.largest, chunk.size());
    ++into_.chunks;
    if (answers_)
      return kj::READY_NOW;
    return kj::NEVER_DONE;
  }

private:
  arrival& into_;
  const bool answers_;
};

} // namespace

class Depot : public testing::Test {
protected:
  Depot() { std::filesystem::create_directory(root.path + "/w"); }
  ~Depot() noexcept override = default;

  /// Serves the depot and connects to it.
  void serve(depot_limits limits = {}) {
    host.emplace([&](kj::AsyncIoContext& there) {
      return hippo::depot{root.path, there.provider->getTimer(), limits}
        .for_connection("here");
    });
    stream = io.provider->getNetwork()
               .parseAddress("127.0.0.1", host->port())
               .wait(io.waitScope)
               ->connect()
               .wait(io.waitScope);
    rpc.emplace(*stream);
    depot = rpc->bootstrap().castAs<schema::Depot>();
  }

  /// Cuts the connection and waits until the depot has noticed it.
  void hang_up() {
    depot = nullptr;
    rpc.reset();
    stream = nullptr;
    host->await_idle();
  }

  outcome begin(schema::Upload::Client& upload, const std::string& name,
                std::uint64_t bytes, const std::string& folder = "w") {
    auto request = depot.storeRequest();
    request.setFolder(folder);
    request.setFile(name);
    request.setBytes(bytes);
    auto answer = request.send().wait(io.waitScope);
    if (answer.hasUpload())
      upload = answer.getUpload();
    return get_failure(answer);
  }

  schema::Upload::Client begin(const std::string& name, std::uint64_t bytes) {
    schema::Upload::Client result = nullptr;
    const auto failed = begin(result, name, bytes);
    EXPECT_FALSE(failed) << failed->message;
    return result;
  }

  outcome put(schema::Upload::Client& upload, const std::string& chunk) {
    auto request = upload.putRequest();
    std::memcpy(request.initChunk(static_cast<unsigned>(chunk.size())).begin(),
                chunk.data(), chunk.size());
    return get_failure(request.send().wait(io.waitScope));
  }

  outcome commit(schema::Upload::Client& upload, std::uint64_t digest) {
    auto request = upload.commitRequest();
    request.setDigest(digest);
    return get_failure(request.send().wait(io.waitScope));
  }

  outcome commit(schema::Upload::Client& upload, const std::string& bytes) {
    return commit(upload, hash_bytes(bytes.data(), bytes.size()));
  }

  kj::Promise<outcome> start_fetch(const checkpoint& x, arrival& into,
                                   bool answers = true,
                                   const std::string& folder = "w") {
    auto request = depot.fetchRequest();
    request.setFolder(folder);
    auto out = request.initCheckpoint();
    out.setFile(x.file);
    out.setBytes(x.bytes);
    out.setDigest(x.digest);
    request.setInto(kj::heap<taker>(into, answers));
    return request.send().then([](auto&& y) { return get_failure(y); });
  }

  outcome fetch(const checkpoint& x, arrival& into) {
    return start_fetch(x, into).wait(io.waitScope);
  }

  outcome fetch_range(const checkpoint& x, std::uint64_t offset,
                      std::uint64_t bytes, arrival& into,
                      const std::string& folder = "w") {
    auto request = depot.fetchRangeRequest();
    request.setFolder(folder);
    auto out = request.initCheckpoint();
    out.setFile(x.file);
    out.setBytes(x.bytes);
    out.setDigest(x.digest);
    request.setOffset(offset);
    request.setBytes(bytes);
    request.setInto(kj::heap<taker>(into, true));
    return request.send()
      .then([](auto&& y) { return get_failure(y); })
      .wait(io.waitScope);
  }

  void ping() { depot.pingRequest().send().wait(io.waitScope); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& x : std::filesystem::directory_iterator{root.path + "/w"})
      result.push_back(x.path().filename());
    return result;
  }

  checkpoint make(const std::string& name, const std::string& bytes) {
    return *write_checkpoint(root.path + "/w", name, bytes);
  }

  void refuses(const outcome& failed, errc code, const char* text) {
    ASSERT_TRUE(failed) << text;
    EXPECT_EQ(failed->code, code) << failed->message;
    EXPECT_NE(failed->message.find(text), std::string::npos) << failed->message;
  }

  temporary_folder root;
  std::optional<rpc_host> host;
  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::Own<kj::AsyncIoStream> stream;
  std::optional<capnp::TwoPartyClient> rpc;
  schema::Depot::Client depot = nullptr;
};

TEST_F(Depot, StoresWhatIsSent) {
  serve();
  const auto bytes = random_bytes(chunk_bytes_max + 7);
  auto upload = begin(file_a, bytes.size());
  EXPECT_FALSE(put(upload, bytes.substr(0, 3)));
  EXPECT_FALSE(put(upload, bytes.substr(3, chunk_bytes_max)));
  EXPECT_FALSE(put(upload, bytes.substr(3 + chunk_bytes_max)));
  EXPECT_FALSE(std::filesystem::exists(root.path + "/w/a"));
  ASSERT_FALSE(commit(upload, bytes));
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
  const auto read =
    read_checkpoint(root.path + "/w", {file_a, bytes.size(),
                                       hash_bytes(bytes.data(), bytes.size())});
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == bytes);
}

TEST_F(Depot, SendsChunksOfOneMebibyte) {
  serve();
  const auto bytes = random_bytes(3 * chunk_bytes_max + 1);
  arrival got;
  ASSERT_FALSE(fetch(make(file_a, bytes), got));
  EXPECT_TRUE(got.bytes == bytes);
  EXPECT_EQ(got.chunks, 4);
  EXPECT_EQ(got.largest, chunk_bytes_max);
}

TEST_F(Depot, SendsRanges) {
  serve();
  const auto bytes = random_bytes(3 * chunk_bytes_max + 1);
  const auto x = make(file_a, bytes);
  const auto end = bytes.size();
  for (const auto& [offset, size] : {std::pair{std::size_t{0}, std::size_t{1}},
                                     {0ul, end},
                                     {end, 0ul},
                                     {end - 1, 1ul},
                                     {77ul, 2 * chunk_bytes_max + 3}}) {
    arrival got;
    ASSERT_FALSE(fetch_range(x, offset, size, got)) << offset;
    EXPECT_TRUE(got.bytes == bytes.substr(offset, size)) << offset;
  }
  arrival got;
  for (const auto& [offset, size] : {std::pair{end, std::size_t{1}},
                                     {end + 1, 0ul},
                                     {1ul, end},
                                     {1ul, SIZE_MAX},
                                     {SIZE_MAX, 2ul}})
    refuses(fetch_range(x, offset, size, got), errc::invalid_argument,
            "leads out of checkpoint");
  refuses(fetch_range({file_b, 3, 4}, 0, 1, got), errc::bad_checkpoint,
          "is missing");
  refuses(fetch_range({"../outside", 3, 4}, 0, 1, got), errc::bad_checkpoint,
          "not the name");
  refuses(fetch_range(x, 0, 1, got, "../w"), errc::invalid_argument,
          "not the name");
  auto other = x;
  ++other.bytes;
  refuses(fetch_range(other, 0, 1, got), errc::bad_checkpoint, "not of the");
  EXPECT_EQ(got.bytes, "");
}

TEST_F(Depot, IsNeverMoreThanAWindowAhead) {
  depot_limits limits;
  limits.silence_max = std::chrono::milliseconds{50};
  serve(limits);
  const auto x = make(file_a, random_bytes(20 * chunk_bytes_max));
  arrival got;
  refuses(start_fetch(x, got, false).wait(io.waitScope), errc::io_failed,
          "less than 819 bytes were heard of it for 0.05 s");
  EXPECT_EQ(got.chunks, window_chunks_max);
}

TEST_F(Depot, RefusesNamesThatLeadElsewhere) {
  serve();
  make(file_a, "bytes");
  std::ofstream{root.path + "/outside"} << "secret";
  arrival got;
  schema::Upload::Client upload = nullptr;
  for (const std::string name :
       {"", ".", "..", "../outside", "/etc/hostname", "b/a", ".hidden"}) {
    refuses(fetch({name, 6, 1}, got), errc::bad_checkpoint, "not the name");
    refuses(begin(upload, name, 6), errc::invalid_argument, "not the name");
    refuses(start_fetch({file_a, 5, 1}, got, true, name).wait(io.waitScope),
            errc::invalid_argument, "not the name of a workload's folder");
    refuses(begin(upload, file_b, 6, name), errc::invalid_argument,
            "not the name of a workload's folder");
  }
  EXPECT_EQ(got.bytes, "");
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
}

TEST_F(Depot, FolderMissing) {
  serve();
  arrival got;
  refuses(start_fetch({file_a, 5, 1}, got, true, "v").wait(io.waitScope),
          errc::bad_checkpoint, "is missing");
  schema::Upload::Client upload = nullptr;
  refuses(begin(upload, file_a, 5, "v"), errc::io_failed, "No such file");
}

TEST_F(Depot, MissingOrDamagedCheckpoints) {
  serve();
  arrival got;
  refuses(fetch({file_a, 3, 4}, got), errc::bad_checkpoint, "is missing");
  const auto bytes = random_bytes(2 * chunk_bytes_max + 5);
  auto x = make(file_a, bytes);
  ++x.bytes;
  refuses(fetch(x, got), errc::bad_checkpoint, "is not of the");
  EXPECT_EQ(got.bytes, "");
  --x.bytes;
  ++x.digest;
  refuses(fetch(x, got), errc::bad_checkpoint, "is damaged");
  EXPECT_LT(got.bytes.size(), bytes.size()) << "the last chunk stays here";
}

TEST_F(Depot, RefusesWhatIsNotAsAnnounced) {
  depot_limits limits;
  limits.checkpoint_bytes_max = 4 * chunk_bytes_max;
  serve(limits);
  schema::Upload::Client upload = nullptr;
  refuses(begin(upload, file_a, limits.checkpoint_bytes_max + 1),
          errc::invalid_argument, "at most 4194304 are taken");

  upload = begin(file_a, 5);
  refuses(put(upload, "123456"), errc::invalid_argument, "more bytes than");
  EXPECT_TRUE(names().empty()) << "a failure ends it";
  refuses(put(upload, "1"), errc::invalid_argument, "more bytes than");
  refuses(commit(upload, std::string{}), errc::invalid_argument,
          "more bytes than");

  upload = begin(file_a, 5);
  refuses(put(upload, ""), errc::invalid_argument, "has 1 to 1048576 bytes");
  upload = begin(file_a, limits.checkpoint_bytes_max);
  refuses(put(upload, std::string(chunk_bytes_max + 1, 'x')),
          errc::invalid_argument, "has 1 to 1048576 bytes, not 1048577");

  upload = begin(file_a, 5);
  EXPECT_FALSE(put(upload, "1234"));
  refuses(commit(upload, "1234"), errc::invalid_argument, "lacks 1 of");
  EXPECT_TRUE(names().empty());
}

TEST_F(Depot, RefusesAWrongDigest) {
  serve();
  const auto old = make(file_a, "old");
  auto upload = begin(file_a, 3);
  EXPECT_FALSE(put(upload, "new"));
  refuses(commit(upload, "net"), errc::io_failed, "was damaged on the way");
  EXPECT_EQ(*read_checkpoint(root.path + "/w", old), "old");
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
}

TEST_F(Depot, ACommittedUploadHasEnded) {
  serve();
  auto upload = begin(file_a, 3);
  EXPECT_FALSE(put(upload, "new"));
  EXPECT_FALSE(commit(upload, "new"));
  refuses(put(upload, "1"), errc::invalid_argument, "was committed before");
  refuses(commit(upload, "new"), errc::invalid_argument,
          "was committed before");
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
}

TEST_F(Depot, TwoUploadsOfOneName) {
  serve();
  auto one = begin(file_a, 4);
  auto two = begin(file_a, 6);
  EXPECT_FALSE(put(one, "on"));
  EXPECT_FALSE(put(two, "two"));
  EXPECT_FALSE(put(one, "e1"));
  EXPECT_FALSE(put(two, "two"));
  ASSERT_FALSE(commit(two, "twotwo"));
  arrival got;
  EXPECT_FALSE(fetch({file_a, 6, hash_bytes("twotwo", 6)}, got));
  refuses(commit(one, "one1"), errc::invalid_argument,
          "is there already, and is another one");
  EXPECT_FALSE(fetch({file_a, 6, hash_bytes("twotwo", 6)}, got));
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
}

/// Who has not heard that it is there stores it again.
TEST_F(Depot, TheSameMayBeStoredTwice) {
  serve();
  const auto bytes = random_bytes(2 * chunk_bytes_max);
  const auto x = make(file_a, bytes);
  auto upload = begin(file_a, bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes_max)
    EXPECT_FALSE(put(upload, bytes.substr(at, chunk_bytes_max)));
  EXPECT_FALSE(commit(upload, bytes));
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
  EXPECT_EQ(*read_checkpoint(root.path + "/w", x), bytes);
}

TEST_F(Depot, TakesOnlyWhatIsNamedAsALeaseNamesIt) {
  serve();
  make("code.json", "{}");
  schema::Upload::Client upload = nullptr;
  for (const std::string name :
       {"code.json", "n1-s1-l1", "n1-s1-l1.ckpt.part", "n01-s1-l1.ckpt",
        "n1-s-1-l1.ckpt", "n1-s1-l99999999999999999999.ckpt", "x"})
    refuses(begin(upload, name, 2), errc::invalid_argument,
            "is not the name of what a lease leaves");
  EXPECT_EQ(
    *read_checkpoint(root.path + "/w", {"code.json", 2, hash_bytes("{}", 2)}),
    "{}");
}

TEST_F(Depot, WaitsForNobodyWhoWouldWriteIntoAPipe) {
  serve();
  const auto pipe = root.path + "/w/" + file_a;
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream{root.path + "/outside"} << "secret";
  std::filesystem::create_symlink(root.path + "/outside",
                                  root.path + "/w/" + file_b);
  arrival got;
  for (const auto& name : {file_a, file_b})
    refuses(fetch({name, 6, 1}, got), errc::bad_checkpoint, "is no file but");
  auto upload = begin(file_a, 3);
  EXPECT_FALSE(put(upload, "new"));
  refuses(commit(upload, "new"), errc::invalid_argument, "is there already");
  EXPECT_EQ(got.bytes, "");
}

TEST_F(Depot, AnUploadThatIsGivenUpIsRemoved) {
  serve();
  {
    auto upload = begin(file_a, 4);
    EXPECT_FALSE(put(upload, "on"));
    EXPECT_EQ(names().size(), 1);
  }
  ping(); // comes after what dropping it sends
  EXPECT_TRUE(names().empty());
}

TEST_F(Depot, AClientThatHangsUpLeavesNothing) {
  serve();
  auto upload = begin(file_a, 4);
  auto other = begin(file_b, 4);
  EXPECT_FALSE(put(upload, "on"));
  hang_up();
  EXPECT_TRUE(names().empty());
}

TEST_F(Depot, ASilentUploadIsRemoved) {
  depot_limits limits;
  limits.silence_max = std::chrono::milliseconds{50};
  serve(limits);
  auto upload = begin(file_a, 4);
  EXPECT_FALSE(put(upload, "on"));
  while (!names().empty())
    ping();
  refuses(put(upload, "e1"), errc::io_failed,
          "less than 819 bytes were heard of it for 0.05 s");
}

TEST_F(Depot, ASlowTransferIsNotSilent) {
  // No connection and a clock that stands still, except when told to go on.
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  const auto pass = [&](int seconds) {
    timer.advanceTo(timer.now() + seconds * kj::SECONDS);
    io.waitScope.poll();
  };
  depot = hippo::depot{root.path, timer}.for_connection("here");
  const auto part = std::string(960 << 10, 'x');
  auto upload = begin(file_a, 9 * part.size());
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(put(upload, part)) << i;
    pass(59);
  }
  EXPECT_FALSE(put(upload, "1"));
  pass(2);
  EXPECT_TRUE(names().empty()) << "now and then a byte is silence";
  refuses(put(upload, "1"), errc::io_failed,
          "less than 983040 bytes were heard of it for 60 s");

  const auto x = make("x", random_bytes(12 * chunk_bytes_max));
  std::deque<kj::Own<kj::PromiseFulfiller<void>>> taken;
  auto request = depot.fetchRequest();
  request.setFolder("w");
  auto out = request.initCheckpoint();
  out.setFile(x.file);
  out.setBytes(x.bytes);
  out.setDigest(x.digest);
  request.setInto(kj::heap<slow_taker>(taken));
  auto end = request.send();
  for (int i = 0; i < 12; ++i) {
    ASSERT_FALSE(end.poll(io.waitScope)) << i;
    ASSERT_FALSE(taken.empty()) << i;
    taken.front()->fulfill();
    taken.pop_front();
    pass(59);
  }
  EXPECT_FALSE(get_failure(end.wait(io.waitScope)));
}

TEST_F(Depot, LimitsTransfersAtATime) {
  depot_limits limits;
  limits.transfers_max = 2;
  serve(limits);
  auto one = begin(file_a, 1);
  const auto x = make("x", "bytes");
  {
    auto two = begin(file_b, 1);
    arrival got;
    schema::Upload::Client upload = nullptr;
    for (const bool fetching : {true, false})
      try {
        if (fetching)
          fetch(x, got);
        else
          begin(upload, file_c, 1);
        FAIL() << "a third transfer";
      } catch (const kj::Exception& why) {
        EXPECT_EQ(why.getType(), kj::Exception::Type::OVERLOADED);
        EXPECT_NE(std::string{why.getDescription().cStr()}.find("more than 2"),
                  std::string::npos);
      }
  }
  // Given up, refused, committed or fetched: each makes place for another.
  for (int i = 0; i < 3; ++i) {
    arrival got;
    EXPECT_FALSE(fetch(x, got));
    EXPECT_TRUE(fetch({"missing", 1, 1}, got));
    begin(file_b, 1);
    auto refused = begin(file_b, 1);
    EXPECT_TRUE(put(refused, "too much"));
    auto two = begin(file_b, 1);
    EXPECT_FALSE(put(two, "1"));
    EXPECT_FALSE(commit(two, "1"));
  }
  EXPECT_FALSE(put(one, "1"));
  EXPECT_FALSE(commit(one, "1"));
}

/// Depots without a connection, and a clock that stands still unless it is told
/// to go on.
class CrowdedDepot : public Depot {
protected:
  ~CrowdedDepot() noexcept override = default;

  CrowdedDepot() {
    depot_limits limits;
    limits.transfers_max = 8;
    all.emplace(root.path, timer, limits);
  }

  void pass(int seconds) {
    timer.advanceTo(timer.now() + seconds * kj::SECONDS);
    io.waitScope.poll();
  }

  schema::Depot::Client from(const std::string& address) {
    return all->for_connection(address);
  }

  /// @returns whether a transfer could begin
  bool take(schema::Depot::Client whose,
            std::vector<schema::Upload::Client>& into) {
    depot = whose;
    const auto name = "n1-s" + std::to_string(++taken) + "-l1.ckpt";
    try {
      into.push_back(begin(name, 4 << 20));
    } catch (const kj::Exception& why) {
      EXPECT_EQ(why.getType(), kj::Exception::Type::OVERLOADED);
      return false;
    }
    return true;
  }

  std::size_t alive(std::vector<schema::Upload::Client>& those) {
    return static_cast<std::size_t>(
      std::ranges::count_if(those, [&](auto& x) { return !put(x, "x"); }));
  }

  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  std::optional<hippo::depot> all;
  int taken = 0;
};

TEST_F(CrowdedDepot, WhoHasTheMostMakesRoomForOthers) {
  for (const bool is_far : {false, true}) {
    std::vector<schema::Upload::Client> greedy, other, third;
    auto hog = from("here");
    while (take(hog, greedy))
      ASSERT_LE(greedy.size(), 8u);
    EXPECT_EQ(greedy.size(), 8u);
    auto modest = from(is_far ? "there" : "here");
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(take(modest, other)) << i;
    EXPECT_FALSE(take(modest, other)) << "that is its part";
    EXPECT_FALSE(take(hog, greedy));
    EXPECT_TRUE(take(from("elsewhere"), third));
    EXPECT_EQ(alive(third), 1u);
    EXPECT_EQ(alive(greedy) + alive(other), 7u);
    EXPECT_GE(alive(other), 3u);
  }
}

TEST_F(CrowdedDepot, WhoMovesNothingMakesRoomForOthers) {
  std::vector<schema::Upload::Client> idle, other;
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(take(from("here"), idle)); // a connection each
  EXPECT_FALSE(take(from("here"), other)) << "each has one, and may go on";
  pass(29);
  EXPECT_FALSE(put(idle[3], std::string(960 << 10, 'x')));
  EXPECT_FALSE(put(idle[4], "x"));
  pass(1);
  for (int i = 0; i < 7; ++i)
    EXPECT_TRUE(take(from("here"), other)) << i;
  EXPECT_FALSE(take(from("here"), other)) << "the rest move";
  EXPECT_EQ(alive(idle), 1u);
  EXPECT_FALSE(put(idle[3], "x"));
}

TEST_F(Depot, DiskFull) {
  serve();
  auto upload = begin(file_a, 3 * chunk_bytes_max);
  const auto chunk = random_bytes(chunk_bytes_max);
  const file_size_limit limit{chunk_bytes_max + 100};
  EXPECT_FALSE(put(upload, chunk));
  refuses(put(upload, chunk), errc::io_failed, "File too large");
  EXPECT_TRUE(names().empty());
}

TEST_F(Depot, FolderGoneInTheMiddle) {
  serve();
  auto upload = begin(file_a, 1);
  EXPECT_FALSE(put(upload, "1"));
  std::filesystem::remove_all(root.path + "/w");
  refuses(commit(upload, "1"), errc::io_failed, "No such file");
}

TEST_F(Depot, RemovesWhatAnotherLeftUnfinished) {
  make(file_a, "bytes");
  const auto part = root.path + "/w/b.q7Zx1P.part";
  std::ofstream{part} << "byt";
  std::filesystem::last_write_time(part,
                                   std::filesystem::file_time_type::clock::now()
                                     - 2 * unfinished_age_min);
  serve();
  EXPECT_EQ(names(), std::vector<std::string>{file_a});
}

} // namespace hippo
