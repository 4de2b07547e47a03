#include "media/av/ffmpeg/parameter_sets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "media/av/ffmpeg/nal_units.h"

namespace penstock::media::av {
namespace {

constexpr int kLayer = 0x20;  // MPEG-4: of the codes 20 to 2F, for all of a head

Bytes extradata_of(const AVCodecParameters& stream) {
  if (stream.extradata == nullptr || stream.extradata_size <= 0) return {};
  return {stream.extradata, std::size_t(stream.extradata_size)};
}

// The bits of a unit, from its first byte on. Behind the end there are zeros.
class Bits {
 public:
  explicit Bits(Bytes unit) : bytes_(unit) {}

  unsigned take(int count) {
    unsigned value = 0;
    for (; count > 0; --count, --left_) {
      if (left_ == 0) byte_ = bytes_.next().value_or(0), left_ = 8;
      value = value << 1 | (byte_ >> (left_ - 1) & 1u);
    }
    return value;
  }
  // In Exp-Golomb code. Numbers of sets are small.
  int number() {
    int zeros = 0;
    while (zeros < 16 && take(1) == 0) ++zeros;
    return zeros == 16 ? -1 : int((1u << zeros) - 1 + take(zeros));
  }

  int signed_number() {
    const int coded = number();
    return coded % 2 != 0 ? (coded + 1) / 2 : -coded / 2;
  }

