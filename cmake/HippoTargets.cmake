# Helpers that keep every target alike: warnings, sanitizers and include paths
# are said here and nowhere else.

add_library(hippo_options INTERFACE)
target_compile_options(hippo_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
  # GCC 12 warns of memcpy in std::string's operator+ for no reason (GCC bug
  # 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${HIPPO_WERROR}>:-Werror>)
if(HIPPO_SANITIZERS)
  # CAF 0.17 headers bind references to null in init_fun_factory.hpp, so `null`
  # stays off.
  set(sanitizer_flags -fsanitize=${HIPPO_SANITIZERS} -fno-sanitize=null
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(hippo_options INTERFACE ${sanitizer_flags})
  target_link_options(hippo_options INTERFACE -fsanitize=${HIPPO_SANITIZERS})
endif()
if(HIPPO_FUZZ)
  # Which branches an input takes is what libFuzzer goes by.
  target_compile_options(hippo_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Few sources are as long as what they include: eight are compiled as one. Two
# of a target must not name two things alike, then, in unnamed namespaces
# either. -DHIPPO_UNITY=OFF compiles each by itself, for tools that read
# compile_commands.json.
option(HIPPO_UNITY "Compile eight sources of a target as one" ON)
function(hippo_unite)
  set_target_properties(${ARGN} PROPERTIES
    UNITY_BUILD ${HIPPO_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# hippo_module(NAME SOURCES a.cpp ... LINK targets ...)
# A static library of libhippo: pure logic, no CAF and no LibTorch.
function(hippo_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE_LINK")
  add_library(hippo_${name} STATIC ${arg_SOURCES})
  add_library(hippo::${name} ALIAS hippo_${name})
  set_target_properties(hippo_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  hippo_unite(hippo_${name})
  target_include_directories(hippo_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libhippo>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(hippo_${name} PUBLIC cxx_std_20)
  target_link_libraries(hippo_${name} PUBLIC ${arg_LINK}
    PRIVATE $<BUILD_INTERFACE:hippo_options> ${arg_PRIVATE_LINK})
endfunction()

# hippo_test(NAME SOURCES a_test.cpp ... LINK targets ...
#   [LABELS unit|sim|torch|process|soak] [SHARDS n]
#   [SIM_SHARDS n [SIM_FILTER filter]] [PCH target] [ALONE])
# One GoogleTest program, whose cases run as one ctest test, or as SHARDS of
# them, in the tier LABELS (docs/testing.md; without it, unit). With SIM_SHARDS,
# the cases that SIM_FILTER names, by default those of the suites that are
# instantiated as `Seeds`, are as many ctest tests of tier sim. The first of
# them, with every n-th case, is in a quick run as well. PCH is the target whose
# precompiled header is used in place of that of GoogleTest, or `none`. ALONE
# gives each case a process: where cases leave settings in theirs.
function(hippo_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE"
    "SHARDS;SIM_SHARDS;SIM_FILTER;PCH" "SOURCES;LINK;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} hippo_options
    GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT arg_PCH)
    set(arg_PCH hippo_test_headers)
  endif()
  if(NOT arg_PCH STREQUAL "none")
    target_precompile_headers(${name} REUSE_FROM ${arg_PCH})
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(arg_LABELS STREQUAL "unit" OR arg_SIM_SHARDS)
    add_dependencies(quick_tests ${name})
  endif()
  if(arg_ALONE)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  if(NOT arg_SIM_SHARDS)
    hippo_add_shards(${name} ${name} ${arg_SHARDS} "*" "${arg_LABELS}")
    return()
  endif()
  if(NOT arg_SIM_FILTER)
    set(arg_SIM_FILTER "Seeds/*")
  endif()
  hippo_add_shards(${name} ${name} ${arg_SHARDS} "-${arg_SIM_FILTER}"
    "${arg_LABELS}")
  hippo_add_shards(${name} ${name}.sim ${arg_SIM_SHARDS} "${arg_SIM_FILTER}"
    sim)
  set_property(TEST ${name}.sim.1 APPEND PROPERTY LABELS quick)
endfunction()

# The cases of a program that `filter` leaves, as `count` ctest tests. What each
# writes to build/PRESET/cases is what scripts/test-summary counts.
function(hippo_add_shards program name count filter labels)
  foreach(i RANGE 1 ${count})
    set(test ${name}.${i})
    if(count EQUAL 1)
      set(test ${name})
    endif()
    math(EXPR index "${i} - 1")
    add_test(NAME ${test} COMMAND ${program} --gtest_filter=${filter}
      --gtest_output=xml:${PROJECT_BINARY_DIR}/cases/${test}.xml)
    set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT 600
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
