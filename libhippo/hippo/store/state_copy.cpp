#include "hippo/store/state_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/store/folder_lock.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// How much of a checkpoint is in memory at a time, in bytes.
constexpr std::uint64_t chunk_bytes = 1 << 20;

/// Where a checkpoint lies below the folder of checkpoints.
struct place {
  std::string folder;
  std::string file;
  friend auto operator<=>(const place&, const place&) = default;
};

/// A checkpoint that a database knows of.
struct known_checkpoint {
  std::uint64_t workload = 0;
  std::uint64_t node = 0;
  std::uint64_t step = 0;
  place where;
  checkpoint what;
};

expected<std::vector<known_checkpoint>> read_checkpoints(sql_database& from) {
  std::vector<known_checkpoint> result;
  auto done = from.for_each(
    "SELECT workload, node, step, key, file, bytes, digest FROM checkpoints"
    " JOIN workloads ON id = workload",
    [&](const sql_statement& row) {
      const std::string file{row.text(4)};
      result.push_back({row.number(0),
                        row.number(1),
                        row.number(2),
                        {hash_text(std::string{row.text(3)}), file},
                        {file, row.number(5), row.number(6)}});
    });
  if (!done)
    return done.failure();
  return result;
}

expected<std::uint64_t> count(sql_database& from, const std::string& sql) {
  auto query = from.prepare(sql);
  if (!query)
    return query.failure();
  const auto found = query->step();
  if (!found)
    return found.failure();
  return query->number(0);
}

/// Waits until the names in a folder are on the disk.
std::optional<error> sync_folder(const std::string& path) {
  const file_descriptor folder{
    ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder && ::fsync(folder.number()) == 0)
    return std::nullopt;
  return file_error("cannot write to " + path,
                    std::error_code{errno, std::generic_category()});
}

/// @returns nothing, or as `checkpoint_reader` and `checkpoint_writer`
std::optional<error> copy_file(const std::string& from, const std::string& to,
                               const checkpoint& x) {
  auto reader = checkpoint_reader::open(from, x);
  if (!reader)
    return reader.failure();
  auto writer = checkpoint_writer::open(to, x.file);
  if (!writer)
    return writer.failure();
  std::string chunk;
  do {
    chunk.resize(std::min(reader->left(), chunk_bytes));
    if (auto why = reader->read(chunk.data(), chunk.size()))
      return why;
    if (auto why = writer->append(chunk.data(), chunk.size()))
      return why;
  } while (reader->left() > 0);
  return writer->commit();
}

class state_copy {
public:
  state_copy(std::string from, std::string to, copy_target target,
             checkpoint_finder elsewhere, copy_check check)
    : from_(std::move(from)), to_(std::move(to)), target_(target),
      elsewhere_(std::move(elsewhere)), check_(check),
      part_(unfinished_copy_of(to_)) {}

  expected<copy_outcome> run() {
    auto source = state_reader::open(from_);
    if (!source)
      return source.failure();
    std::error_code ignored;
    if (fs::equivalent(from_, to_, ignored))
      return {errc::invalid_argument, to_ + " is the state itself"};
    if (auto made = make_state_folder(to_); !made)
      return made.failure();
    auto lock = folder_lock::take(to_);
    if (!lock)
      return lock.failure();
    for (auto step : {&state_copy::look_at_earlier, &state_copy::copy_database,
                      &state_copy::copy_checkpoints,
                      &state_copy::copy_initial_files, &state_copy::finish})
      if (auto done = (this->*step)(); !done)
        return done.failure();
    return outcome_;
  }

private:
  error of_another() const {
    return {errc::invalid_argument,
            to_ + " holds a copy of another state: choose another folder"};
  }

  error unreadable(const error& why) const {
    return {why.code, why.message
                        + "; what is in " + to_
                        + " cannot be used: choose another folder"};
  }

  /// Finds out what an earlier copy has.
  expected<std::monostate> look_at_earlier() {
    const auto file = state_database_of(to_);
    std::error_code ignored;
    if (!fs::exists(file, ignored))
      return std::monostate{};
    if (target_ == copy_target::fresh)
      return {errc::invalid_argument,
              "there is a state in " + to_
                + " already: choose a folder that is empty or not there"};
    auto earlier = sql_database::open(file, sql_database::access::write);
    if (!earlier)
      return earlier.failure();
    // What a service may have left in files beside it is put into it.
    if (auto set = earlier->run("PRAGMA journal_mode = DELETE"); !set)
      return unreadable(set.failure());
    auto known = read_checkpoints(*earlier);
    if (!known)
      return unreadable(known.failure());
    for (auto& x : *known)
      earlier_.emplace(std::move(x.where), std::move(x.what));
    return std::monostate{};
  }

