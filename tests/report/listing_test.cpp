#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/odd_names.hpp"
#include "hippo/report/listing.hpp"
#include "hippo/report/text.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

listing sample() {
  listing x;
  x.columns = {{"id", cell_look::number},
               {"name"},
               {"best", cell_look::number},
               {"saved", cell_look::duration},
               {"params", cell_look::brief},
               {"lr", cell_look::number, false}};
  x.rows = {{1, "beta", 0.123456789, 75.5, {{"lr", 0.1}}, 0.1},
            {2, "alpha", 0.9, 3600, {{"lr", 10}}, 10},
            {10, "gamma", nullptr, 0, {{"lr", 9}}, 9}};
  return x;
}

std::string shown(const listing_view& view) {
  const auto text = render(sample(), view);
  EXPECT_TRUE(text) << text.failure().message;
  return *text;
}

std::string refusal(const listing_view& view) {
  const auto text = render(sample(), view);
  EXPECT_FALSE(text);
  EXPECT_EQ(text.failure().code, errc::invalid_argument);
  return text.failure().message;
}

/// The ids in the order in which they are shown.
std::vector<int> ids(listing_view view) {
  view.format = listing_format::json;
  std::vector<int> result;
  for (const auto& x : json::parse(shown(view)))
    result.push_back(x["id"]);
  return result;
}

listing_view filtered(std::vector<std::string> filters) {
  listing_view view;
  view.filters = std::move(filters);
  return view;
}

listing_view sorted(std::string sort) {
  listing_view view;
  view.sort = std::move(sort);
  return view;
}

TEST(ListingTest, Table) {
  EXPECT_EQ(shown({}), "id  name       best       saved  params\n"
                       " 1  beta   0.123457  1 min 16 s  lr=0.1\n"
                       " 2  alpha       0.9         1 h  lr=10\n"
                       "10  gamma         -         0 s  lr=9\n");
}

TEST(ListingTest, TablesFit) {
  for (std::size_t width = 1; width < 50; ++width) {
    listing_view view;
    view.width = width;
    auto x = sample();
    x.rows[1][1] = "a\x1b[1m very long name\nindeed, with 幅広い characters";
    const auto table = *render(x, view);
    std::istringstream lines{table};
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(count, 4);
    EXPECT_EQ(table.find('\x1b'), table.npos);
  }
  listing_view view;
  view.width = 36;
  EXPECT_NE(shown(view).find("0.123457  1 min 16 s  lr=…"), std::string::npos)
    << "texts are cut first: " << shown(view);
}

TEST(ListingTest, SpareColumnsAreLeftOutFirstAndWholeOnesNeverCut) {
  listing x;
  x.columns = {{"id", cell_look::number},
               {"name", cell_look::text, true, 0, true},
               {"state", cell_look::text, true, 0, true},
               {"why"},
               {"best", cell_look::number},
               {"steps", cell_look::number, true, 1},
               {"volume", cell_look::number, true, 2}};
  const std::string name = "a-name-of-27-letters-or-so";
  const std::string why = "it waits for a trainer";
  x.rows = {{1, name, "COMPLETE", why, 0.123456, 12345, 99.5}};
  listing_view view;
  const auto heads = [&](std::size_t width) {
    view.width = width;
    const auto text = *render(x, view);
    std::istringstream in{text.substr(0, text.find('\n'))};
    std::string result;
    for (std::string word; in >> word;)
      result += (result.empty() ? "" : " ") + word;
    EXPECT_NE(text.find(name), text.npos) << text;
    if (width >= 70) {
      EXPECT_NE(text.find("0.123456"), text.npos) << text;
    }
    return result;
  };
  EXPECT_EQ(heads(90), "id name state why best steps volume");
  // All have room once the reason is cut to 16 columns, no less.
  EXPECT_EQ(heads(83), "id name state why best steps volume");
  EXPECT_EQ(heads(82), "id name state why best steps");
  EXPECT_EQ(heads(74), "id name state why best");
  EXPECT_EQ(heads(10), "id name state");
  view.columns = {"name", "volume"}; // who asks for columns gets them
  EXPECT_EQ(heads(34), "name volume");
}

