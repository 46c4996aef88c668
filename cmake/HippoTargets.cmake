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

# hippo_module(NAME SOURCES a.cpp ... LINK targets ...)
# A static library of libhippo: pure logic, no CAF and no LibTorch.
function(hippo_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE_LINK")
  add_library(hippo_${name} STATIC ${arg_SOURCES})
  add_library(hippo::${name} ALIAS hippo_${name})
  set_target_properties(hippo_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(hippo_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libhippo>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(hippo_${name} PUBLIC cxx_std_20)
  target_link_libraries(hippo_${name} PUBLIC ${arg_LINK}
    PRIVATE $<BUILD_INTERFACE:hippo_options> ${arg_PRIVATE_LINK})
endfunction()

# hippo_test(NAME SOURCES a_test.cpp ... LINK targets ... [LABELS ...])
# One GoogleTest program; its cases become ctest cases.
function(hippo_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} hippo_options
    GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set(properties TIMEOUT 300)
  if(arg_LABELS)
    list(APPEND properties LABELS ${arg_LABELS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()
