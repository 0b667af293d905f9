package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// network is a set of machines, each a namespace, which reach each other and the test
// through a router, another namespace.
type network struct {
	t      testing.TB
	prefix string // of the names of all namespaces
	subnet string // the first three numbers of all addresses, with a dot
	hosts  int
	rules  int // number of rules so far
}

// machine is a namespace with one address. Without a name it is this machine, and the
// address is only a name for a server.
type machine struct {
	name string
	ip   string
}

// enter returns the command that runs another command on the machine.
func (m machine) enter() []string {
	if m.name == "" {
		return nil
	}
	return []string{"ip", "netns", "exec", m.name}
}

// router is the name of the router's namespace, without the prefix.
const router = "-router"

// clean ends all processes in the namespaces with a prefix, and removes the namespaces.
// It waits for the end of its input, which also comes if the test dies.
const clean = `read -r _
for n in $(ip netns list | cut -d' ' -f1 | grep "^$0-"); do
	ip netns pids "$n" | xargs -r kill -KILL
	ip netns delete "$n"
done`

// newNetwork creates a network that lasts as long as the test. The test is skipped if it
// cannot be created.
func newNetwork(t testing.TB) *network {
	t.Helper()
	if os.Getuid() != 0 {
		leaveOut(t, "a network of namespaces needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		leaveOut(t, "no ip in PATH: apt-get install iproute2")
	}
	n := &network{t: t, prefix: "wjf" + strconv.Itoa(os.Getpid()), subnet: freeSubnet(t)}
	sweep(t)
	guard := exec.Command("sh", "-c", clean, n.prefix)
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C must not reach it
	guard.Stderr = os.Stderr
	in, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the guard cleans up
		if err := guard.Wait(); err != nil {
			t.Errorf("remove the namespaces of %s: %v", n.prefix, err)
		}
	})
	if out, err := exec.Command("ip", "netns", "add", n.prefix+router).CombinedOutput(); err != nil {
		leaveOut(t, fmt.Sprintf("no namespaces here: %v: %s", err, out))
	}
	n.ip("-n", n.prefix+router, "link", "set", "lo", "up")
	n.ip("netns", "exec", n.prefix+router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	n.join(n.prefix, "")
	return n
}

// sweep removes what is left of a test that was killed together with its guard.
func sweep(t testing.TB) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		leaveOut(t, fmt.Sprintf("no namespaces here: %v", err))
	}
	for _, m := range regexp.MustCompile(`(?m)^(wjf(\d+))-`).FindAllStringSubmatch(string(out), -1) {
		if _, err := os.Stat("/proc/" + m[2]); errors.Is(err, os.ErrNotExist) {
			_ = exec.Command("sh", "-c", clean, m[1]).Run() // another test may do the same
		}
	}
}

// freeSubnet returns a network of the range reserved for network tests that is not in use
// on this machine.
func freeSubnet(t testing.TB) string {
	t.Helper()
	routes, err := exec.Command("ip", "route").Output()
	if err != nil {
		t.Fatal(err)
	}
	for try := range 512 {
		k := (os.Getpid() + try) % 512
		subnet := fmt.Sprintf("198.%d.%d.", 18+k/256, k%256)
		if !strings.Contains(string(routes), subnet) {
			return subnet
		}
	}
	t.Fatal("198.18.0.0/15 is in use")
	return ""
}

// machine adds a machine.
func (n *network) machine(name string) machine {
	n.t.Helper()
	m := machine{name: n.prefix + "-" + name}
	n.ip("netns", "add", m.name)
	n.ip("-n", m.name, "link", "set", "lo", "up")
	m.ip = n.join("eth0", m.name)
	return m
}

// join links a namespace, or the test's own if the name is empty, to the router.
func (n *network) join(link, namespace string) (ip string) {
	n.t.Helper()
	theirs, gateway := n.subnet+strconv.Itoa(4*n.hosts+2), n.subnet+strconv.Itoa(4*n.hosts+1)
	port := "port" + strconv.Itoa(n.hosts)
	n.hosts++
	in, there, route := []string{}, []string{}, n.subnet+"0/24"
	if namespace != "" {
		in, there, route = []string{"-n", namespace}, []string{"netns", namespace}, "default"
	}
	n.ip(append([]string{"-n", n.prefix + router, "link", "add", port, "type", "veth", "peer", "name", link}, orOwn(there)...)...)
	n.ip("-n", n.prefix+router, "address", "add", gateway+"/30", "dev", port)
	n.ip("-n", n.prefix+router, "link", "set", port, "up")
	n.ip(append(in, "address", "add", theirs+"/30", "dev", link)...)
	n.ip(append(in, "link", "set", link, "up")...)
	n.ip(append(in, "route", "add", route, "via", gateway)...)
	return theirs
}

// orOwn names the test's namespace, which has no name, by the id of this process.
func orOwn(namespace []string) []string {
	if len(namespace) == 0 {
		return []string{"netns", strconv.Itoa(os.Getpid())}
	}
	return namespace
}

// cut drops every packet between a and the others until heal is called. Neither side is
// notified: connections stay open and are silent.
func (n *network) cut(a machine, others ...machine) (heal func()) {
	n.t.Helper()
	restoreOut, restoreIn := n.mute(a, others...), n.deafen(a, others...)
	return func() { restoreOut(); restoreIn() }
}

// mute drops every packet from a to the others until heal is called.
func (n *network) mute(a machine, others ...machine) (heal func()) {
	n.t.Helper()
	var ways [][2]machine
	for _, b := range others {
		ways = append(ways, [2]machine{a, b})
	}
	return n.lose(ways)
}

// deafen drops every packet from the others to a until heal is called.
func (n *network) deafen(a machine, others ...machine) (heal func()) {
	n.t.Helper()
	var ways [][2]machine
	for _, b := range others {
		ways = append(ways, [2]machine{b, a})
	}
	return n.lose(ways)
}

// lose drops the packets from the first to the second machine of each pair.
func (n *network) lose(ways [][2]machine) (heal func()) {
	n.t.Helper()
	var rules []string
	for _, way := range ways {
		n.rules++
		rule := strconv.Itoa(firstRule + n.rules)
		n.ip("-n", n.prefix+router, "rule", "add", "priority", rule, "from", way[0].ip, "to", way[1].ip, "blackhole")
		rules = append(rules, rule)
	}
	return func() {
		for _, rule := range rules {
			n.ip("-n", n.prefix+router, "rule", "delete", "priority", rule)
		}
	}
}

// firstRule precedes the kernel's own routing rules.
const firstRule = 100

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func leaveOut(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("WASMJOBD_STRICT") == "1" {
		t.Fatal(why)
	}
	t.Skip("left out: " + why)
}

// reaches reports whether a ZooKeeper server answers the machine within a second.
func (m machine) reaches(address string) bool {
	host, port, _ := strings.Cut(address, ":")
	ask := fmt.Sprintf("exec 3<>/dev/tcp/%s/%s && echo ruok >&3 && head -c 4 <&3", host, port)
	out, err := exec.Command("ip", "netns", "exec", m.name, "timeout", "1", "bash", "-c", ask).Output()
	return err == nil && string(out) == "imok"
}