TEST(ListingTest, Json) {
  listing_view view;
  view.format = listing_format::json;
  const auto x = json::parse(shown(view));
  ASSERT_EQ(x.size(), 3u);
  EXPECT_EQ(x[0], (json{{"id", 1},
                        {"name", "beta"},
                        {"best", 0.123456789},
                        {"saved", 75.5},
                        {"params", {{"lr", 0.1}}}}));
  EXPECT_TRUE(x[2]["best"].is_null());
}

TEST(ListingTest, DataMayHaveMoreThanTables) {
  auto list = sample();
  list.columns.push_back({"why", cell_look::text, false, 0, false, true});
  for (auto& row : list.rows)
    row.emplace_back("x");
  listing_view view;
  EXPECT_EQ(render(list, view)->find("why"), std::string::npos);
  view.format = listing_format::json;
  const auto x = json::parse(*render(list, view));
  EXPECT_EQ(x[0]["why"], "x");
  EXPECT_FALSE(x[0].contains("lr"));
  view.format = listing_format::csv;
  EXPECT_NE(render(list, view)->find(",why\r\n"), std::string::npos);
}

TEST(ListingTest, Yaml) {
  listing_view view;
  view.format = listing_format::yaml;
  auto list = sample();
  list.rows[0][1] = "12";
  list.rows[1][1] = "a: b # c";
  list.rows[2][1] = "No";
  list.rows[0][4] = {{"a", 1}, {"b", 1.0}, {"c", true}, {"d", "1e-3"}};
  const auto text = *render(list, view);
  const auto x = YAML::Load(text);
  ASSERT_EQ(x.size(), 3u);
  EXPECT_EQ(x[0]["name"].as<std::string>(), "12");
  EXPECT_NE(text.find("name: \"12\""), text.npos) << text;
  EXPECT_NE(text.find("name: \"No\""), text.npos) << text;
  for (const auto* part : {"a: 1\n", "b: 1.0\n", "c: true\n", "d: \"1e-3\"\n"})
    EXPECT_NE(text.find(part), text.npos) << text;
  EXPECT_EQ(x[1]["name"].as<std::string>(), "a: b # c");
  EXPECT_EQ(x[0]["best"].as<double>(), 0.123456789);
  EXPECT_EQ(x[1]["params"]["lr"].as<int>(), 10);
  EXPECT_TRUE(x[2]["best"].IsNull());
  EXPECT_EQ(*render({list.columns, {}}, view), "[]\n");
}

TEST(ListingTest, Csv) {
  listing_view view;
  view.format = listing_format::csv;
  view.columns = {"name", "best", "params"};
  EXPECT_EQ(shown(view), "name,best,params\r\n"
                         "beta,0.123456789,\"{\"\"lr\"\":0.1}\"\r\n"
                         "alpha,0.9,\"{\"\"lr\"\":10}\"\r\n"
                         "gamma,,\"{\"\"lr\"\":9}\"\r\n");
}

TEST(ListingTest, Columns) {
  listing_view view;
  view.columns = {"lr", "id"};
  EXPECT_EQ(shown(view), " lr  id\n0.1   1\n 10   2\n  9  10\n");
  view.columns = {"id", "nmae"};
  EXPECT_EQ(refusal(view), "there is no column 'nmae', did you mean 'name'?; "
                           "there are: id, name, best, saved, params, lr");
}

TEST(ListingTest, Sort) {
  EXPECT_EQ(ids(sorted("id:desc")), (std::vector{10, 2, 1}));
  EXPECT_EQ(ids(sorted("name")), (std::vector{2, 1, 10}));
  EXPECT_EQ(ids(sorted("lr:asc")), (std::vector{1, 10, 2}));
  // What has no value is last, whichever way.
  EXPECT_EQ(ids(sorted("best")), (std::vector{1, 2, 10}));
  EXPECT_EQ(ids(sorted("best:desc")), (std::vector{2, 1, 10}));
  EXPECT_EQ(refusal(sorted("id:down")),
            "'id:down' is no order: give COLUMN, COLUMN:asc or COLUMN:desc");
  EXPECT_NE(refusal(sorted("bset")).find("did you mean 'best'?"),
            std::string::npos);
}

