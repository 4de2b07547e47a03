#include "media/av/ffmpeg/pixels.h"

#include <cstring>

#include "media/av/ffmpeg/log.h"

namespace penstock::media::av {
namespace {

// The old names of full-range formats say in the format what belongs to the frame.
AVPixelFormat plain(int format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    default:
      return AVPixelFormat(format);
  }
}

int range_of(const AVFrame& frame) {
  return plain(frame.format) != frame.format ? AVCOL_RANGE_JPEG : number_of(frame.color_range);
}

// As ffmpeg does it: what libswscale has no table for, and RGB, count as BT.601.
int table_of(int matrix) {
  const bool known =
      matrix > AVCOL_SPC_RGB && matrix <= AVCOL_SPC_BT2020_CL && matrix != AVCOL_SPC_YCGCO;
  return known && matrix != AVCOL_SPC_UNSPECIFIED ? matrix : SWS_CS_DEFAULT;
}

Planes planes_of(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_GRAY8:
      return Planes::grey;
    case AV_PIX_FMT_YUV420P:
      return Planes::yuv420;
    case AV_PIX_FMT_YUV422P:
      return Planes::yuv422;
    case AV_PIX_FMT_YUV444P:
      return Planes::yuv444;
    default:
      return Planes::other;
  }
}

Matrix matrix_of(int space) {
  switch (space) {
    case AVCOL_SPC_BT709:
      return Matrix::bt709;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return Matrix::bt2020;
    case AVCOL_SPC_UNSPECIFIED:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return Matrix::bt601;
    default:
      return Matrix::other;
  }
}

AVPixelFormat format_of(PixelMode mode) {
  switch (mode) {
    case PixelMode::rgba:
      return AV_PIX_FMT_RGBA;
    case PixelMode::bgr:
      return AV_PIX_FMT_BGR24;
    case PixelMode::l:
      return AV_PIX_FMT_GRAY8;
    default:
      return AV_PIX_FMT_RGB24;
  }
}

std::size_t pixel_bytes(AVPixelFormat format) {
  return format == AV_PIX_FMT_GRAY8 ? 1 : format == AV_PIX_FMT_RGBA ? 4 : 3;
}

// The range of a source is told at the beginning: that of more than 8 bits cannot be changed later.
// Null: libswscale does not know these formats.
SwsPtr new_context(const AVFrame& frame, AVPixelFormat from, AVPixelFormat to) {
  SwsPtr context(sws_alloc_context());
  if (context == nullptr) return nullptr;
  const auto set = [&context](const char* name, std::int64_t value) {
    (void)av_opt_set_int(context.get(), name, value, 0);
  };
  set("srcw", frame.width), set("srch", frame.height), set("src_format", from);
  set("dstw", frame.width), set("dsth", frame.height), set("dst_format", to);
  set("sws_flags", SWS_BICUBIC);
  const int range = range_of(frame);
  if (range != AVCOL_RANGE_UNSPECIFIED) set("src_range", range == AVCOL_RANGE_JPEG ? 1 : 0);
  if (sws_init_context(context.get(), nullptr, nullptr) < 0) return nullptr;
  return context;
}

}  // namespace

Picture picture_of(const AVFrame& frame, bool damaged) {
  Picture picture;
  picture.tag = frame.pts == AV_NOPTS_VALUE ? -1 : frame.pts;
  picture.width = frame.width;
  picture.height = frame.height;
  picture.planes = planes_of(plain(frame.format));
  for (std::size_t i = 0; i < 3; ++i) {
    picture.data[i] = frame.data[i];
    picture.row_bytes[i] = frame.linesize[i];
  }
  picture.matrix = matrix_of(number_of(frame.colorspace));
  picture.full_range = range_of(frame) == AVCOL_RANGE_JPEG;
  picture.left_chroma = number_of(frame.chroma_location) != AVCHROMA_LOC_CENTER;
  picture.key = is_key(frame);
  picture.damaged = damaged;
  if (const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(AVPixelFormat(frame.format))) {
    picture.alpha = (about->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
    picture.bits = about->comp[0].depth;
    picture.format = about->name;
  }
  return picture;
}

Status PixelConverter::prepare(const AVFrame& frame, AVPixelFormat to) {
  const AVPixelFormat from = plain(frame.format);
  const int range = range_of(frame), matrix = number_of(frame.colorspace);
  if (context_ != nullptr && width_ == frame.width && height_ == frame.height && from_ == from &&
      to_ == to && range_ == range && matrix_ == matrix) {
    return {};
  }
  context_ = new_context(frame, from, to);
  if (context_ == nullptr) {
    const char* name = av_get_pix_fmt_name(from);
    return Error(Code::unsupported, std::string("pictures of format ") +
                                        (name != nullptr ? name : "unknown") +
                                        " cannot be converted");
  }
  // A frame that says nothing of its range has that which libswscale takes its format to have.
  int full = 0, full_out = 0, brightness = 0, contrast = 0, saturation = 0;
  int *was = nullptr, *was_out = nullptr;
  (void)sws_getColorspaceDetails(context_.get(), &was, &full, &was_out, &full_out, &brightness,
                                 &contrast, &saturation);
  if (range != AVCOL_RANGE_UNSPECIFIED) full = range == AVCOL_RANGE_JPEG ? 1 : 0;
  // RGB of many bits goes through YUV and back, by the same matrix; grey is that of BT.601.
  const int* const in = sws_getCoefficients(table_of(matrix));
  const int* const out = to == AV_PIX_FMT_GRAY8 ? sws_getCoefficients(SWS_CS_DEFAULT) : in;
  (void)sws_setColorspaceDetails(context_.get(), in, full, out, 1, 0, 1 << 16, 1 << 16);
  width_ = frame.width, height_ = frame.height, from_ = from, to_ = to;
  range_ = range, matrix_ = matrix;
  return {};
}

Status PixelConverter::convert(const AVFrame& frame, PixelMode mode, std::uint8_t* out,
                               std::ptrdiff_t row_bytes) {
  Messages messages;
  const Listening listening(messages);
  const AVPixelFormat to = format_of(mode);
  if (Status ready = prepare(frame, to); !ready) return ready;
  // libswscale writes whole vectors: rows that do not end with one go through wider rows.
  constexpr int kVector = 32;
  constexpr std::size_t kKeep = std::size_t{16} << 20;
  const std::size_t used = std::size_t(frame.width) * pixel_bytes(to);
  const bool direct = frame.width % kVector == 0 && row_bytes >= std::ptrdiff_t(used);
  const std::size_t wide = (used + 2 * 64 - 1) / 64 * 64;
  if (!direct) padded_.resize(wide * std::size_t(frame.height) + 64);
  std::uint8_t* const data[4] = {direct ? out : padded_.data(), nullptr, nullptr, nullptr};
  const int lines[4] = {int(direct ? row_bytes : std::ptrdiff_t(wide)), 0, 0, 0};
  const int rows =
      sws_scale(context_.get(), frame.data, frame.linesize, 0, frame.height, data, lines);
  if (rows != frame.height) return Error(Code::internal, "libswscale stopped half-way");
  for (int y = 0; !direct && y < frame.height; ++y) {
    std::memcpy(out + y * row_bytes, padded_.data() + std::size_t(y) * wide, used);
  }
  if (padded_.size() > kKeep) padded_ = {};
  return {};
}

PixelConverter& pixel_converter() {
  thread_local PixelConverter converter;
  return converter;
}

}  // namespace penstock::media::av
