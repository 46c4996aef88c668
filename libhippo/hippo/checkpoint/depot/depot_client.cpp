#include "hippo/checkpoint/depot/depot_client.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <capnp/rpc-twoparty.h>
#include <kj/exception.h>

#include "hippo/base/hash.hpp"
#include "hippo/base/number.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/depot/chunk_sender.hpp"
#include "hippo/checkpoint/depot/failure.hpp"
#include "hippo/checkpoint/depot/silence_watch.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

namespace {

using outcome = std::optional<error>;

/// How many times in the longest silence allowed a depot is asked whether it
/// lives.
constexpr int pings_per_silence = 3;

kj::Duration duration_of(std::chrono::milliseconds x) {
  return x.count() * kj::MILLISECONDS;
}

} // namespace

struct depot_client::connection {
  connection(kj::Own<kj::AsyncIoStream> opened, const depot_address& address)
    : stream(kj::mv(opened)), rpc(*stream),
      depot(address.find ? address.find(rpc.bootstrap())
                         : rpc.bootstrap().castAs<schema::Depot>()) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyClient rpc;
  schema::Depot::Client depot;
};

/// One transfer. Belongs to the client's thread, and to what the depot may
/// still call.
class depot_client::conversation
  : public std::enable_shared_from_this<conversation> {
public:
  conversation(kj::Timer& timer, std::chrono::milliseconds silence_max)
    : timer_(timer), silence_max_(duration_of(silence_max)),
      watch_(timer, silence_max_) {}

  /// Begins to talk to a depot.
  void with(schema::Depot::Client depot) {
    depot_ = kj::mv(depot);
    watch_.note_received();
  }

  /// Breaks once nothing has been received for too long.
  kj::Promise<outcome> silence() {
    return watch_.expired().then([this]() -> kj::Promise<outcome> {
      return kj::Exception{kj::Exception::Type::DISCONNECTED, __FILE__,
                           __LINE__,
                           kj::str("nothing was heard for ",
                                   silence_max_ / kj::MILLISECONDS, " ms")};
    });
  }

  /// Takes the next bytes of what is fetched, or says why it cannot.
  using taker = std::function<outcome(const char* data, std::size_t size)>;

  kj::Promise<outcome> fetch(const std::string& folder,
                             const checkpoint& checkpoint, taker take) {
    expect(checkpoint.bytes, std::move(take));
    auto request = depot_.fetchRequest();
    ask_for(request, folder, checkpoint);
    return request.send().then(
      [](auto&& answer) { return get_failure(answer); });
  }

  kj::Promise<outcome> fetch_range(const std::string& folder,
                                   const checkpoint& checkpoint,
                                   std::uint64_t offset, std::uint64_t bytes,
                                   taker take) {
    expect(bytes, std::move(take));
    auto request = depot_.fetchRangeRequest();
    request.setOffset(offset);
    request.setBytes(bytes);
    ask_for(request, folder, checkpoint);
    return request.send().then(
      [](auto&& answer) { return get_failure(answer); });
  }

  kj::Promise<outcome> fetch_initial(const initial_file& file, taker take) {
    expect(file.bytes, std::move(take));
    auto request = depot_.fetchInitialRequest();
    request.setSha256(file.sha256);
    request.setBytes(file.bytes);
    request.setInto(kj::heap<sink>(shared_from_this()));
    return request.send().then(
      [](auto&& answer) { return get_failure(answer); });
  }

  /// Nothing more is taken from now on.
  void end() { expect(0, {}); }

  /// @param x whose digest is set
  kj::Promise<outcome> store(const std::string& folder, checkpoint& x,
                             const content_source& bytes) {
    auto request = depot_.storeRequest();
    request.setFolder(folder);
    request.setFile(x.file);
    request.setBytes(x.bytes);
    return request.send().then([&](auto&& answer) -> kj::Promise<outcome> {
      watch_.note_received();
      if (auto failed = get_failure(answer))
        return failed;
      auto upload = answer.getUpload();
      return send(upload, bytes)
        .then(
          [this, &x, upload](outcome failed) mutable -> kj::Promise<outcome> {
            if (failed)
              return failed;
            x.digest = sent_.digest();
            return commit(kj::mv(upload), x.digest);
          });
    });
  }

private:
  template <class Request>
  void ask_for(Request& request, const std::string& folder,
               const checkpoint& checkpoint) {
    request.setFolder(folder);
    auto out = request.initCheckpoint();
    out.setFile(checkpoint.file);
    out.setBytes(checkpoint.bytes);
    out.setDigest(checkpoint.digest);
    request.setInto(kj::heap<sink>(shared_from_this()));
  }

  /// Takes the bytes of a checkpoint that is fetched.
  class sink final : public schema::Chunks::Server {
  public:
    explicit sink(std::shared_ptr<conversation> x) : for_(std::move(x)) {}

    kj::Promise<void> put(PutContext context) override {
      if (const auto why = for_->add(context.getParams().getChunk()))
        put_failure(context.getResults().initFailure(), *why);
      return kj::READY_NOW;
    }

  private:
    const std::shared_ptr<conversation> for_;
  };

  void expect(std::uint64_t bytes, taker take) {
    left_ = bytes;
    take_ = std::move(take);
  }

  outcome add(capnp::Data::Reader chunk) {
    if (!take_ || chunk.size() > left_)
      return error{errc::invalid_argument, "nobody has asked for these"};
    left_ -= chunk.size();
    watch_.note_received();
    return take_(chunk.asChars().begin(), chunk.size());
  }

  kj::Promise<outcome> send(schema::Upload::Client upload,
                            const content_source& bytes) {
    auto sender = kj::heap<chunk_sender>(
      kj::mv(upload), bytes.size(),
      [this, &bytes,
       at = std::uint64_t{0}](kj::ArrayPtr<kj::byte> chunk) mutable {
        auto why = bytes.read(at, chunk.begin(), chunk.size());
        if (!why)
          sent_.add(chunk.begin(), chunk.size());
        at += chunk.size();
        return why;
      },
      watch_);
    return sender->send().attach(kj::mv(sender));
  }

  kj::Promise<outcome> commit(schema::Upload::Client upload,
                              std::uint64_t digest) {
    auto request = upload.commitRequest();
    request.setDigest(digest);
    return request.send()
      .then([](auto&& answer) { return get_failure(answer); })
      .exclusiveJoin(keep_asking());
  }

  /// Asks again and again whether the depot lives, and is never done.
  kj::Promise<outcome> keep_asking() {
    return timer_.afterDelay(silence_max_ / pings_per_silence)
      .then([this] { return depot_.pingRequest().send(); })
      .then([this](auto&&) {
        watch_.note_received();
        return keep_asking();
      });
  }

  kj::Timer& timer_;
  const kj::Duration silence_max_;
  silence_watch watch_;
  schema::Depot::Client depot_ = nullptr;
  byte_hasher sent_;       ///< of what is stored
  taker take_;             ///< null: nothing is fetched
  std::uint64_t left_ = 0; ///< bytes that are still expected
};