TEST(ListingTest, Filter) {
  EXPECT_EQ(ids(filtered({"name=alpha"})), std::vector{2});
  EXPECT_EQ(ids(filtered({"name!=alpha"})), (std::vector{1, 10}));
  EXPECT_EQ(ids(filtered({"id>1"})), (std::vector{2, 10}));
  EXPECT_EQ(ids(filtered({"id>=2"})), (std::vector{2, 10}));
  EXPECT_EQ(ids(filtered({"id<2"})), std::vector{1});
  EXPECT_EQ(ids(filtered({"id<=2"})), (std::vector{1, 2}));
  EXPECT_EQ(ids(filtered({"id=2.0"})), std::vector{2});
  EXPECT_EQ(ids(filtered({"id>1", "lr<10"})), std::vector{10});
  EXPECT_EQ(ids(filtered({"best>0"})), (std::vector{1, 2}));
  EXPECT_EQ(ids(filtered({"best!=0.9"})), (std::vector{1, 10}));
  EXPECT_EQ(ids(filtered({"name>b"})), (std::vector{1, 10}));
  EXPECT_EQ(refusal(filtered({"name"})),
            "'name' is no filter: give COLUMN=VALUE, or != < <= > >= for "
            "the =");
  EXPECT_EQ(refusal(filtered({"name!alpha"})),
            "'name!alpha' is no filter: give COLUMN=VALUE, or != < <= > >= "
            "for the =");
  EXPECT_NE(refusal(filtered({"nam=1"})).find("did you mean 'name'?"),
            std::string::npos);
}

TEST(ListingTest, LimitComesLast) {
  auto view = sorted("id:desc");
  view.filters = {"id<10"};
  view.limit = 1;
  EXPECT_EQ(ids(view), std::vector{2});
  view.limit = 5;
  EXPECT_EQ(ids(view), (std::vector{2, 1}));
}

/// A listing of these columns, each with its place.
listing of_columns(const std::vector<std::string>& names) {
  listing x;
  x.rows.emplace_back();
  for (const auto& name : names) {
    x.columns.push_back({name});
    x.rows[0].push_back(name);
  }
  return x;
}

TEST(Listing, WhateverColumnsAreCalledEveryFormatHasThem) {
  const auto x = of_columns({test::odd_names.begin(), test::odd_names.end()});
  listing_view view;
  view.format = listing_format::json;
  const auto objects = json::parse(*render(x, view));
  view.format = listing_format::yaml;
  const auto yaml = YAML::Load(*render(x, view));
  ASSERT_EQ(yaml[0].size(), test::odd_names.size());
  for (const auto& name : test::odd_names) {
    EXPECT_EQ(objects[0].at(name), name);
    EXPECT_EQ(yaml[0][name].as<std::string>(), name);
  }
}

TEST(Listing, ColumnsWithSignsInThemAreFilteredAndSorted) {
  const auto x = of_columns({"a<=b", "a", "a:b", "x"});
  listing_view view;
  view.format = listing_format::csv;
  view.columns = {"x"};
  view.filters = {"a<=b=a<=b"};
  EXPECT_EQ(*render(x, view), "x\r\nx\r\n");
  view.filters = {"a<=b!=a<=b"};
  EXPECT_EQ(*render(x, view), "x\r\n");
  view.filters = {"a=a"};
  view.sort = "a:b";
  EXPECT_EQ(*render(x, view), "x\r\nx\r\n");
  view.sort = "a:b:desc";
  EXPECT_EQ(*render(x, view), "x\r\nx\r\n");
}

} // namespace
} // namespace hippo
