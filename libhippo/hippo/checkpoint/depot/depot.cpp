#include "hippo/checkpoint/depot/depot.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <kj/async.h>
#include <kj/exception.h>
#include <unistd.h>

#include "hippo/base/number.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/depot/chunk_sender.hpp"
#include "hippo/checkpoint/depot/event_thread.hpp"
#include "hippo/checkpoint/depot/failure.hpp"
#include "hippo/checkpoint/depot/silence_watch.hpp"
#include "hippo/checkpoint/foreign_file.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/sha256.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;
using outcome = std::optional<error>;

} // namespace

class transfer_slot;

/// What a depot and the transfers under way have in common.
struct depot_state {
  depot_state(std::string root_folder, kj::Timer& clock, depot_limits most)
    : root(std::move(root_folder)), timer(clock), limits(most) {}

  const std::string root;
  kj::Timer& timer;
  const depot_limits limits;
  std::uint64_t connections = 0;        ///< that have come
  std::set<transfer_slot*> under_way{}; ///< transfers
  event_thread disk;                    ///< waits until files are on the disk

  [[nodiscard]] kj::Duration silence_max() const {
    return limits.silence_max.count() * kj::MILLISECONDS;
  }

  /// So many bytes show that a transfer is not silent.
  [[nodiscard]] std::uint64_t bytes_that_count() const {
    return limits.bytes_per_second_min
           * static_cast<std::uint64_t>(limits.silence_max.count()) / 1000;
  }

  [[nodiscard]] error silent() const {
    return {errc::io_failed,
            "the transfer was ended: less than "
              + std::to_string(bytes_that_count())
              + " bytes were heard of it for "
              + to_text(static_cast<double>(limits.silence_max.count()) / 1000)
              + " s"};
  }
};

/// Whose a transfer is.
struct depot_peer {
  std::string address;
  std::uint64_t connection = 0;
};

/// The right to one of the transfers that may be under way at a time.
class transfer_slot {
public:
  /// Throws an `OVERLOADED` exception if there are too many and none need make
  /// room.
  transfer_slot(std::shared_ptr<depot_state> depot, depot_peer whose);
  transfer_slot(const transfer_slot&) = delete;
  transfer_slot& operator=(const transfer_slot&) = delete;
  ~transfer_slot() { depot_->under_way.erase(this); }

  [[nodiscard]] depot_state& depot() const noexcept { return *depot_; }

  /// From now on it can be ended for others.
  /// @param ends is called once, then, with why
  /// REQUIRES: `watch` is there until `settle` or the end
  void begin(const silence_watch& watch, std::function<void(error)> ends) {
    watch_ = &watch;
    ends_ = std::move(ends);
  }

  /// It cannot be ended for others any more.
  void settle() {
    watch_ = nullptr;
    ends_ = nullptr;
  }

private:
  void make_room();

  const std::shared_ptr<depot_state> depot_;
  const depot_peer whose_;
  const silence_watch* watch_ = nullptr; ///< null: it makes no room
  std::function<void(error)> ends_;
};

transfer_slot::transfer_slot(std::shared_ptr<depot_state> depot,
                             depot_peer whose)
  : depot_(std::move(depot)), whose_(std::move(whose)) {
  if (depot_->under_way.size() >= depot_->limits.transfers_max)
    make_room();
  depot_->under_way.insert(this);
}

