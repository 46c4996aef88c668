#include "hippo/store/waiting_board.hpp"

#include <fstream>
#include <random>

#include "store/folder_fixture.hpp"
#include "train/file_size_limit.hpp"

namespace hippo {
namespace {

class WaitingBoard : public folder_test {
protected:
  WaitingBoard() { std::filesystem::create_directory(path()); }

  [[nodiscard]] waiting_board make() const {
    auto result = waiting_board::make(path());
    EXPECT_TRUE(result) << result.failure().message;
    return std::move(*result);
  }

  [[nodiscard]] waiting_board::notes read() const {
    return waiting_board::read(path());
  }
};

TEST_F(WaitingBoard, TellsWhatWasToldLastForAsLongAsSomebodyWorksThere) {
  EXPECT_TRUE(read().empty());
  const waiting_board::notes notes{{study_id{1}, "No space left on device"},
                                   {study_id{70}, "line\nbreak \"x\" \xff"}};
  {
    auto board = make();
    EXPECT_TRUE(read().empty());
    board.tell(notes);
    EXPECT_EQ(read().at(study_id{1}), notes.at(study_id{1}));
    EXPECT_TRUE(read().at(study_id{70}).starts_with("line\nbreak \"x\" "));
    board.tell({{study_id{2}, "no trainer"}, {study_id{3}, ""}});
    EXPECT_EQ(read(), (waiting_board::notes{{study_id{2}, "no trainer"}}));
    board.tell({});
    EXPECT_TRUE(read().empty());
    board.tell(notes);
  }
  EXPECT_TRUE(read().empty()) << "of somebody who has gone";
  auto next = make();
  EXPECT_TRUE(read().empty());
}

TEST_F(WaitingBoard, NeedsNoMoreRoomThanItHasTaken) {
  auto board = make();
  const file_size_limit full{waiting_board::bytes_max};
  waiting_board::notes many;
  for (std::uint64_t i = 1; i <= 1000; ++i)
    many.emplace(study_id{i}, std::string(100, '"'));
  board.tell(many);
  const auto told = read();
  EXPECT_GT(told.size(), 10u);
  EXPECT_EQ(std::filesystem::file_size(path() + "/waiting"),
            waiting_board::bytes_max);
  for (const auto& [study, why] : told)
    EXPECT_EQ(why, many.at(study));
}

TEST_F(WaitingBoard, WhatWasReadWhileItWasWrittenCountsForNothing) {
  auto board = make();
  const waiting_board::notes notes{{study_id{1}, "No space left on device"}};
  std::minstd_rand random{1};
  for (int i = 0; i < 500; ++i) {
    board.tell({});
    board.tell(notes);
    std::fstream torn{path() + "/waiting",
                      std::ios::in | std::ios::out | std::ios::binary};
    torn.seekp(static_cast<std::streamoff>(random() % 100));
    torn.put(static_cast<char>(random()));
    torn.close();
    const auto seen = read();
    EXPECT_TRUE(seen.empty() || seen == notes);
  }
}

} // namespace
} // namespace hippo
