#include "media/image/jpeg_reader.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <string>

#include "media/image/jpeg_memory.h"
#include "media/image/jpeg_planes.h"
#include "media/image/jpeg_scan.h"

namespace penstock::media {
namespace {

// A legitimate progressive file has about ten scans. Each costs a pass over the whole picture, so
// a few kilobytes of scans could keep a thread busy for minutes.
constexpr int kMaxScans = 500;

// Pixels of margin that make fancy upsampling right at a region's edges: one chroma sample.
constexpr std::int64_t kMargin = 4;
constexpr std::int64_t kNarrow = 64;  // narrower pictures are not cropped

struct ErrorManager {
  JpegErrors base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  int code;
  bool strict;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  errors->code = errors->base.base.msg_code;
  (*errors->base.base.format_message)(info, errors->message);
  std::longjmp(errors->jump, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // traces
  ++info->err->num_warnings;
  if (reinterpret_cast<ErrorManager*>(info->err)->strict) on_error(info);
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) ERREXIT(decoder, JERR_BAD_SCAN_SCRIPT);
}

Code code_of(int jpeg_code) {
  switch (jpeg_code) {
    case JERR_BAD_PRECISION:
    case JERR_ARITH_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_BAD_J_COLORSPACE:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
      return Code::unsupported;
    case JERR_OUT_OF_MEMORY:
      return Code::out_of_memory;
    case JERR_IMAGE_TOO_BIG:
      return Code::out_of_range;
    default:
      return Code::corrupt;
  }
}

J_COLOR_SPACE space_of(JpegColour colour) {
  switch (colour) {
    case JpegColour::grey:
      return JCS_GRAYSCALE;
    case JpegColour::rgb:
      return JCS_RGB;
    case JpegColour::bgr:
      return JCS_EXT_BGR;
    case JpegColour::rgba:
      return JCS_EXT_RGBA;
    case JpegColour::cmyk:
      return JCS_CMYK;
  }
  return JCS_RGB;
}

}  // namespace

struct JpegReader::State {
  JpegMemory memory;
  jpeg_decompress_struct decoder{};
  ErrorManager errors{};
  jpeg_progress_mgr progress{};
  JpegHeader header;
  std::span<const std::uint8_t> bytes;
  JpegSetup setup;
  std::int64_t first_col = 0;
  std::int64_t rows_read = 0;  // of the region
  ScanDecoder scan;
  PlaneDecoder planes;
  bool planes_tried = false;
  bool created = false;

  // Runs `body`, which calls libjpeg and owns nothing. False when libjpeg gave up.
  template <class Body>
  bool run(Body body) {
    if (setjmp(errors.jump)) return false;
    body();
    return true;
  }

  // What went wrong, at which byte; the decoder is ready for the next file.
  Error failure() {
    const Code code = code_of(errors.code);
    const std::int64_t offset =
        decoder.src ? std::int64_t(bytes.size() - decoder.src->bytes_in_buffer) : 0;
    abandon();
    Error error(code, std::string("JPEG: ") + errors.message);
    if (offset >= 0 && offset <= std::int64_t(bytes.size())) error.at_offset(offset);
    return error;
  }

  void abandon() {
    if (created) jpeg_abort_decompress(&decoder);
  }

  bool read_header() {
    memory.forget_tables(decoder);
    return run([&] {
      jpeg_mem_src(&decoder, bytes.data(), static_cast<unsigned long>(bytes.size()));
      jpeg_read_header(&decoder, TRUE);
    });
  }