void transfer_slot::make_room() {
  std::map<std::string, std::size_t> by_address;
  std::map<std::uint64_t, std::size_t> by_connection;
  for (const auto* x : depot_->under_way) {
    ++by_address[x->whose_.address];
    ++by_connection[x->whose_.connection];
  }
  const auto now = depot_->timer.now();
  const auto patience =
    depot_->limits.crowded_silence_max.count() * kj::MILLISECONDS;
  const auto has_more = [&](const transfer_slot& x) {
    if (x.whose_.address != whose_.address)
      return by_address[x.whose_.address] >= by_address[whose_.address] + 2;
    return by_connection[x.whose_.connection]
           >= by_connection[whose_.connection] + 2;
  };
  // The slow ones first, then those of whoever has the most.
  using rank = std::tuple<bool, std::size_t, std::size_t, kj::Duration>;
  transfer_slot* found = nullptr;
  rank best;
  for (auto* x : depot_->under_way) {
    if (x->watch_ == nullptr)
      continue;
    const auto still = now - x->watch_->last();
    const bool is_slow = still >= patience;
    if (!is_slow && !has_more(*x))
      continue;
    const rank its{is_slow, is_slow ? 0 : by_address[x->whose_.address],
                   is_slow ? 0 : by_connection[x->whose_.connection], still};
    if (found == nullptr || best < its) {
      best = its;
      found = x;
    }
  }
  const auto most = depot_->limits.transfers_max;
  if (found == nullptr)
    kj::throwFatalException(
      {kj::Exception::Type::OVERLOADED, __FILE__, __LINE__,
       kj::str("more than ", most,
               " checkpoints at a time are not transferred")});
  depot_->under_way.erase(found);
  const auto ends = std::exchange(found->ends_, nullptr);
  ends({errc::io_failed,
        "the transfer was ended since others wait: of " + std::to_string(most)
          + " at a time "
          + (std::get<bool>(best) ? "it was the slowest"
                                  : "its peer had more than its part")});
}

namespace {

/// A file on its way to who fetches it.
class fetching {
public:
  /// @param bytes that `next` gives
  fetching(std::unique_ptr<transfer_slot> slot, std::uint64_t bytes,
           chunk_sender::source next, schema::Chunks::Client into)
    : slot_(std::move(slot)),
      watch_(slot_->depot().timer, slot_->depot().silence_max()),
      sender_(kj::mv(into), bytes, std::move(next), watch_) {
    slot_->begin(watch_, [this](error why) {
      ended_.fulfiller->fulfill(outcome{std::move(why)});
    });
  }

  kj::Promise<outcome> run() {
    return sender_.send()
      .exclusiveJoin(watch_.expired().then(
        [this] { return outcome{slot_->depot().silent()}; }))
      .exclusiveJoin(kj::mv(ended_.promise));
  }

private:
  const std::unique_ptr<transfer_slot> slot_;
  silence_watch watch_;
  chunk_sender sender_;
  kj::PromiseFulfillerPair<outcome> ended_ =
    kj::newPromiseAndFulfiller<outcome>(); ///< for others
};

/// Returns the folder of initial states below the root of a depot.
fs::path initial_folder_in(const std::string& root) {
  return fs::path{root} / initial_folder_name;
}

/// Reads a file of an initial state.
/// @returns what gives its next bytes, or as `checkpoint_reader::open`
expected<chunk_sender::source> open_initial(const std::string& root,
                                            const initial_file& file) {
  if (!is_sha256(file.sha256))
    return {errc::invalid_argument,
            "'" + excerpt(file.sha256) + "' is not the digest of a file"};
  const auto path = (initial_folder_in(root) / file.sha256).string();
  auto found = open_foreign_file(path);
  if (!found || found.bytes != file.bytes)
    return {errc::bad_checkpoint,
            "the file " + path + " of an initial state is missing"};
  auto opened = std::make_shared<file_descriptor>(std::move(found.file));
  return chunk_sender::source{[opened, path](kj::ArrayPtr<kj::byte> chunk) {
    for (std::size_t done = 0; done < chunk.size();) {
      const auto read =
        ::read(opened->number(), chunk.begin() + done, chunk.size() - done);
      if (read < 0 && errno == EINTR)
        continue;
      if (read <= 0)
        return outcome{error{errc::bad_checkpoint, "cannot read " + path}};
      done += static_cast<std::size_t>(read);
    }
    return outcome{};
  }};
}

/// Gives a checkpoint its name, unless another one has it. Who stores the same
/// again has not heard that it is there.
outcome commit_new(checkpoint_writer& x) {
  auto there = checkpoint_reader::open(x.folder(), x.written());
  if (!there
      && !fs::exists(
        fs::symlink_status(fs::path{x.folder()} / x.written().file)))
    return x.commit();
  bool is_same = static_cast<bool>(there);
  std::vector<char> bytes(chunk_bytes_max);
  while (is_same && there->left() > 0) {
    const auto size = std::min<std::uint64_t>(there->left(), bytes.size());
    is_same = !there->read(bytes.data(), size);
  }
  if (is_same)
    return std::nullopt; // and the fresh one goes
  return error{errc::invalid_argument,
               "checkpoint " + x.written().file
                 + " is there already, and is another one"};
}

/// A file on its way from who stores it.
class upload_server final : public schema::Upload::Server {
public:
  /// @param bytes how many are to come
  /// @param sha256 of these bytes; empty: who sends them tells another digest
  ///        in the end
  upload_server(std::unique_ptr<transfer_slot> slot, checkpoint_writer writer,
                std::uint64_t bytes, std::string sha256 = {})
    : slot_(std::move(slot)), writer_(std::move(writer)), left_(bytes),
      sha256_(std::move(sha256)),
      watch_(slot_->depot().timer, slot_->depot().silence_max()),
      silence_(watch_.expired()
                 .then([this] { end(slot_->depot().silent()); })
                 .eagerlyEvaluate(nullptr)) {
    slot_->begin(watch_, [this](error why) { end(std::move(why)); });
  }

