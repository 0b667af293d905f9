package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ensemble is a minimal configuration with ZooKeeper.
const ensemble = "[registry]\nkind = 'zookeeper'\nservers = ['zk1:2181', 'zk2']\n"

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	got := parse(t, small+ensemble).Registry
	want := Registry{
		Kind: ZooKeeper, Namespace: "wasmjobd", Layout: "2.1",
		Servers: []string{"zk1:2181", "zk2"}, SessionTimeout: 30 * time.Second,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the least: %s", d)
	}
	got = parse(t, `[registry]
kind = "zookeeper"
servers = ["10.0.0.1", "[::1]:2181", "::1"]
namespace = "team/jobs"
chroot = "/production"
session_timeout = "6s"
digest = "env:ZK_DIGEST"
tls = { ca = "tls/ca.pem", cert = "tls/cert.pem", key = "tls/key.pem", server_name = "zk" }
`).Registry
	want = Registry{
		Kind: ZooKeeper, Namespace: "team/jobs", Layout: "2.1",
		Servers: []string{"10.0.0.1", "[::1]:2181", "::1"}, Chroot: "/production", SessionTimeout: 6 * time.Second,
		Digest: Secret{Env: "ZK_DIGEST"},
		TLS:    &TLS{CA: abs(t, "tls/ca.pem"), Cert: abs(t, "tls/cert.pem"), Key: abs(t, "tls/key.pem"), ServerName: "zk"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("everything: %s", d)
	}
	if got := parse(t, ensemble+"tls.ca = 'system'\n").Registry.TLS; got == nil || *got != (TLS{}) {
		t.Errorf("the system's certificates: %+v", got)
	}
}

