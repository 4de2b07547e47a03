#include "media/image/jpeg_writer.h"

#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstdlib>
#include <memory>
#include <string>

namespace penstock::media {
namespace {

struct Writer {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  unsigned char* memory = nullptr;  // malloc'ed by libjpeg
  unsigned long size = 0;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* writer = static_cast<Writer*>(info->client_data);
  (*info->err->format_message)(info, writer->message);
  std::longjmp(writer->jump, 1);
}
void on_message(j_common_ptr, int) {}
void on_output(j_common_ptr) {}

// Calls libjpeg and owns nothing, so that an error may jump out of it.
bool compress(Writer& writer, const ConstImageView& image, const EncodeOptions& options) {
  if (setjmp(writer.jump)) return false;
  jpeg_compress_struct& e = writer.encoder;
  jpeg_create_compress(&e);
  jpeg_mem_dest(&e, &writer.memory, &writer.size);
  e.image_width = JDIMENSION(image.width);
  e.image_height = JDIMENSION(image.height);
  e.input_components = image.channels;
  e.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&e);
  jpeg_set_quality(&e, options.quality, TRUE);
  if (image.channels == 3) {
    e.comp_info[0].h_samp_factor = options.subsampling == Subsampling::s444 ? 1 : 2;
    e.comp_info[0].v_samp_factor = options.subsampling == Subsampling::s420 ? 2 : 1;
  }
  if (options.progressive) jpeg_simple_progression(&e);
  jpeg_start_compress(&e, TRUE);
  while (e.next_scanline < e.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(e.next_scanline));
    jpeg_write_scanlines(&e, &row, 1);
  }
  jpeg_finish_compress(&e);
  return true;
}

}  // namespace

Result<std::vector<std::byte>> write_jpeg(ConstImageView image, const EncodeOptions& options) {
  if (image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION) {
    return Error(Code::out_of_range,
                 "JPEG: a side may have " + std::to_string(JPEG_MAX_DIMENSION) + " pixels at most");
  }
  Writer writer;
  writer.encoder.err = jpeg_std_error(&writer.errors);
  writer.encoder.client_data = &writer;
  writer.errors.error_exit = on_error;
  writer.errors.emit_message = on_message;
  writer.errors.output_message = on_output;
  const bool done = compress(writer, image, options);
  jpeg_destroy_compress(&writer.encoder);
  const std::unique_ptr<unsigned char, decltype(&std::free)> memory(writer.memory, &std::free);
  if (!done) return Error(Code::internal, std::string("JPEG: ") + writer.message);
  const auto* bytes = reinterpret_cast<const std::byte*>(memory.get());
  return std::vector<std::byte>(bytes, bytes + writer.size);
}

}  // namespace penstock::media