  kj::Promise<void> put(PutContext context) override {
    if (const auto failed = take(context.getParams().getChunk()))
      put_failure(context.getResults().initFailure(), *failed);
    return kj::READY_NOW;
  }

  kj::Promise<void> commit(CommitContext context) override {
    if (const auto failed = check(context.getParams().getDigest())) {
      put_failure(context.getResults().initFailure(), *failed);
      return kj::READY_NOW;
    }
    silence_ = nullptr; // what follows is up to the disk
    slot_->settle();
    auto writer = kj::heap(std::move(*writer_));
    auto slot = kj::heap(std::move(slot_));
    end({errc::invalid_argument, "the checkpoint was committed before"});
    auto& disk = (*slot)->depot().disk;
    return disk
      .start([&file = *writer, is_initial = !sha256_.empty()] {
        auto failed = commit_new(file);
        if (!failed && is_initial)
          protect_content(file.folder() + '/' + file.written().file);
        return failed;
      })
      .then([context](outcome failed) mutable {
        if (failed)
          put_failure(context.getResults().initFailure(), *failed);
      })
      .attach(kj::mv(writer), kj::mv(slot));
  }

private:
  /// Writes the next bytes.
  outcome take(capnp::Data::Reader chunk) {
    if (!writer_)
      return why_ended_;
    if (chunk.size() == 0 || chunk.size() > chunk_bytes_max)
      return fail({errc::invalid_argument,
                   "a chunk has 1 to " + std::to_string(chunk_bytes_max)
                     + " bytes, not " + std::to_string(chunk.size())});
    if (chunk.size() > left_)
      return fail(
        {errc::invalid_argument, "checkpoint " + writer_->written().file
                                   + " has more bytes than were announced"});
    if (auto failed = writer_->append(chunk.begin(), chunk.size()))
      return fail(std::move(*failed));
    if (!sha256_.empty())
      hasher_.add(chunk.begin(), chunk.size());
    left_ -= chunk.size();
    fresh_ += chunk.size();
    if (left_ == 0 || fresh_ >= slot_->depot().bytes_that_count()) {
      fresh_ = 0;
      watch_.note_received();
    }
    return std::nullopt;
  }

