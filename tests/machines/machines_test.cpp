#include "hippo/forecast/machines/machines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hippo {
namespace {

const std::string four_kinds = R"(
machines:
  a100:      {device: A100, price: 3.67, count: 8, start: 180}
  a100-spot: {device: A100, price: 1.10, count: 32, start: 240,
              interruptions: 0.08, notice: 120}
  l4:        {device: L4, price: 0.71, count: 32, profile: l4.yaml}
  cpu16:     {device: "cpu amd", price: 0, trainers: 16, count: 10,
              profile: [a.yaml, b.yaml]}
)";

fleet good(const std::string& text) {
  auto read = read_fleet(text, "m.yaml");
  for (const auto& x : read.errors)
    ADD_FAILURE() << x.path << ": " << x.message;
  return read.found.value_or(fleet{});
}

/// Expects one error at that path, whose text is `message`.
void expect_error(const std::string& text, const std::string& path,
                  const std::string& message) {
  const auto read = read_fleet(text, "m.yaml");
  EXPECT_FALSE(read.found);
  ASSERT_EQ(read.errors.size(), 1u) << message << '\n' << text;
  EXPECT_EQ(read.errors[0].file, "m.yaml");
  EXPECT_GT(read.errors[0].line, 0);
  EXPECT_EQ(read.errors[0].path, path);
  EXPECT_EQ(read.errors[0].message, message);
}

template <class T>
std::string why_not(const expected<T>& x) {
  return x ? "" : x.failure().message;
}

