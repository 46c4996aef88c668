#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/net/wire/messages.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/orders.hpp"

namespace hippo {

/// Where the acknowledgement of a report goes: who sends effects knows what it
/// stands for.
enum class reply_address : std::uint64_t {};

/// A transaction of the store; the effects that depend on it follow it.
struct commit_request {
  std::uint64_t number = 0; ///< from 1, in order
  std::vector<journal_record> records;
  /// The messages to studies after the commit.
  std::vector<std::pair<study_no, study_news>> news;
  /// Files to delete then.
  std::vector<std::string> files;

  [[nodiscard]] bool empty() const {
    return records.empty() && news.empty() && files.empty();
  }
};

/// The transactions to store, and the effects that wait for them.
///
/// @invariant a report is acknowledged only after the commit that holds what it
///            brought, and so is a file deleted and news sent
/// @invariant commits are acknowledged in the order in which they were made
class outbox {
public:
  /// Has a record stored with the next commit.
  void add(journal_record record);
  /// Sends a study news after the next commit.
  void notify(study_no study, study_news news);
  /// Acknowledges a report after the next commit.
  void acknowledge(reply_address to, ack ack);
  /// Deletes a file after the next commit.
  void delete_file(std::string path);

  /// Returns what has come since the last commit, or nothing if nothing has.
  [[nodiscard]] std::optional<commit_request> next_commit();

  /// A commit is stored. @returns the acknowledgements that waited for it
  /// REQUIRES: it is the oldest that is under way.
  std::vector<std::pair<reply_address, ack>> committed(std::uint64_t number);

  /// Whether anything is not stored yet, or waits for that.
  [[nodiscard]] bool is_empty() const;

  void check_invariants() const;

private:
  using pending_acks = std::vector<std::pair<reply_address, ack>>;

  commit_request next_;
  std::map<study_no, study_news> news_; ///< for `next_`
  pending_acks acks_;                   ///< likewise
  std::uint64_t last_ = 0; ///< number of the last commit made
  /// The acknowledgements of the commits that are under way, oldest first.
  std::deque<std::pair<std::uint64_t, pending_acks>> under_way_;
};

} // namespace hippo
