#include "hippo/store/code_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/model/code/study_code.hpp"

namespace hippo {

namespace {

using parts = std::set<std::string>;

/// How a file stands in a key.
std::string part_of(const std::string& path, const std::string& digest) {
  return key_of({"", {{file_option(path), digest}}, {}}).substr(1);
}

/// What stood for a file in keys of version 3.
std::string old_digest_of(const code_file& x) {
  return hash_text((x.executable ? "x" : "-") + x.bytes);
}

/// Takes a key apart at its semicolons, without the escaped ones.
std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> result(1);
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == ';') {
      result.emplace_back();
      continue;
    }
    if (key[i] == '\\' && i + 1 < key.size())
      result.back() += key[i++];
    result.back() += key[i];
  }
  return result;
}

parts files_in(const std::string& key) {
  parts result;
  for (auto& part : split_key(key))
    if (part.starts_with(file_option("")))
      result.insert(std::move(part));
  return result;
}

/// A study, and what it has trained.
struct known_study {
  parts files;                     ///< as in keys of version 3
  std::set<std::uint64_t> trained; ///< workloads that it has results of
};

class key_migration {
public:
  key_migration(sql_database& database, std::filesystem::path checkpoints)
    : database_(&database), checkpoints_(std::move(checkpoints)) {}

  expected<std::monostate> run() {
    if (auto done = read_studies(); !done)
      return done;
    if (auto done = read_trained(); !done)
      return done;
    return move_keys();
  }

private:
  expected<std::monostate> read_studies() {
    const auto* const all = "SELECT id, text FROM studies";
    return database_->for_each(all, [this](auto& row) {
      auto& study = studies_[row.number(0)];
      const auto code = code_of(std::string{row.text(1)});
      if (!code)
        return; // without any, or with what may not be submitted any more
      for (const auto& [path, file] : code->files) {
        const auto old = part_of(path, old_digest_of(file));
        study.files.insert(old);
        const auto now = part_of(path, digest_of(file));
        if (auto [i, added] = renamed_.emplace(old, now); !added)
          if (i->second != now)
            i->second.reset();
      }
    });
  }

  expected<std::monostate> read_trained() {
    return database_->for_each(
      "SELECT DISTINCT study, workload FROM events"
      " WHERE workload IS NOT NULL",
      [this](auto& row) {
        if (const auto i = studies_.find(row.number(0)); i != studies_.end())
          i->second.trained.insert(row.number(1));
      });
  }

  expected<std::monostate> move_keys() {
    std::map<std::uint64_t, std::string> keys;
    if (auto done = database_->for_each(
          "SELECT id, key FROM workloads",
          [&](auto& row) { keys[row.number(0)] = row.text(1); });
        !done)
      return done;
    auto update
      = database_->prepare("UPDATE workloads SET key = ?2 WHERE id = ?1");
    if (!update)
      return update.failure();
    for (const auto& [id, key] : keys) {
      const auto now = present_form(id, key);
      if (!now)
        continue;
      move_folder(key, *now);
      if (auto done = update->bind(1, id).bind_text(2, *now).run(); !done)
        return done;
    }
    return std::monostate{};
  }

  /// Returns the present form of a key if it is another one, and if the key
  /// decides what has been trained under it.
  [[nodiscard]] std::optional<std::string>
  present_form(std::uint64_t workload, const std::string& key) const {
    const auto files = files_in(key);
    if (files.empty())
      return std::nullopt;
    for (const auto& [id, study] : studies_)
      if (has_trained_others(study, workload, files))
        return std::nullopt;
    std::string result;
    for (auto& part : split_key(key)) {
      if (files.contains(part)) {
        const auto i = renamed_.find(part);
        if (i == renamed_.end() || !i->second)
          return std::nullopt;
        part = *i->second;
      }
      result += (result.empty() ? "" : ";") + part;
    }
    return result;
  }

  /// Whether a study has, or may have, trained a workload with files that its
  /// key does not name.
  static bool has_trained_others(const known_study& x, std::uint64_t workload,
                                 const parts& files) {
    if (!x.trained.empty())
      return x.trained.contains(workload) && x.files != files;
    return x.files != files
           && std::includes(x.files.begin(), x.files.end(), files.begin(),
                            files.end());
  }

  void move_folder(const std::string& from, const std::string& to) const {
    std::error_code ignored; // checkpoints that are missing are trained again
    const auto there = checkpoints_ / hash_text(to);
    if (!std::filesystem::exists(there, ignored))
      std::filesystem::rename(checkpoints_ / hash_text(from), there, ignored);
  }

  static std::optional<study_code> code_of(const std::string& text) {
    const auto text_parts = split(text);
    if (text_parts.code.empty())
      return std::nullopt;
    auto read = study_code_from_json(text_parts.code);
    return read ? std::optional{std::move(*read)} : std::nullopt;
  }

  sql_database* database_;
  std::filesystem::path checkpoints_;
  std::map<std::uint64_t, known_study> studies_;
  /// By the part of an old key; nothing: it stood for different files.
  std::map<std::string, std::optional<std::string>> renamed_;
};

} // namespace

expected<std::monostate> migrate_code_keys(sql_database& database,
                                           const std::string& checkpoints) {
  return key_migration{database, checkpoints}.run();
}

} // namespace hippo
