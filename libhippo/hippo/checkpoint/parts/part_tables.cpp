#include "hippo/checkpoint/parts/part_tables.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hippo {

expected<std::shared_ptr<const part_table>>
part_tables::find(const std::string& folder, const checkpoint& checkpoint,
                  checkpoint_store& store) {
  {
    const std::lock_guard guard{mutex_};
    const auto i = std::ranges::find_if(entries_, [&](const entry& x) {
      return x.folder == folder && x.file == checkpoint.file
             && x.digest == checkpoint.digest;
    });
    if (i != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, i);
      return i->table;
    }
  }
  if (checkpoint.table_bytes > part_table_bytes_max)
    return error{errc::bad_checkpoint, "the table of parts of checkpoint "
                                         + checkpoint.file + " is too large"};
  std::string bytes;
  if (auto why = store.read_range(
        checkpoint, checkpoint.bytes - checkpoint.table_bytes,
        checkpoint.table_bytes,
        [&](const char* data, std::size_t size) -> std::optional<error> {
          bytes.append(data, size);
          return std::nullopt;
        }))
    return *why;
  auto read = part_table_of(checkpoint, bytes);
  if (!read)
    return read.failure();
  auto result = std::make_shared<const part_table>(std::move(*read));
  keep(folder, checkpoint, result);
  return result;
}

void part_tables::keep(const std::string& folder, const checkpoint& checkpoint,
                       std::shared_ptr<const part_table> table) {
  const std::lock_guard guard{mutex_};
  parts_ += table->parts.size();
  entries_.push_front(
    {folder, checkpoint.file, checkpoint.digest, std::move(table)});
  while (parts_ > parts_max && entries_.size() > 1) {
    parts_ -= entries_.back().table->parts.size();
    entries_.pop_back();
  }
}

} // namespace hippo
