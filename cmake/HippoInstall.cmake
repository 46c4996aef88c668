# What `cmake --install` puts where: the programs, what a workload library is
# built against (hippo::train and what it needs), and what a program that uses a
# service is (hippo::client, the package's component `client`). No header that
# is installed needs anything but the standard library.

include(CMakePackageConfigHelpers)

# What only the programs load, and what scripts/pack puts beside them.
set(own_install_dir lib/hippo)
file(RELATIVE_PATH own_from_bin
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${own_install_dir})

set_target_properties(hippo PROPERTIES
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/${own_from_bin}")
# A run path of the old kind counts for what libraries need, too.
target_link_options(hippo PRIVATE -Wl,--disable-new-dtags)
set_target_properties(hippo-trainer-plain PROPERTIES
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/${own_from_bin}")
target_link_options(hippo-trainer-plain PRIVATE -Wl,--disable-new-dtags)
install(TARGETS hippo hippo-trainer-plain RUNTIME COMPONENT programs)
# Where there is no help2man, there are no man pages.
find_program(HELP2MAN help2man)
if(HELP2MAN)
  set(install_man_pages "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND
    \"${PROJECT_SOURCE_DIR}/scripts/man-pages\" \"$<TARGET_FILE:hippo>\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\")")
  install(CODE "${install_man_pages}" COMPONENT man)
  install(CODE "${install_man_pages}" COMPONENT package EXCLUDE_FROM_ALL)
endif()
if(TARGET hippo-trainer)
  # LibTorch is looked for
  # - where `cmake --install BUILD --component torch` copies it to (450 MB), for
  #   a prefix that outlives the source tree
  # - where it is from here, for a tree that is carried elsewhere
  # - where it was found when this was built
  set(torch_install_dir ${own_install_dir}/torch)
  get_target_property(trainer_dir hippo-trainer BINARY_DIR)
  file(RELATIVE_PATH torch_from_build ${trainer_dir} ${HIPPO_TORCH_DIR}/lib)
  set_target_properties(hippo-trainer PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON # CMake would pad a shorter one with colons
    INSTALL_RPATH "$ORIGIN;$ORIGIN/${own_from_bin};\
$ORIGIN/${own_from_bin}/torch;$ORIGIN/${torch_from_build};\
${HIPPO_TORCH_DIR}/lib")
  install(TARGETS hippo-trainer RUNTIME COMPONENT programs)
  if(TARGET hippo_cuda_kernels)
    install(TARGETS hippo_cuda_kernels hippo_cuda_graph
      LIBRARY DESTINATION ${own_install_dir} COMPONENT programs)
  endif()
  install(DIRECTORY ${HIPPO_TORCH_DIR}/lib/ DESTINATION ${torch_install_dir}
    COMPONENT torch EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.so*")
endif()

# A workload library links its own copy of these; where hippo-trainer has the
# same symbol, the loader takes the program's.
install(TARGETS hippo_base hippo_sequence hippo_model hippo_checkpoint
  hippo_train EXPORT hippo_targets ARCHIVE)
set(installed_headers
  model/initial_state.hpp model/lease.hpp model/workload_descriptor.hpp
  model/workload_size.hpp model/workload_spec.hpp net/client/client.hpp)
foreach(room base sequence checkpoint train)
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR}/libhippo/hippo
    ${PROJECT_SOURCE_DIR}/libhippo/hippo/${room}/*.hpp)
  list(APPEND installed_headers ${headers})
endforeach()
# Reading study files is no business of a workload.
list(REMOVE_ITEM installed_headers sequence/family.hpp)
foreach(header ${installed_headers})
  get_filename_component(room ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/libhippo/hippo/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hippo/${room})
endforeach()

install(FILES ${PROJECT_BINARY_DIR}/schemas/hippo/model/view/views.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hippo/model/view)

# Names that headers had up to 0.1, for one release more.
function(hippo_forward old new)
  file(WRITE ${PROJECT_BINARY_DIR}/forward/${old}
    "#pragma once\n#pragma message(\"hippo/${old} is hippo/${new} now\")\n"
    "#include \"hippo/${new}\"\n")
  get_filename_component(room ${old} DIRECTORY)
  install(FILES ${PROJECT_BINARY_DIR}/forward/${old}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hippo/${room})
endfunction()
foreach(header ${installed_headers})
  if(header MATCHES "^base/(.*)")
    hippo_forward(core/${CMAKE_MATCH_1} ${header})
  elseif(header MATCHES "^model/((lease|workload_size|workload_spec).hpp)")
    hippo_forward(plan/${CMAKE_MATCH_1} ${header})
  elseif(header MATCHES "^checkpoint/(.*)")
    hippo_forward(train/${CMAKE_MATCH_1} ${header})
  endif()
endforeach()
hippo_forward(train/descriptor.hpp model/workload_descriptor.hpp)
hippo_forward(train/file_descriptor.hpp base/file_descriptor.hpp)
hippo_forward(client/client.hpp net/client/client.hpp)

# In a file of its own, since who links these needs Cap'n Proto.
install(TARGETS hippo_client hippo_keys hippo_schemas hippo_views
  EXPORT hippo_client_targets ARCHIVE)

set(package_install_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hippo)
install(EXPORT hippo_targets FILE hippoTargets.cmake NAMESPACE hippo::
  DESTINATION ${package_install_dir})
install(EXPORT hippo_client_targets FILE hippoClientTargets.cmake
  NAMESPACE hippo:: DESTINATION ${package_install_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/hippoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/hippoConfig.cmake
  INSTALL_DESTINATION ${package_install_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hippoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/hippoConfig.cmake
  ${PROJECT_BINARY_DIR}/hippoConfigVersion.cmake
  DESTINATION ${package_install_dir})

# -- the package `hippo` of Debian: cpack -G DEB in a build folder

install(TARGETS hippo RUNTIME DESTINATION bin
  COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/examples/deploy/hippo.service
  ${PROJECT_SOURCE_DIR}/examples/deploy/hippo-trainer.service
  DESTINATION lib/systemd/system COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/hippo
  RENAME copyright COMPONENT package EXCLUDE_FROM_ALL)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hippo)
set(CPACK_PACKAGE_CONTACT "The Hippo authors <hippo@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "hyper-parameter optimisation that trains what trials share once")
set(CPACK_PACKAGE_DESCRIPTION
  "The service and its command line, with units of systemd. What trains,
hippo-trainer, comes with Python's package hippo-hpo; its extra builtin adds the
built-in workloads and the LibTorch that they need.")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};hippo;package;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/cmake/deb/postinst
  ${PROJECT_SOURCE_DIR}/cmake/deb/prerm)
include(CPack)