  /// Takes the state of one moment.
  expected<std::monostate> copy_database() {
    std::error_code ignored;
    fs::remove(part_, ignored);
    auto source = sql_database::open(state_database_of(from_),
                                     sql_database::access::read);
    if (!source)
      return source.failure();
    auto copy = sql_database::open(part_, sql_database::access::write);
    if (!copy)
      return copy.failure();
    if (auto done = source->copy_to(*copy); !done)
      return done;
    if (auto set = copy->run("PRAGMA journal_mode = DELETE;"
                             "PRAGMA synchronous = FULL");
        !set)
      return set;
    copy_ = std::move(*copy);
    const auto studies = count(copy_, "SELECT count(*) FROM studies");
    if (!studies)
      return studies.failure();
    outcome_.studies = *studies;
    return check_identity();
  }

  /// Whether an earlier copy is one of this state: studies are never forgotten,
  /// nor is what stands for them outside.
  expected<std::monostate> check_identity() {
    std::error_code ignored;
    const auto file = state_database_of(to_);
    if (!fs::exists(file, ignored))
      return std::monostate{};
    auto attach = copy_.prepare("ATTACH ? AS earlier");
    if (!attach)
      return attach.failure();
    if (auto done = attach->bind_text(1, file).run(); !done)
      return done;
    const auto others = count(copy_, "SELECT count(*) FROM earlier.studies AS e"
                                     " LEFT JOIN main.studies AS s USING (id)"
                                     " WHERE s.text IS NOT e.text");
    if (!others)
      return others.failure();
    if (*others > 0)
      return of_another();
    const auto named = count(copy_, "SELECT count(*) FROM"
                                    " earlier.sqlite_master AS e JOIN"
                                    " main.sqlite_master AS m"
                                    " USING (type, name)"
                                    " WHERE name = 'identities'");
    if (!named)
      return named.failure();
    const auto strangers
      = *named == 0 ? expected<std::uint64_t>{0}
                    : count(copy_, "SELECT count(*) FROM earlier.identities"
                                   " AS e LEFT JOIN main.identities AS m"
                                   " USING (study) WHERE m.uid IS NOT e.uid");
    if (!strangers)
      return strangers.failure();
    if (*strangers > 0)
      return of_another();
    return copy_.run("DETACH earlier");
  }

  expected<std::monostate> copy_checkpoints() {
    const auto known = read_checkpoints(copy_);
    if (!known)
      return known.failure();
    auto forget = copy_.prepare("DELETE FROM checkpoints WHERE workload = ?"
                                " AND node = ? AND step = ?");
    if (!forget)
      return forget.failure();
    if (auto begun = copy_.run("BEGIN"); !begun)
      return begun;
    for (const auto& x : *known) {
      const auto why = provide(x);
      if (!why) {
        wanted_.insert(x.where);
        continue;
      }
      if (why->code != errc::bad_checkpoint)
        return *why;
      // Given up since, or damaged: to be trained again if ever needed.
      ++outcome_.missing;
      forget->bind(1, x.workload).bind(2, x.node).bind(3, x.step);
      if (auto done = forget->run(); !done)
        return done;
    }
    return copy_.run("COMMIT");
  }

  /// Makes sure that the copy has the files of initial states.
  expected<std::monostate> copy_initial_files() {
    const auto from
      = fs::path{state_reader::checkpoints_of(from_)} / initial_folder_name;
    const auto to
      = fs::path{state_reader::checkpoints_of(to_)} / initial_folder_name;
    std::error_code failed;
    for (fs::directory_iterator i{from, failed}, end; !failed && i != end;
         i.increment(failed))
      if (const auto name = i->path().filename().string(); is_sha256(name))
        if (auto why = provide_initial({name, i->file_size(failed)}, from, to))
          return *why;
    return std::monostate{};
  }