depot_client::depot_client(depot_address address)
  : address_(std::move(address)) {}

depot_client::~depot_client() {
  disconnect();
}

/// Bytes on their way to a taker. A second attempt sends those again that the
/// taker has; and what was sent may come late, when there is no taker any more.
class depot_client::arrival {
public:
  explicit arrival(const byte_taker& take) : take_(&take) {}

  /// Takes the bytes of one attempt.
  class attempt {
  public:
    explicit attempt(std::shared_ptr<arrival> whose)
      : whose_(std::move(whose)) {}

    outcome operator()(const char* data, std::size_t size) {
      const auto at = std::exchange(at_, at_ + size);
      return whose_->add(at, data, size);
    }

  private:
    const std::shared_ptr<arrival> whose_;
    std::uint64_t at_ = 0;
  };

  /// There is no taker from now on. @returns the digest of what it was given
  std::uint64_t end() {
    const std::lock_guard guard{mutex_};
    take_ = nullptr;
    return hasher_.digest();
  }

private:
  outcome add(std::uint64_t at, const char* data, std::size_t size) {
    const std::lock_guard guard{mutex_};
    if (take_ == nullptr)
      return error{errc::invalid_argument, "nobody waits for these"};
    const auto known = static_cast<std::size_t>(
      std::min<std::uint64_t>(taken_ - std::min(at, taken_), size));
    if (known == size)
      return std::nullopt;
    hasher_.add(data + known, size - known);
    taken_ += size - known;
    return (*take_)(data + known, size - known);
  }