 private:
  Unescaped bytes_;
  unsigned byte_ = 0;
  int left_ = 0;  // bits of the byte
};

int h264_number(int kind, Bytes unit) {
  Bits bits(unit);
  bits.take(8);
  if (kind == 7) bits.take(24);  // profile and level
  return bits.number();
}

void skip_scaling_list(Bits& bits, int size) {
  int last = 8, next = 8;
  for (int i = 0; i < size; ++i) {
    if (next != 0) next = (last + bits.signed_number()) & 255;
    if (next != 0) last = next;
  }
}

// What only the higher profiles of H.264 say of a sequence.
void skip_high_profile(Bits& bits) {
  const int chroma = bits.number();
  if (chroma == 3) bits.take(1);
  bits.number(), bits.number();  // bits of samples
  bits.take(1);
  if (bits.take(1) == 0) return;
  for (int i = 0; i < (chroma == 3 ? 12 : 8); ++i) {
    if (bits.take(1) != 0) skip_scaling_list(bits, i < 6 ? 16 : 64);
  }
}

// Of a sequence's set.
bool h264_gaps_allowed(Bytes unit) {
  constexpr std::array kHigh{100u, 110u, 122u, 244u, 44u,  83u, 86u,
                             118u, 128u, 138u, 139u, 134u, 135u};
  Bits bits(unit);
  bits.take(8);
  const unsigned profile = bits.take(8);
  bits.take(16);
  bits.number();
  if (std::find(kHigh.begin(), kHigh.end(), profile) != kHigh.end()) skip_high_profile(bits);
  bits.number();
  const int order = bits.number();
  if (order == 0) bits.number();
  if (order == 1) return false;  // many numbers follow, and hardly anybody writes them
  bits.number();
  return bits.take(1) != 0;
}

int hevc_number(int kind, Bytes unit) {
  Bits bits(unit);
  bits.take(16);
  if (kind == 32) return int(bits.take(4));
  if (kind == 34) return bits.number();
  bits.take(4);
  const unsigned more = bits.take(3);  // layers, of which each has its own profile and level
  bits.take(1);
  for (int i = 0; i < 12; ++i) bits.take(8);
  std::array<unsigned, 8> has{};
  for (unsigned i = 0; more > 0 && i < 8; ++i) has[i] = bits.take(2);
  for (unsigned i = 0; i < more; ++i) {
    for (int byte = 0; (has[i] & 2) != 0 && byte < 11; ++byte) bits.take(8);
    if ((has[i] & 1) != 0) bits.take(8);
  }
  return bits.number();
}

// Where the packet says something of this kind.
Bytes said_beside(const AVPacket& packet, AVPacketSideDataType kind) {
  std::size_t size = 0;
  const std::uint8_t* const said = av_packet_get_side_data(&packet, kind, &size);
  return said != nullptr ? Bytes(said, size) : Bytes();
}

// In the place of what the packet says of this kind. False: there is no memory.
bool say_beside(AVPacket& packet, AVPacketSideDataType kind, Bytes bytes) {
  if (bytes.empty()) return true;
  std::uint8_t* const said = av_packet_new_side_data(&packet, kind, bytes.size());
  if (said != nullptr) std::memcpy(said, bytes.data(), bytes.size());
  return said != nullptr;
}

void put(int kind, int number, Bytes bytes, Bytes extradata, std::vector<ParameterSet>& sets) {
  const bool own = std::search(extradata.begin(), extradata.end(), bytes.begin(), bytes.end()) !=
                   extradata.end();
  sets.push_back({kind, number, own, {bytes.begin(), bytes.end()}});
}

// Those in front of the first slice. True: one of each kind is there.
bool read_units(Bytes packet, Bytes extradata, bool hevc, std::vector<ParameterSet>& sets) {
  const int first = hevc ? 32 : 7, last = hevc ? 34 : 8;
  std::array<bool, 3> there{};
  Units units(packet, length_bytes(extradata, hevc));
  while (units.next()) {
    const int kind = hevc ? units.first() >> 1 & 63 : units.first() & 31;
    if (hevc ? kind < 32 : kind >= 1 && kind <= 5) break;
    if (kind < first || kind > last) continue;
    const Bytes unit = units.unit();
    put(kind, hevc ? hevc_number(kind, unit) : h264_number(kind, unit), unit, extradata, sets);
    there[std::size_t(kind - first)] = true;
  }
  return there[0] && there[1] && (!hevc || there[2]);
}

// The head of a layer goes from one of the codes 00 to 2F, B0 or B5 to that of a group or a
// picture.
bool read_layer(Bytes packet, Bytes extradata, std::vector<ParameterSet>& sets) {
  std::size_t begin = packet.size();
  bool layer = false;
  for (std::size_t i = 0; i + 4 <= packet.size(); ++i) {
    if (packet[i] != 0 || packet[i + 1] != 0 || packet[i + 2] != 1) continue;
    const unsigned code = packet[i + 3];
    if (code == 0xB3 || code == 0xB6) {
      if (layer) put(kLayer, 0, packet.subspan(begin, i - begin), extradata, sets);
      return layer;
    }
    if (code < 0x30 || code == 0xB0 || code == 0xB5) begin = std::min(begin, i);
    layer = layer || (code >= 0x20 && code < 0x30);
  }
  return false;
}

}  // namespace

bool read_parameter_sets(const AVPacket& packet, const AVCodecParameters& stream, bool blank,
                         std::vector<ParameterSet>& sets) {
  const Bytes extradata = extradata_of(stream);
  std::size_t size = 0;
  const std::uint8_t* const header =
      av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (header != nullptr) {
    const Bytes said(header, size);
    sets.push_back({ParameterSet::kHeader, 0, std::ranges::equal(said, extradata), {}});
    sets.back().bytes.assign(said.begin(), said.end());
  }
  if (const Bytes colours = said_beside(packet, AV_PKT_DATA_PALETTE); !colours.empty()) {
    sets.push_back({ParameterSet::kPalette, 0, false, {colours.begin(), colours.end()}});
  }
  bool all = header != nullptr;
  if (blank || packet.data == nullptr || packet.size <= 0) return all;
  const Bytes bytes(packet.data, std::size_t(packet.size));
  if (stream.codec_id == AV_CODEC_ID_H264 || stream.codec_id == AV_CODEC_ID_HEVC) {
    all = read_units(bytes, extradata, stream.codec_id == AV_CODEC_ID_HEVC, sets) || all;
  } else if (stream.codec_id == AV_CODEC_ID_MPEG4) {
    all = read_layer(bytes, extradata, sets) || all;
  }
  return all;
}

bool may_lack_pictures(const AVCodecParameters& stream) {
  if (stream.codec_id != AV_CODEC_ID_H264) return false;
  constexpr std::size_t kFirstSet = 8;  // behind its length, in the header of MP4
  const Bytes header = extradata_of(stream);
  if (length_bytes(header, false) > 0) {
    return header.size() > kFirstSet && h264_gaps_allowed(header.subspan(kFirstSet));
  }
  Units units(header, 0);
  while (units.next()) {
    if ((units.first() & 31) == 7) return h264_gaps_allowed(units.unit());
  }
  return false;
}

PacketPtr with_parameter_sets(const AVPacket& packet, const AVCodecParameters& stream,
                              const std::vector<ParameterSet>& sets) {
  const bool layered = stream.codec_id == AV_CODEC_ID_MPEG4;
  Bytes header = extradata_of(stream), colours;
  const std::size_t length = length_bytes(header, stream.codec_id == AV_CODEC_ID_HEVC);
  std::vector<std::uint8_t> front;
  for (const ParameterSet& set : sets) {
    if (set.kind == ParameterSet::kHeader) {
      header = set.bytes;
      continue;
    }
    if (set.kind == ParameterSet::kPalette) {
      colours = set.bytes;
      continue;
    }
    const std::size_t size = set.bytes.size();
    if (length > 0) {
      for (std::size_t i = length; i-- > 0;) front.push_back(std::uint8_t(size >> 8 * i));
    } else if (!layered) {
      front.insert(front.end(), {0, 0, 0, 1});
    }
    front.insert(front.end(), set.bytes.begin(), set.bytes.end());
  }
  if (layered) front.insert(front.begin(), header.begin(), header.end());
  PacketPtr whole(av_packet_alloc());
  if (whole == nullptr ||
      packet.size > INT32_MAX - AV_INPUT_BUFFER_PADDING_SIZE - int(front.size()) ||
      av_new_packet(whole.get(), packet.size + int(front.size())) < 0 ||
      av_packet_copy_props(whole.get(), &packet) < 0) {
    return nullptr;
  }
  if (!front.empty()) std::memcpy(whole->data, front.data(), front.size());
  if (packet.size > 0)
    std::memcpy(whole->data + front.size(), packet.data, std::size_t(packet.size));
  const bool fine = say_beside(*whole, AV_PKT_DATA_NEW_EXTRADATA, header) &&
                    say_beside(*whole, AV_PKT_DATA_PALETTE, colours);
  return fine ? std::move(whole) : nullptr;
}

}  // namespace penstock::media::av
