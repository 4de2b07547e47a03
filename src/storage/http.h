// URLs of http and https: as a Source, by range requests, and as a Stream that reads ahead.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "storage/source.h"
#include "storage/stream.h"

namespace penstock::storage {

// Asks the server for size and version. Many reads at once are many requests under way.
Result<std::shared_ptr<const Source>> open_http_source(const std::string& url);
// The same without asking: reads fail if the server has another version.
Result<std::shared_ptr<const Source>> open_http_source(const std::string& url, Stamp stamp);

// Connections to servers stay open from use to use as long as somebody holds this. Empty if none of
// the names is a URL.
std::shared_ptr<const void> keep_connections(std::span<const std::string> names);

// Several ranges are under way ahead of the reader.
class HttpStream : public Stream {
 public:
  // Begins with it and does not wait.
  static Result<std::unique_ptr<HttpStream>> begin(std::string url);
  // Waits until it is clear whether the URL can be read.
  virtual Status ready() = 0;

  // For one that was begun ahead and is not read yet: if its first answer has come, it asks for
  // what follows, until `most` ranges are under way or ready; says how many are. Does not wait.
  virtual std::size_t go_on(std::size_t most) = 0;
  // Called by the reader's thread whenever it has used up a range.
  virtual void on_progress(std::function<void()> call) = 0;
};

}  // namespace penstock::storage
