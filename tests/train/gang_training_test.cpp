// Built-in workloads that trainers train together: the bytes of checkpoints do
// not depend on their number.

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/gang/train_in_gang.hpp"
#include "train/loopback_gang.hpp"
#include "train/temporary_folder.hpp"
#include "train/test_name.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

/// A trainer: its workload, and the checkpoint whose state that is in.
struct trainer {
  std::unique_ptr<workload> work;
  std::optional<checkpoint> present;
  recent_states kept{0};
  part_tables tables;
};

class GangTraining : public testing::TestWithParam<std::string> {
protected:
  static constexpr std::size_t parts = 8;

  const std::string name = GetParam();

  [[nodiscard]] lease make_lease(step_t begin, step_t end) {
    lease x;
    x.number = lease_id{++last_lease};
    x.workload = small_spec(name);
    x.workload.options["data.validation"] = validation;
    x.workload.options["parts"] = static_cast<double>(parts);
    x.folder = folder.path;
    for (auto step = begin; step < end; ++step)
      x.stages.push_back({node_id{1 + step}, step, step + 1,
                          changing_configuration(name, step)});
    x.stops = {{end, true, true}};
    if (begin > 0)
      x.start = saved;
    return x;
  }

  /// Has a member, or a trainer alone, train a lease. @returns its end
  lease_end train_one(trainer& place, const lease& x, connected_gang* members) {
    if (!place.work)
      place.work = make_built_in(x.workload);
    folder_store files{x.folder};
    parted_store store{x, files, place.tables};
    lease_control control{x.stops};
    lease_progress progress;
    const auto report = [&](const stop_report& told) {
      const std::lock_guard guard{mutex};
      reports.push_back(told);
    };
    const auto now = [] { return std::uint64_t{0}; };
    return members == nullptr
             ? run(*place.work, place.present, place.kept, x, store, "test",
                   control, progress, now, report)
             : train_in_gang(*members, *place.work, place.present, place.kept,
                             x, store, "test", control, progress, now, report);
  }

  /// Trains a path by the first trainers. @returns the metrics at its end
  metrics train(step_t begin, step_t end, std::size_t size) {
    const auto x = make_lease(begin, end);
    trainers.resize(std::max(size, trainers.size()));
    for (auto& place : trainers)
      if (!place)
        place = std::make_unique<trainer>();
    std::vector<std::string> failures;
    const auto note = [&](const lease_end& told) {
      if (told.failure)
        throw std::runtime_error(told.failure->message);
      EXPECT_EQ(told.at, end);
    };
    if (size == 1)
      note(train_one(*trainers[0], x, nullptr));
    else
      failures = loopback_gang{size}.run([&](connected_gang& members) {
        note(train_one(*trainers[members.rank()], x, &members));
      });
    for (const auto& why : failures)
      EXPECT_EQ(why, "");
    saved = reports.back().saved.value();
    return reports.back().values;
  }

  [[nodiscard]] std::string bytes() const {
    return read_file(folder.path + '/' + saved.file);
  }

  double validation = name.starts_with("cifar-")   ? 8
                      : name.starts_with("squad-") ? 100
                                                   : 1300;
  temporary_folder folder;
  std::vector<std::unique_ptr<trainer>> trainers;
  std::mutex mutex;
  std::vector<stop_report> reports;
  checkpoint saved;
  std::uint64_t last_lease = 0;
};

TEST_P(GangTraining, AnyNumberGivesTheSameBytesHoweverItChanges) {
  const auto measured = train(0, 4, 1);
  const auto expected = bytes();
  for (const std::size_t size : {2, 8}) {
    EXPECT_EQ(train(0, 4, size), measured) << size;
    EXPECT_TRUE(bytes() == expected) << size;
  }
  step_t at = 0;
  for (const std::size_t size : {4, 1, 8, 2}) {
    train(at, at + 1, size);
    ++at;
  }
  EXPECT_TRUE(bytes() == expected);
  EXPECT_EQ(reports.size(), 7) << "the lead alone reports";
}

INSTANTIATE_TEST_SUITE_P(Workloads, GangTraining,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "cifar-resnet20",
                                         "fashion-cnn/average",
                                         "fashion-mlp/elastic",
                                         "fashion-cnn/bmuf", "squad-bert-tiny",
                                         "squad-bert-tiny/average"),
                         [](const auto& x) { return test_name_of(x.param); });

TEST(GangMembers, AreRefusedWhereThereAreFewerParts) {
  for (const auto& [name, why] :
       {std::pair{"fashion-mlp", "4 members cannot share 2 parts"},
        {"clicks-dlrm", "it has no parts to share"}}) {
    lease x;
    x.workload = small_spec(name);
    if (x.workload.options.contains("parts"))
      x.workload.options["parts"] = 2.0;
    x.stages = {{node_id{1}, 0, 1, default_configuration(name)}};
    x.stops = {{1, true, true}};
    const auto failures = loopback_gang{4}.run([&](connected_gang& members) {
      const auto work = make_built_in(x.workload);
      std::optional<checkpoint> present;
      recent_states kept{0};
      part_tables tables;
      const temporary_folder folder;
      folder_store files{folder.path};
      parted_store store{x, files, tables};
      lease_control control{x.stops};
      lease_progress progress;
      const auto end = train_in_gang(
        members, *work, present, kept, x, store, "test", control, progress,
        [] { return std::uint64_t{0}; }, [](const stop_report&) {});
      throw std::runtime_error(end.failure.value().message);
    });
    for (const auto& text : failures)
      EXPECT_TRUE(text.ends_with(std::string{"workload "} + name
                                 + " is not for a gang: " + why))
        << text;
  }
}

} // namespace
} // namespace hippo
