#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hippo {

/// A trainer, by the number that the pool gave it; from 1.
enum class trainer_id : std::uint64_t {};

/// A lease, by its number; from 1, unique in a service.
enum class lease_id : std::uint64_t {};

/// A study of a service, by its number in the store; from 1, in the order of
/// submission.
enum class study_id : std::uint64_t {};

/// A trial's number within its study, counted from 0 in order of creation: a
/// place in an order, with which algorithms compute.
using trial_no = std::uint64_t;

// A search plan has numbers of its own for what is in it.

/// A node of a plan; dense from 1, parents before children.
enum class node_id : std::uint64_t {};
inline constexpr node_id root_node{};

/// A trial of a plan, of any of its studies; dense from 0.
enum class trial_id : std::uint64_t {};

/// A study of a plan; dense from 0.
enum class study_no : std::uint32_t {};

template <class T>
concept any_id
  = std::is_same_v<T, trainer_id> || std::is_same_v<T, lease_id>
    || std::is_same_v<T, study_id> || std::is_same_v<T, node_id>
    || std::is_same_v<T, trial_id> || std::is_same_v<T, study_no>;

/// Returns the number behind an id, for messages and records.
template <any_id Id>
constexpr std::uint64_t number_of(Id id) noexcept {
  return static_cast<std::uint64_t>(id);
}

/// Returns that number as text, for people.
template <any_id Id>
std::string to_string(Id id) {
  return std::to_string(number_of(id));
}

/// The ids from `first` to before `last`, for a loop.
template <any_id Id>
class id_range {
public:
  class iterator {
  public:
    explicit constexpr iterator(std::uint64_t at) : at_(at) {}
    constexpr Id operator*() const { return static_cast<Id>(at_); }
    constexpr iterator& operator++() {
      ++at_;
      return *this;
    }
    friend constexpr bool operator==(iterator, iterator) = default;

  private:
    std::uint64_t at_;
  };

  constexpr id_range(Id first, std::uint64_t last)
    : first_(number_of(first)), last_(last) {}
  [[nodiscard]] constexpr iterator begin() const { return iterator{first_}; }
  [[nodiscard]] constexpr iterator end() const {
    return iterator{first_ < last_ ? last_ : first_};
  }

private:
  std::uint64_t first_;
  std::uint64_t last_;
};

/// A container of something for each id of one kind, that no other can index.
template <any_id Id, class T, class Container = std::vector<T>>
class by_id {
public:
  by_id() = default;
  explicit by_id(std::size_t size) : items_(size) {}
  explicit by_id(Container items) : items_(std::move(items)) {}

  decltype(auto) operator[](Id id) { return items_[number_of(id)]; }
  decltype(auto) operator[](Id id) const { return items_[number_of(id)]; }
  [[nodiscard]] bool has(Id id) const { return number_of(id) < items_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

  /// Adds an item. @returns its id
  Id add(T item) {
    items_.push_back(std::move(item));
    return static_cast<Id>(items_.size() - 1);
  }
  void resize(std::size_t size) { items_.resize(size); }

  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  [[nodiscard]] id_range<Id> ids() const { return {Id{}, items_.size()}; }

private:
  Container items_;
};

} // namespace hippo
