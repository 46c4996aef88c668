// The table of parts at the end of a checkpoint's file, which another trainer
// has written: the first byte says how many files of others the checkpoint has
// parts in, the rest is the table. Where it is one, its parts lie in these
// files and make up the state.

#include <algorithm>

#include "fuzz/target.hpp"
#include "hippo/checkpoint/parts/part_table.hpp"

namespace hippo::fuzz {

namespace {

constexpr std::uint64_t own_bytes = 1 << 20;

void handle(std::string_view input) {
  if (input.empty())
    return;
  const std::string bytes{input.substr(1)};
  auto whose = hippo::checkpoint{
    "n2-s2-l2.ckpt", own_bytes + bytes.size(), 7, {}, bytes.size(), {}};
  for (int i = 0; i < input.front() % 3; ++i)
    whose.part_files.push_back(
      {std::string(1, static_cast<char>('a' + i)), 4096, 1});
  const auto table = part_table_of(whose, bytes);
  if (!table)
    return;
  std::uint64_t sum = 0;
  for (const auto& x : table->parts) {
    require(x.file <= whose.part_files.size(), "a part lies in no file");
    const auto size =
      x.file == 0 ? own_bytes : whose.part_files[x.file - 1u].bytes;
    require(x.bytes > 0 && x.offset <= size && x.bytes <= size - x.offset,
            "a part leads out of its file");
    sum += x.bytes;
  }
  require(sum == table->bytes, "the parts are not the state");
  const auto again = to_bytes(*table);
  whose.bytes = own_bytes + again.size();
  whose.table_bytes = again.size();
  const auto back = part_table_of(whose, again);
  require(back && to_bytes(*back) == again, "a table is another one");
}

} // namespace

const target part_table{"part_table", handle, {std::string(8, '\0')}};

} // namespace hippo::fuzz