TEST(FleetTest, ReadsKinds) {
  const auto found = good(four_kinds);
  ASSERT_EQ(found.kinds.size(), 4u);
  const auto& spot = found.kinds[1];
  EXPECT_EQ(spot.name, "a100-spot");
  EXPECT_EQ(spot.device, "A100");
  EXPECT_EQ(spot.price, 1.1);
  EXPECT_EQ(spot.count, 32u);
  EXPECT_EQ(spot.trainers, 1u);
  EXPECT_EQ(spot.start_seconds, 240);
  EXPECT_EQ(spot.interruptions, 0.08);
  EXPECT_EQ(spot.notice_seconds, 120);
  EXPECT_TRUE(spot.profiles.empty());
  EXPECT_EQ(found.kinds[2].profiles, std::vector<std::string>{"l4.yaml"});
  EXPECT_EQ(found.find("cpu16"), &found.kinds[3]);
  EXPECT_EQ(found.kinds[3].profiles,
            (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_EQ(found.find("cpu"), nullptr);
}

TEST(FleetTest, HasDefaults) {
  const auto found = good("machines: {a: {device: A100, price: 8}}");
  const auto& x = found.kinds.at(0);
  EXPECT_EQ(x.count, 1u);
  EXPECT_EQ(x.start_seconds, 0);
  EXPECT_EQ(x.interruptions, 0);
  EXPECT_EQ(x.notice_seconds, 0);
  EXPECT_EQ(x.trainer_price(), 8);
}

TEST(FleetTest, DividesAMachinesPriceAmongItsTrainers) {
  const auto found =
    good("machines: {a: {device: A100, price: 8, trainers: 16}}");
  EXPECT_EQ(found.kinds.at(0).trainer_price(), 0.5);
}

TEST(FleetTest, SaysWhatIsWrong) {
  const auto of = [](const std::string& rest) {
    return "machines:\n  a: {device: A100, " + rest + "}\n";
  };
  expect_error("machines:\n  a: {device: A100}\n", "machines.a",
               "'price' is missing");
  expect_error("machines:\n  a: {price: 1}\n", "machines.a",
               "'device' is missing");
  expect_error(of("price: -3"), "machines.a.price",
               "must be a number from 0 to 1000000, found '-3'");
  expect_error(of("price: .nan"), "machines.a.price",
               "must be a number from 0 to 1000000, found '.nan'");
  expect_error(of("price: cheap"), "machines.a.price",
               "must be a number from 0 to 1000000, found 'cheap'");
  expect_error(of("price: 1, count: 0"), "machines.a.count",
               "must be a whole number from 1 to 10000, found '0'");
  expect_error(of("price: 1, trainers: 1.5"), "machines.a.trainers",
               "must be a whole number from 1 to 1024, found '1.5'");
  expect_error(of("price: 1, start: -1"), "machines.a.start",
               "must be a number from 0 to 604800, found '-1'");
  expect_error(of("price: 1, interruptions: 1e9"), "machines.a.interruptions",
               "must be a number from 0 to 3600, found '1e9'");
  expect_error(of("price: 1, prise: 1"), "machines.a.prise",
               "unknown key 'prise', did you mean 'price'? Allowed: device, "
               "price, count, trainers, start, interruptions, notice, profile");
  expect_error("machines: [a100]\n", "machines",
               "must be a map of kinds of machines, found a list");
  expect_error("machines: {}\n", "machines",
               "must have at least one kind of machine");
  expect_error("machines: {a: 3}\n", "machines.a",
               "must be a map of device, price and so on, found '3'");
  expect_error("machines: {a: {device: '--', price: 1}}\n", "machines.a.device",
               "must hold a letter or a digit, found '--'");
  expect_error("machines: {'a,b': {device: A, price: 1}}\n", "machines.a,b",
               "must be named by at most 64 letters, digits and -_., and begin "
               "with a letter or digit, found 'a,b'");
}

TEST(FleetTest, TellsEveryErrorThatCanBeTold) {
  const auto read = read_fleet(
    "machines:\n  a: {device: A100, price: -1}\n  b: {price: 1}\nx: 1\n",
    "m.yaml");
  EXPECT_EQ(read.errors.size(), 3u);
}

TEST(FleetTest, FindsADeviceByWholeWords) {
  EXPECT_TRUE(is_device("A100", "NVIDIA A100-SXM4-80GB cuda-12.8"));
  EXPECT_TRUE(is_device("a100 sxm4", "NVIDIA A100-SXM4-80GB cuda-12.8"));
  EXPECT_FALSE(is_device("L4", "NVIDIA L40S cuda-12.8"));
  EXPECT_FALSE(is_device("A100 80GB", "NVIDIA A100-SXM4-80GB cuda-12.8"));
  const std::string cpu = "cpu amd x86-64-v4 avx512 1-thread torch-2.11.0";
  EXPECT_TRUE(is_device("cpu amd", cpu));
  EXPECT_TRUE(is_device("1-thread", cpu));
  EXPECT_FALSE(is_device("cpu intel", cpu));
  EXPECT_FALSE(is_device("amd cpu", cpu));
  EXPECT_FALSE(is_device("", cpu));
}

TEST(FleetTest, FindsTheKindOfATrainersMachine) {
  const auto all = good(four_kinds);
  const auto by_device = kind_of_machine(all, "", "NVIDIA L4 cuda-12.8");
  ASSERT_TRUE(by_device);
  EXPECT_EQ(*by_device, all.find("l4"));
  const auto by_name =
    kind_of_machine(all, "a100-spot", "NVIDIA A100-SXM4-80GB cuda-12.8");
  ASSERT_TRUE(by_name);
  EXPECT_EQ(*by_name, all.find("a100-spot"));
  const auto none = kind_of_machine(all, "", "NVIDIA H100 cuda-12.8");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST(FleetTest, NamesBothKindsThatATrainerCouldBeOf) {
  const auto all = good(four_kinds);
  EXPECT_EQ(why_not(kind_of_machine(all, "", "NVIDIA A100 cuda-12.8")),
            "a trainer on 'NVIDIA A100 cuda-12.8' could be of 'a100' and "
            "'a100-spot': start it with --machine and the name of one");
  EXPECT_EQ(why_not(kind_of_machine(all, "a10", "NVIDIA A100")),
            "there is no kind of machine 'a10', did you mean 'a100'?");
}

TEST(FleetTest, ReadsWhichAreUsed) {
  const auto all = good(four_kinds);
  const auto used = read_use(all, "16xa100-spot,4xl4");
  ASSERT_TRUE(used);
  EXPECT_EQ(*used, (std::vector<machine_group>{{1, 16}, {2, 4}}));
  EXPECT_EQ(to_text(all, *used), "16xa100-spot,4xl4");
}

TEST(FleetTest, CountsTrainersByWhatIsOnAMachine) {
  const auto all = good(four_kinds);
  EXPECT_EQ(trainers_on(all, *read_use(all, "16xa100-spot,2xcpu16")), 48u);
}

TEST(FleetTest, SaysWhatIsWrongWithAUse) {
  const auto all = good(four_kinds);
  const auto why = [&](const std::string& text) {
    return why_not(read_use(all, text));
  };
  const std::string example =
    ": say how many of which kinds, such as 16xa100,4xl4";
  EXPECT_EQ(why("9xa100"), "there are 8 of 'a100', and 9 are asked for");
  EXPECT_EQ(why("2xl5"),
            "there is no kind of machine 'l5', did you mean 'l4'?");
  EXPECT_EQ(why("1xl4,2xl4"), "'l4' is named twice" + example);
  for (const std::string text : {"l4", "0xl4", "-1xl4", "1.5xl4", ""})
    EXPECT_EQ(why(text), "'" + text
                           + "' does not begin with a number of machines and "
                             "an x"
                           + example);
  EXPECT_EQ(why("1xl4,"), "nothing follows the last comma" + example);
}

} // namespace
} // namespace hippo