  std::mutex mutex_; ///< guards what follows
  const byte_taker* take_;
  std::uint64_t taken_ = 0;
  byte_hasher hasher_;
};

outcome depot_client::fetch(const std::string& folder,
                            const checkpoint& checkpoint,
                            const byte_taker& take) {
  const auto bytes = std::make_shared<arrival>(take);
  const auto purpose = "fetch checkpoint " + folder + '/' + checkpoint.file;
  auto failed = converse(purpose, [&](std::shared_ptr<conversation> depot) {
    return depot->fetch(folder, checkpoint, arrival::attempt{bytes})
      .then([depot](outcome why) {
        depot->end();
        return why;
      });
  });
  // The depot has checked what is in its folder.
  if (bytes->end() != checkpoint.digest && !failed)
    return damaged(purpose);
  return failed;
}

outcome depot_client::fetch_range(const std::string& folder,
                                  const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) {
  const auto bytes = std::make_shared<arrival>(take);
  auto failed = converse(
    "fetch a part of checkpoint " + folder + '/' + checkpoint.file,
    [&](std::shared_ptr<conversation> depot) {
      return depot
        ->fetch_range(folder, checkpoint, offset, size, arrival::attempt{bytes})
        .then([depot](outcome why) {
          depot->end();
          return why;
        });
    });
  bytes->end();
  return failed;
}

error depot_client::damaged(const std::string& purpose) const {
  return {errc::io_failed, "cannot " + purpose
                             + ": it was damaged on the way from "
                             + address_.host};
}

outcome depot_client::fetch_initial(const initial_file& file,
                                    const std::string& folder) {
  struct arriving {
    checkpoint_writer writer;
    sha256_hasher hasher{};
  };
  std::shared_ptr<arriving> to;
  const auto purpose = "fetch file " + file.sha256 + " of an initial state";
  auto failed = converse(
    purpose, [&](std::shared_ptr<conversation> depot) -> kj::Promise<outcome> {
      auto writer = checkpoint_writer::open(folder, file.sha256);
      if (!writer)
        return outcome{writer.failure()};
      to = std::make_shared<arriving>(arriving{std::move(*writer)});
      const auto take = [to](const char* data, std::size_t size) {
        to->hasher.add(data, size);
        return to->writer.append(data, size);
      };
      return depot->fetch_initial(file, take).then([depot](outcome why) {
        depot->end();
        return why;
      });
    });
  if (failed)
    return failed;
  if (to->writer.written().bytes != file.bytes
      || to->hasher.digest() != file.sha256)
    return damaged(purpose);
  if (auto why = to->writer.commit(durability::cached))
    return why;
  protect_content(folder + '/' + file.sha256);
  return std::nullopt;
}

expected<checkpoint> depot_client::store(const std::string& folder,
                                         const std::string& name,
                                         const content_source& bytes) {
  checkpoint x{name, bytes.size(), 0};
  auto failed = converse("store checkpoint " + folder + '/' + name,
                         [&](std::shared_ptr<conversation> depot) {
                           return depot->store(folder, x, bytes);
                         });
  if (failed)
    return *failed;
  return x;
}

outcome depot_client::converse(
  const std::string& purpose,
  const std::function<kj::Promise<outcome>(std::shared_ptr<conversation>)>&
    talk) {
  const std::lock_guard guard{mutex_};
  const auto attempt = [&](kj::AsyncIoContext& io) {
    const auto depot = std::make_shared<conversation>(io.provider->getTimer(),
                                                      address_.silence_max);
    return connect(io)
      .then([&, depot] {
        depot->with(connection_->depot);
        return talk(depot);
      })
      .exclusiveJoin(depot->silence())
      .attach(kj::cp(depot));
  };
  for (auto waited = std::chrono::milliseconds{0};;
       waited += address_.retry_pause) {
    const bool reused = connection_ != nullptr;
    try {
      return thread_.run(attempt);
    } catch (const kj::Exception& x) {
      const bool busy = x.getType() == kj::Exception::Type::OVERLOADED;
      if (!busy)
        disconnect();
      // A connection may have been lost since it was last used.
      if (busy ? waited >= address_.silence_max : !reused)
        return error{errc::io_failed, "cannot " + purpose + ": " + address_.host
                                        + ':' + std::to_string(address_.port)
                                        + ": " + sentence_of(x)};
      if (busy)
        std::this_thread::sleep_for(address_.retry_pause);
    }
  }
}

