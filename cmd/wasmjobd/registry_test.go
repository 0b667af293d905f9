package main

import (
	"net/netip"
	"testing"
)

func TestOwnAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		all  []string
		want string
	}{
		{"none", nil, ""},
		{"nobody outside can know these", []string{"127.0.0.1", "::1", "fe80::1", "169.254.3.4", "0.0.0.0"}, ""},
		{"the first", []string{"127.0.0.1", "10.0.0.7", "172.17.0.1"}, "10.0.0.7"},
		{"rather a public one", []string{"10.0.0.7", "198.51.100.4", "203.0.113.9"}, "198.51.100.4"},
		{"no version 6", []string{"2001:db8::1", "192.168.1.2"}, "192.168.1.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var all []netip.Addr
			for _, text := range tt.all {
				all = append(all, netip.MustParseAddr(text))
			}
			got, ok := ownAddress(all)
			if ok != (tt.want != "") || ok && got.String() != tt.want {
				t.Errorf("got %v, %v; want %q", got, ok, tt.want)
			}
		})
	}
}
