#include "journal.hpp"

#include <spdlog/spdlog.h>

namespace hippo {

journal_actor::behavior_type
journal(journal_actor::stateful_pointer<journal_state> self,
        std::shared_ptr<state_folder> store) {
  self->state.store = std::move(store);
  return {
    [self](commit_atom, const std::vector<journal_record>& records)
      -> caf::result<std::uint64_t> {
      auto& st = self->state;
      if (st.store && !records.empty())
        if (auto done = st.store->commit(records); !done) {
          spdlog::critical("journal: {}", done.failure().message);
          return caf::make_error(done.failure().code, done.failure().message);
        }
      return std::uint64_t{records.size()};
    },
  };
}

} // namespace hippo
