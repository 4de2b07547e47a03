#include "formats/npy/remote.h"

#include "formats/npy/load.h"

namespace penstock::formats::npy {

Result<chunked::Array> open_remote(const std::string& url) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(url);
  if (!source) return std::move(source).error();
  const Result<Header> header = read_header(**source);
  if (!header) return header.error();
  const bool one_row_one_range = !header->fortran || header->shape.size() < 2;
  if (!one_row_one_range || header->item_bytes == 0) {
    return Error(Code::unsupported,
                 std::string("rows of an array ") +
                     (header->item_bytes == 0 ? "of records" : "in Fortran order") +
                     " are not read from a web server: download the file, or read all of it with "
                     "io.load_npy")
        .in_file(url);
  }
  chunked::Array array;
  array.name = "data";
  array.place = url;
  array.from_afar = true;
  Result<chunked::Element> element = chunked::element_of(header->descr);
  if (!element) return std::move(element).error().in_file(url);
  array.element = *std::move(element);
  array.shape.assign(header->shape.begin(), header->shape.end());
  array.rows = chunked::plain_rows(*std::move(source), header->data_offset);
  return array;
}

}  // namespace penstock::formats::npy
