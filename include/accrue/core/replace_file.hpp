// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_REPLACE_FILE_HPP
#define ACCRUE_CORE_REPLACE_FILE_HPP

#include <accrue/core/error.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <string>

#if __has_include(<unistd.h>)
#include <fcntl.h>
#include <unistd.h>
#define ACCRUE_HAS_FSYNC 1
#else
#define ACCRUE_HAS_FSYNC 0
#endif

namespace accrue {

namespace detail {

/// A file that is being written, as a stream buffer; gone if it is not kept.
class new_file : public std::streambuf {
 public:
  explicit new_file(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    if (file_ == nullptr) refuse("cannot be opened");
  }
  ~new_file() override {
    close();
    if (!kept_) std::remove(path_.c_str());
  }
  new_file(new_file const&) = delete;
  new_file& operator=(new_file const&) = delete;

  /// Brings it onto the disk and gives it its name.
  void keep_as(std::string const& name) {
    bool whole = std::fflush(file_) == 0;
#if ACCRUE_HAS_FSYNC
    whole = whole && ::fsync(::fileno(file_)) == 0;
#endif
    if (!close() || !whole) refuse("cannot be brought onto the disk");
    if (std::rename(path_.c_str(), name.c_str()) != 0) refuse("cannot be renamed");
    kept_ = true;
  }
  [[noreturn]] void refuse(char const* what) const {
    char const* const why = std::strerror(errno);
    throw error(joined({"accrue::save_file: '", path_, "' ", what, ": ", why}), "the file before it is as it was",
                "check the path and the space on the disk");
  }

 protected:
  std::streamsize xsputn(char const* from, std::streamsize size) override {
    return static_cast<std::streamsize>(std::fwrite(from, 1, static_cast<std::size_t>(size), file_));
  }
  int_type overflow(int_type letter) override {
    return letter == traits_type::eof() || std::fputc(letter, file_) != EOF ? letter : traits_type::eof();
  }
  int sync() override { return std::fflush(file_); }

 private:
  bool close() {
    bool const closed = file_ == nullptr || std::fclose(file_) == 0;
    file_ = nullptr;
    return closed;
  }

  std::string path_;
  std::FILE* file_;
  bool kept_ = false;
};

/// Where a file lies that is named by a link.
[[nodiscard]] inline std::string behind_links(std::string const& path) {
#if ACCRUE_HAS_FSYNC
  if (char* const real = ::realpath(path.c_str(), nullptr)) {
    std::string found(real);
    std::free(real);
    return found;
  }
#endif
  return path;
}

/// The new name of a file outlives a crash of the machine, where the system can promise it.
inline void sync_folder_of([[maybe_unused]] std::string const& path) {
#if ACCRUE_HAS_FSYNC
  std::size_t const slash = path.rfind('/');
  std::string const folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int const descriptor = ::open(folder.c_str(), O_RDONLY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
#endif
}

}  // namespace detail

/// Writes a file as a whole: `write(stream)` fills one beside it, `path` with `.partial` behind it, which then takes
/// its place.
///
/// Guarantee: at every moment, that of a crash included, the file is the old one or the new one; where something fails
/// it is the old one, and nothing is left beside it. Only a killed process leaves its partial file, which the next one
/// overwrites. Failure: `accrue::error` with what the system says; what `write` throws passes.
template <class Write>
void replace_file(std::string const& path, Write const& write) {
  std::string const target = detail::behind_links(path);
  detail::new_file file(target + ".partial");
  std::ostream stream(&file);
  write(stream);
  file.keep_as(target);
  detail::sync_folder_of(target);
}

}  // namespace accrue
#endif