kj::Promise<void> depot_client::connect(kj::AsyncIoContext& io) {
  if (connection_ != nullptr)
    return kj::READY_NOW;
  using stream = kj::Own<kj::AsyncIoStream>;
  return io.provider->getNetwork()
    .parseAddress(address_.host, address_.port)
    .then([](kj::Own<kj::NetworkAddress> where) {
      return where->connect().attach(kj::mv(where));
    })
    .then([this](stream x) -> kj::Promise<stream> {
      if (address_.wrap)
        return address_.wrap(kj::mv(x));
      return kj::mv(x);
    })
    .then([this](stream x) {
      connection_ = std::make_unique<connection>(kj::mv(x), address_);
    });
}

void depot_client::disconnect() {
  thread_.run([this](kj::AsyncIoContext&) { connection_.reset(); });
}

// -- remote_store -------------------------------------------------------------

remote_store::remote_store(depot_client& client, std::string folder)
  : client_(client), folder_(std::move(folder)) {}

outcome remote_store::read(const checkpoint& checkpoint,
                           const byte_taker& take) {
  return client_.fetch(folder_, checkpoint, take);
}

outcome remote_store::read_range(const checkpoint& checkpoint,
                                 std::uint64_t offset, std::uint64_t size,
                                 const byte_taker& take) {
  return client_.fetch_range(folder_, checkpoint, offset, size, take);
}

expected<checkpoint> remote_store::write(const std::string& name,
                                         const content_source& bytes,
                                         durability) {
  return client_.store(folder_, name, bytes);
}

namespace {

namespace fs = std::filesystem;

/// For how long a file of the cache stays that nobody uses.
constexpr std::chrono::hours unused_max{30 * 24};

/// Notes in its access time that a file is used; its content's time stays.
void note_use(const std::string& path) {
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

/// Removes the files that nobody has used for long.
void forget_unused(const std::string& folder) {
  const auto oldest = std::chrono::system_clock::now() - unused_max;
  std::error_code failed;
  for (fs::directory_iterator i{folder, failed}, end; !failed && i != end;
       i.increment(failed)) {
    struct stat about {};
    if (::stat(i->path().c_str(), &about) == 0
        && std::chrono::system_clock::from_time_t(about.st_atim.tv_sec)
             < oldest)
      fs::remove(i->path(), failed);
  }
}

} // namespace

std::string initial_cache_folder() {
  const auto variable = [](const char* name) {
    const char* const set = std::getenv(name);
    return fs::path{set != nullptr ? set : ""};
  };
  const auto home = variable("HOME");
  auto cache = variable("XDG_CACHE_HOME");
  if (cache.empty() && !home.empty())
    cache = home / ".cache";
  return cache.empty() ? std::string{}
                       : (cache / "hippo" / initial_folder_name).string();
}

expected<std::string> remote_store::find_initial(const initial_file& file) {
  const auto folder = initial_cache_folder();
  const auto refused = [](const std::string& why) {
    return error{errc::io_failed, why
                                    + ": set XDG_CACHE_HOME to a folder for "
                                      "files of initial states"};
  };
  if (folder.empty())
    return refused("this user has no HOME");
  auto path = folder + '/' + file.sha256;
  if (check_content(path, file)) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
      return refused(folder + ": " + failed.message());
    remove_unfinished_checkpoints(folder);
    forget_unused(folder);
    if (auto why = client_.fetch_initial(file, folder))
      return *why;
  }
  note_use(path);
  return path;
}

} // namespace hippo
