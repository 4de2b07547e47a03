#include "storage/http_hosts.h"

#include <gtest/gtest.h>

namespace penstock::storage {
namespace {

using std::chrono::seconds;

const HttpHosts::Time kStart{seconds(1000)};

TEST(HttpHosts, the_host_of_a_url_has_its_port) {
  EXPECT_EQ(HttpHosts::of("http://a.b:80/c?d#e"), "http://a.b:80");
  EXPECT_EQ(HttpHosts::of("https://a.b?c=/"), "https://a.b");
  EXPECT_EQ(HttpHosts::of("https://a.b"), "https://a.b");
  EXPECT_EQ(HttpHosts::of("nothing"), "nothing");
}

TEST(HttpHosts, a_host_is_down_for_as_long_as_it_took_to_find_out) {
  HttpHosts hosts;
  EXPECT_FALSE(hosts.is_down("a", kStart));
  hosts.failed("a", kStart, kStart + seconds(3));
  EXPECT_TRUE(hosts.is_down("a", kStart + seconds(5)));
  EXPECT_FALSE(hosts.is_down("a", kStart + seconds(6)));
  EXPECT_FALSE(hosts.is_down("b", kStart + seconds(4)));
}

TEST(HttpHosts, a_host_that_answers_anything_is_not_down) {
  HttpHosts hosts;
  hosts.answered("a", kStart + seconds(1));
  hosts.failed("a", kStart, kStart + seconds(3));  // something else was answered meanwhile
  EXPECT_FALSE(hosts.is_down("a", kStart + seconds(3)));
  hosts.failed("a", kStart + seconds(2), kStart + seconds(4));
  EXPECT_TRUE(hosts.is_down("a", kStart + seconds(4)));
  hosts.answered("a", kStart + seconds(5));
  EXPECT_FALSE(hosts.is_down("a", kStart + seconds(5)));
}

}  // namespace
}  // namespace penstock::storage
