#include "formats/index_builder.h"
#include "formats/part_hasher.h"
#include "formats/tfrecord/scanner.h"
#include "formats/tfrecord/tfrecord.h"
#include "formats/window.h"

namespace penstock::formats::tfrecord {

Result<Index> make_index(storage::Stream& stream, storage::Stamp stamp, bool hashes) {
  BufferPool pool;
  Window window(stream, pool, hashes ? Window::Reading::all : Window::Reading::headers,
                std::size_t(1) << 20);
  Scanner scanner(window);
  PartHasher hasher;
  IndexBuilder builder(hashes);
  IndexBuilder::Extra extra;
  extra.fields = {"data"};
  extra.stamp = stamp;
  bool any = false;
  for (;;) {
    window.keep_from(scanner.position());
    const Result<Scanner::Event> event = scanner.next();
    if (!event) return event.error();
    if (*event == Scanner::Event::end) break;
    if (*event == Scanner::Event::record) {
      any = true;
      std::uint64_t hash = 0;
      if (hashes) {
        const Result<std::uint64_t> made = hasher.hash(window, scanner.payload(), scanner.size());
        if (!made) return made.error();
        hash = *made;
      }
      builder.begin({}, scanner.payload());
      builder.part(0, scanner.payload(), scanner.size(), hash);
      continue;
    }
    builder.begin({}, scanner.start());
    if (*event == Scanner::Event::cut) {
      ++extra.findings.cut;
      builder.spoil(std::uint64_t(Trouble::cut), scanner.start());
    } else {
      ++extra.findings.damaged;
      const std::uint64_t lost = scanner.position() - scanner.start();
      builder.spoil(lost << kTroubleBits | std::uint64_t(Trouble::damaged), scanner.start());
    }
  }
  if (!any && extra.findings.damaged > 0) {
    return Error(Code::corrupt, "this is not a TFRecord file: there is no record in it");
  }
  return builder.finish(extra);
}

}  // namespace penstock::formats::tfrecord