  // From the header to the next row that is wanted.
  Status begin(bool by_library);
  // After our own decoder of the scan gave up: goes on at the same row with libjpeg's.
  Status begin_again() {
    abandon();
    if (!read_header()) return failure();
    return begin(true);
  }
};

JpegReader::JpegReader() : state_(std::make_unique<State>()) {
  State& s = *state_;
  jpeg_error_mgr& errors = s.errors.base.base;
  s.decoder.err = jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = on_message;
  errors.output_message = on_output;
  s.errors.base.memory = &s.memory;
  s.progress.progress_monitor = on_progress;
  s.created = s.run([&] { jpeg_create_decompress(&s.decoder); });
  s.decoder.progress = &s.progress;
  if (s.created) s.memory.install(s.decoder);
}

JpegReader::~JpegReader() {
  jpeg_destroy_decompress(&state_->decoder);
}

JpegReader& JpegReader::of_thread() {
  thread_local JpegReader reader;
  return reader;
}

Status JpegReader::open(std::span<const std::uint8_t> bytes, bool strict) {
  State& s = *state_;
  if (!s.created) return Error(Code::out_of_memory, "JPEG: no memory for a decoder");
  s.abandon();
  s.bytes = bytes;
  s.planes_tried = false;
  s.errors.strict = strict;
  if (bytes.empty()) return Error(Code::corrupt, "JPEG: no bytes");
  if (!s.read_header()) return s.failure();
  const jpeg_decompress_struct& d = s.decoder;
  if (d.num_components != 1 && d.num_components != 3 && d.num_components != 4) {
    s.abandon();
    return Error(Code::unsupported,
                 "JPEG: " + std::to_string(d.num_components) + " components; 1, 3 or 4 are known");
  }
  s.header = {d.image_width,
              d.image_height,
              d.num_components,
              d.jpeg_color_space == JCS_YCbCr || d.jpeg_color_space == JCS_GRAYSCALE,
              d.progressive_mode != 0,
              chroma_factors(d)};
  return {};
}

const JpegHeader& JpegReader::header() const {
  return state_->header;
}

Status JpegReader::start(const JpegSetup& setup) {
  State& s = *state_;
  s.setup = setup;
  s.rows_read = 0;
  return s.planes_tried ? s.begin_again() : s.begin(false);
}

bool JpegReader::start_planes(const JpegPlane& luma, const JpegPlane& chroma) {
  State& s = *state_;
  s.planes_tried = true;
  bool begun = false;
  return s.header.chroma.x > 0 && s.run([&] {
    PlaneDecoder::prepare(s.decoder);
    jpeg_start_decompress(&s.decoder);
    begun = s.planes.begin(s.decoder, s.scan, luma, chroma);
  }) && begun;
}

bool JpegReader::next_planes() {
  return state_->planes.next();
}

PlaneRows JpegReader::plane_rows(int plane) const {
  return state_->planes.rows(plane);
}

Status JpegReader::State::begin(bool by_library) {
  jpeg_decompress_struct& d = decoder;
  d.scale_num = 1;
  d.scale_denom = unsigned(setup.scale);
  d.out_color_space = space_of(setup.colour);
  d.dct_method = JDCT_ISLOW;  // IFAST saves 2% of the time and costs tens of decibels
  // Without smoothing libjpeg merges upsampling and colour conversion. With
  // 2.1.5 results on damaged files then differed from run to run when rows were skipped (compare
  // its issue 915), so merging is for whole pictures only. It never merges where a factor is 4; but
  // there jpeg_crop_scanline gets the width of chroma wrong at a reduced scale, which shows when
  // that is smoothed.
  const bool skips = setup.region.y + rows_read > 0;
  const bool merges = d.max_h_samp_factor <= 2 && d.max_v_samp_factor <= 2;
  d.do_fancy_upsampling = setup.fancy || (skips && merges) ? TRUE : FALSE;
  if (!run([&] { jpeg_start_decompress(&d); })) return failure();
  if (by_library || !scan.attach(d)) scan.detach();

  const Rect& region = setup.region;
  const std::int64_t width = d.output_width, height = d.output_height;
  if (region.x < 0 || region.y < 0 || region.width <= 0 || region.height <= 0 ||
      region.width > width - region.x || region.height > height - region.y) {
    abandon();
    return Error(Code::invalid_argument, "JPEG: the region lies outside the picture");
  }
  first_col = 0;
  const std::int64_t margin = setup.fancy ? kMargin : 0;
  const std::int64_t left = std::max<std::int64_t>(0, region.x - margin);
  const std::int64_t right = std::min(width, region.x + region.width + margin);
  if (width > kNarrow && right - left < width) {
    JDIMENSION offset = JDIMENSION(left), length = JDIMENSION(right - left);
    if (!run([&] { jpeg_crop_scanline(&d, &offset, &length); })) return failure();
    first_col = d.output_width == JDIMENSION(width) ? 0 : offset;
    // What libjpeg transforms back: whole MCUs.
    const std::int64_t mcu = 8 / setup.scale * (header.components == 1 ? 1 : d.max_h_samp_factor);
    scan.keep_columns(first_col / mcu, (first_col + d.output_width + mcu - 1) / mcu);
  }
  const std::int64_t above = region.y + rows_read;
  if (above > 0 && !run([&] { jpeg_skip_scanlines(&d, JDIMENSION(above)); })) {
    return scan.gave_up() ? begin_again() : failure();
  }
  return {};
}

std::int64_t JpegReader::first_col() const {
  return state_->first_col;
}
std::int64_t JpegReader::row_width() const {
  return state_->decoder.output_width;
}
int JpegReader::channels() const {
  return state_->decoder.output_components;
}
int JpegReader::rows_at_once() const {
  return 8 * state_->decoder.max_v_samp_factor;
}

Status JpegReader::read_rows(std::uint8_t* to, std::ptrdiff_t row_bytes, std::int64_t count) {
  State& s = *state_;
  jpeg_decompress_struct& d = s.decoder;
  const std::int64_t first = s.rows_read;
  const auto read = [&] {
    constexpr JDIMENSION kRows = 16;
    JSAMPROW rows[kRows];
    while (s.rows_read < first + count) {
      std::uint8_t* const next = to + std::ptrdiff_t(s.rows_read - first) * row_bytes;
      const auto wanted = JDIMENSION(std::min<std::int64_t>(first + count - s.rows_read, kRows));
      for (JDIMENSION i = 0; i < wanted; ++i) rows[i] = next + std::ptrdiff_t(i) * row_bytes;
      const JDIMENSION got = jpeg_read_scanlines(&d, rows, wanted);
      if (got == 0) ERREXIT(&d, JERR_INPUT_EOF);
      s.rows_read += got;
    }
  };
  while (!s.run(read)) {
    if (!s.scan.gave_up()) return s.failure();
    if (Status again = s.begin_again(); !again) return again;
  }
  if (d.out_color_space == JCS_CMYK) {
    // Adobe writes ink as 255 - ink, and everybody followed; Pillow always inverts, so do we.
    for (std::int64_t y = 0; y < count; ++y) {
      std::uint8_t* row = to + y * row_bytes;
      const std::int64_t samples = std::int64_t(d.output_width) * 4;
      for (std::int64_t i = 0; i < samples; ++i) row[i] = std::uint8_t(255 - row[i]);
    }
  }
  return {};
}

Status JpegReader::finish() {
  State& s = *state_;
  jpeg_decompress_struct& d = s.decoder;
  if (d.output_scanline >= d.output_height) {
    if (!s.run([&] { jpeg_finish_decompress(&d); })) return s.failure();
    return {};
  }
  // The rest is not read; but an end marker somewhere in it is found at once in an intact file,
  // and cannot occur inside compressed data.
  bool ends = !s.errors.strict;
  const std::uint8_t* const from = d.src->next_input_byte;
  for (std::size_t i = d.src->bytes_in_buffer; !ends && i >= 2; --i) {
    ends = from[i - 1] == JPEG_EOI && from[i - 2] == 0xFF;
  }
  // The marker may have been read already: as the last row came out, or, in a file of several
  // scans, before the first one did.
  ends = ends || d.unread_marker == JPEG_EOI || jpeg_input_complete(&d);
  s.abandon();
  if (!ends) return Error(Code::corrupt, "JPEG: the file ends before the picture does");
  return {};
}

}  // namespace penstock::media
