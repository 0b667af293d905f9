package outbound

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"9.9.9.9": true, "1.0.0.1": true, "172.32.0.1": true, "100.128.0.1": true, "::ffff:9.9.9.9": true,
		"2620:fe::fe": true, "2a00:1450::1": true, "64:ff9b::9.9.9.9": true, "2002:909:909::1": true,

		"0.0.0.0": false, "0.1.2.3": false, "127.0.0.1": false, "127.9.9.9": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "100.127.255.255": false, "192.0.0.1": false,
		"192.0.2.1": false, "192.88.99.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "::9.9.9.9": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::9.9.9.9": false,
		"2002:7f00:1::": false, "2002:a00:1::1": false, "2001::1": false, "2001:db8::1": false, "3fff::1": false,
		"168.63.129.16": false, "64:ff9b::168.63.129.16": false, "fec0::1": false, "100::1": false, "4000::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is public: %v", text, got)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestMayDial(t *testing.T) {
	t.Parallel()
	c, err := New([]string{
		"https://*", "http://127.0.0.1:8080", "http://localhost:9000", "http://*.inside:80", "http://db.example", "http://169.254.169.254", "http://100.100.100.200",
	}, Options{AllowPrivate: []string{"*.inside", "listed.example"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tt := range []struct {
		host string
		port uint16
		addr string
		want bool
	}{
		{"a.org", 443, "9.9.9.9", true},
		{"a.org", 443, "127.0.0.1", false},
		{"127.0.0.1", 8080, "127.0.0.1", true},
		{"127.0.0.1", 8080, "127.0.0.2", false},
		{"127.0.0.1", 8080, "9.9.9.9", false},
		{"127.0.0.1", 443, "127.0.0.1", false},
		{"9.9.9.9", 443, "9.9.9.9", true},
		{"localhost", 9000, "127.0.0.1", true},
		{"localhost", 9000, "::1", true},
		{"localhost", 9000, "10.0.0.1", false},
		{"localhost", 443, "127.0.0.1", false},
		{"a.inside", 80, "10.0.0.1", true},
		{"a.inside", 80, "100.64.0.1", true},
		{"a.inside", 80, "fd00::1", true},
		{"a.inside", 80, "::ffff:10.0.0.1", true},
		{"a.inside", 80, "9.9.9.9", true},
		{"a.inside", 80, "169.254.169.254", false}, // credentials of a cloud
		{"a.inside", 80, "100.100.100.200", false},
		{"a.inside", 80, "fd00:ec2::254", false},
		{"a.inside", 80, "fd00:ec2::23", false},
		{"a.inside", 80, "fd00:c1::a9fe:a9fe", false},
		{"a.inside", 80, "fd00:42::42", false},
		{"a.org", 443, "168.63.129.16", false},
		{"100.100.100.200", 80, "100.100.100.200", true},
		{"a.inside", 80, "0.0.0.0", false},
		{"a.inside", 443, "10.0.0.1", false}, // not as one of the public hosts
		{"a.b.inside", 80, "10.0.0.1", false},
		{"db.example", 80, "10.0.0.1", false},      // granted, but not listed
		{"listed.example", 443, "10.0.0.1", false}, // listed, but not granted by name
		{"169.254.169.254", 80, "169.254.169.254", true},
	} {
		h, why := parseHost(tt.host)
		if why != "" {
			t.Fatal(why)
		}
		if got := c.mayDial(h, tt.port, netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%s:%d may be %s: %v", tt.host, tt.port, tt.addr, got)
		}
	}
	for _, bad := range []string{"10.0.0.1", "*", "a..b", "", "a/b", "https://a"} {
		if _, err := New(nil, Options{AllowPrivate: []string{bad}}); err == nil {
			t.Errorf("private host %q is taken", bad)
		}
	}
	if _, err := New([]string{"https://a", "nonsense"}, Options{}); err == nil {
		t.Error("nonsense is taken for a grant")
	}
}