func TestZooKeeperByVariables(t *testing.T) {
	t.Parallel()
	got := parse(t, "", "WASMJOBD_REGISTRY__KIND=zookeeper", "WASMJOBD_REGISTRY__SERVERS=zk1:2181, zk2:2181",
		"WASMJOBD_REGISTRY__DIGEST=file:/run/secrets/zk", "WASMJOBD_REGISTRY__TLS__CA=/etc/ca.pem").Registry
	want := Registry{
		Kind: ZooKeeper, Namespace: "wasmjobd", Layout: "2.1", Servers: []string{"zk1:2181", "zk2:2181"},
		SessionTimeout: 30 * time.Second, Digest: Secret{File: "/run/secrets/zk"}, TLS: &TLS{CA: "/etc/ca.pem"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// In a shared registry another server or console may have changed a job.
func TestOverwriteByKindOfRegistry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		small: true, small + ensemble: false, small + "overwrite = true\n" + ensemble: true,
		small + ensemble + "[defaults]\noverwrite = true\n": true,
	} {
		if got := parse(t, text).Jobs[0].Overwrite; got != want {
			t.Errorf("overwrite is %v in\n%s", got, text)
		}
	}
}

func TestFaultsOfTheRegistry(t *testing.T) {
	t.Parallel()
	const servers = `write servers = ["zk1:2181", "zk2:2181", "zk3:2181"]`
	tests := []struct {
		name, text string
		want       []string
	}{
		{"kind", "[registry]\nkind = 'zookeper'\n", []string{
			`t.toml:2:8: registry.kind: "zookeper" is not known here (did you mean "zookeeper"?)`,
		}},
		{"kind_of_others", "[registry]\nkind = 'etcd'\nservers = ['x']\n", []string{
			`t.toml:2:8: registry.kind: "etcd" is not known here (write "embedded" or "zookeeper")`,
		}},
		{"namespace", "[registry]\nnamespace = '/a'\n", []string{
			`t.toml:2:13: registry.namespace: "/a" cannot be a namespace (write a name such as "wasmjobd")`,
		}},
		{"namespace_with_dots", "[registry]\nnamespace = 'a/../b'\n", []string{
			`t.toml:2:13: registry.namespace: "a/../b" cannot be a namespace (write a name such as "wasmjobd")`,
		}},
		{"namespace_of_a_clusters_state", "[registry]\nnamespace = 'jobs.wasmjobd/a'\n", []string{
			`t.toml:2:13: registry.namespace: "jobs.wasmjobd/a" cannot be a namespace (write a name such as "wasmjobd")`,
		}},
		{"namespace_of_zookeeper", "[registry]\nnamespace = 'zookeeper/jobs'\n", []string{
			`t.toml:2:13: registry.namespace: "zookeeper/jobs" is ZooKeeper's own (write a name such as "wasmjobd")`,
		}},
		{"keys_of_zookeeper", "[registry]\nservers = ['zk']\nchroot = '/a'\nsession_timeout = '5s'\ndigest = 'env:D'\n[registry.tls]\nca = 'x'\n", []string{
			`t.toml:2:11: registry.servers: the embedded registry has no servers (remove it, or write kind = "zookeeper")`,
			`t.toml:3:10: registry.chroot: the embedded registry has no chroot (remove it, or write kind = "zookeeper")`,
			`t.toml:4:19: registry.session_timeout: the embedded registry has no session timeout (remove it, or write kind = "zookeeper")`,
			`t.toml:5:10: registry.digest: the embedded registry has no digest (remove it, or write kind = "zookeeper")`,
			`t.toml:6:11: registry.tls: the embedded registry has no connections (remove it, or write kind = "zookeeper")`,
		}},
		{"no_servers", "[registry]\nkind = 'zookeeper'\n", []string{
			"t.toml:2:8: registry.servers: ZooKeeper's servers are missing (" + servers + ")",
		}},
		{"empty_servers", "[registry]\nkind = 'zookeeper'\nservers = []\n", []string{
			"t.toml:3:11: registry.servers: ZooKeeper's servers are missing (" + servers + ")",
		}},
		{"servers_as_one_text", "[registry]\nkind = 'zookeeper'\nservers = 'zk1:2181,zk2:2181'\n", []string{
			`t.toml:3:11: registry.servers: must be a list of strings, not a string (write ["a", "b"])`,
		}},
		{"servers_of_all_kinds", "[registry]\nkind = 'zookeeper'\nservers = ['zk1,zk2', 'zk/chroot', 'zk:port', 'zk:0', '', 'a:b:c', 'zk', 'zk', 3]\n", []string{
			"t.toml:3:12: registry.servers[0]: these are several servers in one string (" + servers + ")",
			`t.toml:3:23: registry.servers[1]: "zk/chroot" is not a server (write "host:2181", and the path below which all nodes are as chroot)`,
			`t.toml:3:36: registry.servers[2]: "zk:port" is not a server (write "host:2181")`,
			`t.toml:3:47: registry.servers[3]: "zk:0" is not a server (write "host:2181")`,
			`t.toml:3:55: registry.servers[4]: "" is not a server (write "host:2181")`,
			`t.toml:3:59: registry.servers[5]: "a:b:c" is not a server (write "host:2181")`,
			`t.toml:3:74: registry.servers[7]: "zk" is listed twice (remove it)`,
			`t.toml:3:80: registry.servers[8]: must be a string, not a number (write "3")`,
		}},
		{"chroot", ensemble + "chroot = 'production'\n", []string{
			`t.toml:4:10: registry.chroot: "production" is not the path of a node (write a path such as "/production", or remove it)`,
		}},
		{"chroot_with_an_end", ensemble + "chroot = '/production/'\n", []string{
			`t.toml:4:10: registry.chroot: "/production/" is not the path of a node (write a path such as "/production", or remove it)`,
		}},
		{"short_session", ensemble + "session_timeout = '5ms'\n", []string{
			`t.toml:4:19: registry.session_timeout: too short: every pause of the system would end the session (write at least "1s")`,
		}},
		{"long_session", ensemble + "session_timeout = '2h'\n", []string{
			`t.toml:4:19: registry.session_timeout: too long: no other server would take over from a dead one before that (write at most "1h")`,
		}},
		{"written_digest", ensemble + "digest = 'me:hunter2'\n", []string{
			`t.toml:4:10: registry.digest: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`,
		}},
		{"digest_as_number", ensemble + "digest = 12345\n", []string{
			`t.toml:4:10: registry.digest: must be a string, not a number (write "env:NAME")`,
		}},
		{"digest_without_name", ensemble + "digest = 'env:'\n", []string{
			`t.toml:4:10: registry.digest: after env: expected the name of a variable (write "env:NAME")`,
		}},
		{"tls_of_nothing", ensemble + "tls = {}\n", []string{
			`t.toml:4:1: registry.tls: ca is missing (write ca = "path/to/ca.pem", or "system" for those that this machine trusts)`,
		}},
		{"tls_as_a_flag", ensemble + "tls = true\n", []string{
			"t.toml:4:1: registry.tls: must be a table, not true or false (write [registry.tls])",
		}},
		{"half_a_pair", ensemble + "[registry.tls]\nca = ''\ncert = 'c'\nserver_name = ''\nkeys = 'k'\n", []string{
			`t.toml:5:6: registry.tls.ca: the path is empty (remove it)`,
			`t.toml:7:15: registry.tls.server_name: the name is empty (remove it)`,
			`t.toml:8:1: registry.tls.keys: unknown key (did you mean "key"?)`,
		}},
		{"a_key_alone", ensemble + "tls = { ca = 'a', key = 'k' }\n", []string{
			"t.toml:4:25: registry.tls.key: cert is missing: the two go together (write both or neither)",
		}},
		{"elasticjob_spellings", "[registry]\nserverLists = 'x'\nsessionTimeoutMilliseconds = 1\n", []string{
			`t.toml:2:1: registry.serverLists: unknown key (did you mean "servers"?)`,
			`t.toml:3:1: registry.sessionTimeoutMilliseconds: unknown key (did you mean "session_timeout"?)`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := faults(t, tt.text)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if s := strings.Join(got, "\n"); strings.Contains(s, "hunter2") || strings.Contains(s, "12345") {
				t.Errorf("a secret is in the message: %s", s)
			}
		})
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	f := parse(t, ensemble+"[server]\npeer_listen = '0.0.0.0:7071'\npeer_address = 'one.internal:7071'\npeer_token = 'env:PEERS'\n")
	if d := cmp.Diff(Peers{Listen: "0.0.0.0:7071", Address: "one.internal:7071", Token: Secret{Env: "PEERS"}}, f.Server.Peers); d != "" {
		t.Error(d)
	}
	if token, err := f.PeerToken([]string{"PEERS=x"}); token != "x" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}
	_, err := f.PeerToken(nil)
	if want := "t.toml:7:14: server.peer_token: the variable PEERS is not set (correct that, or remove it)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if token, err := parse(t, ensemble+"[server]\npeer_listen = '127.0.0.1:0'\n").PeerToken(nil); token != "" || err != nil {
		t.Errorf("without a token: %q, %v", token, err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"embedded": {"[server]\npeer_listen = ':7071'\n", `t.toml:2:15: server.peer_listen: with the embedded registry there are no other servers (remove it, or write kind = "zookeeper" in [registry])`},
		"no port":  {ensemble + "[server]\npeer_listen = '10.0.0.7'\n", `t.toml:5:15: server.peer_listen: "10.0.0.7" is not an address with a port (write "10.0.0.7:7071")`},
		"no host":  {ensemble + "[server]\npeer_listen = '127.0.0.1:0'\npeer_address = ':7071'\n", `t.toml:6:16: server.peer_address: ":7071" is not an address with a port (write "10.0.0.7:7071")`},
		"port 0":   {ensemble + "[server]\npeer_listen = '127.0.0.1:0'\npeer_address = 'a:0'\n", `t.toml:6:16: server.peer_address: "a:0" is not an address with a port (write "10.0.0.7:7071")`},
		"open":     {ensemble + "[server]\npeer_listen = ':7071'\n", `t.toml:5:15: server.peer_listen: other machines reach this address, and peer_token is missing (write peer_token = "env:NAME", the same on every server)`},
		"nobody":   {ensemble + "[server]\npeer_address = 'a:1'\n", `t.toml:5:16: server.peer_address: no server listens there: peer_listen is missing (add it, or remove this)`},
		"written":  {ensemble + "[server]\npeer_token = 'hunter2'\n", `t.toml:5:14: server.peer_token: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`},
	} {
		if d := cmp.Diff([]string{tt.want}, faults(t, tt.text)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestFaultsOfTheRegistryInVariables(t *testing.T) {
	t.Parallel()
	got := faults(t, ensemble,
		"WASMJOBD_REGISTRY__SERVERS=zk1:x", "WASMJOBD_REGISTRY__DIGEST=me:hunter2", "WASMJOBD_REGISTRY__TLS__CERT=c")
	want := []string{
		`WASMJOBD_REGISTRY__DIGEST: registry.digest: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`,
		`WASMJOBD_REGISTRY__SERVERS: registry.servers[0]: "zk1:x" is not a server (write "host:2181")`,
		`WASMJOBD_REGISTRY__TLS__CERT: registry.tls: ca is missing (write ca = "path/to/ca.pem", or "system" for those that this machine trusts)`,
		`WASMJOBD_REGISTRY__TLS__CERT: registry.tls.cert: key is missing: the two go together (write both or neither)`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	cert, key := pairOf(t)
	dir := write(t, map[string]string{
		"t.toml":   ensemble + "digest = 'file:digest'\ntls = { ca = 'ca.pem', cert = 'cert.pem', key = 'key.pem', server_name = 'zk' }\n",
		"digest":   "me:a:b\n",
		"ca.pem":   cert,
		"cert.pem": cert,
		"key.pem":  key,
	})
	f, err := Load([]string{filepath.Join(dir, "t.toml")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Access(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest != "me:a:b" || a.TLS == nil || a.TLS.RootCAs == nil || len(a.TLS.Certificates) != 1 || a.TLS.ServerName != "zk" || a.TLS.MinVersion != tls.VersionTLS12 {
		t.Errorf("got %+v", a)
	}
	for text, config := range map[string]bool{"": false, "tls.ca = 'system'\n": true} {
		a, err := parse(t, ensemble+text).Access(nil)
		if err != nil || a.Digest != "" || (a.TLS != nil) != config || config && a.TLS.RootCAs != nil {
			t.Errorf("%q: got %+v, %v", text, a, err)
		}
	}
}

func TestAccessThatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"t.toml":    ensemble + "digest = 'env:DIGEST'\ntls = { ca = 'empty', cert = 'cert.pem', key = 'key.pem' }\n",
		"none.toml": ensemble + "digest = 'file:nowhere'\ntls = { ca = 'nowhere' }\n",
		"empty":     "",
	})
	const hint = " (correct that, or remove it)"
	for name, want := range map[string][]string{
		"t.toml": {
			"t.toml:4:10: registry.digest: its value does not have the form user:password" + hint,
			"t.toml:5:14: registry.tls.ca: the file empty has no certificate in PEM" + hint,
			"t.toml:5:30: registry.tls.cert: open cert.pem: no such file or directory" + hint,
		},
		"none.toml": {
			"none.toml:4:10: registry.digest: the file nowhere cannot be read: no such file or directory" + hint,
			"none.toml:5:14: registry.tls.ca: the file nowhere cannot be read: no such file or directory" + hint,
		},
	} {
		f, err := Load([]string{filepath.Join(dir, name)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Access([]string{"DIGEST=hunter2"})
		var ps Problems
		if !errors.As(err, &ps) {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, strings.Split(strings.ReplaceAll(ps.Error(), dir+"/", ""), "\n")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// pairOf creates a self-signed certificate and its key.
func pairOf(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zk"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