  /// Makes sure that the copy has a file of an initial state.
  std::optional<error> provide_initial(const initial_file& file,
                                       const fs::path& from,
                                       const fs::path& to) {
    const auto path = (to / file.sha256).string();
    std::error_code failed;
    const bool is_known = fs::exists(path, failed);
    if (is_known && check_ == copy_check::sizes
          ? fs::file_size(path, failed) == file.bytes
          : !check_content(path, file)) {
      ++outcome_.there;
      return std::nullopt;
    }
    fs::remove(path, failed);
    initial_state one;
    one.files.emplace(file.sha256, file);
    one.is_folder = true;
    one.path = from.string();
    if (auto why = place_initial_state(one, to.string())) {
      if (why->code != errc::invalid_argument)
        return why;
      ++outcome_.missing; // it is damaged
      return std::nullopt;
    }
    ++outcome_.copied;
    outcome_.mended += is_known ? 1 : 0;
    outcome_.copied_bytes += file.bytes;
    return std::nullopt;
  }

  /// Makes sure that the copy has a checkpoint.
  std::optional<error> provide(const known_checkpoint& x) {
    if (elsewhere_) {
      const auto found = elsewhere_(x.where.folder, x.what);
      if (!found)
        return found.failure();
      if (*found) {
        ++outcome_.elsewhere;
        return std::nullopt;
      }
    }
    const auto folder
      = state_reader::checkpoints_of(to_) + '/' + x.where.folder;
    std::error_code failed;
    const auto i = earlier_.find(x.where);
    const bool is_known = i != earlier_.end();
    // What is there may be needed until the new copy is whole.
    if (is_known && i->second != x.what)
      return of_another();
    // What a copy has left that was not finished may be half there.
    if (is_known && check_ == copy_check::sizes ? is_of_size(folder, x.what)
                                                : is_whole(folder, x.what)) {
      ++outcome_.there;
      return std::nullopt;
    }
    if (fs::create_directories(folder, failed); failed)
      return file_error("cannot make the folder " + folder, failed);
    auto why = copy_file(
      state_reader::checkpoints_of(from_) + '/' + x.where.folder, folder,
      x.what);
    if (!why) {
      ++outcome_.copied;
      outcome_.mended += is_known ? 1 : 0;
      outcome_.copied_bytes += x.what.bytes;
    }
    return why;
  }

  static bool is_of_size(const std::string& folder, const checkpoint& x) {
    std::error_code failed;
    const auto bytes = fs::file_size(folder + '/' + x.file, failed);
    return !failed && bytes == x.bytes;
  }

  static bool is_whole(const std::string& folder, const checkpoint& x) {
    auto reader = checkpoint_reader::open(folder, x);
    std::string chunk;
    while (reader && reader->left() > 0) {
      chunk.resize(std::min(reader->left(), chunk_bytes));
      if (reader->read(chunk.data(), chunk.size()))
        return false;
    }
    return static_cast<bool>(reader);
  }

  /// Puts the copy in the place of the earlier one.
  expected<std::monostate> finish() {
    copy_ = {};
    std::error_code reason;
    if (auto why = sync_folder(to_))
      return *why;
    fs::rename(part_, state_database_of(to_), reason);
    if (reason)
      return file_error("cannot write " + state_database_of(to_), reason);
    if (auto why = sync_folder(to_))
      return *why;
    remove_unwanted();
    return std::monostate{};
  }

  /// Nothing names these any more. What stays does no harm.
  void remove_unwanted() {
    std::error_code failed;
    const fs::path all{state_reader::checkpoints_of(to_)};
    std::vector<fs::path> unwanted;
    for (fs::recursive_directory_iterator i{all, failed}, end;
         !failed && i != end; i.increment(failed))
      if (i->is_regular_file(failed) && i->path().extension() == ".ckpt"
          && !wanted_.contains({i->path().parent_path().filename().string(),
                                i->path().filename().string()}))
        unwanted.push_back(i->path());
    for (const auto& x : unwanted)
      if (fs::remove(x, failed))
        ++outcome_.removed;
  }

  std::string from_;
  std::string to_;
  copy_target target_;
  checkpoint_finder elsewhere_;
  copy_check check_;
  std::string part_; ///< path of the new database until it is whole
  sql_database copy_;
  std::map<place, checkpoint> earlier_;
  std::set<place> wanted_;
  copy_outcome outcome_;
};

} // namespace

expected<copy_outcome> copy_state(const std::string& from,
                                  const std::string& to, copy_target target,
                                  checkpoint_finder elsewhere,
                                  copy_check check) {
  return state_copy{from, to, target, std::move(elsewhere), check}.run();
}

} // namespace hippo