  /// Whether all bytes have come, and are those that were sent.
  outcome check(std::uint64_t digest) {
    if (!writer_)
      return why_ended_;
    const auto written = writer_->written();
    if (left_ > 0)
      return fail({errc::invalid_argument, "checkpoint " + written.file
                                             + " lacks " + std::to_string(left_)
                                             + " of the bytes announced"});
    if (!sha256_.empty())
      return hasher_.digest() == sha256_
               ? std::nullopt
               : outcome{fail({errc::invalid_argument,
                               "the file changed while it was sent: its "
                               "content is not the one that was announced"})};
    if (written.digest != digest)
      return fail(
        {errc::io_failed,
         "checkpoint " + written.file
           + " was damaged on the way: its digest is not the one that "
             "was sent"});
    return std::nullopt;
  }

  /// Ends the upload, and removes the file unless it is somebody else's now.
  void end(error why) {
    writer_.reset();
    slot_.reset();
    why_ended_ = std::move(why);
  }

  error fail(error why) {
    end(std::move(why));
    return why_ended_;
  }

  std::unique_ptr<transfer_slot> slot_;     ///< nothing: ended
  std::optional<checkpoint_writer> writer_; ///< nothing: ended
  std::uint64_t left_;                      ///< bytes still to come
  const std::string sha256_; ///< that they must have; empty: not announced
  sha256_hasher hasher_;     ///< of those that came, if it was
  std::uint64_t fresh_ = 0; ///< that have come since they last counted
  error why_ended_;
  silence_watch watch_;
  kj::Promise<void> silence_; ///< last: it uses all of the above
};

class depot_server final : public schema::Depot::Server {
public:
  depot_server(std::shared_ptr<depot_state> state, depot_peer whose)
    : state_(std::move(state)), whose_(std::move(whose)) {}

  kj::Promise<void> fetch(FetchContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_, whose_);
    const auto params = context.getParams();
    const auto in = params.getCheckpoint();
    auto reader =
      open({params.getFolder()}, {in.getFile(), in.getBytes(), in.getDigest()});
    if (!reader) {
      put_failure(context.getResults().initFailure(), reader.failure());
      return kj::READY_NOW;
    }
    const auto file = std::make_shared<checkpoint_reader>(std::move(*reader));
    return send(context, kj::heap<fetching>(
                           std::move(slot), file->left(),
                           [file](kj::ArrayPtr<kj::byte> chunk) {
                             return file->read(chunk.begin(), chunk.size());
                           },
                           params.getInto()));
  }

  kj::Promise<void> fetchRange(FetchRangeContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_, whose_);
    const auto params = context.getParams();
    const auto in = params.getCheckpoint();
    const auto bytes = params.getBytes();
    auto reader =
      open({params.getFolder()}, {in.getFile(), in.getBytes(), in.getDigest()});
    if (reader
        && (params.getOffset() > in.getBytes()
            || bytes > in.getBytes() - params.getOffset()))
      reader =
        error{errc::invalid_argument, "the range leads out of checkpoint "
                                        + std::string{in.getFile().cStr()}};
    if (!reader) {
      put_failure(context.getResults().initFailure(), reader.failure());
      return kj::READY_NOW;
    }
    const auto file = std::make_shared<checkpoint_reader>(std::move(*reader));
    return send(
      context,
      kj::heap<fetching>(
        std::move(slot), bytes,
        [file, at = params.getOffset()](kj::ArrayPtr<kj::byte> chunk) mutable {
          auto why = file->read_at(at, chunk.begin(), chunk.size());
          at += chunk.size();
          return why;
        },
        params.getInto()));
  }

  kj::Promise<void> fetchInitial(FetchInitialContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_, whose_);
    const auto params = context.getParams();
    const initial_file file{params.getSha256(), params.getBytes()};
    auto next = open_initial(state_->root, file);
    if (!next) {
      put_failure(context.getResults().initFailure(), next.failure());
      return kj::READY_NOW;
    }
    return send(context,
                kj::heap<fetching>(std::move(slot), file.bytes,
                                   std::move(*next), params.getInto()));
  }

  kj::Promise<void> store(StoreContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_, whose_);
    const auto params = context.getParams();
    const auto bytes = params.getBytes();
    auto writer = create({params.getFolder()}, {params.getFile()}, bytes);
    if (writer)
      context.getResults().setUpload(
        kj::heap<upload_server>(std::move(slot), std::move(*writer), bytes));
    else
      put_failure(context.getResults().initFailure(), writer.failure());
    return kj::READY_NOW;
  }

  kj::Promise<void> ping(PingContext) override { return kj::READY_NOW; }

