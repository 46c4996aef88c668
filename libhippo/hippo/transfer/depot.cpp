#include "hippo/transfer/depot.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <kj/async.h>
#include <kj/exception.h>

#include "hippo/core/number.hpp"
#include "hippo/train/checkpoint_file.hpp"
#include "hippo/transfer/chunk_sender.hpp"
#include "hippo/transfer/event_thread.hpp"
#include "hippo/transfer/failure.hpp"
#include "hippo/transfer/silence_watch.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;
using outcome = std::optional<error>;

/// What a depot and the transfers under way have in common.
struct depot_state {
  depot_state(std::string root_folder, kj::Timer& clock, depot_limits most)
    : root(std::move(root_folder)), timer(clock), limits(most) {}

  const std::string root;
  kj::Timer& timer;
  const depot_limits limits;
  std::size_t transfers = 0;
  event_thread disk; ///< waits until files are on the disk

  [[nodiscard]] kj::Duration silence_max() const {
    return limits.silence_max.count() * kj::MILLISECONDS;
  }

  [[nodiscard]] error silent() const {
    return {errc::io_failed,
            "the transfer was ended: nothing was heard of it for "
              + to_text(static_cast<double>(limits.silence_max.count()) / 1000)
              + " s"};
  }
};

/// The right to one of the transfers that may be under way at a time.
class transfer_slot {
public:
  /// Throws an `OVERLOADED` exception if there are too many.
  explicit transfer_slot(std::shared_ptr<depot_state> depot)
    : depot_(std::move(depot)) {
    if (depot_->transfers >= depot_->limits.transfers_max)
      kj::throwFatalException(
        {kj::Exception::Type::OVERLOADED, __FILE__, __LINE__,
         kj::str("more than ", depot_->limits.transfers_max,
                 " checkpoints at a time are not transferred")});
    ++depot_->transfers;
  }
  transfer_slot(const transfer_slot&) = delete;
  transfer_slot& operator=(const transfer_slot&) = delete;
  ~transfer_slot() { --depot_->transfers; }

  [[nodiscard]] depot_state& depot() const noexcept { return *depot_; }

private:
  const std::shared_ptr<depot_state> depot_;
};

/// A checkpoint on its way to who fetches it.
class fetching {
public:
  fetching(std::unique_ptr<transfer_slot> slot, checkpoint_reader reader,
           schema::Chunks::Client into)
    : slot_(std::move(slot)), reader_(std::move(reader)),
      watch_(slot_->depot().timer, slot_->depot().silence_max()),
      sender_(
        kj::mv(into), reader_.left(),
        [this](kj::ArrayPtr<kj::byte> chunk) {
          return reader_.read(chunk.begin(), chunk.size());
        },
        watch_) {}

  kj::Promise<outcome> run() {
    return sender_.send().exclusiveJoin(watch_.expired().then(
      [this] { return outcome{slot_->depot().silent()}; }));
  }

private:
  const std::unique_ptr<transfer_slot> slot_;
  checkpoint_reader reader_;
  silence_watch watch_;
  chunk_sender sender_;
};

/// A checkpoint on its way from who stores it.
class upload_server final : public schema::Upload::Server {
public:
  /// @param bytes how many are to come
  upload_server(std::unique_ptr<transfer_slot> slot, checkpoint_writer writer,
                std::uint64_t bytes)
    : slot_(std::move(slot)), writer_(std::move(writer)), left_(bytes),
      watch_(slot_->depot().timer, slot_->depot().silence_max()),
      silence_(watch_.expired()
                 .then([this] { end(slot_->depot().silent()); })
                 .eagerlyEvaluate(nullptr)) {}

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
    auto writer = kj::heap(std::move(*writer_));
    auto slot = kj::heap(std::move(slot_));
    end({errc::invalid_argument, "the checkpoint was committed before"});
    auto& disk = (*slot)->depot().disk;
    return disk.start([&file = *writer] { return file.commit(); })
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
    left_ -= chunk.size();
    watch_.note_received();
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
  error why_ended_;
  silence_watch watch_;
  kj::Promise<void> silence_; ///< last: it uses all of the above
};

class depot_server final : public schema::Depot::Server {
public:
  explicit depot_server(std::shared_ptr<depot_state> state)
    : state_(std::move(state)) {}

  kj::Promise<void> fetch(FetchContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_);
    const auto params = context.getParams();
    const auto in = params.getCheckpoint();
    auto reader =
      open({params.getFolder()}, {in.getFile(), in.getBytes(), in.getDigest()});
    if (!reader) {
      put_failure(context.getResults().initFailure(), reader.failure());
      return kj::READY_NOW;
    }
    auto work =
      kj::heap<fetching>(std::move(slot), std::move(*reader), params.getInto());
    context.releaseParams();
    context.allowCancellation();
    return work->run()
      .then([context](outcome failed) mutable {
        if (failed)
          put_failure(context.getResults().initFailure(), *failed);
      })
      .attach(kj::mv(work));
  }

  kj::Promise<void> store(StoreContext context) override {
    auto slot = std::make_unique<transfer_slot>(state_);
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
  /// Returns the path of a workload's folder.
  expected<std::string> path_of(const std::string& folder) const {
    if (!is_checkpoint_name(folder))
      return {errc::invalid_argument,
              "'" + folder + "' is not the name of a workload's folder"};
    return (fs::path{state_->root} / folder).string();
  }

  expected<checkpoint_reader> open(const std::string& folder,
                                   const checkpoint& x) const {
    const auto path = path_of(folder);
    return path ? checkpoint_reader::open(*path, x) : path.failure();
  }

  expected<checkpoint_writer> create(const std::string& folder,
                                     const std::string& name,
                                     std::uint64_t bytes) const {
    const auto most = state_->limits.checkpoint_bytes_max;
    if (bytes > most)
      return {errc::invalid_argument,
              "checkpoint " + name + " has " + std::to_string(bytes)
                + " bytes; at most " + std::to_string(most) + " are taken"};
    const auto path = path_of(folder);
    return path ? checkpoint_writer::open(*path, name) : path.failure();
  }

  const std::shared_ptr<depot_state> state_;
};

} // namespace

kj::Own<schema::Depot::Server> make_depot(std::string root, kj::Timer& timer,
                                          depot_limits limits) {
  std::error_code failed;
  for (fs::directory_iterator i{root, failed}, end; !failed && i != end;
       i.increment(failed))
    remove_unfinished_checkpoints(i->path().string());
  return kj::heap<depot_server>(
    std::make_shared<depot_state>(std::move(root), timer, limits));
}

} // namespace hippo