private:
  /// Answers once all of a file has been taken, or why it has not.
  template <class Context>
  static kj::Promise<void> send(Context& context, kj::Own<fetching> work) {
    context.releaseParams();
    context.allowCancellation();
    return work->run()
      .then([context](outcome failed) mutable {
        if (failed)
          put_failure(context.getResults().initFailure(), *failed);
      })
      .attach(kj::mv(work));
  }

  /// Returns the path of a workload's folder.
  expected<std::string> path_of(const std::string& folder) const {
    if (!is_checkpoint_name(folder))
      return {errc::invalid_argument,
              "'" + folder + "' is not the name of a workload's folder"};
    return (fs::path{state_->root} / folder).string();
  }

  expected<checkpoint_reader> open(const std::string& folder,
                                   const checkpoint& checkpoint) const {
    const auto path = path_of(folder);
    return path ? checkpoint_reader::open(*path, checkpoint) : path.failure();
  }

  expected<checkpoint_writer> create(const std::string& folder,
                                     const std::string& name,
                                     std::uint64_t bytes) const {
    const auto most = state_->limits.checkpoint_bytes_max;
    if (bytes > most)
      return {errc::invalid_argument,
              "checkpoint " + name + " has " + std::to_string(bytes)
                + " bytes; at most " + std::to_string(most) + " are taken"};
    if (!origin_of(name))
      return {errc::invalid_argument,
              "'" + excerpt(name) + "' is not the name of what a lease leaves"};
    const auto path = path_of(folder);
    return path ? checkpoint_writer::open(*path, name) : path.failure();
  }

  const std::shared_ptr<depot_state> state_;
  const depot_peer whose_;
};

} // namespace

depot::depot(std::string root, kj::Timer& timer, depot_limits limits) {
  std::error_code failed;
  for (fs::directory_iterator i{root, failed}, end; !failed && i != end;
       i.increment(failed))
    remove_unfinished_checkpoints(i->path().string());
  state_ = std::make_shared<depot_state>(std::move(root), timer, limits);
}

kj::Own<schema::Depot::Server>
depot::for_connection(std::string address) const {
  return kj::heap<depot_server>(
    state_, depot_peer{std::move(address), ++state_->connections});
}

bool depot::has_initial(const initial_file& file) const {
  return is_sha256(file.sha256)
         && is_foreign_file_of(
           (initial_folder_in(state_->root) / file.sha256).string(),
           file.bytes);
}

expected<kj::Own<schema::Upload::Server>>
depot::take_initial(std::string address, const initial_file& file) const {
  using taker = kj::Own<schema::Upload::Server>;
  if (!is_sha256(file.sha256))
    return {errc::invalid_argument,
            "'" + excerpt(file.sha256) + "' is not the digest of a file"};
  if (file.bytes > initial_bytes_max)
    return {errc::invalid_argument, "a file of an initial state has at most "
                                      + std::to_string(initial_bytes_max)
                                      + " bytes"};
  const auto folder = initial_folder_in(state_->root).string();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return {errc::io_failed, folder + ": " + failed.message()};
  auto writer = checkpoint_writer::open(folder, file.sha256);
  if (!writer)
    return writer.failure();
  auto slot = std::make_unique<transfer_slot>(
    state_, depot_peer{std::move(address), ++state_->connections});
  return taker{kj::heap<upload_server>(std::move(slot), std::move(*writer),
                                       file.bytes, file.sha256)};
}

} // namespace hippo
